"""Jia2019's network: one input layer, a generated recurrent layer for every domain and task, and the
output layers of two tasks, NER and language modelling (Figure 2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Generator, Tensor, nn
from torch.func import functional_call

from adaptner.methods.crossdomain_lm.parameter_generator import ParameterGenerator
from adaptner.nn.batching.batch import Batch
from adaptner.nn.decoders.crf import CRF
from adaptner.nn.encoders.active_vocabulary import restrict_batch, rows_in_use
from adaptner.nn.encoders.embeddings import TrainableEmbeddings
from adaptner.nn.encoders.recurrent import RecurrentEncoder
from adaptner.nn.losses.sampled_softmax import (
    EmbeddingRows,
    LanguageModelInput,
    OutputWordTable,
    embedded_words,
    language_model_loss,
)
from adaptner.nn.model import TaggingModel

NER, LM = 0, 1  # the tasks, as the generator numbers them


@dataclass(frozen=True)
class DomainTaskStep:
    """One of the tasks of a step. ``domain`` numbers the embedding I_domain; ``decoder`` is the domain
    of the model whose CRF is used."""

    domain: int
    task: int
    weight: float = 1.0
    decoder: int = 0


class CrossDomainNetwork(nn.Module):
    """The recurrent layer of ``model`` is not used in learning: it is where a generated one is put at
    the end (``settle``)."""

    def __init__(
        self, model: TaggingModel, recurrent: ParameterGenerator, words: OutputWordTable | None
    ) -> None:
        super().__init__()
        self.model = model
        self.recurrent = recurrent
        self.words = words

    @property
    def encoder(self) -> RecurrentEncoder:
        assert isinstance(self.model.encoder, RecurrentEncoder)
        return self.model.encoder

    def losses(
        self,
        turns: Sequence[DomainTaskStep],
        batch: Batch,
        readings: Sequence[LanguageModelInput | None],
        noise: Generator | None = None,
    ) -> tuple[list[Tensor], list[EmbeddingRows]]:
        """The unweighted loss of every turn, all at the parameters as they are (Algorithm 1, lines 3
        to 16): tasks run side by side, which is what taking turns before one update comes to."""
        leaves: list[EmbeddingRows] = []
        states = self._states(turns, batch, leaves, noise)
        # A wide φ reads the words beside as well: those are what a language model is to guess.
        guessing = states[..., : self.encoder.recurrent.width]
        known = table = None
        if any(reading is not None for reading in readings):
            assert self.words is not None
            known = embedded_words(readings)
            table = EmbeddingRows.of(self.words.table, known)
            leaves.append(table)
        found = []
        for place, (turn, reading) in enumerate(zip(turns, readings, strict=True)):
            if reading is None:
                found.append(self._label_loss(turn, states, batch, place))
            else:
                assert table is not None
                assert known is not None
                found.append(
                    language_model_loss(
                        guessing[place],
                        reading.words,
                        batch.mask[place],
                        table.values,
                        known,
                        reading.negatives,
                    )
                )
        return found, leaves

    def _states(
        self,
        turns: Sequence[DomainTaskStep],
        batch: Batch,
        leaves: list[EmbeddingRows],
        noise: Generator | None,
    ) -> Tensor:
        encoder, count = self.encoder, len(turns)
        parameters = {
            f"recurrent.{name}": values
            for name, values in self.recurrent([(t.domain, t.task) for t in turns]).items()
        }
        rows = rows_in_use(encoder, [batch])
        for name, p in encoder.named_parameters():
            if name in parameters:
                continue
            values: Tensor = p
            if isinstance(encoder.words, TrainableEmbeddings) and p is encoder.words.table:
                assert rows is not None
                leaves.append(EmbeddingRows.of(p, rows))
                values = leaves[-1].values[None]
            parameters[name] = values.expand(count, *values.shape[1:])
        return functional_call(encoder, parameters, (restrict_batch(batch, rows), noise))

    def _label_loss(self, turn: DomainTaskStep, states: Tensor, batch: Batch, place: int) -> Tensor:
        """Eq. 7: averaged over sentences."""
        assert batch.tags is not None
        decoder = self.model.decoder_of(turn.decoder)
        assert isinstance(decoder, CRF)
        here = slice(place, place + 1)
        longest = int(batch.mask[place].sum(-1).max())  # of this turn: others may have longer ones
        cut = (here, slice(None), slice(longest))
        return decoder(states[cut], batch.tags[cut], batch.mask[cut]).mean()

    @torch.no_grad()
    def settle(self, domain: int, task: int = NER) -> None:
        """The encoder's own recurrent layer becomes the one of a domain and task."""
        generated = self.recurrent([(domain, task)])
        for name, p in self.encoder.recurrent.named_parameters():
            p.copy_(generated[name])
