"""PDALN, its parts, its weights and its rivals on one target, small: CoNLL03 cut to 2,000 sentences,
BiLSTM over GloVe, one base a seed.

    .venv/bin/python benchmarks/pdaln.py general/sec --runs d-shift pdaln0 pdaln0:text_weight=30
    .venv/bin/python benchmarks/pdaln.py general/wnut16-conll --runs finetuning pdaln --seeds 0 1 2

Weights are chosen on general/sec, which is no target of the paper's tables; the paper's targets only report.
A run is a method, with 0 behind its name for no labelled sentence, and settings of adaptation behind a
colon. Every draw is a line of JSON, with precision, recall and F1 on the whole test split and the processor
seconds of adapting; the bases are kept in --folder, so that a second call goes on with them.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import time
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

from adaptner.corpora.corpus import group_by_domain, load_corpus
from adaptner.evaluation.scorer import score_entities
from adaptner.methods import method
from adaptner.methods.configuration import without_labels
from adaptner.methods.method import SourceDomain, source_domains
from adaptner.nn.vectors import read_vectors
from adaptner.training.base import Base
from adaptner.training.budget import Budget
from adaptner.training.settings import prepare_process

SHARED = Path(__file__).resolve().parents[2] / "shared"
COMMON: dict[str, Any] = {
    "decoders": "shared",
    "k": 15,
    "tasks": 1,
    "encoder": {
        "tune_words": True,
        "char_embedding": 30,
        "char_cnn_widths": [3],
        "char_cnn_filters": 50,
        "char_lstm": 0,
        "recurrent": "lstm",
        "hidden": 100,
        "dropout": 0.5,
    },
}


def parsed(run: str) -> tuple[str, bool, dict[str, Any]]:
    """``pdaln0:text_weight=30,rounds=1`` -> pdaln, no labels, settings."""
    name, _, told = run.partition(":")
    settings = {}
    for part in filter(None, told.split(",")):
        key, _, value = part.partition("=")
        try:
            settings[key] = json.loads(value)
        except json.JSONDecodeError:
            settings[key] = value
    zero = name.endswith("0") or name == "d-shift"
    return name.removesuffix("0"), zero, settings


def base_of(learner: str, source: SourceDomain, folder: Path, seed: int, iterations: int) -> Base:
    if not (folder / "manifest.json").is_file():
        vectors = read_vectors(SHARED / "vectors/glove-6b-100d.npy")
        made = method(learner)(**COMMON).fit(
            [source], Budget(iterations), vectors=vectors, seed=seed
        )
        folder.mkdir(parents=True, exist_ok=True)
        made.save(folder)
    return Base.load(folder)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("target")
    parser.add_argument("--runs", nargs="+", required=True)
    parser.add_argument("--seeds", nargs="+", type=int, default=[0])
    parser.add_argument("--size", type=int, default=100)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--iterations", type=int, default=1000)
    parser.add_argument("--folder", type=Path, default=Path("pdaln-bases"))
    told = parser.parse_args()
    prepare_process()
    target = load_corpus(SHARED / "data" / told.target)
    test = target.split("test")
    train = list(target.split("train" if "train" in target.splits else "dev"))
    (domain,) = source_domains(group_by_domain([load_corpus(SHARED / "data/news/conll03")]), test)
    for seed in told.seeds:
        cut = {n: random.Random(seed).sample(s, 2000) for n, s in domain.corpora.items()}
        source = SourceDomain(domain.name, domain.labels, cut, domain.sha256)
        support = random.Random(seed).sample(train, min(told.size, len(train)))
        for run in told.runs:
            name, zero, settings = parsed(run)
            learner = "multi-cell" if name == "multi-cell" else "finetuning"
            place = told.folder / f"{told.target.replace('/', '-')}-{learner}-{seed}"
            base = base_of(learner, source, place, seed, told.iterations)
            steps = {"batch": 32, "steps": told.steps, "epochs": 0, "optimiser": {"rate": 1e-2}}
            chosen = method(name)(**COMMON, adaptation={**steps, **settings})
            chosen = without_labels(chosen) if zero else chosen
            begun = time.process_time()
            tagger = chosen.adapt(
                base,
                [] if zero else support,
                labels=target.labels,
                sources=[source] if chosen.joint else (),
                unlabelled=[s.bare() for s in train] if chosen.unlabelled else (),
                seed=seed,
            )
            spent = time.process_time() - begun
            found = tagger.predict_sentences([s.bare() for s in test])
            score = score_entities([s.entities for s in test], found).overall
            row = {"target": told.target, "run": run, "seed": seed, "steps": tagger.facts["steps"]}
            row |= {n: round(getattr(score, n), 4) for n in ("precision", "recall", "f1")}
            print(json.dumps({**row, "seconds": round(spent, 1)}), flush=True)


if __name__ == "__main__":
    main()
