"""Does `adaptner suggest` choose better than chance? From 10 sentences, three rounds of 10.

    .venv/bin/python benchmarks/suggest.py -o docs/results/suggest.jsonl

Both arms start from the same 10 random sentences of a pool (a sample of the train split); one adds
what is suggested after each round, the other the same number at random, and the F1 of both with 40
sentences is compared over draws. The two corpora that report (a rare and a frequent type) chose
nothing: the strategy was chosen on others (`--corpora ncbi-disease s800 --split dev`). Rows that are
in the file already are not run again.
"""

from __future__ import annotations

import argparse
import json
import random
from pathlib import Path
from statistics import mean, stdev

from adaptner.adaptation.suggestion import select_sentences
from adaptner.compute import prepare_process
from adaptner.corpora.corpus import Corpus, load_corpus
from adaptner.methods.configuration import method_for_base
from adaptner.metrics.significance import paired_t_test, wilcoxon_signed_rank
from adaptner.metrics.spans import score_entities
from adaptner.models.base import Base
from adaptner.models.installed import DEFAULT, load_base
from adaptner.types import Sentence

SHARED = Path(__file__).resolve().parents[2] / "shared"
START, ROUND, ROUNDS = 10, 10, 3
ARMS = ("suggested", "random")


def grown(arm: str, base: Base, corpus: Corpus, seed: int, pool_size: int) -> list[Sentence]:
    """The 40 sentences of one arm."""
    rng = random.Random(seed)
    every = [s for s in corpus.split("train") if len(s)]
    drawn = rng.sample(every, min(len(every), START + pool_size))
    marked, pool = drawn[:START], drawn[START:]
    if arm == "random":
        return marked + rng.sample(pool, ROUND * ROUNDS)
    for _ in range(ROUNDS):
        tagger = method_for_base(None, base).adapt(base, marked, labels=corpus.labels)
        by_text = {s.text: s for s in pool}
        found = select_sentences(tagger, [s.without_entities() for s in pool], ROUND, marked)
        chosen = [by_text[one.sentence.text] for one in found]
        marked = marked + chosen
        pool = [s for s in pool if s.text not in {c.text for c in chosen}]
    return marked


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--base", default=DEFAULT)
    parser.add_argument("--corpora", nargs="*", default=["linnaeus", "bc5cdr-chem"])
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument(
        "--pool", type=int, default=1000, help="unlabelled sentences to choose from"
    )
    parser.add_argument("--split", default="test", help="dev for choosing")
    parser.add_argument("--limit", type=int, help="test sentences at most")
    parser.add_argument("-o", "--output", type=Path, required=True)
    options = parser.parse_args()
    prepare_process()
    options.output.touch()
    rows = [json.loads(line) for line in options.output.read_text().splitlines()]
    done = {(r["corpus"], r["arm"], r["seed"]) for r in rows}
    wanted = [
        (corpus, arm, seed)
        for seed in range(options.draws)
        for corpus in options.corpora
        for arm in ARMS
        if (corpus, arm, seed) not in done
    ]
    print(
        f"{len(wanted)} runs, about {6 * len(wanted) / 60:.0f} minutes on a quiet core", flush=True
    )
    whole = load_base(options.base)
    corpora: dict[str, Corpus] = {}
    for name, arm, seed in wanted:
        corpus = corpora.setdefault(name, load_corpus(SHARED / "data/bio8" / name))
        base = whole.of_domains(d for d in whole.model.domains if d != corpus.domain)
        marked = grown(arm, base, corpus, seed, options.pool)
        tagger = method_for_base(None, base).adapt(base, marked, labels=corpus.labels)
        test = [s for s in corpus.split(options.split) if len(s)][: options.limit]
        f1 = score_entities([s.entities for s in test], tagger.predict_sentences(test)).overall.f1
        row = {"corpus": name, "arm": arm, "seed": seed, "f1": round(f1, 4)}
        row |= {"sentences": len(marked), "tokens": sum(map(len, marked)), "test": len(test)}
        row |= {"mentions": sum(len(s.entities) for s in marked)}
        rows.append(row)
        with open(options.output, "a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")
        print(json.dumps(row), flush=True)
    for name in options.corpora:
        told(name, [r for r in rows if r["corpus"] == name and r["seed"] < options.draws])


def told(name: str, rows: list[dict]) -> None:
    values = {arm: {r["seed"]: r for r in rows if r["arm"] == arm} for arm in ARMS}
    seeds = sorted(values["suggested"].keys() & values["random"].keys())
    first, second = ([100 * values[arm][s]["f1"] for s in seeds] for arm in ARMS)
    for arm, f1 in zip(ARMS, (first, second), strict=True):
        own = [values[arm][s] for s in seeds]
        spread = stdev(f1) if len(f1) > 1 else 0.0
        print(
            f"{name:14} {arm:10} F1 {mean(f1):.1f} ± {spread:.1f}, "
            f"{mean(r['mentions'] for r in own):.0f} mentions, "
            f"{mean(r['tokens'] for r in own):.0f} tokens"
        )
    if len(seeds) > 1:
        t, w = paired_t_test(first, second), wilcoxon_signed_rank(first, second)
        gain = mean(first) - mean(second)
        print(
            f"{name:14} +{gain:.1f}, {t.n} draws: t-test p = {t.p_value:.4f}, Wilcoxon p = {w.p_value:.4f}"
        )


if __name__ == "__main__":
    main()
