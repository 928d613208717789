"""What fills Jia2019's tables: CoNLL03 to two biomedical corpora, and to CBS SciTech without labels."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from adaptner.reproduce.tables.protocol import Protocol, TargetCorpus, TargetGroup

VECTORS = "glove-6b-100d.npy"
# The public defaults of NCRF++ with trainable GloVe vectors, for all methods of these tables.
JIA: dict[str, Any] = {
    "scheme": "bio",
    "encoder": {
        "word_width": 100,
        "tune_words": True,
        "char_embedding": 30,
        "char_cnn_widths": [3],
        "char_cnn_filters": 50,
        "char_lstm": 0,
        "recurrent": "lstm",
        "hidden": 100,
        "dropout": 0.5,
    },
}
STEPS: dict[str, Any] = {
    "adaptation": {"batch": 30, "steps": 1000, "epochs": 0, "optimiser": {"rate": 0.1}}
}
# A step has one batch of the source and one of the target, as FINAL's.
ONE_SOURCE_BATCH: dict[str, dict[str, Any]] = {
    name: {"adaptation": {"source_tasks": 1}} for name in ("multitask", "dann", "self-train")
}
NOTES = (
    "quick: 1,000 steps with batches of 30 per task for all methods, with AdamW; the paper has 100 "
    "epochs with SGD (STM-TARGET: RMSprop).",
    "FINAL and its ablations learn all tasks at once from a random initialisation. The other methods "
    "with a source start from a base that was trained on it first.",
)
ABLATIONS: dict[str, dict[str, Any]] = {
    "MULTITASK(NER+LM)": {"adaptation": {"domain_size": 0, "task_size": 0}},
    "CO-LM": {"adaptation": {"data": "target", "domain_size": 0}},
    "CO-NER": {"adaptation": {"data": "ner", "task_size": 0}},
    "MIX-DATA": {"adaptation": {"mixed_text": True}},
}
ELMO_TEXTS: dict[str, dict[str, Any]] = {
    "STM+ELMO(SRC)": {"adaptation": {"lm_text": "source"}},
    "STM+ELMO(TGT)": {"adaptation": {"lm_text": "target"}},
}
BIOMEDICAL = TargetGroup(
    "biomedical",
    (TargetCorpus("bio-extra/bionlp13pc", "13PC"), TargetCorpus("bio-extra/bionlp13cg", "13CG")),
    ("news/conll03",),
)
TRANSDUCTIVE = (
    "the paper's raw text is not available: source text is that of CoNLL03, target text that of the "
    "2,000 test sentences themselves (transductive)"
)
NEWS = TargetGroup(
    "news", (TargetCorpus("news/scitech:whole", "SciTech", TRANSDUCTIVE),), ("news/conll03",)
)


def _text_amounts() -> dict[str, dict[str, Any]]:
    """Rows of Figure 8: raw text of both sides, of the target or of the source cut to an amount."""
    cut_settings = {
        "SRC: {0}; TGT: {0}": ("source_sentences", "target_sentences"),
        "SRC: 100%; TGT: {0}": ("target_sentences",),
        "SRC: {0}; TGT: 100%": ("source_sentences",),
    }
    return {
        name.format(f"{amount:,}"): {"adaptation": dict.fromkeys(cut, amount)}
        for name, cut in cut_settings.items()
        for amount in (250, 500, 1000)
    }


def _without_columns(group: TargetGroup, note: str) -> TargetGroup:
    """The group for tables whose columns are not corpora."""
    targets = tuple(replace(t, column=None, note=note) for t in group.targets)
    return replace(group, targets=targets)


_SHARED: dict[str, Any] = {
    "vectors": VECTORS,
    "quick": STEPS,
    "quick_by_method": ONE_SOURCE_BATCH,
    "quick_draws": 3,
}
SUPERVISED: dict[str, Any] = {
    **_SHARED,
    "settings": JIA,
    "notes": (*NOTES, "Language models learn from the text of the train splits, as in the paper."),
}
UNSUPERVISED: dict[str, Any] = {
    **_SHARED,
    "sizes": (0,),
    "settings": {**JIA, "decoders": "shared"},
    "notes": (*NOTES, f"Not comparable: {TRANSDUCTIVE}."),
}
PROTOCOLS = (
    Protocol(
        "jia2019/3",
        (BIOMEDICAL,),
        shares=(100.0,),
        variants={"crossdomain-lm": ABLATIONS},
        **SUPERVISED,
    ),
    Protocol(
        "jia2019/target-data",
        # Figure 6 prints no figures, and its text is about numbers of sentences.
        (_without_columns(BIOMEDICAL, "the paper has only a drawing"),),
        sizes=(50, 100, 250, 500, 1000, 2000),
        extra=("in-domain",),
        **SUPERVISED,
    ),
    Protocol("jia2019/4", (NEWS,), variants={"stm-elmo": ELMO_TEXTS}, **UNSUPERVISED),
    Protocol("jia2019/5", (_without_columns(NEWS, TRANSDUCTIVE),), **UNSUPERVISED),
    Protocol(
        "jia2019/raw-amount",
        (NEWS,),
        variants={"crossdomain-lm": _text_amounts()},
        **UNSUPERVISED,
    ),
)
