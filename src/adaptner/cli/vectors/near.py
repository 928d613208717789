"""``adaptner vectors near``: the nearest words of a word."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from adaptner.cli import options
from adaptner.cli.common import emit_json, out, print_error


def near(
    file: Annotated[Path, options.argument("FILE", "Word vectors in any supported format.")],
    words: Annotated[list[str], options.argument("WORD...", "Words to look up.")],
    count: Annotated[int, options.file("-n, --count N", "Number of words to list.", min=1)] = 10,
    json: options.JsonFlag = False,
) -> None:
    """List the words nearest to each WORD, by the cosine of their vectors.

    Example: adaptner vectors near own.safetensors interleukin HEK293T
    """
    from adaptner.vectors.neighbours import nearest_words
    from adaptner.vectors.word_vectors import read_vectors

    vectors = read_vectors(file)
    neighbours = nearest_words(vectors, words, count)
    known = [vectors.row(word) < len(vectors.words) for word in words]
    results = list(zip(words, known, neighbours, strict=True))
    if json:
        emit_json(
            [
                {
                    "word": word,
                    "known": has_row,
                    "near": None if near is None else [{"word": w, "cosine": c} for w, c in near],
                }
                for word, has_row, near in results
            ]
        )
    for word, has_row, near in results:
        if near is None:
            print_error(f"{word} has no vector in {file}\n  What to do: give a word that has one")
        elif not json:
            out.print(f"{word}{'' if has_row else ' (composed of its n-grams)'}")
            for neighbour, cosine in near:
                out.print(f"  {cosine:.3f}  {neighbour}")
    if None in neighbours:
        raise typer.Exit(1)
