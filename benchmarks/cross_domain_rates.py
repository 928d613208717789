"""Compares learning rates for Jia2019's tables on CoNLL03 to WNUT17, which is not in these tables.

    .venv/bin/python benchmarks/cross_domain_rates.py

Methods are adapted with the train split of WNUT17 and scored on its dev split. Every trial is a line
of docs/results/jia2019-rates.jsonl with its F1 and processor seconds; finished trials are skipped.
docs/results/cross-domain.md says which rate was chosen.
"""

from __future__ import annotations

import argparse
import time

from common import RESULTS, ResultFile, score_tagger, shared_corpus, shared_vectors

from adaptner.compute import prepare_process
from adaptner.corpora.corpus import group_by_domain
from adaptner.corpora.sources import source_domains
from adaptner.episodes import draw_sentences
from adaptner.methods import method
from adaptner.reproduce.tables.protocols.jia2019 import JIA
from adaptner.training.budget import Budget


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--steps", type=int, default=250)
    parser.add_argument("--rates", type=float, nargs="+", default=[0.03, 0.01, 0.003])
    parser.add_argument("--methods", nargs="+", default=["in-domain", "crossdomain-lm"])
    parser.add_argument("--size", type=int, default=0, help="labelled sentences; 0 for all")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    prepare_process()
    target = shared_corpus("general/wnut17")
    train, dev = target.split("train"), target.split("dev")
    size, seed = options.size or len(train), options.seed
    support = draw_sentences(train, size, seed) if options.size else list(train)
    sources = source_domains(group_by_domain([shared_corpus("news/conll03")]), dev)
    vectors = shared_vectors("glove-6b-100d.npy")
    results = ResultFile(
        RESULTS / "jia2019-rates.jsonl", ("method", "rate", "steps", "size", "seed")
    )
    for name in options.methods:
        base = method(name)(**JIA).fit(sources, Budget(0), vectors=vectors)
        for rate in options.rates:
            row = {"method": name, "rate": rate, "steps": options.steps}
            row |= {"size": len(support), "seed": seed}
            if row in results:
                continue
            adaptation = {"batch": 30, "steps": options.steps, "epochs": 0}
            learner = method(name)(**JIA, adaptation={**adaptation, "optimiser": {"rate": rate}})
            start = time.process_time()
            tagger = learner.adapt(
                base,
                support,
                labels=target.labels,
                sources=sources,
                unlabelled=[s.without_entities() for s in train],
                seed=seed,
            )
            seconds = round(time.process_time() - start, 1)
            row |= {"f1": round(score_tagger(tagger, dev).f1, 4), "seconds": seconds}
            results.add(row)
            print(row, flush=True)


if __name__ == "__main__":
    main()
