"""In-Domain: the target's own sentences and nothing else (paper 002, 5.1.1).

Its "base" is an encoder as it was made. Of the sources it takes nothing: alphabet and, where no
vectors are given, vocabulary are the target's.
"""

from __future__ import annotations

import torch

from adaptner.adaptation.fine_tune import fine_tune
from adaptner.adaptation.tagger import Tagger
from adaptner.errors import MethodDoesNotFit
from adaptner.methods.method import Given
from adaptner.methods.source_learner import build_encoder
from adaptner.methods.supervised import Supervised
from adaptner.nn.model import TaggingModel
from adaptner.nn.vectors import WordVectors
from adaptner.nn.words import FrozenWords
from adaptner.training.base import Base


class InDomain(Supervised):
    name = "in-domain"
    title = "In-Domain"
    paper = "MetaNER"
    needs = "nothing of the sources"
    learns = False

    def check(self, base: Base) -> None:
        super().check(base)
        tuned = base.facts["vectors"] == "given" and base.model.encoder.config.tune_words
        if tuned and base.facts["iterations"]:
            raise MethodDoesNotFit(
                method=self.name, base=base.method, reason="its word vectors know the sources"
            )

    def tagger(self, base: Base, given: Given) -> Tagger:
        generator = torch.Generator().manual_seed(given.seed)
        encoder, batcher = build_encoder(
            given.support, base.model.encoder.config, _vectors(base), given.seed, generator
        )
        model = TaggingModel(encoder, {"target": base.labels}, generator)
        own = Base(model, batcher, self.name, base.config, base.facts, base.folder)
        return fine_tune(own, given.support, self.config.adaptation, **given.options())


def _vectors(base: Base) -> WordVectors | None:
    """Those the base was made with; random ones are drawn anew, over the target's words."""
    if base.facts["vectors"] == "random":
        return None
    words = base.model.encoder.words
    if isinstance(words, FrozenWords):
        return base.batcher.vectors
    table = words.table.detach()[0, :-1].numpy()  # a loaded base has its tuned vectors here only
    return WordVectors(base.batcher.vectors.words, table)
