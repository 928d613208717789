"""What one draw of the protocol costs, part by part, and scoring at a large size. One thread.

    .venv/bin/python benchmarks/protocol.py

The draw: HGDA's encoder over PubMed vectors, fine-tuned on 50 sentences of NCBI-disease by our
defaults, 1,000 sentences of BC5CDR-disease tagged and scored. The base has had no training, which
changes no time. Scoring: the sentences of that test set again and again up to 100,000, half of the
entities moved by a character; the reference is a dictionary-free double loop over the same entities.
"""

from __future__ import annotations

import statistics
import time
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

from adaptner.compute import prepare_process
from adaptner.corpora.corpus import group_by_domain, load_corpus
from adaptner.corpora.sources import source_domains
from adaptner.episodes import draw_sentences
from adaptner.methods import method
from adaptner.metrics.spans import score_entities
from adaptner.training.budget import Budget
from adaptner.vectors.word_vectors import read_vectors

SHARED = Path(__file__).resolve().parents[2] / "shared"
BIO8 = SHARED / "data/bio8"
SIZE, TAGGED, SCORED, REPEATS = 50, 1_000, 100_000, 5


def seconds_of_a_draw() -> list[tuple[float, float, float]]:
    target = load_corpus(BIO8 / "ncbi-disease")
    test = load_corpus(BIO8 / "bc5cdr-disease").split("test")[:TAGGED]
    sources = source_domains(group_by_domain([load_corpus(BIO8 / "bc5cdr-chem")]))
    vectors = read_vectors(SHARED / "vectors/pubmed-w2v-200d.npy")
    chosen = method("maml")()
    base = chosen.fit(sources, Budget(0), vectors=vectors)
    found = []
    for seed in range(REPEATS):
        marks = [time.perf_counter()]
        tagger = chosen.adapt(base, draw_sentences(target.split("train"), SIZE, seed), seed=seed)
        marks.append(time.perf_counter())
        predicted = tagger.predict_sentences(test)
        marks.append(time.perf_counter())
        score_entities([s.entities for s in test], predicted)
        marks.append(time.perf_counter())
        found.append(tuple(b - a for a, b in pairwise(marks)))
    return found


def seconds_of_scoring() -> tuple[float, float, int]:
    """Ours, the reference's, and entities on both sides; both find the same number right."""
    test = [s.entities for s in load_corpus(BIO8 / "bc5cdr-disease").split("test")]
    gold = [test[i % len(test)] for i in range(SCORED)]
    predicted = [
        [replace(e, end=e.end + (i + n) % 2) for n, e in enumerate(entities)]
        for i, entities in enumerate(gold)
    ]
    begun = time.perf_counter()
    ours = score_entities(gold, predicted).overall
    between = time.perf_counter()
    right = sum(
        any((p.start, p.end, p.label) == (g.start, g.end, g.label) for p in there)
        for here, there in zip(gold, predicted, strict=True)
        for g in here
    )
    ended = time.perf_counter()
    assert right == ours.true_positives
    return between - begun, ended - between, ours.gold + ours.predicted


def main() -> None:
    prepare_process()
    draws = seconds_of_a_draw()
    parts = [statistics.median(d[i] for d in draws) for i in range(3)]
    whole = statistics.median(sum(d) for d in draws)
    print(f"a draw: {whole:.2f} s (median of {REPEATS}, worst {max(map(sum, draws)):.2f})")
    print(
        f"  fine-tuning on {SIZE} sentences {parts[0]:.2f} s, tagging {TAGGED} {parts[1]:.2f} s "
        f"({TAGGED / parts[1]:,.0f} a second), scoring {parts[2] * 1000:.1f} ms"
    )
    ours, plain, entities = seconds_of_scoring()
    print(f"scoring {SCORED:,} sentences, {entities:,} entities: {ours:.2f} s")
    print(f"  {ours / plain:.2f} times a plain double loop's {plain:.2f} s")


if __name__ == "__main__":
    main()
