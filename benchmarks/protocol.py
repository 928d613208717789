"""Times a draw of the few-shot protocol and the scoring of 100,000 sentences on one thread.

    .venv/bin/python benchmarks/protocol.py

A draw adapts MAML's base (HGDA's encoder, PubMed vectors) to 50 sentences of NCBI-disease with default
settings, then tags and scores 1,000 sentences of BC5CDR-disease. The base is untrained, which does not
change the times. For scoring, the sentences of that test set are repeated and half of the predicted
entities are shifted by a character; the reference is a double loop over the same entities. The output
has the median seconds of each part, and scoring time as a multiple of the reference's.
"""

from __future__ import annotations

import statistics
import time
from dataclasses import replace
from itertools import pairwise

from common import shared_corpus, shared_vectors

from adaptner.compute import prepare_process
from adaptner.corpora.corpus import group_by_domain
from adaptner.corpora.sources import source_domains
from adaptner.episodes import draw_sentences
from adaptner.methods import method
from adaptner.metrics.spans import score_entities
from adaptner.training.budget import Budget

SIZE, TAGGED, SCORED, REPEATS = 50, 1_000, 100_000, 5


def time_draws() -> list[tuple[float, ...]]:
    """Returns the seconds of fine-tuning, tagging and scoring of each draw."""
    target = shared_corpus("bio8/ncbi-disease")
    test = shared_corpus("bio8/bc5cdr-disease").split("test")[:TAGGED]
    sources = source_domains(group_by_domain([shared_corpus("bio8/bc5cdr-chem")]))
    learner = method("maml")()
    base = learner.fit(sources, Budget(0), vectors=shared_vectors("pubmed-w2v-200d.npy"))
    draws = []
    for seed in range(REPEATS):
        times = [time.perf_counter()]
        tagger = learner.adapt(base, draw_sentences(target.split("train"), SIZE, seed), seed=seed)
        times.append(time.perf_counter())
        predicted = tagger.predict_sentences(test)
        times.append(time.perf_counter())
        score_entities([s.entities for s in test], predicted)
        times.append(time.perf_counter())
        draws.append(tuple(b - a for a, b in pairwise(times)))
    return draws


def time_scoring() -> tuple[float, float, int]:
    """Returns our seconds, the reference's, and the number of entities of both sides.

    Both must count the same number of correct entities."""
    test = [s.entities for s in shared_corpus("bio8/bc5cdr-disease").split("test")]
    gold = [test[i % len(test)] for i in range(SCORED)]
    predicted = [
        [replace(e, end=e.end + (i + n) % 2) for n, e in enumerate(entities)]
        for i, entities in enumerate(gold)
    ]
    start = time.perf_counter()
    score = score_entities(gold, predicted).overall
    middle = time.perf_counter()
    correct = sum(
        any((p.start, p.end, p.label) == (g.start, g.end, g.label) for p in predicted_entities)
        for gold_entities, predicted_entities in zip(gold, predicted, strict=True)
        for g in gold_entities
    )
    end = time.perf_counter()
    assert correct == score.true_positives
    return middle - start, end - middle, score.gold + score.predicted


def main() -> None:
    prepare_process()
    draws = time_draws()
    parts = [statistics.median(d[i] for d in draws) for i in range(3)]
    total = statistics.median(sum(d) for d in draws)
    print(f"a draw: {total:.2f} s (median of {REPEATS}, worst {max(map(sum, draws)):.2f})")
    print(
        f"  fine-tuning on {SIZE} sentences {parts[0]:.2f} s, tagging {TAGGED} {parts[1]:.2f} s "
        f"({TAGGED / parts[1]:,.0f} a second), scoring {parts[2] * 1000:.1f} ms"
    )
    seconds, reference, entities = time_scoring()
    print(f"scoring {SCORED:,} sentences, {entities:,} entities: {seconds:.2f} s")
    print(f"  {seconds / reference:.2f} times the {reference:.2f} s of a plain double loop")


if __name__ == "__main__":
    main()
