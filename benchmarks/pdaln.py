"""Compares PDALN, its parts, its weights and other methods on one target in a small setting.

    .venv/bin/python benchmarks/pdaln.py general/sec --split dev --runs d-shift pdaln0 pdaln0:text_weight=30
    .venv/bin/python benchmarks/pdaln.py general/crossner-politics --split dev --encoder minilm --runs pdaln
    .venv/bin/python benchmarks/pdaln.py news/conll03 --encoder minilm --runs d-shift --base-rate 1e-3

The source is CoNLL03 with 2,000 sentences, the encoder a BiLSTM over GloVe vectors or a transformer, and
each seed has one base. Weights are chosen on the dev splits of general/sec and of CrossNER's politics
(with its types mapped to CoNLL03's), which are no targets of the paper's tables. With CoNLL03 as target,
d-shift shows what the source stage learnt.

A run is a method, followed by 0 if it gets no labelled sentences, and by a colon and settings of its
adaptation. The output is a line of JSON per run with precision, recall and F1, and the processor seconds
of the adaptation. The bases are kept in --folder for later calls.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from common import score_tagger, shared_corpus, shared_vectors

from adaptner.compute import prepare_process
from adaptner.corpora.corpus import group_by_domain
from adaptner.corpora.sources import SourceDomain, source_domains
from adaptner.methods import method
from adaptner.methods.base import Method
from adaptner.methods.configuration import without_labels
from adaptner.methods.transformer_settings import transformer_settings
from adaptner.models.base import Base
from adaptner.models.storage import MANIFEST
from adaptner.reproduce.tables.protocols.jia2019 import JIA, VECTORS
from adaptner.reproduce.tables.protocols.pdaln import TRANSFORMER
from adaptner.training.budget import Budget
from adaptner.types import Entity, LabelSet, Sentence

COMMON = {"decoders": "shared", "k": 15, "tasks": 1, "encoder": JIA["encoder"]}
# CrossNER's types; CoNLL03 labels parties as organisations, and elections and events as MISC.
AS_CONLL = {
    **dict.fromkeys(("person", "politician"), "PER"),
    **dict.fromkeys(("location", "country"), "LOC"),
    **dict.fromkeys(("organisation", "politicalparty"), "ORG"),
    **dict.fromkeys(("misc", "event", "election"), "MISC"),
}


def with_conll_labels(sentences: Sequence[Sentence]) -> list[Sentence]:
    return [
        replace(
            s,
            entities=tuple(
                Entity(e.start, e.end, AS_CONLL.get(e.label, e.label)) for e in s.entities
            ),
        )
        for s in sentences
    ]


def parse_run(run: str) -> tuple[str, bool, dict[str, Any]]:
    """Splits ``pdaln0:text_weight=30,rounds=1`` into method, absence of labels, and settings."""
    name, _, assignments = run.partition(":")
    settings = {}
    for assignment in filter(None, assignments.split(",")):
        key, _, value = assignment.partition("=")
        try:
            settings[key] = json.loads(value)
        except json.JSONDecodeError:
            settings[key] = value
    return name.removesuffix("0"), name.endswith("0") or name == "d-shift", settings


def make_method(name: str, options: argparse.Namespace, adaptation: dict[str, Any]) -> Method:
    kind = method(name)
    if options.encoder is None:
        steps = {"batch": 32, "steps": options.steps, "epochs": 0, "optimiser": {"rate": 1e-2}}
        return kind(**COMMON, adaptation={**steps, **adaptation})
    changes: dict[str, Any] = {"k": 10}
    if options.base_rate is not None:
        changes["optimiser"] = {"rate": options.base_rate}
    if options.frozen is not None:
        changes["encoder"] = {"frozen_layers": options.frozen}
    if options.steps is not None:
        changes["adaptation"] = {"steps": options.steps}
    learner = kind(**transformer_settings(kind, options.encoder))
    for layer in (TRANSFORMER, changes, {"adaptation": adaptation}):
        learner = kind(learner.config, **layer)
    return learner


def load_or_train_base(
    name: str, options: argparse.Namespace, source: SourceDomain, seed: int
) -> Base:
    parts = [name, options.encoder, options.frozen, options.base_rate, options.iterations, seed]
    folder = options.folder / "-".join(map(str, parts))
    if not (folder / MANIFEST).is_file():
        vectors = None if options.encoder else shared_vectors(VECTORS)
        start = time.process_time()
        learner = make_method(name, options, {})
        base = learner.fit([source], Budget(options.iterations), vectors=vectors, seed=seed)
        folder.mkdir(parents=True, exist_ok=True)
        base.save(folder)
        print(json.dumps({"base": folder.name, "seconds": time.process_time() - start}))
    return Base.load(folder)


def parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("target")
    parser.add_argument("--runs", nargs="+", required=True)
    parser.add_argument("--seeds", nargs="+", type=int, default=[0])
    parser.add_argument("--size", type=int, default=100, help="labelled target sentences")
    parser.add_argument("--steps", type=int, help="default: 200 for the BiLSTM")
    parser.add_argument("--limit", type=int, help="maximum number of test sentences")
    parser.add_argument("--iterations", type=int, default=1000, help="training of the base")
    parser.add_argument("--split", default="test", help="split to score; dev for choices")
    parser.add_argument("--encoder", help="a transformer, with the settings of `reproduce pdaln/1`")
    parser.add_argument("--base-rate", type=float, help="learning rate of the base")
    parser.add_argument("--frozen", type=int, help="number of frozen transformer layers")
    parser.add_argument("--folder", type=Path, default=Path("pdaln-bases"))
    options = parser.parse_args()
    if options.encoder is None and options.steps is None:
        options.steps = 200
    return options


def main() -> None:
    options = parse_options()
    prepare_process()
    target = shared_corpus(options.target)
    test = with_conll_labels(target.split(options.split)[: options.limit])
    train = with_conll_labels(target.split("train" if "train" in target.splits else "dev"))
    labels = LabelSet.of(train)
    (domain,) = source_domains(group_by_domain([shared_corpus("news/conll03")]), test)
    for seed in options.seeds:
        corpora = {n: random.Random(seed).sample(s, 2000) for n, s in domain.corpora.items()}
        source = SourceDomain(domain.name, domain.labels, corpora, domain.sha256)
        support = random.Random(seed).sample(train, min(options.size, len(train)))
        for run in options.runs:
            name, unsupervised, settings = parse_run(run)
            base_method = "multi-cell" if name == "multi-cell" else "finetuning"
            base = load_or_train_base(base_method, options, source, seed)
            learner = make_method(name, options, settings)
            if unsupervised:
                learner = without_labels(learner)
            data: dict[str, Any] = {"labels": labels, "seed": seed}
            if learner.capabilities.reads_sources:
                data["sources"] = [source]
            if learner.capabilities.reads_text:
                data["unlabelled"] = [s.without_entities() for s in train]
            start = time.process_time()
            tagger = learner.adapt(base, [] if unsupervised else support, **data)
            seconds = time.process_time() - start
            score = score_tagger(tagger, test)
            row = {"target": options.target, "split": options.split, "run": run, "seed": seed}
            assert base.folder is not None
            row |= {"base": base.folder.name, "steps": tagger.facts["steps"]}
            row |= {n: round(getattr(score, n), 4) for n in ("precision", "recall", "f1")}
            print(json.dumps({**row, "seconds": round(seconds, 1)}), flush=True)


if __name__ == "__main__":
    main()
