"""On real corpora: a short HGDA run must help adaptation to a domain it never saw."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from adaptner.compute import prepare_process
from adaptner.metrics.significance import mean_sd, paired_t_test

BENCHMARK = Path(__file__).resolve().parents[2] / "benchmarks" / "real_data.py"


def test_pretraining_gains_five_points_at_twenty_sentences(
    shared_data: Path, shared_vectors: Path
) -> None:
    """The whole run, on all test sentences, is `benchmarks/real_data.py`; this one is shorter."""
    spec = importlib.util.spec_from_file_location("real_data", BENCHMARK)
    assert spec is not None
    assert spec.loader is not None
    benchmark = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(benchmark)
    prepare_process()
    rows = benchmark.rows_of("bc5cdr-chem", iterations=200, size=20, draws=10, limit=300)
    pretrained, without = ([row["f1"] for row in rows[k]] for k in ("pretrained", "without"))
    gain = mean_sd([a - b for a, b in zip(pretrained, without, strict=True)])[0]
    assert gain >= 0.05, f"F1 {pretrained} against {without}"
    assert paired_t_test(pretrained, without).p_value < 0.05
