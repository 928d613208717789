"""In-Domain: the target's own sentences and nothing else (paper 002, 5.1.1).

Its "base" is an encoder as it was made, or a pretrained transformer as it is (HGDA's BioBERT row). Of the sources it takes nothing: alphabet and, where no
vectors are given, vocabulary are the target's.
"""

from __future__ import annotations

import torch

from adaptner.adaptation.fine_tune import fine_tune
from adaptner.adaptation.request import AdaptRequest
from adaptner.errors import IncompatibleMethod
from adaptner.methods.families.supervised import SupervisedMethod
from adaptner.models.base import Base
from adaptner.models.tagger import Tagger
from adaptner.nn.batching.word_batch import WordBatcher
from adaptner.nn.encoders.embeddings import FrozenEmbeddings
from adaptner.nn.encoders.recurrent import RecurrentEncoder
from adaptner.nn.encoders.registry import new_encoder
from adaptner.nn.encoders.transformer.encoder import TransformerConfig
from adaptner.nn.model import ModelShape, TaggingModel
from adaptner.vectors.word_vectors import WordVectors


class InDomain(SupervisedMethod):
    name = "in-domain"
    title = "In-Domain"
    paper = "MetaNER"
    needs = "nothing of the sources"
    learns = False

    def least_domains(self) -> int:
        """A pretrained transformer is a base without any."""
        return 0 if isinstance(self.config.encoder, TransformerConfig) else 1

    def check(self, base: Base) -> None:
        super().check(base)
        encoder = base.model.encoder
        what = "encoder"
        if isinstance(encoder, RecurrentEncoder):  # which is made anew
            if base.facts["vectors"] != "given" or not encoder.config.tune_words:
                return
            what = "word vectors"
        if base.facts["iterations"]:
            know = "know" if what.endswith("s") else "knows"
            raise IncompatibleMethod(
                method=self.name, base=base.method, reason=f"its {what} {know} the sources"
            )

    def tagger(self, base: Base, given: AdaptRequest) -> Tagger:
        generator = torch.Generator().manual_seed(given.seed)
        encoder, batcher = base.model.encoder, base.batcher
        if isinstance(encoder, RecurrentEncoder):
            encoder, batcher = new_encoder(
                encoder.config, given.support, _vectors(base, encoder), given.seed, generator
            )
        shape = ModelShape(decoder=base.model.shape.decoder)
        model = TaggingModel(encoder, {"target": base.labels}, generator, shape)
        own = Base(model, batcher, self.name, base.config, base.facts, base.folder)
        return fine_tune(own, given.support, self.config.adaptation, **given.options())


def _vectors(base: Base, encoder: RecurrentEncoder) -> WordVectors | None:
    """Those the base was made with; random ones are drawn anew, over the target's words."""
    if base.facts["vectors"] == "random":
        return None
    assert isinstance(base.batcher, WordBatcher)
    vectors = base.batcher.vectors
    if isinstance(encoder.words, FrozenEmbeddings):
        return vectors
    # a loaded base has its tuned vectors here only
    table = encoder.words.table.detach()[0, :-1].numpy()
    return WordVectors(vectors.words, table)
