"""``adaptner terms build``: compile terminologies and lists into one file."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

from adaptner.cli import options
from adaptner.cli.common import emit_json, info, out


def build(
    files: Annotated[
        list[Path],
        options.argument("FILES...", "Terminologies and lists of names, or folders of them."),
    ],
    output: Annotated[Path, options.file("-o, --output FILE", "The file to write.")],
    text: Annotated[
        list[Path] | None,
        options.file("--text TEXT...", "Raw texts of the field: one tokenised sentence a line."),
    ] = None,
    general: Annotated[
        list[Path] | None, options.file("--general TEXT...", "Raw texts of anything else.")
    ] = None,
    exclude: Annotated[
        Path | None, options.file("--exclude FILE", "A list of names to leave out.")
    ] = None,
    only_shippable: Annotated[
        bool,
        options.file(
            "--only-shippable", "Leave out files whose licences do not let a base contain them."
        ),
    ] = False,
    json: options.JsonFlag = False,
    quiet: options.QuietFlag = False,
) -> None:
    """Compile terminologies and lists of names into one file.

    Reads OBO, MeSH, tables (id, name, synonyms, parents, note) and lists: a name a line, or a table
    with the columns name, id, synonyms and kind. A list without kinds is called after its kind
    (disease.txt). A file replaces an earlier one of the same name; MeSH's yearly files replace mesh.

    How often names occur in raw texts tells which of them are ordinary words, and what abbreviations
    stand for. Without texts all names count alike.

    Example: adaptner terms build terms/ desc2026.xml -o terms.bin --text abstracts.txt.xz --general news.txt
    """
    from adaptner.progress import progress_bar
    from adaptner.terms.from_files import compile_files, find_sources
    from adaptner.terms.readers import read_concepts

    start = time.monotonic()
    sources = find_sources(files, only_shippable)
    terms = compile_files(
        sources,
        lambda title: progress_bar(title, quiet or json),
        text=text or (),
        general=general or (),
        exclude=[n for c in read_concepts(exclude) for n in c.names] if exclude else (),
    )
    terms.save(output)
    seconds = time.monotonic() - start
    if json:
        emit_json(
            {
                "file": str(output),
                "names": len(terms),
                "concepts": terms.facts["concepts"],
                "sources": list(sources.files),
                "left_out": list(sources.left_out),
                "seconds": round(seconds, 1),
            }
        )
        return
    out.print(
        f"{output}: {len(terms):,} names of {terms.facts['concepts']:,} concepts "
        f"from {len(sources.files)} file(s), {output.stat().st_size / 1e6:.1f} MB"
    )
    if sources.left_out:
        info(f"left out, because they may not ship: {', '.join(sources.left_out)}", quiet)
    info(f"compiled in {seconds:.0f} s", quiet)
