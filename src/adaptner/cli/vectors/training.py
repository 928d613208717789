"""``adaptner vectors train`` and ``count``: two ways to make word vectors from raw text."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated, Any

from adaptner.cli import options
from adaptner.cli.common import emit_json, info, out
from adaptner.errors import UsageError

Width = Annotated[
    int, options.research("--width N", "Numbers per word vector, an even number.", min=2)
]
WindowOption = Annotated[
    int, options.research("--window N", "Context words on each side of a word.", min=1)
]
MinCount = Annotated[
    int,
    options.research("--min-count N", "Rarer words have only the vectors of their n-grams.", min=1),
]
NgramLengths = Annotated[str, options.research("--ngrams A-B", "Lengths of the character n-grams.")]
Buckets = Annotated[
    int, options.research("--buckets N", "Number of rows that the n-grams share.", min=1)
]
KeepCase = Annotated[
    bool, options.file("--keep-case", "Distinguish Words from words instead of lower-casing.")
]
Tokenise = Annotated[
    bool,
    options.file("--tokenise", "Tokenise the text, which otherwise has spaces between tokens."),
]
VectorSeed = Annotated[
    int, options.machine("--seed N", "Seed of the random numbers.", min=0, max=2**31 - 1)
]


def train(
    texts: options.Texts,
    output: options.VectorsOutput,
    tokenise: Tokenise = False,
    keep_case: KeepCase = False,
    walks: Annotated[
        Path | None,
        options.file(
            "--walks FILE", "Terminology (.tsv, .tsv.xz) whose names are mixed into the text."
        ),
    ] = None,
    json: options.JsonFlag = False,
    quiet: options.QuietFlag = False,
    held_out: options.HeldOut = None,
    width: Width = 200,
    epochs: Annotated[
        int, options.research("--epochs N", "Number of passes over the text.", min=1)
    ] = 5,
    window: WindowOption = 5,
    min_count: MinCount = 5,
    ngrams: NgramLengths = "4-5",
    buckets: Buckets = 100_000,
    rate: Annotated[float, options.research("--rate X", "Learning rate at the start.")] = 0.05,
    sampling: Annotated[
        float,
        options.research("--sampling X", "Share of the text above which words are thinned out."),
    ] = 1e-4,
    negatives: Annotated[
        int, options.research("--negatives N", "Random words compared with each word.", min=1)
    ] = 5,
    threads: Annotated[
        int, options.machine("--threads N", "Threads; only with 1 are two runs identical.", min=1)
    ] = 2,
    seed: VectorSeed = 0,
) -> None:
    """Train subword vectors, which give every word a vector, also unseen ones.

    The text has one sentence per line and may be of any size. A plain copy of it lies next to FILE
    during training. Needs the extra "vectors" of the package.

    Example: adaptner vectors train abstracts.txt.xz papers/ -o own.safetensors

    Example: adaptner vectors train papers/ --walks mesh.tsv.xz -o own.safetensors
    """
    from adaptner.cli.vectors.terminology import read_concepts
    from adaptner.corpora.corpus import load_corpus
    from adaptner.vectors.training import SkipgramSettings, train_skipgram_vectors

    for option, value in (("--rate", rate), ("--sampling", sampling)):
        if not 0 < value < float("inf"):  # also refuses NaN
            raise UsageError(
                problem=f"{option} {value}: not a positive number",
                remedy="leave it out, or give a number such as 0.05 (--rate) or 1e-4 (--sampling)",
            )
    settings = SkipgramSettings(
        **_width_and_ngrams(width, ngrams),
        epochs=epochs,
        window=window,
        least=min_count,
        buckets=buckets,
        rate=rate,
        sampling=sampling,
        negatives=negatives,
        threads=threads,
        seed=seed,
        lower=not keep_case,
    )
    train_vectors = partial(
        train_skipgram_vectors,
        held_out=[s for folder in held_out or () for s in load_corpus(folder).split("test")],
        terminology=() if walks is None else read_concepts(walks),
    )
    _run(train_vectors, settings, texts, output, tokenise, json, quiet)


def count(
    texts: options.Texts,
    output: options.VectorsOutput,
    tokenise: Tokenise = False,
    keep_case: KeepCase = False,
    json: options.JsonFlag = False,
    quiet: options.QuietFlag = False,
    width: Width = 200,
    window: WindowOption = 5,
    min_count: MinCount = 6,
    contexts: Annotated[
        int,
        options.research("--contexts N", "Number of most frequent words used as context.", min=1),
    ] = 50_000,
    ngrams: NgramLengths = "4-5",
    buckets: Buckets = 100_000,
    seed: VectorSeed = 0,
) -> None:
    """Make subword vectors by counting the neighbours of each word, left and right.

    Takes minutes where `train` takes most of an hour, gives the same file each time and suits small
    texts. Keeps the counts in memory: 3.5 GB for 75 million words. Needs the extra "vectors" of the
    package.

    Example: adaptner vectors count abstracts.txt.xz papers/ -o own.safetensors
    """
    from adaptner.vectors.counting import CountingSettings, train_count_vectors

    settings = CountingSettings(
        **_width_and_ngrams(width, ngrams),
        window=window,
        least=min_count,
        contexts=contexts,
        buckets=buckets,
        seed=seed,
        lower=not keep_case,
    )
    _run(train_count_vectors, settings, texts, output, tokenise, json, quiet)


def _run(
    train_vectors: Callable[..., dict[str, Any]],
    settings: Any,
    texts: list[Path],
    output: Path,
    tokenise: bool,
    json: bool,
    quiet: bool,
) -> None:
    from adaptner.progress import progress_bar

    start = time.monotonic()
    shown = partial(progress_bar, quiet=quiet or json)
    facts = train_vectors(texts, output, settings, tokenised=not tokenise, shown=shown)
    seconds = time.monotonic() - start
    if json:
        emit_json({"file": str(output), **facts, "seconds": round(seconds, 1)})
        return
    out.print(
        f"{output}: {facts['words']:,} words of {facts['width']} numbers, {facts['buckets']:,} rows "
        f"of n-grams, {facts['bytes'] / 1e6:.1f} MB"
    )
    if walks := facts.get("walks"):
        info(f"{walks:,} walks mixed into {facts['sentences']:,} sentences", quiet)
    if held_out := facts.get("held_out"):
        info(f"{held_out:,} sentences left out (in a held-out test set)", quiet)
    info(f"trained on {facts['tokens']:,} words of text in {seconds:.0f} s", quiet)


def _width_and_ngrams(width: int, ngrams: str) -> dict[str, Any]:
    """The settings for the width and the lengths of n-grams. Raises if they are out of range."""
    if width % 2:
        remedy = f"two numbers share a byte: give --width {width + 1}"
        raise UsageError(problem=f"--width {width} is odd", remedy=remedy)
    low, _, high = ngrams.partition("-")
    if low.isdecimal() and high.isdecimal() and 1 <= int(low) <= int(high) <= 20:
        return {"width": width, "min_gram": int(low), "max_gram": int(high)}
    remedy = "give the minimum and maximum number of characters, for example --ngrams 4-5"
    raise UsageError(problem=f"--ngrams {ngrams} is not a pair of lengths up to 20", remedy=remedy)
