"""Results and requests for tests of reports."""

from __future__ import annotations

from typing import Any

from store_kit import result as stored_result

from adaptner.reproduce.jobs.result import StoredResult
from adaptner.reproduce.report.request import ReportRequest

BIO8 = {
    "NCBI": "ncbi-disease",
    "BC5CDR-disease": "bc5cdr-disease",
    "BC5CDR-drug": "bc5cdr-chem",
    "BC4CHEMD": "bc4chemd-sub",
    "JNLPBA": "jnlpba",
    "BC2GM": "bc2gm",
    "LINNAEUS": "linnaeus",
    "S800": "s800",
}
TARGETS5 = {
    "BioNLP13PC": "bionlp13pc",
    "MIT Movie": "mit-movie",
    "MIT Restaurant": "mit-restaurant",
    "Re3d": "re3d",
    "SEC": "sec",
}


def result(
    method="hgda", target="ncbi-disease", size=5, seed=0, f1=0.3, **facts: Any
) -> StoredResult:
    key = f"{method}/{target}/{size}/{seed}/{sorted(facts.items())}"
    scores = {"f1": f1, "precision": f1, "recall": f1, "data": {target: "ab" * 32}}
    facts = {"key": key, "seed": seed, **scores, "settings": {"k": 10}, **facts}
    return stored_result(method=method, target=target, size=size, **facts)


def draws(values, method="hgda", target="ncbi-disease", size=5, **facts: Any) -> list[StoredResult]:
    """Returns a result per value, with seeds from 0."""
    return [result(method, target, size, seed, value, **facts) for seed, value in enumerate(values)]


def request(table="hgda/3", columns=BIO8, **facts: Any) -> ReportRequest:
    defaults: dict[str, Any] = {"profile": "quick", "command": f"adaptner reproduce {table}"}
    return ReportRequest(table=table, columns=columns, **{**defaults, **facts})


def many(methods=("hgda", "hgda-nes", "metaner", "maml"), sizes=(5, 10, 20, 50), seeds=3):
    """Returns results for a whole table, with varied scores."""
    return [
        result(
            m, t, size, seed, 0.2 + 0.03 * i + 0.01 * j + 0.004 * size + 0.02 * (seed * (i + 1) % 3)
        )
        for i, m in enumerate(methods)
        for j, t in enumerate(BIO8.values())
        for size in sizes
        for seed in range(seeds)
    ]
