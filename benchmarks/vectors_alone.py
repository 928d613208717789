"""Measures how far word vectors go without an encoder or sources: a linear CRF on few-shot draws.

    .venv/bin/python benchmarks/vectors_alone.py -o docs/results/vectors-alone.jsonl

The features of a token are its vector, those of its neighbours at half weight (all of unit length) and
nine features of its shape. The weights start at zero with an L2 penalty, so the loss is convex and the
result does not depend on a seed. The output has one line per draw; draws that it has already are
skipped. The command prints the mean F1 ± standard deviation for each size: the difference to HGDA's
Table 3 is what training on sources adds.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from statistics import mean

import numpy as np
import torch
from common import SHARED, ResultFile, corpus_folders, print_scores

from adaptner.compute import prepare_process
from adaptner.corpora.corpus import Corpus, load_corpus
from adaptner.episodes import draw_sentences
from adaptner.metrics.spans import score_tags
from adaptner.nn.batching.word_shapes import word_shape
from adaptner.nn.decoders.crf import CRF
from adaptner.types import Sentence
from adaptner.vectors.word_vectors import WordVectors, read_vectors

NEIGHBOUR, SHAPE, SCALE = 0.5, 0.3, 8.0
STEPS, RATE, PENALTY = 60, 0.15, 0.5
BATCH = 100  # test sentences


def features(vectors: WordVectors, sentence: Sentence) -> torch.Tensor:
    """(tokens, 3 x width + 9)"""
    words = [vectors.vector(word) for word in sentence.tokens]
    centre = np.stack([np.zeros(vectors.width) if v is None else v for v in words])
    centre = centre / np.maximum(np.linalg.norm(centre, axis=1, keepdims=True), 1e-6)
    edge = np.zeros((1, vectors.width))
    left, right = np.concatenate([edge, centre[:-1]]), np.concatenate([centre[1:], edge])
    shape = np.array([word_shape(word) for word in sentence.tokens], dtype=float)
    parts = [centre, NEIGHBOUR * left, NEIGHBOUR * right, SHAPE * shape]
    return torch.from_numpy(SCALE * np.concatenate(parts, 1)).float()


def pad(rows: list[torch.Tensor]) -> tuple[torch.Tensor, torch.Tensor]:
    """Returns padded features (1, sentences, tokens, width) and their mask."""
    states = torch.nn.utils.rnn.pad_sequence(rows, batch_first=True)[None]
    lengths = torch.tensor([len(r) for r in rows])
    return states, (torch.arange(states.shape[2]) < lengths[:, None])[None]


def fit(vectors: WordVectors, support: list[Sentence], target: Corpus) -> CRF:
    states, mask = pad([features(vectors, s) for s in support])
    tags = torch.zeros(mask.shape, dtype=torch.long)
    tags[mask] = torch.tensor([n for s in support for n in target.labels.tag_ids(s)])
    crf = CRF(states.shape[-1], target.labels, torch.Generator())
    with torch.no_grad():
        for p in crf.parameters():
            p.zero_()
    optimiser = torch.optim.Adam(crf.parameters(), RATE, betas=(0.8, 0.95))
    schedule = torch.optim.lr_scheduler.LinearLR(optimiser, 1.0, 1 / STEPS, STEPS)
    for _ in range(STEPS):
        loss = crf(states, tags, mask).sum() + PENALTY * (crf.weight**2).sum()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        schedule.step()
    return crf


def predict(crf: CRF, rows: list[torch.Tensor]) -> list[list[str]]:
    tags: list[list[str]] = []
    for start in range(0, len(rows), BATCH):
        batch = rows[start : start + BATCH]
        best = crf.decode(*pad(batch))[0].tolist()
        for path, row in zip(best, batch, strict=True):
            tags.append([crf.labels.tags[t] for t in path[: len(row)]])
    return tags


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--vectors", type=Path, default=SHARED / "vectors/pubmed-w2v-200d.npy")
    parser.add_argument("--sizes", type=int, nargs="*", default=[5, 10, 20, 50])
    parser.add_argument("--draws", type=int, default=5)
    parser.add_argument("--limit", type=int, default=1500, help="maximum number of test sentences")
    parser.add_argument("-o", "--output", type=Path, required=True)
    options = parser.parse_args()
    prepare_process()
    vectors = read_vectors(options.vectors)
    results = ResultFile(options.output, ("corpus", "size", "seed"))
    means = []
    for folder in corpus_folders("bio8"):
        target = load_corpus(folder)
        test = [s for s in target.split("test")[: options.limit] if len(s)]
        gold = [[target.labels.tags[n] for n in target.labels.tag_ids(s)] for s in test]
        rows = [features(vectors, s) for s in test]
        for size in options.sizes:
            for seed in range(options.draws):
                run = {"corpus": target.name, "size": size, "seed": seed}
                if run in results:
                    continue
                drawn = draw_sentences(target.split("train"), size, seed)
                crf = fit(vectors, [s for s in drawn if len(s)], target)
                score = score_tags(gold, predict(crf, rows)).overall
                f1 = {"precision": score.precision, "recall": score.recall, "f1": score.f1}
                results.add({**run, **f1})
        means.append(print_scores(results.rows, target.name, options.sizes))
    print(
        f"{'mean':16}" + "  ".join(f"{mean(scores):12.1f}" for scores in zip(*means, strict=True))
    )


if __name__ == "__main__":
    main()
