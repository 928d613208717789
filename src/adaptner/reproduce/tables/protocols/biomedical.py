"""What fills the tables of HGDA and MetaBioNER: eight biomedical corpora in four domains."""

from __future__ import annotations

from typing import Any

from adaptner.reproduce.tables.protocol import Protocol, TargetCorpus, TargetGroup
from adaptner.reproduce.tables.protocols.metaner import WHOLE_SET

VECTORS = "pubmed-w2v-200d.npy"
DOMAINS: dict[str, tuple[TargetCorpus, ...]] = {
    "Disease": (
        TargetCorpus("bio8/ncbi-disease", "NCBI"),
        TargetCorpus("bio8/bc5cdr-disease", "BC5CDR-disease"),
    ),
    "Drug": (
        TargetCorpus("bio8/bc5cdr-chem", "BC5CDR-drug"),
        TargetCorpus(
            "bio8/bc4chemd-sub",
            "BC4CHEMD",
            "only a tenth of BC4CHEMD (bc4chemd-sub), in a split of our own",
        ),
    ),
    "Gene": (TargetCorpus("bio8/jnlpba", "JNLPBA"), TargetCorpus("bio8/bc2gm", "BC2GM")),
    "Species": (TargetCorpus("bio8/linnaeus", "LINNAEUS"), TargetCorpus("bio8/s800", "S800")),
}
BIO8 = tuple(
    TargetGroup(
        domain,
        targets,
        tuple(t.corpus for other, corpora in DOMAINS.items() if other != domain for t in corpora),
    )
    for domain, targets in DOMAINS.items()
)
# MetaNER's own settings are for GloVe and a BiGRU. In quick runs, all methods of a biomedical table
# have the same encoder, outer optimiser and tag scheme, so that rows compare (benchmarks/baselines.py).
SAME_ENCODER: dict[str, Any] = {
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
_VECTORS_NOTE = (
    "Word vectors: PubMed word2vec with 200 dimensions, for the vocabulary of the corpora only, "
    "instead of BioWordVec."
)
_NOTES = (
    _VECTORS_NOTE,
    "BC5CDR-disease and BC5CDR-drug are the same sentences with different labels. As in the paper, "
    "each is among the sources when the other is the target.",
    "quick: one base with K = 10 serves all sizes; the paper has a base with K = T' for each size.",
    "paper: pretrained bases are adapted as HGDA's appendix has it (SGD, momentum 0.9, encoder and decoder at "
    "1e-2 times the root of T'/32); it gives no number of steps. In-Domain keeps our settings, and so do "
    "rows with a transformer.",
    "quick: MetaNER has the encoder, tag scheme and outer optimiser of the other rows, not its own.",
)


def _few_shot(table: str, sizes: tuple[int, ...], extra: tuple[str, ...] = ()) -> Protocol:
    return Protocol(
        table,
        BIO8,
        VECTORS,
        sizes=sizes,
        quick_by_method={"metaner": SAME_ENCODER},
        transformers=("hgda", "hgda-nes", "in-domain") if table.startswith("hgda/") else (),
        paper_adaptation="sgd",
        extra=extra,
        notes=_NOTES,
    )


def _hardness(table: str) -> Protocol:
    """The base for Disease, whose tasks are Gene, Drug and Species as in the paper's table."""
    return Protocol(
        table,
        BIO8[:1],
        VECTORS,
        hardness=True,
        notes=(
            _VECTORS_NOTE,
            "The paper's tasks have four sentences, ours have K, and other sentences are drawn. The "
            "scores show the same trend but are not the same numbers.",
        ),
    )


PROTOCOLS = (
    _hardness("hgda/1"),
    *(_few_shot(f"hgda/{number}", (5, 10, 20, 50), ("maml",)) for number in (3, 4, 5)),
    _few_shot("metabioner/3", (5, 10, 20, 50, 100)),
    _hardness("metabioner/4"),
    Protocol(
        "metabioner/5",
        BIO8,
        VECTORS,
        shares=(100.0,),
        settings={"adaptation": WHOLE_SET},
        quick_by_method={"metaner": SAME_ENCODER},
        rows={"Multi-task": "multitask"},
        notes=_NOTES,
        quick_draws=2,
    ),
)
