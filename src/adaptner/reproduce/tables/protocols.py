"""What fills each published table. Rulings: Sources, Homogeneous and Heterogeneous setting, Draws."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from adaptner.reproduce.tables.pdaln_protocols import pdaln_protocols
from adaptner.reproduce.tables.protocol import Protocol, TargetCorpus, TargetGroup, find_table

TENTH = "a tenth of BC4CHEMD is at hand (bc4chemd-sub), in a split of our own"
VECTORS_BIO = (
    "Word vectors: PubMed word2vec, 200 numbers, for the corpora's vocabulary only, in place of "
    "BioWordVec."
)
VECTORS_NEWS = "Word vectors: GloVe 6B of 100 numbers; the paper has 300."

DOMAINS: dict[str, tuple[TargetCorpus, ...]] = {
    "Disease": (
        TargetCorpus("bio8/ncbi-disease", "NCBI"),
        TargetCorpus("bio8/bc5cdr-disease", "BC5CDR-disease"),
    ),
    "Drug": (
        TargetCorpus("bio8/bc5cdr-chem", "BC5CDR-drug"),
        TargetCorpus("bio8/bc4chemd-sub", "BC4CHEMD", TENTH),
    ),
    "Gene": (TargetCorpus("bio8/jnlpba", "JNLPBA"), TargetCorpus("bio8/bc2gm", "BC2GM")),
    "Species": (TargetCorpus("bio8/linnaeus", "LINNAEUS"), TargetCorpus("bio8/s800", "S800")),
}
BIO8 = tuple(
    TargetGroup(
        name,
        targets,
        tuple(t.corpus for other, own in DOMAINS.items() if other != name for t in own),
    )
    for name, targets in DOMAINS.items()
)
TWIN = (
    "BC5CDR-disease and BC5CDR-drug are the same sentences with other labels; as in the paper, one "
    "is among the sources when the other is the target."
)
K10 = "quick: one base at K = 10 serves all sizes, where the paper has a base at K = T' for each."

# MetaNER's settings are GloVe's and a BiGRU's. In quick runs all methods of a biomedical table have
# one encoder, one outer optimiser and one tag scheme, so that rows compare (benchmarks/baselines.py).
ONE_ENCODER: dict[str, Any] = {
    "scheme": "bio",
    "optimiser": {"name": "adamw", "rate": 2e-3},
    "encoder": {
        "word_width": 200,
        "tune_words": False,
        "char_embedding": 30,
        "char_cnn_widths": [3],
        "char_cnn_filters": 50,
        "char_lstm": 50,
        "recurrent": "lstm",
        "hidden": 128,
        "dropout": 0.2,
    },
}
ONE_FOR_ALL = (
    "quick: MetaNER has the encoder, tag scheme and outer optimiser of the other rows, not its own."
)

# MetaNER's setting with 100-d vectors, and its whole training sets (the rate was chosen on sources,
# benchmarks/baselines.py rates).
METANER_ENCODER: dict[str, Any] = {
    "word_width": 100,
    "tune_words": True,
    "char_embedding": 100,
    "char_cnn_widths": [2, 3, 4, 5],
    "char_cnn_filters": 25,
    "char_lstm": 0,
    "recurrent": "gru",
    "hidden": 128,
    "dropout": 0.5,
}
WHOLE_SET: dict[str, Any] = {"batch": 32, "epochs": 10, "optimiser": {"rate": 3e-2}}
METANER: dict[str, Any] = {
    "scheme": "bioes",
    "encoder": METANER_ENCODER,
    "adaptation": WHOLE_SET,
}
FASTER: dict[str, Any] = {"optimiser": {"rate": 2e-3}}  # the paper's 1e-3 is for longer runs

HOMOGENEOUS = (
    *("news/conll03", "news/scitech", "general/wikigold"),
    *("general/sec", "general/wnut16-conll", "general/webpage"),
)
NOT_ACE = "ACE2005 is licensed: other corpora stand in for its six domains"
HETEROGENEOUS = TargetGroup(
    "heterogeneous",
    (
        TargetCorpus("bio-extra/bionlp13pc", "BioNLP13PC"),
        TargetCorpus("general/mit-movie", "MIT Movie"),
        TargetCorpus("general/mit-restaurant", "MIT Restaurant"),
        TargetCorpus("general/re3d", "Re3d"),
        TargetCorpus("general/sec", "SEC"),
    ),
    ("news/conll03", "general/wnut17", "general/wikigold"),
)
SHARES = (5.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 100.0)  # of Figures 4 to 7
ABLATIONS: dict[str, dict[str, Any]] = {
    "w/o adversarial strategy": {"adversary": False},
    "w/o meta-learning strategy": {"meta": False},
    "theta(new) only": {"new_only": True},
    "MAML update": {"maml_update": True},
    "w/o CNNs": {"encoder": {"char_cnn_filters": 0}},
}


def _few_shot(table: str, sizes: tuple[int, ...], extra: tuple[str, ...] = ()) -> Protocol:
    return Protocol(
        table,
        BIO8,
        "pubmed-w2v-200d.npy",
        sizes=sizes,
        quick_own={"metaner": ONE_ENCODER},
        transformers=("hgda", "hgda-nes", "in-domain") if table.startswith("hgda/") else (),
        extra=extra,
        notes=(VECTORS_BIO, TWIN, K10, ONE_FOR_ALL),
    )


def _hardness(table: str) -> Protocol:
    """The Disease base of HGDA, whose tasks are Gene, Drug and Species as in the paper's table."""
    return Protocol(
        table,
        BIO8[:1],
        "pubmed-w2v-200d.npy",
        hardness=True,
        notes=(
            VECTORS_BIO,
            "The paper's tasks have four sentences, ours K; which sentences are drawn differs, so "
            "the scores show the same thing and are not the same numbers.",
        ),
    )


def _homogeneous(table: str, shares: tuple[float, ...], extra: tuple[str, ...] = ()) -> Protocol:
    """Each corpus in turn is the target of all others."""
    groups = tuple(
        TargetGroup(
            place.rpartition("/")[2],
            (TargetCorpus(place, None, NOT_ACE),),
            tuple(other for other in HOMOGENEOUS if other != place),
        )
        for place in HOMOGENEOUS
    )
    return Protocol(
        table,
        groups,
        "glove-6b-100d.npy",
        shares=shares,
        settings={**METANER, "decoders": "shared"},
        quick=FASTER,
        extra=extra,
        notes=(
            f"Not comparable: other corpora. {NOT_ACE}.",
            VECTORS_NEWS,
            "SciTech has one set: as a source it is whole, as a target 70% of it by seed 13 are to "
            "learn from and the rest to score. Webpage's gold dev sentences are to learn from, "
            "source or target; DANN has its text without labels from there too, not from the "
            "distantly labelled part.",
            "D-Shift and MetaNER-Zero use no sentence of the target, so they have one draw.",
        ),
        quick_draws=2,
    )


def _heterogeneous(table: str, shares: tuple[float, ...], extra: tuple[str, ...] = ()) -> Protocol:
    return Protocol(
        table,
        (HETEROGENEOUS,),
        "glove-6b-100d.npy",
        shares=shares,
        settings=METANER,
        quick=FASTER,
        extra=extra,
        notes=(
            "Sources are CoNLL03, WNUT17 and the gold part of WikiGold: OntoNotes is licensed and "
            "the paper's silver Wikipedia set is not at hand.",
            VECTORS_NEWS,
        ),
        quick_draws=2,
    )


# Jia2019: NCRF++'s public defaults and GloVe 100-d, tuned, for every method of its tables.
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
JIA_STEPS: dict[str, Any] = {
    "adaptation": {"batch": 30, "steps": 1000, "epochs": 0, "optimiser": {"rate": 0.1}}
}
# A step has one batch of the source beside one of the target, as FINAL has.
JIA_PAIRS: dict[str, dict[str, Any]] = {
    name: {"adaptation": {"source_tasks": 1}} for name in ("multitask", "dann", "self-train")
}
JIA_NOTES = (
    "quick: 1,000 steps of batches of 30 a task for every method, with AdamW; the paper has 100 epochs "
    "with SGD (STM-TARGET: RMSprop).",
    "FINAL and its ablations learn all at once, from noise; the other methods that learn from the source "
    "start from a base learnt there first.",
)
JIA_ABLATIONS: dict[str, dict[str, Any]] = {
    "MULTITASK(NER+LM)": {"adaptation": {"domain_size": 0, "task_size": 0}},
    "CO-LM": {"adaptation": {"data": "target", "domain_size": 0}},
    "CO-NER": {"adaptation": {"data": "ner", "task_size": 0}},
    "MIX-DATA": {"adaptation": {"mixed_text": True}},
}
JIA_TEXTS: dict[str, dict[str, Any]] = {
    "STM+ELMO(SRC)": {"adaptation": {"lm_text": "source"}},
    "STM+ELMO(TGT)": {"adaptation": {"lm_text": "target"}},
}
JIA_BIO = TargetGroup(
    "biomedical",
    (TargetCorpus("bio-extra/bionlp13pc", "13PC"), TargetCorpus("bio-extra/bionlp13cg", "13CG")),
    ("news/conll03",),
)
TRANSDUCTIVE = (
    "the raw text of the paper cannot be had: source text is that of CoNLL03, target text that of the "
    "2,000 test sentences themselves (transductive)"
)
JIA_NEWS = TargetGroup(
    "news", (TargetCorpus("news/scitech:whole", "SciTech", TRANSDUCTIVE),), ("news/conll03",)
)


def _amounts() -> dict[str, dict[str, Any]]:
    """Rows of Figure 8: both sides, the target's and the source's raw text cut to an amount."""
    sides = {
        "SRC: {0}; TGT: {0}": ("source_sentences", "target_sentences"),
        "SRC: 100%; TGT: {0}": ("target_sentences",),
        "SRC: {0}; TGT: 100%": ("source_sentences",),
    }
    return {
        name.format(f"{amount:,}"): {"adaptation": dict.fromkeys(cut, amount)}
        for name, cut in sides.items()
        for amount in (250, 500, 1000)
    }


def _without_columns(group: TargetGroup, note: str) -> TargetGroup:
    """For tables whose columns are no corpora."""
    bare = tuple(replace(t, column=None, note=note) for t in group.targets)
    return replace(group, targets=bare)


def _jia_supervised(
    table: str, groups: tuple[TargetGroup, ...] = (JIA_BIO,), **changes: Any
) -> Protocol:
    return Protocol(
        table,
        groups,
        "glove-6b-100d.npy",
        settings=JIA,
        quick=JIA_STEPS,
        quick_own=JIA_PAIRS,
        notes=(*JIA_NOTES, "Language models read the training sets' text, as in the paper."),
        quick_draws=3,
        **changes,
    )


def _jia_unsupervised(
    table: str, groups: tuple[TargetGroup, ...] = (JIA_NEWS,), **changes: Any
) -> Protocol:
    return Protocol(
        table,
        groups,
        "glove-6b-100d.npy",
        sizes=(0,),
        settings={**JIA, "decoders": "shared"},
        quick=JIA_STEPS,
        quick_own=JIA_PAIRS,
        notes=(*JIA_NOTES, f"Not comparable: {TRANSDUCTIVE}."),
        quick_draws=3,
        **changes,
    )


_DATA = "facts about corpora, not results of a method"
_DERIVED = "derived by the paper from other figures of its own, or in a drawing only"

PROTOCOLS: dict[str, Protocol] = {
    p.table: p
    for p in (
        _hardness("hgda/1"),
        _few_shot("hgda/3", (5, 10, 20, 50), ("maml",)),
        _few_shot("hgda/4", (5, 10, 20, 50), ("maml",)),
        _few_shot("hgda/5", (5, 10, 20, 50), ("maml",)),
        _few_shot("metabioner/3", (5, 10, 20, 50, 100)),
        _hardness("metabioner/4"),
        Protocol(
            "metabioner/5",
            BIO8,
            "pubmed-w2v-200d.npy",
            shares=(100.0,),
            settings={"adaptation": WHOLE_SET},
            quick_own={"metaner": ONE_ENCODER},
            rows={"Multi-task": "multitask"},
            notes=(VECTORS_BIO, TWIN, K10, ONE_FOR_ALL),
            quick_draws=2,
        ),
        _homogeneous("metaner/2", (100.0,)),
        _heterogeneous("metaner/3", (100.0,)),
        _homogeneous("metaner/crossing-homogeneous", SHARES, ("in-domain",)),
        _heterogeneous("metaner/crossing-heterogeneous", SHARES, ("in-domain",)),
        replace(
            _heterogeneous("metaner/ablation", (100.0,)),
            groups=(replace(HETEROGENEOUS, targets=HETEROGENEOUS.targets[:1]),),
            variants={"metaner": ABLATIONS},
        ),
        _jia_supervised("jia2019/3", shares=(100.0,), variants={"crossdomain-lm": JIA_ABLATIONS}),
        _jia_supervised(
            "jia2019/target-data",
            # Figure 6 prints no figures, and its text speaks of numbers of sentences.
            groups=(_without_columns(JIA_BIO, "the paper has a drawing only"),),
            sizes=(50, 100, 250, 500, 1000, 2000),
            extra=("in-domain",),
        ),
        _jia_unsupervised("jia2019/4", variants={"stm-elmo": JIA_TEXTS}),
        _jia_unsupervised("jia2019/5", groups=(_without_columns(JIA_NEWS, TRANSDUCTIVE),)),
        _jia_unsupervised("jia2019/raw-amount", variants={"crossdomain-lm": _amounts()}),
        *pdaln_protocols({**JIA, "decoders": "shared"}, JIA_STEPS, JIA_NOTES),
    )
}


def protocol_of(name: str) -> Protocol:
    """The protocol of a published table, however its name is spelled; one with a reason and nothing
    to run where we cannot fill it."""
    paper, table = find_table(name)
    spelled = f"{paper.name}/{table.id}"
    if spelled in PROTOCOLS:
        return PROTOCOLS[spelled]
    if all(row.method is None for row in table.rows):
        return Protocol(spelled, reason=_DATA)
    return Protocol(spelled, reason=_DERIVED)
