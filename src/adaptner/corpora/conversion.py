"""Converts raw files of corpora that the user has obtained and installs them in the data folder."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from adaptner.corpora.catalogue import CatalogueEntry, find_entry
from adaptner.corpora.converters import FOLDER_CONVERTERS, convert_files
from adaptner.corpora.converters.folders import ConversionProgress
from adaptner.corpora.fetch import Fetcher, FetchResult
from adaptner.errors import CorpusUnavailable, FileMissing, RawFilesMissing
from adaptner.progress import no_progress


def convert_folder(
    name: str, folder: Path, fetcher: Fetcher, progress: ConversionProgress = no_progress
) -> tuple[list[FetchResult], Counter[str]]:
    """Converts the raw files in ``folder`` and installs the corpora.

    ``name`` is one of ``FOLDER_CONVERTERS`` or a corpus of the catalogue. Returns the installed
    corpora and the number of sentences and mentions left out, by reason.
    """
    if not folder.is_dir():
        raise FileMissing(file=folder, hint="give the folder with the raw files")
    entry = None if name in FOLDER_CONVERTERS else find_entry(name)
    if entry is not None and not entry.conversion:
        raise CorpusUnavailable(
            name=entry.name,
            how="by conversion",
            reason="no converter exists for it",
            remedy=f"see `adaptner corpora list {entry.name}`",
        )
    layout = name if entry is None else str(entry.conversion["layout"])
    if layout not in FOLDER_CONVERTERS:
        assert entry is not None  # otherwise layout = name would be in FOLDER_CONVERTERS
        fetcher.splits_to_install(entry)
        splits = convert_files(entry.conversion, _raw_files(entry, folder))
        return [fetcher.install(entry, splits)], Counter()
    converted = FOLDER_CONVERTERS[layout](folder, progress)
    targets = [(find_entry(corpus), splits) for corpus, splits in converted.corpora.items()]
    for target, _ in targets:  # Raise before the first corpus is installed.
        fetcher.splits_to_install(target)
    return [fetcher.install(target, splits) for target, splits in targets], converted.left_out


def _raw_files(entry: CatalogueEntry, folder: Path) -> dict[str, Path]:
    """Finds the raw files of ``entry`` in ``folder``, with or without their path in the repository."""
    files: dict[str, Path] = {}
    for part, path in entry.raw.items():
        name = Path(path).name
        found = [p for p in (folder / path, folder / name) if "://" not in path and p.is_file()]
        found += [p for p in (folder / f"{part}-{name}", folder / name) if p.is_file()]
        if not found:
            names = ", ".join(Path(p).name for p in entry.raw.values())
            raise RawFilesMissing(file=folder, what=name, layout=f"give a folder with {names}")
        files[part] = found[0]
    return files
