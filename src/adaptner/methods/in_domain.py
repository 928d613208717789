"""In-Domain: learn from the target's sentences only (MetaNER, section 5.1.1).

The base is a new encoder or a pretrained transformer (HGDA's BioBERT row). Nothing of the sources is
used: the alphabet and, without given vectors, the vocabulary are those of the target.
"""

from __future__ import annotations

import torch

from adaptner.adaptation.fine_tune import FineTuningObjective
from adaptner.adaptation.loop import run
from adaptner.adaptation.request import AdaptRequest
from adaptner.errors import IncompatibleMethod
from adaptner.methods.families.supervised import SupervisedMethod
from adaptner.models.base import Base
from adaptner.models.tagger import Tagger
from adaptner.nn.batching.word_batch import WordBatcher
from adaptner.nn.encoders.config import TransformerConfig
from adaptner.nn.encoders.embeddings import FrozenEmbeddings
from adaptner.nn.encoders.recurrent import RecurrentEncoder
from adaptner.nn.encoders.registry import new_encoder
from adaptner.nn.model import ModelShape, TaggingModel
from adaptner.vectors.word_vectors import WordVectors


class InDomain(SupervisedMethod):
    name = "in-domain"
    title = "In-Domain"
    paper = "MetaNER"
    needs = "no source corpora"
    trains_base = False

    def min_domains(self) -> int:
        """A pretrained transformer needs no domain to be a base."""
        return 0 if isinstance(self.config.encoder, TransformerConfig) else 1

    def check(self, base: Base) -> None:
        super().check(base)
        encoder = base.model.encoder
        reason = "its encoder was trained on the sources"
        if isinstance(encoder, RecurrentEncoder):  # ``tagger`` makes a new one
            if base.facts["vectors"] != "given" or not encoder.config.tune_words:
                return
            reason = "its word vectors were trained on the sources"
        if base.facts["iterations"]:
            raise IncompatibleMethod(method=self.name, base=base.method, reason=reason)

    def tagger(self, base: Base, request: AdaptRequest) -> Tagger:
        generator = torch.Generator().manual_seed(request.seed)
        encoder, batcher = base.model.encoder, base.batcher
        if isinstance(encoder, RecurrentEncoder):
            encoder, batcher = new_encoder(
                encoder.config, request.support, _vectors(base, encoder), request.seed, generator
            )
            encoder.to(base.model.encoder.device)
        shape = ModelShape(decoder=base.model.shape.decoder)
        model = TaggingModel(encoder, {"target": base.labels}, generator, shape)
        new = Base(model, batcher, self.name, base.config, base.facts, base.folder)
        return run(FineTuningObjective(new, request, self.config.adaptation))


def _vectors(base: Base, encoder: RecurrentEncoder) -> WordVectors | None:
    """The vectors that the base was made with; None if they were random, to draw new ones."""
    if base.facts["vectors"] == "random":
        return None
    assert isinstance(base.batcher, WordBatcher)
    vectors = base.batcher.vectors
    if isinstance(encoder.words, FrozenEmbeddings):
        return vectors
    # In a loaded base, trained vectors are in the encoder only.
    table = encoder.words.table.detach()[0, :-1].cpu().numpy()
    return WordVectors(vectors.words, table)
