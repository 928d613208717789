"""adaptner corpora: the corpora of the papers, getting them, and what labelled corpora hold."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from adaptner.cli.common import JsonFlag, QuietFlag, emit_json, info, out, print_error, warn
from adaptner.cli.help import GroupHelp, VerbHelp

if TYPE_CHECKING:
    from adaptner.corpora.fetch import FetchResult

app = typer.Typer(
    cls=GroupHelp, help="Find, get and look at labelled corpora.", no_args_is_help=True
)

Output = Annotated[
    Path,
    typer.Option("-o", "--output", metavar="DIR", help="Data folder: DIR/GROUP/NAME/SPLIT.conll."),
]
NoVerify = Annotated[
    bool, typer.Option("--no-verify", help="Accept files whose checksum is not the catalogue's.")
]
Replace = Annotated[bool, typer.Option("--replace", help="Overwrite files that differ.")]


@app.command("list", cls=VerbHelp)
def list_(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="NAME...", help="Say all of these corpora, in place of the table."),
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Look at what is in this data folder, by checksum."),
    ] = None,
    json: JsonFlag = False,
) -> None:
    """List the corpora of the papers: licence, address, and whether they are here.

    States: here (the checksum is right), changed, incomplete; and of those that are not here:
    obtainable (by corpora fetch), by copy (fetch with --from), by hand, licensed, not available.

    Example: adaptner corpora list --data data
    """
    from adaptner.cli.corpora_tables import facts, print_card, print_catalogue
    from adaptner.corpora.catalogue import catalogue, describe_state, find_entry
    from adaptner.errors import FileMissing
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
        list[str], typer.Argument(metavar="NAME...", help="Corpora (GROUP/NAME or NAME) or groups.")
    ],
    output: Output,
    origin: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="DIR|URL",
            help="A folder or a mirror with converted files (GROUP/NAME/SPLIT.conll) in place of "
            "where the corpus was published.",
        ),
    ] = None,
    no_verify: NoVerify = False,
    replace: Replace = False,
    timeout: Annotated[float, typer.Option(min=0.1, help="Seconds to wait for an answer.")] = 30.0,
    attempts: Annotated[
        int, typer.Option(min=1, help="Attempts in a row that may bring nothing.")
    ] = 5,
    json: JsonFlag = False,
    quiet: QuietFlag = False,
) -> None:
    """Download corpora, convert them to our layout and compare their checksums.

    A broken download is resumed, now and when the command is run again. A file is put in place
    only whole and with the right checksum; a converted file with another one is kept beside it
    (SPLIT.conll.mismatch) and the exit code is 1.

    Example: adaptner corpora fetch bio8 news/conll03 -o data
    """
    from adaptner.cli.corpora_tables import download_bars
    from adaptner.corpora.catalogue import select_entries
    from adaptner.corpora.download import Downloader
    from adaptner.corpora.fetch import Fetcher, parse_origin
    from adaptner.errors import AdaptnerError

    entries = select_entries(names)
    source = parse_origin(origin)
    web = Downloader(attempts=attempts, timeout=timeout)
    report: list[dict[str, Any]] = []
    for entry in entries:
        try:
            with download_bars(quiet or json) as watching:
                fetcher = Fetcher(output, web, watching, verify=not no_verify, replace=replace)
                outcome = fetcher.fetch(entry, source)
        except AdaptnerError as error:
            print_error(str(error))
            report.append({"name": entry.name, "did": "failed", "error": str(error)})
        else:
            report.append(asdict(outcome))
            _tell(outcome, json, quiet)
    if json:
        emit_json(report)
    if any("error" in row for row in report):
        raise typer.Exit(1)


@app.command(cls=VerbHelp)
def convert(
    name: Annotated[
        str,
        typer.Argument(metavar="NAME", help="ontonotes, ace2005, or a corpus of the catalogue."),
    ],
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Where its raw files are.")],
    output: Output,
    no_verify: NoVerify = False,
    replace: Replace = False,
    json: JsonFlag = False,
    quiet: QuietFlag = False,
) -> None:
    """Convert raw files that you have to our layout.

    ontonotes: the folder of the CoNLL-2012 files. ace2005: data/English of LDC2006T06. Others: a
    folder with the files that corpora list NAME names. Nothing leaves your machine.

    Example: adaptner corpora convert ontonotes conll-2012 -o data
    """
    from adaptner.corpora.conversion import convert_folder
    from adaptner.corpora.fetch import Fetcher
    from adaptner.progress import progress_bar

    fetcher = Fetcher(output, verify=not no_verify, replace=replace)
    with progress_bar("reading", quiet or json) as progress:
        outcomes, left_out = convert_folder(name, folder, fetcher, progress)
    for outcome in outcomes:
        _tell(outcome, json, quiet)
    for reason, count in left_out.items():
        if count:
            info(f"left out: {count:,} {reason}", quiet)
    if json:
        left = {reason: count for reason, count in left_out.items() if count}
        emit_json({"corpora": [asdict(o) for o in outcomes], "left_out": left})


@app.command(cls=VerbHelp)
def stats(
    folders: Annotated[
        list[str],
        typer.Argument(
            metavar="DIR...", help="Folders with train, dev and test files; DOMAIN=DIR names one."
        ),
    ],
    json: JsonFlag = False,
) -> None:
    """Count sentences, mentions, tokens and types of corpora.

    Example: adaptner corpora stats data/bio8/ncbi-disease data/bio8/jnlpba
    """
    from adaptner.cli.corpora_tables import print_statistics
    from adaptner.corpora.corpus import load_corpus
    from adaptner.corpora.statistics import corpus_statistics

    found = []
    for folder in folders:
        corpus = load_corpus(folder)
        found.append((corpus_statistics(corpus), corpus.sha256))
    if json:
        emit_json([asdict(figures) | {"sha256": sha256} for figures, sha256 in found])
    else:
        print_statistics([figures for figures, _ in found])


def _tell(outcome: FetchResult, json: bool, quiet: bool) -> None:
    if not json:
        splits = ", ".join(outcome.sha256)
        out.print(f"{outcome.name}: {outcome.did} ({splits})", markup=False)
    if not outcome.verified:
        sums = ", ".join(f"{split} {sha256}" for split, sha256 in outcome.sha256.items())
        warn(f"{outcome.name}: not compared with a known checksum: {sums}", quiet)
