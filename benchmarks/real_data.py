"""Does pretraining help? HGDA on three domains of bio8, adapted to the fourth, against the same
encoder without pretraining.

    .venv/bin/python benchmarks/real_data.py --target ncbi-disease -o docs/results/real-data-ncbi.json

Same vectors, same fine-tuning, same draws; the only difference is the number of HGDA iterations
(N against 0). Rows are written as they come, so an interrupted run leaves what it had.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from adaptner.compute import prepare_process
from adaptner.corpora.corpus import group_by_domain, load_corpus
from adaptner.corpora.sources import source_domains
from adaptner.evaluation.protocol import evaluate_few_shot
from adaptner.files import atomic_file
from adaptner.methods import method
from adaptner.metrics.significance import mean_sd, paired_t_test
from adaptner.training.budget import Budget
from adaptner.vectors.word_vectors import read_vectors

SHARED = Path(__file__).resolve().parents[2] / "shared"
BIO8 = SHARED / "data/bio8"


def rows_of(
    target_name, iterations, size, draws, limit, name="hgda", exclude=(), keep=lambda rows: None
):
    """Few-shot rows with and without pretraining, in that order."""
    target = load_corpus(BIO8 / target_name)
    corpora = [load_corpus(folder) for folder in sorted(BIO8.iterdir()) if folder.is_dir()]
    sources = source_domains(
        group_by_domain(c for c in corpora if c.domain != target.domain and c.name not in exclude),
        target.split("test"),
    )
    vectors = read_vectors(SHARED / "vectors/pubmed-w2v-200d.npy")
    chosen = method(name)()
    found = {}
    for label, steps in (("pretrained", iterations), ("without", 0)):
        base = chosen.fit(sources, Budget(steps), vectors=vectors, seed=0)
        found[label] = []
        for row in evaluate_few_shot(chosen, base, target, [size], range(draws), limit=limit):
            found[label].append(row.as_dict())
            keep(found)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--target", default="ncbi-disease")
    parser.add_argument("--method", default="hgda")
    parser.add_argument("--iterations", type=int, default=300)
    parser.add_argument("--size", type=int, default=20)
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--limit", type=int, default=None)
    parser.add_argument("--exclude", nargs="*", default=[], help="source corpora to leave out")
    parser.add_argument("-o", "--output", type=Path, required=True)
    options = parser.parse_args()
    prepare_process()

    def keep(rows):
        with atomic_file(options.output) as file:
            json.dump(
                {"options": {k: str(v) for k, v in vars(options).items()}, "rows": rows},
                file,
                indent=1,
            )

    rows = rows_of(
        options.target,
        options.iterations,
        options.size,
        options.draws,
        options.limit,
        options.method,
        options.exclude,
        keep,
    )
    scores = {label: [row["f1"] for row in own] for label, own in rows.items()}
    for label, f1 in scores.items():
        mean, sd = mean_sd(f1)
        print(
            f"{label:10}: F1 {100 * mean:.1f} ± {100 * sd:.1f} over {len(f1)} draws of {options.size}"
        )
    test = paired_t_test(scores["pretrained"], scores["without"])
    gain = mean_sd([a - b for a, b in zip(*scores.values(), strict=True)])[0]
    print(f"gain: {100 * gain:.1f} points, paired t-test p = {test.p_value:.2g}")


if __name__ == "__main__":
    main()
