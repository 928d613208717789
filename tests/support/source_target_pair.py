"""A source of genes and a target of genes and cell lines, encoded as a pair: for La-DTL, DATNet and
Multi-Cell."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from adaptner.adaptation.batch_encoding import EncodeFunction, encode_lists
from adaptner.adaptation.request import AdaptRequest
from adaptner.adaptation.source_target_steps import EncodedSide
from adaptner.corpora.bundled import bundled_corpus
from adaptner.corpora.sources import SourceDomain
from adaptner.methods import method
from adaptner.models.base import Base
from adaptner.nn.decoders.crf import CRF
from adaptner.training.budget import Budget
from adaptner.types import LabelSet, Sentence

TINY = {
    "word_width": 6,
    "char_embedding": 4,
    "char_cnn_filters": 3,
    "char_lstm": 0,
    "hidden": 5,
    "dropout": 0.0,
}
GENES = bundled_corpus("gene").split("train")
CELL_LINES = bundled_corpus("cellline").split("train")
SOURCE = GENES[:3]
SUPPORT = [*GENES[5:7], *CELL_LINES[:2]]
DOMAIN = SourceDomain("Gene", LabelSet(("Gene",)), {"gene": list(GENES[:20])}, {})
SOURCES = {"Gene": GENES[:20]}
REQUEST = AdaptRequest(CELL_LINES[:6])


def make_base(name: str) -> Base:
    return method(name)(encoder=TINY, k=3, tasks=2).fit([DOMAIN], Budget(3))


def encode_pair(
    base: Base, encode: EncodeFunction | None = None
) -> tuple[EncodedSide, EncodedSide]:
    """``SOURCE`` with a decoder that knows genes and ``SUPPORT`` with one that knows both labels."""
    labels = LabelSet(("CellLine", "Gene"))
    generator = torch.Generator().manual_seed(4)
    decoders = [
        CRF(base.model.encoder.width, own, generator) for own in (LabelSet(("Gene",)), labels)
    ]
    lists = [SOURCE, SUPPORT]
    encoder = base.model.encoder
    parts = encode_lists(encode or encoder, base.batcher, labels, lists, encoder.device)
    source, target = (EncodedSide(p, d, labels) for p, d in zip(parts, decoders, strict=True))
    return source, target


def label_loss(base: Base, decoder: CRF, sentences: Sequence[Sentence]) -> float:
    """The mean loss of sentences that are encoded one at a time."""
    total = 0.0
    for s in sentences:
        batch = base.batcher([[s]], [decoder.labels])
        assert batch.tags is not None
        total += float(decoder(base.model.encoder(batch), batch.tags, batch.mask).sum().detach())
    return total / len(sentences)


def parameter_sum(name: str, base: Base, support: Sequence[Sentence], **options: Any) -> float:
    """The sum of all absolute parameters of the tagger after a few steps."""
    settings = {"steps": 4, "epochs": 0, "batch": 3, **options.pop("settings", {})}
    chosen = method(name)(encoder=TINY, adaptation=settings)
    tagger = chosen.adapt(base, support, sources=[DOMAIN], **options)
    return sum(float(p.detach().double().abs().sum()) for p in tagger.parameters())
