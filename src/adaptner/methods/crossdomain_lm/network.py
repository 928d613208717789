"""Jia2019's network (Figure 2): one input layer, a generated recurrent layer for every domain and task,
and the output layers of two tasks, NER and language modelling."""

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
    """One of the tasks of a step.

    ``domain`` is the row of the domain embedding I_domain, ``decoder`` the domain of the model whose
    CRF is used."""

    domain: int
    task: int
    weight: float = 1.0
    decoder: int = 0


class CrossDomainNetwork(nn.Module):
    """The recurrent layer of ``model`` takes no part in training; ``install_generated`` puts a generated
    one in its place in the end."""

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
        tasks: Sequence[DomainTaskStep],
        batch: Batch,
        inputs: Sequence[LanguageModelInput | None],
        noise: Generator | None = None,
    ) -> tuple[list[Tensor], list[EmbeddingRows]]:
        """The unweighted loss of every task (Algorithm 1, lines 3 to 16), and the rows of the word
        tables that they depend on.

        The tasks run side by side, which is equivalent to one after the other before one update.
        ``inputs`` is None for NER."""
        tables: list[EmbeddingRows] = []
        states = self._states(tasks, batch, tables, noise)
        # Lexical features follow the recurrent states. They contain the neighbouring words, which the
        # language models are to predict.
        lm_states = states[..., : self.encoder.recurrent.width]
        lm_words = output_table = None
        if any(each is not None for each in inputs):
            assert self.words is not None
            lm_words = embedded_words(inputs)
            output_table = EmbeddingRows.of(self.words.table, lm_words)
            tables.append(output_table)
        losses = []
        for place, (task, lm_input) in enumerate(zip(tasks, inputs, strict=True)):
            if lm_input is None:
                losses.append(self._label_loss(task, states, batch, place))
                continue
            assert output_table is not None
            assert lm_words is not None
            losses.append(
                language_model_loss(
                    lm_states[place],
                    lm_input.words,
                    batch.mask[place],
                    output_table.values,
                    lm_words,
                    lm_input.negatives,
                )
            )
        return losses, tables

    def _states(
        self,
        tasks: Sequence[DomainTaskStep],
        batch: Batch,
        tables: list[EmbeddingRows],
        noise: Generator | None,
    ) -> Tensor:
        """The encoder's states of each task; adds the rows in use of its word table to ``tables``."""
        encoder, count = self.encoder, len(tasks)
        parameters = {
            f"recurrent.{name}": values
            for name, values in self.recurrent([(t.domain, t.task) for t in tasks]).items()
        }
        rows = rows_in_use(encoder, [batch])
        for name, p in encoder.named_parameters():
            if name in parameters:
                continue
            values: Tensor = p
            if isinstance(encoder.words, TrainableEmbeddings) and p is encoder.words.table:
                assert rows is not None
                tables.append(EmbeddingRows.of(p, rows))
                values = tables[-1].values[None]
            parameters[name] = values.expand(count, *values.shape[1:])
        return functional_call(encoder, parameters, (restrict_batch(batch, rows), noise))

    def _label_loss(self, task: DomainTaskStep, states: Tensor, batch: Batch, place: int) -> Tensor:
        """Eq. 7, averaged over sentences."""
        assert batch.tags is not None
        decoder = self.model.decoder_of(task.decoder)
        assert isinstance(decoder, CRF)
        # Other tasks may have longer sentences, to whose length this one's are padded.
        longest = int(batch.mask[place].sum(-1).max())
        part = (slice(place, place + 1), slice(None), slice(longest))
        return decoder(states[part], batch.tags[part], batch.mask[part]).mean()

    @torch.no_grad()
    def install_generated(self, domain: int, task: int = NER) -> None:
        """Copy the generated parameters of a domain and task into the encoder's recurrent layer."""
        generated = self.recurrent([(domain, task)])
        for name, p in self.encoder.recurrent.named_parameters():
            p.copy_(generated[name])
