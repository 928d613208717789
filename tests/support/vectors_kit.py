"""Text to train tiny word vectors from, and settings with which that takes a second."""

from __future__ import annotations

from pathlib import Path

from adaptner.corpora.bundled import bundled_corpus
from adaptner.vectors.training import SkipgramSettings

QUICK = SkipgramSettings(
    width=32,
    epochs=2,
    window=7,
    least=2,
    buckets=500,
    rate=0.1,
    sampling=1e-2,
    negatives=3,
    threads=1,
    seed=3,
)


def lines() -> list[str]:
    """Some Greek, Chinese and emoji among plain sentences."""
    plain = [" ".join(s.tokens) for s in bundled_corpus("gene").split("train")]
    return [*plain, *["The TGF - β1 gène 日本語の言葉 😀 __label__x"] * 4]


def write_text(path: Path) -> Path:
    path.write_text("".join(f"{line}\n" for line in lines()), encoding="utf-8")
    return path
