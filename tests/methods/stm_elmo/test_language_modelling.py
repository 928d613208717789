"""Training of the bidirectional language model on raw text."""

from __future__ import annotations

import copy
import json

import pytest
import torch

from adaptner.corpora.bundled import bundled_corpus
from adaptner.corpora.sentence_stream import SentenceStream
from adaptner.methods.stm_elmo.algorithm import ContextualConfig
from adaptner.methods.stm_elmo.bidirectional_lm import BidirectionalLM
from adaptner.methods.stm_elmo.language_modelling import learn_language_model
from adaptner.nn.batching.word_batch import WordBatcher, alphabet_of
from adaptner.training.budget import Budget
from adaptner.training.loop import METRICS, TrainingRun
from adaptner.training.optimiser import OptimiserConfig
from adaptner.vectors.word_vectors import WordVectors

RATE = OptimiserConfig(name="adamw", rate=1e-2)


@pytest.fixture(scope="module")
def start() -> tuple[BidirectionalLM, WordBatcher, SentenceStream]:
    torch.set_num_threads(1)
    sentences = [s.without_entities() for s in bundled_corpus("gene").split("train")]
    batcher = WordBatcher(WordVectors(("x",), torch.zeros(1, 2).numpy()), alphabet_of(sentences))
    model = BidirectionalLM(len(batcher.alphabet) + 2, 12, torch.Generator().manual_seed(0))
    return model, batcher, SentenceStream((sentences,))


def learn(
    start: tuple[BidirectionalLM, WordBatcher, SentenceStream], run: TrainingRun, steps: int
) -> BidirectionalLM:
    model, batcher, text = start
    trained = copy.deepcopy(model)
    config = ContextualConfig(lm_optimiser=RATE, lm_batch=12, negatives=50, vocabulary=500)
    learn_language_model(trained, batcher, text, Budget(steps), config, seed=2, run=run)
    return trained


def test_perplexity_falls_and_all_parameters_change(start, tmp_path):
    trained = learn(start, TrainingRun(tmp_path), 40)
    lines = (tmp_path / METRICS).read_text().splitlines()
    found = [json.loads(line)["perplexity"] for line in lines]
    assert len(found) == 40
    assert sum(found[-5:]) < 0.7 * sum(found[:5])
    for (name, p), before in zip(trained.named_parameters(), start[0].parameters(), strict=True):
        assert not torch.equal(p, before), name
