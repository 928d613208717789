"""``adaptner vectors train`` and ``count``: two ways to make word vectors from raw text."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Any

from adaptner.cli.common import emit_json, info, out
from adaptner.cli.options import JsonFlag, QuietFlag, machine_option, research_option
from adaptner.cli.vectors.options import (
    Buckets,
    KeepCase,
    MinCount,
    NgramLengths,
    Texts,
    Tokenise,
    VectorSeed,
    VectorsOutput,
    Width,
    Window,
)


def train(
    texts: Texts,
    output: VectorsOutput,
    tokenise: Tokenise = False,
    keep_case: KeepCase = False,
    json: JsonFlag = False,
    quiet: QuietFlag = False,
    width: Width = 200,
    epochs: Annotated[
        int, research_option(metavar="N", min=1, help="Number of passes over the text.")
    ] = 5,
    window: Window = 5,
    min_count: MinCount = 5,
    ngrams: NgramLengths = "4-5",
    buckets: Buckets = 100_000,
    threads: Annotated[
        int,
        machine_option(metavar="N", min=1, help="Threads; only with 1 are two runs identical."),
    ] = 2,
    seed: VectorSeed = 0,
) -> None:
    """Train subword vectors, which give every word a vector, also unseen ones.

    The text has one sentence per line and may be of any size. A plain copy of it lies next to FILE
    during training. Needs the extra "vectors" of the package.

    Example: adaptner vectors train abstracts.txt.xz papers/ -o own.safetensors
    """
    from adaptner.progress import progress_bar
    from adaptner.vectors.training import SkipgramSettings, train_skipgram_vectors

    _check_even(width)
    min_gram, max_gram = _ngram_lengths(ngrams)
    settings = SkipgramSettings(
        width=width,
        epochs=epochs,
        window=window,
        least=min_count,
        min_gram=min_gram,
        max_gram=max_gram,
        buckets=buckets,
        threads=threads,
        seed=seed,
        lower=not keep_case,
    )
    start = time.monotonic()
    facts = train_skipgram_vectors(
        texts,
        output,
        settings,
        tokenised=not tokenise,
        shown=lambda title: progress_bar(title, quiet or json),
    )
    _report(output, facts, time.monotonic() - start, json, quiet)


def count(
    texts: Texts,
    output: VectorsOutput,
    tokenise: Tokenise = False,
    keep_case: KeepCase = False,
    json: JsonFlag = False,
    quiet: QuietFlag = False,
    width: Width = 200,
    window: Window = 5,
    min_count: MinCount = 6,
    contexts: Annotated[
        int,
        research_option(metavar="N", min=1, help="Number of most frequent words used as context."),
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
    from adaptner.progress import progress_bar
    from adaptner.vectors.counting import CountingSettings, train_count_vectors

    _check_even(width)
    min_gram, max_gram = _ngram_lengths(ngrams)
    settings = CountingSettings(
        width=width,
        window=window,
        least=min_count,
        contexts=contexts,
        min_gram=min_gram,
        max_gram=max_gram,
        buckets=buckets,
        seed=seed,
        lower=not keep_case,
    )
    start = time.monotonic()
    facts = train_count_vectors(
        texts,
        output,
        settings,
        tokenised=not tokenise,
        shown=lambda title: progress_bar(title, quiet or json),
    )
    _report(output, facts, time.monotonic() - start, json, quiet)


def _report(
    output: Path, facts: dict[str, Any], seconds: float, as_json: bool, quiet: bool
) -> None:
    if as_json:
        emit_json({"file": str(output), **facts, "seconds": round(seconds, 1)})
        return
    out.print(
        f"{output}: {facts['words']:,} words of {facts['width']} numbers, {facts['buckets']:,} rows "
        f"of n-grams, {facts['bytes'] / 1e6:.1f} MB",
        markup=False,
    )
    info(f"trained on {facts['tokens']:,} words of text in {seconds:.0f} s", quiet)


def _check_even(width: int) -> None:
    from adaptner.errors import UsageError

    if width % 2:
        remedy = f"two numbers share a byte: give --width {width + 1}"
        raise UsageError(problem=f"--width {width} is odd", remedy=remedy)


def _ngram_lengths(text: str) -> tuple[int, int]:
    from adaptner.errors import UsageError

    low, _, high = text.partition("-")
    if low.isdecimal() and high.isdecimal() and 1 <= int(low) <= int(high) <= 20:
        return int(low), int(high)
    remedy = "give the minimum and maximum number of characters, for example --ngrams 4-5"
    raise UsageError(problem=f"--ngrams {text} is not a pair of lengths up to 20", remedy=remedy)
