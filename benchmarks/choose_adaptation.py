"""Choose how to fine-tune, on source domains only: one of them plays the target.

    .venv/bin/python benchmarks/choose_adaptation.py -o docs/results/adaptation.json

For each held-out source domain a base is learnt from the others; every setting of the grid is then
adapted to draws from the held-out domain's train split and scored on its *dev* split. Results are
appended as they come, so an interrupted run goes on where it stopped.
"""

from __future__ import annotations

import argparse
import itertools
import json
import statistics
import sys
import time
from pathlib import Path

from adaptner.corpora.corpus import load_corpus
from adaptner.episodes import draw
from adaptner.evaluation.scorer import score_entities
from adaptner.methods import method
from adaptner.training.base import Base
from adaptner.training.budget import Budget
from adaptner.training.pretraining import pretrain
from adaptner.training.records import read_records
from adaptner.training.settings import prepare_process

SHARED = Path(__file__).resolve().parents[2] / "shared"
BIO8 = SHARED / "data/bio8"
# Disease stays out altogether: it is the target of the real-data run.
SOURCES = {
    "Drug": ("bc5cdr-chem", "bc4chemd-sub"),
    "Gene": ("bc2gm", "jnlpba"),
    "Species": ("s800", "linnaeus"),
}
GRID = list(itertools.product(("fresh", "mean"), (3e-3, 1e-2), (50, 100, 200), ("linear",)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--bases", type=Path, default=Path("runs/choose"))
    parser.add_argument("--iterations", type=int, default=200)
    parser.add_argument("--sizes", default="5,20,50")
    parser.add_argument("--draws", type=int, default=4)
    parser.add_argument("--limit", type=int, default=400)
    parser.add_argument("--held-out", nargs="*", default=["Drug", "Species"])
    options = parser.parse_args()
    prepare_process()
    rows = options.output.with_suffix(".jsonl")
    done = {json.dumps(r["key"]) for r in read_records(rows)}
    vectors = SHARED / "vectors/pubmed-w2v-200d.npy"
    for held_out in options.held_out:
        target = load_corpus(BIO8 / SOURCES[held_out][0])
        rest = [
            load_corpus(BIO8 / n) for d, names in SOURCES.items() if d != held_out for n in names
        ]
        folder = options.bases / f"without-{held_out}-{options.iterations}"
        hgda = method("hgda")(optimiser={"name": "sgd"})
        if not (folder / "manifest.json").exists():
            print("learning", folder, file=sys.stderr, flush=True)
            pretrain(hgda, rest, Budget(options.iterations), folder, vectors=vectors, resume=True)
        base = Base.load(folder)
        dev = target.split("dev")[: options.limit]
        for (decoder, rate, steps, schedule), size, seed in itertools.product(
            GRID, map(int, options.sizes.split(",")), range(options.draws)
        ):
            key = [held_out, options.iterations, decoder, rate, steps, schedule, size, seed]
            if json.dumps(key) in done:
                continue
            chosen = method("hgda")(
                adaptation={
                    "steps": steps,
                    "epochs": 0,
                    "encoder_scale": 1.0,
                    "decoder": decoder,
                    "optimiser": {"name": "adamw", "rate": rate, "schedule": schedule},
                }
            )
            begun = time.perf_counter()
            tagger = chosen.adapt(
                base, draw(target.split("train"), size, seed), labels=target.labels, seed=seed
            )
            seconds = time.perf_counter() - begun
            score = score_entities([s.entities for s in dev], tagger.predict_sentences(dev)).overall
            with open(rows, "a", encoding="utf-8") as file:
                file.write(
                    json.dumps(
                        {
                            "key": key,
                            "f1": score.f1,
                            "p": score.precision,
                            "r": score.recall,
                            "seconds": seconds,
                        }
                    )
                    + "\n"
                )
    results = list(read_records(rows))
    print("decoder rate steps | mean F1 by size (over held-out domains and draws)")
    for setting in GRID:
        cells = []
        for size in map(int, options.sizes.split(",")):
            f1 = [
                r["f1"] for r in results if tuple(r["key"][2:6]) == setting and r["key"][6] == size
            ]
            cells.append(f"{size}: {statistics.mean(f1):.3f}" if f1 else f"{size}: -")
        print(*setting[:3], "|", "  ".join(cells))


if __name__ == "__main__":
    main()
