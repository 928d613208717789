"""``adaptner terms attach``: put compiled terminologies into a base."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Annotated

from adaptner.cli import options
from adaptner.cli.common import info


def attach(
    terms: Annotated[Path, options.argument("TERMS", "A file made by `adaptner terms build`.")],
    base: Annotated[Path, options.argument("BASE", "Folder of the base, which is changed.")],
    raw: Annotated[
        Path,
        options.file(
            "--raw FILE",
            "Some 200 sentences of the field, one a line. They hold a tagger to the dictionary "
            "on text that nobody has labelled.",
        ),
    ],
    quiet: options.QuietFlag = False,
) -> None:
    """Put compiled terminologies into a base.

    Taggers made with it start from the dictionary for every label that the terminologies know.

    Example: adaptner terms attach terms.bin my-base --raw raw.txt
    """
    from adaptner.corpora.raw_text import find_text_files
    from adaptner.errors import EmptyFile
    from adaptner.files import atomic_file, digest
    from adaptner.models.storage import amend_manifest, read_manifest
    from adaptner.models.terms import RAW_FILE, TERMS_FILE
    from adaptner.terms.compiled import CompiledTerms

    compiled = CompiledTerms.load(terms)
    (source,) = find_text_files([raw])
    sentences = Path(source).read_text(encoding="utf-8")
    if not sentences.strip():
        raise EmptyFile(file=raw, unit="sentence")
    files = read_manifest(base, "base").files
    with open(terms, "rb") as content, atomic_file(base / TERMS_FILE, "wb") as file:
        shutil.copyfileobj(content, file)
    with atomic_file(base / RAW_FILE) as file:
        file.write(sentences)
    added = {name: digest(base / name) for name in (TERMS_FILE, RAW_FILE)}
    amend_manifest(base, "base", files={**files, **added})
    info(f"{len(compiled):,} names are in {base}", quiet)
