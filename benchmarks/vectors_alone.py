"""How far do word vectors go alone? A linear CRF over them, on the draws of the quick profile.

    .venv/bin/python benchmarks/vectors_alone.py -o docs/results/vectors-alone.jsonl

No source, no encoder: a token is its own vector and its neighbours' (at half weight), each of unit
length, and nine facts of its shape. Weights start at zero with an L2 penalty, so the loss is convex
and nothing is drawn. Beside HGDA's Table 3 it tells what learning from sources adds to the vectors.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from statistics import mean

import numpy as np
import torch

from adaptner.compute import prepare_process
from adaptner.corpora.corpus import Corpus, load_corpus
from adaptner.episodes import draw_sentences
from adaptner.metrics.spans import score_tags
from adaptner.nn.batching.word_shapes import word_shape
from adaptner.nn.decoders.crf import CRF
from adaptner.types import Sentence
from adaptner.vectors.word_vectors import WordVectors, read_vectors

SHARED = Path(__file__).resolve().parents[2] / "shared"
NEIGHBOUR, SHAPE, SCALE = 0.5, 0.3, 8.0
STEPS, RATE, PENALTY = 60, 0.15, 0.5


def features(vectors: WordVectors, sentence: Sentence) -> torch.Tensor:
    """(tokens, 3 x width + 9)"""
    found = [vectors.vector(word) for word in sentence.tokens]
    own = np.stack([np.zeros(vectors.width) if v is None else v for v in found])
    own = own / np.maximum(np.linalg.norm(own, axis=1, keepdims=True), 1e-6)
    blank = np.zeros((1, vectors.width))
    left, right = np.concatenate([blank, own[:-1]]), np.concatenate([own[1:], blank])
    shape = np.array([word_shape(word) for word in sentence.tokens], dtype=float)
    parts = [own, NEIGHBOUR * left, NEIGHBOUR * right, SHAPE * shape]
    return torch.from_numpy(SCALE * np.concatenate(parts, 1)).float()


def padded(rows: list[torch.Tensor]) -> tuple[torch.Tensor, torch.Tensor]:
    states = torch.nn.utils.rnn.pad_sequence(rows, batch_first=True)[None]
    lengths = torch.tensor([len(r) for r in rows])
    return states, (torch.arange(states.shape[2]) < lengths[:, None])[None]


def fitted(vectors: WordVectors, support: list[Sentence], target: Corpus) -> CRF:
    states, mask = padded([features(vectors, s) for s in support])
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


def predicted(crf: CRF, rows: list[torch.Tensor]) -> list[list[str]]:
    names = crf.labels.tags
    found: list[list[str]] = []
    for at in range(0, len(rows), 100):
        part = rows[at : at + 100]
        best = crf.decode(*padded(part))[0]
        found += [
            [names[t] for t in row[: len(own)]]
            for row, own in zip(best.tolist(), part, strict=True)
        ]
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--vectors", type=Path, default=SHARED / "vectors/pubmed-w2v-200d.npy")
    parser.add_argument("--sizes", type=int, nargs="*", default=[5, 10, 20, 50])
    parser.add_argument("--draws", type=int, default=5)
    parser.add_argument("--limit", type=int, default=1500)
    parser.add_argument("-o", "--output", type=Path, required=True)
    options = parser.parse_args()
    prepare_process()
    vectors = read_vectors(options.vectors)
    means: dict[int, list[float]] = {}
    with open(options.output, "w", encoding="utf-8") as file:
        for folder in sorted((SHARED / "data/bio8").iterdir()):
            if not folder.is_dir():
                continue
            target = load_corpus(folder)
            test = [s for s in target.split("test")[: options.limit] if len(s)]
            gold = [[target.labels.tags[n] for n in target.labels.tag_ids(s)] for s in test]
            rows = [features(vectors, s) for s in test]
            for size in options.sizes:
                scores = []
                for seed in range(options.draws):
                    support = [
                        s for s in draw_sentences(target.split("train"), size, seed) if len(s)
                    ]
                    score = score_tags(gold, predicted(fitted(vectors, support, target), rows))
                    scores.append(score.overall.f1)
                    facts = {"corpus": target.name, "size": size, "seed": seed}
                    facts |= {"precision": score.overall.precision, "recall": score.overall.recall}
                    file.write(json.dumps({**facts, "f1": scores[-1]}) + "\n")
                    file.flush()
                means.setdefault(size, []).append(mean(scores))
                print(f"{target.name:15} {size:3}  {100 * mean(scores):5.1f}", flush=True)
    for size, values in means.items():
        print(f"{'mean':15} {size:3}  {100 * mean(values):5.1f}")


if __name__ == "__main__":
    main()
