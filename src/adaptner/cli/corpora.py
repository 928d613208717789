"""``adaptner corpora``: list, download, convert and count labelled corpora."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from adaptner.cli import options
from adaptner.cli.common import emit_json, info, out, print_error, warn
from adaptner.cli.help import GroupHelp, VerbHelp
from adaptner.errors import AdaptnerError, FileMissing

if TYPE_CHECKING:
    from adaptner.corpora.fetch import FetchResult

app = typer.Typer(
    cls=GroupHelp, help="List, download, convert and count labelled corpora.", no_args_is_help=True
)

Output = Annotated[
    Path,
    options.file(
        "-o, --output FOLDER", "Data folder; files are written to FOLDER/GROUP/NAME/SPLIT.conll."
    ),
]
NoVerify = Annotated[
    bool, options.file("--no-verify", "Accept files whose checksum differs from the catalogue's.")
]
Replace = Annotated[bool, options.file("--replace", "Overwrite existing files that differ.")]


@app.command("list", cls=VerbHelp)
def list_(
    names: Annotated[
        list[str] | None, options.argument("NAME...", "Show all details of these corpora.")
    ] = None,
    data: Annotated[
        Path | None,
        options.file("--data FOLDER", "Compare the files in this data folder by checksum."),
    ] = None,
    json: options.JsonFlag = False,
) -> None:
    """List the corpora of the papers, with licence, address and state.

    States of corpora in the data folder: here (the checksums match), changed, incomplete. States of
    others: obtainable (with `corpora fetch`), by copy (`fetch --from`), by hand, licensed, not
    available.

    Example: adaptner corpora list --data data
    """
    from adaptner.cli.corpora_tables import facts, print_card, print_catalogue
    from adaptner.corpora.catalogue import catalogue, describe_state, find_entry
    from adaptner.progress import progress_bar

    if data is not None and not data.is_dir():
        raise FileMissing(file=data, hint="--data takes a folder with GROUP/NAME/SPLIT.conll")
    entries = [find_entry(name) for name in names] if names else list(catalogue())
    states: dict[str, str] = {}
    with progress_bar("comparing checksums", quiet=json or data is None) as progress:
        for number, entry in enumerate(entries, start=1):
            states[entry.name] = describe_state(entry, data)
            progress(number, len(entries))
    if json:
        emit_json([facts(entry, states[entry.name]) for entry in entries])
    elif names:
        for entry in entries:
            print_card(entry, states[entry.name])
    else:
        print_catalogue(entries, states)


@app.command(cls=VerbHelp)
def fetch(
    names: Annotated[
        list[str], options.argument("NAME...", "Corpora (GROUP/NAME or NAME) or whole groups.")
    ],
    output: Output,
    origin: Annotated[
        str | None,
        options.file(
            "--from FOLDER|URL",
            "Folder or mirror with converted files (GROUP/NAME/SPLIT.conll), used instead "
            "of the publisher's site.",
        ),
    ] = None,
    no_verify: NoVerify = False,
    replace: Replace = False,
    timeout: Annotated[
        float, options.machine("--timeout X", "Seconds to wait for a response.", min=0.1)
    ] = 30.0,
    attempts: Annotated[
        int, options.machine("--attempts N", "Attempts without progress before giving up.", min=1)
    ] = 5,
    json: options.JsonFlag = False,
    quiet: options.QuietFlag = False,
) -> None:
    """Download corpora, convert them to our layout and compare their checksums.

    A broken download is resumed, also when the command is repeated. A file appears only when it is
    complete and its checksum matches; a converted file whose checksum differs is kept as
    SPLIT.conll.mismatch, and the exit code is 1.

    Example: adaptner corpora fetch bio8 news/conll03 -o data
    """
    from adaptner.cli.corpora_tables import download_bars
    from adaptner.corpora.catalogue import select_entries
    from adaptner.corpora.download import Downloader
    from adaptner.corpora.fetch import Fetcher, parse_origin

    entries = select_entries(names)
    source = parse_origin(origin)
    web = Downloader(attempts=attempts, timeout=timeout)
    report: list[dict[str, Any]] = []
    for entry in entries:
        try:
            with download_bars(quiet or json) as progress:
                fetcher = Fetcher(output, web, progress, verify=not no_verify, replace=replace)
                result = fetcher.fetch(entry, source)
        except AdaptnerError as error:
            print_error(error)
            report.append({"name": entry.name, "did": "failed", "error": str(error)})
        else:
            report.append(asdict(result))
            _report(result, json, quiet)
    if json:
        emit_json(report)
    if any("error" in row for row in report):
        raise typer.Exit(1)


@app.command(cls=VerbHelp)
def convert(
    name: Annotated[
        str, options.argument("NAME", "ontonotes, ace2005 or a corpus of the catalogue.")
    ],
    folder: Annotated[Path, options.argument("FOLDER", "Folder of the raw files.")],
    output: Output,
    no_verify: NoVerify = False,
    replace: Replace = False,
    json: options.JsonFlag = False,
    quiet: options.QuietFlag = False,
) -> None:
    """Convert raw files of a corpus that you have to our layout.

    FOLDER holds the CoNLL-2012 files for ontonotes, data/English of LDC2006T06 for ace2005, and
    otherwise the files that `corpora list NAME` names. Nothing leaves your machine.

    Example: adaptner corpora convert ontonotes conll-2012 -o data
    """
    from adaptner.corpora.conversion import convert_folder
    from adaptner.corpora.fetch import Fetcher
    from adaptner.progress import progress_bar

    fetcher = Fetcher(output, verify=not no_verify, replace=replace)
    with progress_bar("reading", quiet or json) as progress:
        results, left_out = convert_folder(name, folder, fetcher, progress)
    for result in results:
        _report(result, json, quiet)
    left = {reason: count for reason, count in left_out.items() if count}
    for reason, count in left.items():
        info(f"left out: {count:,} {reason}", quiet)
    if json:
        emit_json({"corpora": [asdict(r) for r in results], "left_out": left})


@app.command(cls=VerbHelp)
def stats(
    folders: Annotated[
        list[str],
        options.argument(
            "FOLDER...", "Folders with train, dev and test files, each FOLDER or DOMAIN=FOLDER."
        ),
    ],
    json: options.JsonFlag = False,
) -> None:
    """Count sentences, mentions, tokens and labels of corpora.

    Example: adaptner corpora stats data/bio8/ncbi-disease data/bio8/jnlpba
    """
    from adaptner.cli.corpora_tables import print_statistics
    from adaptner.corpora.corpus import load_corpus
    from adaptner.corpora.statistics import corpus_statistics

    rows = [(corpus_statistics(corpus), corpus.sha256) for corpus in map(load_corpus, folders)]
    if json:
        emit_json([asdict(counts) | {"sha256": sha256} for counts, sha256 in rows])
    else:
        print_statistics([counts for counts, _ in rows])


def _report(result: FetchResult, json: bool, quiet: bool) -> None:
    if not json:
        splits = ", ".join(result.sha256)
        out.print(f"{result.name}: {result.did} ({splits})")
    if not result.verified:
        sums = ", ".join(f"{split} {sha256}" for split, sha256 in result.sha256.items())
        warn(f"{result.name}: not compared with a known checksum: {sums}", quiet)
