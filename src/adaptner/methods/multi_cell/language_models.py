"""The two language models that replace the target's labels in unsupervised Multi-Cell."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Generator, Tensor, nn

from adaptner.adaptation.batch_encoding import EncodedBatch
from adaptner.methods.multi_cell.config import MultiCellTuneConfig
from adaptner.nn.losses.sampled_softmax import (
    UNKNOWN,
    LanguageModelInput,
    NegativeSampler,
    OutputWordTable,
    embedded_words,
    language_model_loss,
)
from adaptner.training.vocabulary import Vocabulary
from adaptner.types import Sentence


class LanguageModels(nn.Module):
    """A language model for each of ``texts``, over one table of the words of all of them."""

    def __init__(
        self,
        texts: Sequence[Sequence[Sentence]],
        width: int,
        config: MultiCellTuneConfig,
        generator: Generator,
    ) -> None:
        super().__init__()
        self.vocabulary = Vocabulary.of(texts, max_words=config.vocabulary)
        self.words = OutputWordTable(len(self.vocabulary), width // 2, generator)
        self._samplers = [NegativeSampler(counts) for counts in self.vocabulary.counts]
        self._negatives, self._generator = config.negatives, generator

    def forward(
        self, batches: Sequence[EncodedBatch], lists: Sequence[Sequence[Sentence]]
    ) -> Tensor:
        """The sum of the losses (Jia2019, eq. 8) of a batch of each text; ``lists`` are the sentences
        of ``batches``."""
        total = self.words.table.new_zeros(())
        for batch, sentences, sampler in zip(batches, lists, self._samplers, strict=True):
            inputs = LanguageModelInput(
                self._word_numbers(batch, sentences),
                sampler.draw(self._negatives, self._generator).to(batch.mask.device),
            )
            rows = embedded_words([inputs])
            total = total + language_model_loss(
                batch.states[0],
                inputs.words,
                batch.mask[0],
                self.words.table[rows],
                rows,
                inputs.negatives,
            )
        return total

    def _word_numbers(self, batch: EncodedBatch, sentences: Sequence[Sentence]) -> Tensor:
        mask = batch.mask[0]
        numbers = torch.zeros_like(mask, dtype=torch.long)
        index = self.vocabulary.number
        numbers[mask] = numbers.new_tensor(
            [index.get(word, UNKNOWN) for s in sentences for word in s.tokens]
        )
        return numbers
