"""What fills PDALN's tables (paper 003): CoNLL03 to four targets, without and with labelled sentences."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from adaptner.reproduce.tables.protocol import Protocol, TargetCorpus, TargetGroup

Settings = Mapping[str, Any]

SCITECH = (
    "one set of 2,000 sentences: what is drawn to learn from is not scored, and the text of all of them "
    "is read without labels (transductive)"
)
# 10 labelled sentences of the target and 100 of the source make 240 (5.3)
WEBPAGE: dict[str, Settings] = {"pdaln": {"adaptation": {"source_ratio": 10}}}
TARGETS = (
    TargetCorpus("news/scitech:whole", "SciTech", SCITECH),
    TargetCorpus("general/wnut16-conll", "WNUT 2016"),
    TargetCorpus("general/webpage", "Webpage"),
    TargetCorpus("general/wikigold", "Wikigold"),
)
SMALL: dict[str, Settings] = {  # it has 99 sentences to draw from
    "Webpage": {"sizes": (0, 10), "own": WEBPAGE}
}
GROUPS = {
    name: TargetGroup(name, (target,), ("news/conll03",), held_out=TARGETS, **SMALL.get(name, {}))
    for target in TARGETS
    for name in (str(target.column),)
}
# A transformer in place of BERT, the same for all rows that have one, for one core: the lower layers
# stay as they are, and steps are few and small (docs/results/pdaln.md has what each costs). A recipe
# (pdaln-bert.toml) has the paper's.
TRANSFORMER: dict[str, Any] = {
    "scheme": "bio",
    "decoders": "shared",
    "tag_head": "crf",
    "tasks": 1,
    "optimiser": {"name": "adamw", "rate": 5e-4},
    "encoder": {"frozen_layers": 4, "network_dropout": False, "max_length": 128},
    "adaptation": {
        "batch": 10,
        "steps": 40,
        "epochs": 0,
        "optimiser": {"name": "adamw", "rate": 1e-3},
        "encoder_scale": 0.2,
    },
}
# Chosen on CrossNER's politics, which is no target here (docs/results/pdaln.md): α' = 1, a tenth of L_c,
# a loud teacher and short rounds.
WEIGHTS: dict[str, Settings] = {
    "pdaln": {
        "adaptation": {
            "text_weight": 1.0,
            "contrast_weight": 0.1,
            "distil_weight": 0.95,
            "first_share": 0.75,
        }
    }
}
SOURCE_SENTENCES = 2000
# Rows with a BiLSTM start from a base, but for JIA2019's: their recipes' rate, a tenth of Jia2019's, at
# which fine-tuning loses six points on WNUT 2016 and La-DTL tags nothing (docs/results/pdaln.md).
RATE = 1e-2
TEACHERS: dict[str, Settings] = {
    "PDALN w/ MT": {"adaptation": {"self_training": "mean-teacher"}},
    "PDALN w/ VAT": {"adaptation": {"self_training": "vat"}},
}
ABLATIONS: dict[str, Settings] = {
    "w/o L_c": {"adaptation": {"contrast_weight": 0.0}},
    "w/o L_MMD^d": {"adaptation": {"sentence_weight": 0.0}},
    "w/o L_MMD^w": {"adaptation": {"word_weight": 0.0}},
    "w/o L_distill": {"adaptation": {"distil_weight": 0.0}},
    "w/o D_aug": {"adaptation": {"augment": False}},
}
RATIOS: dict[str, Settings] = {  # 1:5 is PDALN as it is
    f"PDALN, augmentation 1:{ratio}": {"adaptation": {"source_ratio": ratio}} for ratio in (1, 3, 7)
}
NOTES = (
    f"quick: with --encoder: {TRANSFORMER['adaptation']['steps']} steps of "
    f"{TRANSFORMER['adaptation']['batch']} sentences for every system (PDALN's steps have as many of the "
    "source, of the labelled target sentences and of the target's text, and of distorted copies of all), "
    f"the lowest {TRANSFORMER['encoder']['frozen_layers']} layers and the word table frozen.",
    "Semi-supervised: 100 labelled sentences of the target (Webpage: 10); raw text is that of the "
    "train splits.",
    "PDALN, its variants and its ablations have BERT in the paper; here they have the transformer that "
    "--encoder names or, without one, a BiLSTM: compare gains, not levels. α, α', β, γ and the rounds are "
    "not in the text (docs/methods/pdaln.md).",
    f"quick: the source is {SOURCE_SENTENCES:,} sentences of CoNLL03, drawn anew for each draw of the "
    "target, and each draw has a base of its own.",
)


def pdaln_protocols(settings: Settings, quick: Settings, notes: tuple[str, ...]) -> list[Protocol]:
    """``settings``: those of all rows with a BiLSTM (encoder, one decoder); ``quick``: Jia2019's steps."""
    slower = {"adaptation": {**quick["adaptation"], "optimiser": {"rate": RATE}}}

    def table(id: str, targets: tuple[str, ...], sizes: tuple[int, ...], **more: Any) -> Protocol:
        return Protocol(
            f"pdaln/{id}",
            tuple(GROUPS[name] for name in targets),
            "glove-6b-100d.npy",
            sizes=sizes,
            settings=settings,
            quick=slower,
            quick_own={"crossdomain-lm": quick},
            notes=(*(f"without --encoder: {note}" for note in notes), *NOTES),
            quick_draws=3,
            transformers=("d-shift", "finetuning", "pdaln"),
            transformer=TRANSFORMER,
            transformer_own=WEIGHTS,
            source_sentences=SOURCE_SENTENCES,
            **more,
        )

    every, three = tuple(GROUPS), ("SciTech", "WNUT 2016", "Wikigold")
    return [
        table("1", every, (0, 100), variants={"pdaln": TEACHERS}),
        table("1-mean", every, (0, 100)),
        table("2", every, (100,), variants={"pdaln": ABLATIONS}),
        table("3", every, (100,)),
        table("4", three, (0, 100), variants={"pdaln": RATIOS}),
    ]
