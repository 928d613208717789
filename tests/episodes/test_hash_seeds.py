"""Tests that draws and training do not depend on Python's hash seed."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

SCRIPT = """
import json, random, sys, tempfile
from pathlib import Path
import torch
torch.set_num_threads(1)
from adaptner.episodes import TaskSource, draw_sentences
from adaptner.methods.hgda import HGDA
from adaptner.corpora.sources import SourceDomain
from adaptner.training.budget import Budget
from adaptner.training.loop import TrainingRun
from adaptner.types import LabelSet, Sentence

def corpus(label, other):
    return [Sentence.from_tokens(
        [f"{label}{i % 5}", "of", "the", f"{other}{i}"], ["B-" + label, "I-" + label, "O", "B-" + other])
        for i in range(12)]

corpora = {n: corpus(n, o) for n, o in (("gene", "cell"), ("drug", "dose"), ("species", "organ"))}
sources = [SourceDomain(n, LabelSet.of(s), {n: s}, {}) for n, s in corpora.items()]
source, rng = TaskSource([d.corpora for d in sources], 2), random.Random(1)
tasks = [source.sample(rng) for _ in range(5)]
small = dict(word_width=4, char_embedding=3, char_cnn_filters=2, char_lstm=4, hidden=3)
with tempfile.TemporaryDirectory() as folder:
    base = HGDA(k=2, encoder=small).fit(sources, Budget(2), seed=1, run=TrainingRun(folder=Path(folder)))
    losses = [json.loads(line)["loss"].hex() for line in open(Path(folder) / "metrics.jsonl")]
print(json.dumps({
    "draw": [s.text for s in draw_sentences(corpora["gene"], 5, 3)],
    "tasks": [[t.domain, t.corpus, [s.text for s in t.support + t.query]] for t in tasks],
    "words": base.batcher.vectors.words,
    "alphabet": base.batcher.alphabet,
    "losses": losses,
    "hash": hash("adaptner"),
}))
"""


@pytest.mark.slow
@pytest.mark.processes
def test_result_is_independent_of_the_hash_seed(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT, encoding="utf-8")
    processes = [
        subprocess.Popen(
            [sys.executable, str(script)],
            env={**os.environ, "PYTHONHASHSEED": seed},
            stdout=subprocess.PIPE,
            text=True,
        )
        for seed in ("1", "2")
    ]
    one, two = (json.loads(p.communicate(timeout=600)[0]) for p in processes)
    assert one.pop("hash") != two.pop("hash")  # the hash seeds took effect
    assert one == two
    assert len(one["losses"]) == 2
    assert len(one["words"]) > 5
