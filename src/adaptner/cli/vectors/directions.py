"""``adaptner vectors directions``: learn from raw text what label names mean."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import Annotated

from adaptner.cli import options
from adaptner.cli.common import emit_json, info, out
from adaptner.errors import UsageError


def directions(
    texts: options.Texts,
    vectors: Annotated[
        Path, options.file("--vectors FILE", "Word vectors made by `adaptner vectors train`.")
    ],
    output: options.VectorsOutput,
    as_json: options.JsonFlag = False,
    quiet: options.QuietFlag = False,
) -> None:
    """Learn from raw text what label names mean: "diseases such as asthma".

    Stores a direction in the vector space for each name that the text explains in such phrases. A
    tagger for a label of that name (Disease, CellLine, ...) then starts from it. The text has one
    tokenised sentence per line; the output may be the file of the vectors.

    Example: adaptner vectors directions abstracts.txt.xz --vectors own.safetensors -o own.safetensors
    """
    from adaptner.corpora.raw_text import sentences_of_files
    from adaptner.progress import progress_bar
    from adaptner.text.hearst_patterns import InstanceCounts
    from adaptner.vectors.direction_training import train_label_directions
    from adaptner.vectors.subword_file import ENDING
    from adaptner.vectors.word_vectors import read_vectors, write_vectors

    table = read_vectors(vectors)
    if table.grams is None or output.suffix != ENDING:
        raise UsageError(
            problem=f"{vectors} or {output} is not a {ENDING} file of `adaptner vectors train`",
            remedy="make the vectors with `adaptner vectors train`",
        )
    start = time.monotonic()
    with progress_bar("reading names", quiet or as_json) as progress:
        instances = InstanceCounts.of(sentences_of_files(texts, progress))
    found = train_label_directions(table, instances)
    write_vectors(replace(table, directions=found), output)
    seconds = time.monotonic() - start
    if as_json:
        emit_json({"file": str(output), "names": len(found.names), "seconds": round(seconds, 1)})
    else:
        out.print(f"{output}: directions of {len(found.names):,} names")
        info(f"read in {seconds:.0f} s", quiet)
