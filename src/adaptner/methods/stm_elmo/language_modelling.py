"""A two-directional language model learns from raw text, by guessing the next word and the one before
(Peters et al. 2018, with the sampled softmax of ``nn/losses/sampled_softmax.py``)."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import islice

import torch
from torch import nn

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
from adaptner.types import Sentence


class _Learner(nn.Module):
    def __init__(self, model: BidirectionalLM, words: OutputWordTable) -> None:
        super().__init__()
        self.model = model
        self.words = words


def learn_language_model(
    model: BidirectionalLM,
    batcher: Batcher,
    text: SentenceStream,
    budget: Budget,
    *,
    optimiser: OptimiserConfig,
    batch: int,
    negatives: int,
    vocabulary: int,
    seed: int = 0,
    run: TrainingRun | None = None,
) -> None:
    """``model`` is changed in place; the table of the words it guesses is left behind. ``batch``
    sentences a step, ``negatives`` drawn for each, of at most ``vocabulary`` words."""
    known = Vocabulary.of([text], most=vocabulary)
    draws = NegativeSampler(known.counts[0])
    generator = torch.Generator().manual_seed(seed)
    learner = _Learner(model, OutputWordTable(len(known), model.width // 2, generator))
    table = learner.words.table
    rates = Optimiser(learner.parameters(), optimiser, sparse=[table], fused=True)
    state = TrainingState(learner, rates, random.Random(seed), generator)
    stream: Iterator[list[Sentence]] | None = None

    def iterate(iteration: int) -> StepMetrics:
        nonlocal stream
        if stream is None:  # a resumed run goes on in the text where it stopped
            batches = endless_batches(text, batch, random.Random(f"{seed} text"))
            stream = islice(batches, iteration - 1, None)
        sentences = next(stream)
        made = batcher([sentences])
        reading = LanguageModelInput(
            known.numbers(sentences, made, 0), draws.draw(negatives, state.noise)
        )
        rows = embedded_words([reading])
        leaf = EmbeddingRows.of(table, rows)
        states = model(made, state.noise)[-1][0]
        loss = language_model_loss(
            states, reading.words, made.mask[0], leaf.values, rows, reading.negatives
        )
        loss.backward()
        assert leaf.values.grad is not None
        table.grad = sparse_rows(table, rows, leaf.values.grad)
        value = float(loss.detach())
        tokens = int(made.mask.sum()) / len(sentences)  # the loss is a sum over tokens
        perplexity = float(torch.exp(loss.detach() / tokens))
        return StepMetrics(value, {"perplexity": perplexity}, f"perplexity {perplexity:.1f}")

    run_training(state, iterate, budget, run or TrainingRun())
