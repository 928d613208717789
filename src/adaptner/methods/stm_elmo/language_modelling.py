"""Training of a bidirectional language model on raw text: it predicts the next and the previous word
(Peters et al. 2018, with the sampled softmax of ``nn/losses/sampled_softmax.py``)."""

from __future__ import annotations

import random
from typing import Protocol

import torch
from torch import nn

from adaptner.compute import noise_generator
from adaptner.corpora.sentence_stream import SentenceStream, endless_batches
from adaptner.methods.stm_elmo.bidirectional_lm import BidirectionalLM
from adaptner.nn.batching.batch import Batcher
from adaptner.nn.losses.sampled_softmax import (
    EmbeddingRows,
    LanguageModelInput,
    NegativeSampler,
    OutputWordTable,
    embedded_words,
    language_model_loss,
)
from adaptner.training.budget import Budget
from adaptner.training.checkpoint import TrainingState
from adaptner.training.loop import StepMetrics, TrainingRun, run_training
from adaptner.training.optimiser import Optimiser, OptimiserConfig, sparse_rows
from adaptner.training.vocabulary import Vocabulary


class LanguageModelConfig(Protocol):
    """The settings that ``learn_language_model`` reads."""

    @property
    def lm_optimiser(self) -> OptimiserConfig: ...
    @property
    def lm_batch(self) -> int: ...
    @property
    def negatives(self) -> int: ...
    @property
    def vocabulary(self) -> int: ...


def learn_language_model(
    model: BidirectionalLM,
    batcher: Batcher,
    text: SentenceStream,
    budget: Budget,
    config: LanguageModelConfig,
    *,
    seed: int = 0,
    run: TrainingRun | None = None,
) -> None:
    """Train ``model`` in place. The table of the words that it predicts is discarded."""
    vocabulary = Vocabulary.of([text], max_words=config.vocabulary)
    sampler = NegativeSampler(vocabulary.counts[0])
    generator = torch.Generator().manual_seed(seed)
    words = OutputWordTable(len(vocabulary), model.width // 2, generator)
    device = next(model.parameters()).device
    learner = nn.ModuleDict({"model": model, "words": words}).to(device)
    table = words.table
    optimiser = Optimiser(learner.parameters(), config.lm_optimiser, sparse=[table], fused=True)
    noise = noise_generator(generator, device)
    state = TrainingState(learner, optimiser, random.Random(seed), noise)
    batches = endless_batches(text, config.lm_batch, random.Random(f"{seed} text"))

    def iterate(iteration: int) -> StepMetrics:
        sentences = next(batches)
        batch = batcher([sentences]).to(device)
        inputs = LanguageModelInput(
            vocabulary.numbers(sentences, batch, 0),
            sampler.draw(config.negatives, generator).to(device),
        )
        rows = embedded_words([inputs])
        output = EmbeddingRows.of(table, rows)
        states = model(batch, state.noise)[-1][0]
        loss = language_model_loss(
            states, inputs.words, batch.mask[0], output.values, rows, inputs.negatives
        )
        loss.backward()
        assert output.values.grad is not None
        table.grad = sparse_rows(table, rows, output.values.grad)
        tokens = int(batch.mask.sum()) / len(sentences)  # the loss is a sum over tokens
        perplexity = float(torch.exp(loss.detach() / tokens))
        metrics = {"perplexity": perplexity}
        return StepMetrics(float(loss.detach()), metrics, f"perplexity {perplexity:.1f}")

    run_training(state, iterate, budget, run or TrainingRun())
