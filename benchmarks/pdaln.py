"""PDALN, its parts, its weights and its rivals on one target, small: CoNLL03 cut to 2,000 sentences,
BiLSTM over GloVe or a transformer, one base a seed.

    .venv/bin/python benchmarks/pdaln.py general/sec --split dev --runs d-shift pdaln0 pdaln0:text_weight=30
    .venv/bin/python benchmarks/pdaln.py general/crossner-politics --split dev --encoder minilm --runs pdaln
    .venv/bin/python benchmarks/pdaln.py news/conll03 --encoder minilm --runs d-shift --base-rate 1e-3

Weights are chosen on the dev splits of general/sec and of CrossNER's politics, its types read as
CoNLL03's: no targets of the paper's tables. On CoNLL03 itself, d-shift says what the source stage learnt.
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
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

from adaptner.compute import prepare_process
from adaptner.corpora.corpus import group_by_domain, load_corpus
from adaptner.corpora.sources import SourceDomain, source_domains
from adaptner.methods import method
from adaptner.methods.base import Method
from adaptner.methods.configuration import without_labels
from adaptner.methods.transformer_settings import transformer_settings
from adaptner.metrics.spans import score_entities
from adaptner.models.base import Base
from adaptner.reproduce.tables.protocols.pdaln import TRANSFORMER
from adaptner.training.budget import Budget
from adaptner.types import Entity, LabelSet, Sentence
from adaptner.vectors.word_vectors import read_vectors

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
# CrossNER's types; CoNLL03 has parties among the organisations, elections and events among the rest.
AS_CONLL = {
    **dict.fromkeys(("person", "politician"), "PER"),
    **dict.fromkeys(("location", "country"), "LOC"),
    **dict.fromkeys(("organisation", "politicalparty"), "ORG"),
    **dict.fromkeys(("misc", "event", "election"), "MISC"),
}


def as_conll(sentences: Sequence[Sentence]) -> list[Sentence]:
    return [
        replace(
            s,
            entities=tuple(
                Entity(e.start, e.end, AS_CONLL.get(e.label, e.label)) for e in s.entities
            ),
        )
        for s in sentences
    ]


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


def made(name: str, told: argparse.Namespace, adaptation: dict[str, Any]) -> Method:
    if told.encoder is None:
        steps = {"batch": 32, "steps": told.steps, "epochs": 0, "optimiser": {"rate": 1e-2}}
        return method(name)(**COMMON, adaptation={**steps, **adaptation})
    kind = method(name)
    found = kind(**transformer_settings(kind, told.encoder))
    changed: dict[str, Any] = {"k": 10}
    if told.base_rate is not None:
        changed["optimiser"] = {"rate": told.base_rate}
    if told.frozen is not None:
        changed["encoder"] = {"frozen_layers": told.frozen}
    if told.steps is not None:
        changed["adaptation"] = {"steps": told.steps}
    for layer in (TRANSFORMER, changed, {"adaptation": adaptation}):
        found = kind(found.config, **layer)
    return found


def base_of(
    learner: Method, source: SourceDomain, folder: Path, seed: int, iterations: int
) -> Base:
    if not (folder / "manifest.json").is_file():
        transformer = learner.config.encoder.kind == "transformer"  # type: ignore[attr-defined]
        vectors = None if transformer else read_vectors(SHARED / "vectors/glove-6b-100d.npy")
        begun = time.process_time()
        base = learner.fit([source], Budget(iterations), vectors=vectors, seed=seed)
        folder.mkdir(parents=True, exist_ok=True)
        base.save(folder)
        print(json.dumps({"base": folder.name, "seconds": time.process_time() - begun}))
    return Base.load(folder)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("target")
    parser.add_argument("--runs", nargs="+", required=True)
    parser.add_argument("--seeds", nargs="+", type=int, default=[0])
    parser.add_argument("--size", type=int, default=100)
    parser.add_argument("--steps", type=int)
    parser.add_argument("--limit", type=int, help="score only so many sentences")
    parser.add_argument("--iterations", type=int, default=1000)
    parser.add_argument("--split", default="test", help="dev to choose by")
    parser.add_argument("--encoder", help="a transformer, with the settings of `reproduce pdaln/1`")
    parser.add_argument("--base-rate", type=float, help="of learning the source")
    parser.add_argument("--frozen", type=int, help="layers of the transformer")
    parser.add_argument("--folder", type=Path, default=Path("pdaln-bases"))
    told = parser.parse_args()
    if told.encoder is None and told.steps is None:
        told.steps = 200
    prepare_process()
    target = load_corpus(SHARED / "data" / told.target)
    test = as_conll(target.split(told.split)[: told.limit])
    train = as_conll(target.split("train" if "train" in target.splits else "dev"))
    labels = LabelSet.of(train)
    (domain,) = source_domains(group_by_domain([load_corpus(SHARED / "data/news/conll03")]), test)
    for seed in told.seeds:
        cut = {n: random.Random(seed).sample(s, 2000) for n, s in domain.corpora.items()}
        source = SourceDomain(domain.name, domain.labels, cut, domain.sha256)
        support = random.Random(seed).sample(train, min(told.size, len(train)))
        for run in told.runs:
            name, zero, settings = parsed(run)
            learner = "multi-cell" if name == "multi-cell" else "finetuning"
            kept = [told.encoder, told.frozen, told.base_rate, told.iterations]
            place = told.folder / "-".join(str(part) for part in (learner, *kept, seed))
            base = base_of(made(learner, told, {}), source, place, seed, told.iterations)
            chosen = made(name, told, settings)
            chosen = without_labels(chosen) if zero else chosen
            begun = time.process_time()
            tagger = chosen.adapt(
                base,
                [] if zero else support,
                labels=labels,
                sources=[source] if chosen.capabilities.reads_sources else (),
                unlabelled=[s.without_entities() for s in train]
                if chosen.capabilities.reads_text
                else (),
                seed=seed,
            )
            spent = time.process_time() - begun
            found = tagger.predict_sentences([s.without_entities() for s in test])
            score = score_entities([s.entities for s in test], found).overall
            row = {"target": told.target, "split": told.split, "run": run, "seed": seed}
            row |= {"base": place.name, "steps": tagger.facts["steps"]}
            row |= {n: round(getattr(score, n), 4) for n in ("precision", "recall", "f1")}
            print(json.dumps({**row, "seconds": round(spent, 1)}), flush=True)


if __name__ == "__main__":
    main()
