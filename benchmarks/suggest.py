"""Compares `adaptner suggest` with random choice: three rounds of 10 sentences, starting from 10.

    .venv/bin/python benchmarks/suggest.py -o docs/results/suggest.jsonl

Both arms start from the same 10 random sentences of a pool (a sample of the train split). One adds the
suggested sentences after each round, the other as many random ones; then their F1 with 40 sentences is
compared over draws. The default corpora (a rare and a frequent type) played no part in the choice of the
strategy (`--corpora ncbi-disease s800 --split dev` did). The output has one line per arm and draw; lines
that it has already are skipped. The command prints mean F1, the gain, and the p-values of paired tests.
"""

from __future__ import annotations

import argparse
import json
import random
from functools import cache
from pathlib import Path
from statistics import mean
from typing import Any

from common import ResultFile, score_tagger, shared_corpus, without_labels

from adaptner.adaptation.suggestion import select_sentences
from adaptner.compute import prepare_process
from adaptner.corpora.corpus import Corpus
from adaptner.methods.configuration import method_for_base
from adaptner.metrics.significance import mean_sd, paired_t_test, wilcoxon_signed_rank
from adaptner.models.base import Base
from adaptner.models.installed import DEFAULT, load_base
from adaptner.types import Sentence

START, ROUND, ROUNDS = 10, 10, 3
ARMS = ("suggested", "random")


def choose_training_set(
    arm: str, base: Base, corpus: Corpus, seed: int, pool_size: int
) -> list[Sentence]:
    """Returns the 40 sentences of one arm."""
    rng = random.Random(seed)
    train = [s for s in corpus.split("train") if len(s)]
    sample = rng.sample(train, min(len(train), START + pool_size))
    labelled, pool = sample[:START], sample[START:]
    if arm == "random":
        return labelled + rng.sample(pool, ROUND * ROUNDS)
    for _ in range(ROUNDS):
        tagger = method_for_base(None, base).adapt(base, labelled, labels=corpus.labels)
        by_text = {s.text: s for s in pool}
        suggestions = select_sentences(tagger, without_labels(pool), ROUND, labelled)
        chosen = [by_text[suggestion.sentence.text] for suggestion in suggestions]
        labelled = labelled + chosen
        pool = [s for s in pool if s.text not in {c.text for c in chosen}]
    return labelled


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--base", default=DEFAULT)
    parser.add_argument("--corpora", nargs="*", default=["linnaeus", "bc5cdr-chem"])
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--pool", type=int, default=1000, help="size of the unlabelled pool")
    parser.add_argument("--split", default="test", help="split to score; dev for choices")
    parser.add_argument("--limit", type=int, help="maximum number of test sentences")
    parser.add_argument("-o", "--output", type=Path, required=True)
    options = parser.parse_args()
    prepare_process()
    shipped = load_base(options.base)
    results = ResultFile(options.output, ("corpus", "arm", "seed"))
    load = cache(shared_corpus)
    for seed in range(options.draws):
        for name in options.corpora:
            for arm in ARMS:
                row = {"corpus": name, "arm": arm, "seed": seed}
                if row in results:
                    continue
                corpus = load(f"bio8/{name}")
                base = shipped.of_domains(d for d in shipped.model.domains if d != corpus.domain)
                labelled = choose_training_set(arm, base, corpus, seed, options.pool)
                tagger = method_for_base(None, base).adapt(base, labelled, labels=corpus.labels)
                test = [s for s in corpus.split(options.split) if len(s)][: options.limit]
                row |= {"f1": round(score_tagger(tagger, test).f1, 4), "sentences": len(labelled)}
                row |= {"tokens": sum(map(len, labelled)), "test": len(test)}
                row |= {"mentions": sum(len(s.entities) for s in labelled)}
                results.add(row)
                print(json.dumps(row), flush=True)
    for name in options.corpora:
        compare(
            name, [r for r in results.rows if r["corpus"] == name and r["seed"] < options.draws]
        )


def compare(name: str, rows: list[dict[str, Any]]) -> None:
    """Prints the scores of both arms, and the paired tests over the draws that both have."""
    by_arm = {arm: {r["seed"]: r for r in rows if r["arm"] == arm} for arm in ARMS}
    seeds = sorted(by_arm["suggested"].keys() & by_arm["random"].keys())
    first, second = ([100 * by_arm[arm][s]["f1"] for s in seeds] for arm in ARMS)
    for arm, f1 in zip(ARMS, (first, second), strict=True):
        mean_f1, sd = mean_sd(f1)
        mentions, tokens = (
            mean(by_arm[arm][s][field] for s in seeds) for field in ("mentions", "tokens")
        )
        print(
            f"{name:14} {arm:10} F1 {mean_f1:.1f} ± {sd:.1f}, "
            f"{mentions:.0f} mentions, {tokens:.0f} tokens"
        )
    if len(seeds) > 1:
        t, wilcoxon = paired_t_test(first, second), wilcoxon_signed_rank(first, second)
        print(
            f"{name:14} {mean(first) - mean(second):+.1f}, {t.n} draws: "
            f"t-test p = {t.p_value:.4f}, Wilcoxon p = {wilcoxon.p_value:.4f}"
        )


if __name__ == "__main__":
    main()
