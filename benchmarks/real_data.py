"""Measures what pretraining is worth: HGDA pretrained on bio8 without the target's domain, or not at all.

    .venv/bin/python benchmarks/real_data.py --target ncbi-disease -o docs/results/real-data-ncbi.json

Vectors, fine-tuning and draws are the same; only the number of pretraining iterations differs (N or 0).
The scores of both are written after every draw. The command prints both means and the gain with the
p-value of a paired t-test.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from common import corpus_folders, shared_corpus, shared_vectors

from adaptner.compute import prepare_process
from adaptner.corpora.corpus import group_by_domain, load_corpus
from adaptner.corpora.sources import source_domains
from adaptner.evaluation.protocol import evaluate_few_shot
from adaptner.files import atomic_file
from adaptner.methods import method
from adaptner.metrics.significance import mean_sd, paired_t_test
from adaptner.training.budget import Budget


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--target", default="ncbi-disease")
    parser.add_argument("--method", default="hgda")
    parser.add_argument("--iterations", type=int, default=300)
    parser.add_argument("--size", type=int, default=20)
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--limit", type=int, help="maximum number of test sentences")
    parser.add_argument("--exclude", nargs="*", default=[], help="source corpora to leave out")
    parser.add_argument("-o", "--output", type=Path, required=True)
    options = parser.parse_args()
    prepare_process()
    target = shared_corpus(f"bio8/{options.target}")
    corpora = [load_corpus(folder) for folder in corpus_folders("bio8")]
    corpora = [c for c in corpora if c.domain != target.domain and c.name not in options.exclude]
    sources = source_domains(group_by_domain(corpora), target.split("test"))
    vectors = shared_vectors("pubmed-w2v-200d.npy")
    learner = method(options.method)()
    rows: dict[str, list[dict[str, Any]]] = {}
    content = {"options": {k: str(v) for k, v in vars(options).items()}, "rows": rows}
    for label, iterations in (("pretrained", options.iterations), ("without", 0)):
        base = learner.fit(sources, Budget(iterations), vectors=vectors, seed=0)
        draws = range(options.draws)
        rows[label] = []
        for row in evaluate_few_shot(
            learner, base, target, [options.size], draws, limit=options.limit
        ):
            rows[label].append(row.as_dict())
            with atomic_file(options.output) as file:
                json.dump(content, file, indent=1)
    scores = {label: [100 * row["f1"] for row in found] for label, found in rows.items()}
    for label, f1 in scores.items():
        mean, sd = mean_sd(f1)
        print(f"{label:10}: F1 {mean:.1f} ± {sd:.1f} over {len(f1)} draws of {options.size}")
    gain = mean_sd([a - b for a, b in zip(*scores.values(), strict=True)])[0]
    p = paired_t_test(scores["pretrained"], scores["without"]).p_value
    print(f"gain: {gain:.1f} points, paired t-test p = {p:.2g}")


if __name__ == "__main__":
    main()
