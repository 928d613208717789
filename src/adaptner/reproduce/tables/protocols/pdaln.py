"""What fills PDALN's tables: CoNLL03 to four targets, without and with labelled sentences."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from adaptner.reproduce.tables.protocol import Protocol, TargetCorpus, TargetGroup
from adaptner.reproduce.tables.protocols.jia2019 import JIA, STEPS, VECTORS
from adaptner.reproduce.tables.protocols.jia2019 import NOTES as JIA_NOTES

Settings = Mapping[str, Any]

SCITECH = (
    "one set of 2,000 sentences: those drawn for training are not scored, and the text of all of them "
    "is used without labels (transductive)"
)
TARGETS = (
    TargetCorpus("news/scitech:whole", "SciTech", SCITECH),
    TargetCorpus("general/wnut16-conll", "WNUT 2016"),
    TargetCorpus("general/webpage", "Webpage"),
    TargetCorpus("general/wikigold", "Wikigold"),
)
WEBPAGE: dict[str, Any] = {
    "sizes": (0, 10),  # it has 99 sentences to draw from
    # 10 labelled sentences of the target and 100 of the source make 240 (section 5.3).
    "settings_by_method": {"pdaln": {"adaptation": {"source_ratio": 10}}},
}
GROUPS = {
    str(target.column): TargetGroup(
        str(target.column),
        (target,),
        ("news/conll03",),
        held_out=TARGETS,
        **(WEBPAGE if target.column == "Webpage" else {}),
    )
    for target in TARGETS
}
# A transformer in place of BERT, the same for all rows with one, that one core can train: the lower
# layers are frozen, and steps are few and small (docs/results/pdaln.md has the cost of each choice).
# A recipe (pdaln-bert.toml) has the paper's settings.
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
# Chosen on CrossNER's politics, which is no target here (docs/results/pdaln.md): α' = 1, a tenth of
# L_c, a large weight of distillation and short rounds.
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
# Rows with a BiLSTM start from a base, except JIA2019's. They have the rate of their recipes, a tenth
# of Jia2019's. With the latter, fine-tuning loses six points on WNUT 2016 and La-DTL finds no entity
# (docs/results/pdaln.md).
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
RATIOS: dict[str, Settings] = {  # the default of PDALN is 1:5
    f"PDALN, augmentation 1:{ratio}": {"adaptation": {"source_ratio": ratio}} for ratio in (1, 3, 7)
}
NOTES = (
    f"quick: with --encoder: {TRANSFORMER['adaptation']['steps']} steps of "
    f"{TRANSFORMER['adaptation']['batch']} sentences for all systems (PDALN's steps have that number "
    "of source sentences, of labelled target sentences and of unlabelled target sentences, and "
    "distorted copies of all); the word table and the lowest "
    f"{TRANSFORMER['encoder']['frozen_layers']} layers are frozen.",
    "Semi-supervised: 100 labelled sentences of the target (Webpage: 10). Raw text is that of the "
    "train splits.",
    "PDALN, its variants and its ablations use BERT in the paper. Here they use the transformer named "
    "by --encoder or, without one, a BiLSTM: compare gains, not levels. The paper does not give α, α', "
    "β, γ and the rounds (docs/methods/pdaln.md).",
    f"quick: the source is {SOURCE_SENTENCES:,} sentences of CoNLL03, drawn again for each draw of "
    "the target, so that each draw has its own base.",
)


def _protocol(id: str, targets: tuple[str, ...], sizes: tuple[int, ...], **fields: Any) -> Protocol:
    return Protocol(
        f"pdaln/{id}",
        tuple(GROUPS[name] for name in targets),
        VECTORS,
        sizes=sizes,
        settings={**JIA, "decoders": "shared"},
        quick={"adaptation": {**STEPS["adaptation"], "optimiser": {"rate": RATE}}},
        quick_by_method={"crossdomain-lm": STEPS},
        notes=(*(f"without --encoder: {note}" for note in JIA_NOTES), *NOTES),
        quick_draws=3,
        transformers=("d-shift", "finetuning", "pdaln"),
        transformer=TRANSFORMER,
        transformer_by_method=WEIGHTS,
        source_sentences=SOURCE_SENTENCES,
        **fields,
    )


_ALL, _THREE = tuple(GROUPS), ("SciTech", "WNUT 2016", "Wikigold")
PROTOCOLS = (
    _protocol("1", _ALL, (0, 100), variants={"pdaln": TEACHERS}),
    _protocol("1-mean", _ALL, (0, 100)),
    _protocol("2", _ALL, (100,), variants={"pdaln": ABLATIONS}),
    _protocol("3", _ALL, (100,)),
    _protocol("4", _THREE, (0, 100), variants={"pdaln": RATIOS}),
)
