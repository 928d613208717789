"""The rate of Jia2019's tables, chosen without a look at their targets: CoNLL03 -> WNUT17.

    .venv/bin/python benchmarks/cross_domain_rates.py

WNUT17 plays the target: its train split is learnt from, its dev split scored, its test split never
read. One line a trial is written to docs/results/jia2019-rates.jsonl; a trial that is there is not
made again. docs/results/cross-domain.md says what was chosen.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

from adaptner.compute import prepare_process
from adaptner.corpora.corpus import group_by_domain, load_corpus
from adaptner.corpora.sources import source_domains
from adaptner.episodes import draw_sentences
from adaptner.methods import method
from adaptner.metrics.spans import score_entities
from adaptner.reproduce.tables.protocols.jia2019 import JIA
from adaptner.training.budget import Budget
from adaptner.vectors.word_vectors import read_vectors

ROOT = Path(__file__).resolve().parents[1]
SHARED = ROOT.parent / "shared"
RECORD = ROOT / "docs" / "results" / "jia2019-rates.jsonl"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=250)
    parser.add_argument("--rates", type=float, nargs="+", default=[0.03, 0.01, 0.003])
    parser.add_argument("--methods", nargs="+", default=["in-domain", "crossdomain-lm"])
    parser.add_argument("--size", type=int, default=0, help="labelled sentences; 0 for all")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    prepare_process()
    target = load_corpus(SHARED / "data/general/wnut17")
    train, dev = target.split("train"), target.split("dev")
    support = draw_sentences(train, given.size, given.seed) if given.size else list(train)
    sources = source_domains(group_by_domain([load_corpus(SHARED / "data/news/conll03")]), dev)
    vectors = read_vectors(SHARED / "vectors/glove-6b-100d.npy")
    lines = RECORD.read_text().splitlines() if RECORD.is_file() else []
    facts = ("method", "rate", "steps", "size", "seed")
    known = {tuple(json.loads(line)[f] for f in facts) for line in lines}
    for name in given.methods:
        base = method(name)(**JIA).fit(sources, Budget(0), vectors=vectors)
        for rate in given.rates:
            cell = (name, rate, given.steps, len(support), given.seed)
            if cell in known:
                continue
            adaptation = {"batch": 30, "steps": given.steps, "epochs": 0}
            chosen = method(name)(**JIA, adaptation={**adaptation, "optimiser": {"rate": rate}})
            begun = time.process_time()
            tagger = chosen.adapt(
                base,
                support,
                labels=target.labels,
                sources=sources,
                unlabelled=[s.without_entities() for s in train],
                seed=given.seed,
            )
            seconds = round(time.process_time() - begun, 1)
            found = score_entities([s.entities for s in dev], tagger.predict_sentences(dev)).overall
            f1 = round(found.f1, 4)
            line = dict(zip(facts, cell, strict=True)) | {"f1": f1, "seconds": seconds}
            with RECORD.open("a") as file:
                file.write(json.dumps(line) + "\n")
            print(line, flush=True)


if __name__ == "__main__":
    main()
