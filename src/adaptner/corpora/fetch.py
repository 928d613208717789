"""Getting a corpus of the catalogue: from a folder, from a mirror, or from where it was published.

Whatever the way, a file is put in place only whole and only if its checksum is the catalogue's.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from urllib.parse import quote

from adaptner.corpora.catalogue import CatalogueEntry, check_files
from adaptner.corpora.converters import FOLDER_CONVERTERS, convert_files
from adaptner.corpora.converters.sentences import Splits, to_conll_bytes
from adaptner.corpora.corpus import SPLITS
from adaptner.corpora.download import Downloader, DownloadProgress, no_download_progress
from adaptner.errors import ChecksumMismatch, CorpusUnavailable, FileMissing, UsageError
from adaptner.files import atomic_file, digest, translate_os_errors

MISMATCH_ENDING = ".mismatch"  # the ending of a converted file that is not what it should be
FetchProgress = Callable[
    [str], DownloadProgress
]  # the watch for the download of a file of that name


@dataclass(frozen=True)
class FetchResult:
    """What became of one corpus: ``did`` is "already there", "copied", "downloaded" or "converted"."""

    name: str
    did: str
    sha256: Mapping[str, str]
    verified: bool


@dataclass(frozen=True)
class Fetcher:
    """Puts corpora into the folder ``data``. Files that are there and differ are left alone,
    unless ``replace``; checksums are compared, unless not ``verify``."""

    data: Path
    web: Downloader = field(default_factory=Downloader)
    watching: FetchProgress = lambda name: no_download_progress
    verify: bool = True
    replace: bool = False

    def fetch(self, entry: CatalogueEntry, origin: Path | str | None = None) -> FetchResult:
        """``origin``: a folder in our layout, the address of a mirror in our layout, or None for
        where the corpus was published."""
        wanted = self.wanted(entry)
        if entry.sha256 and not wanted:
            return FetchResult(entry.name, "already there", dict(entry.sha256), True)
        if isinstance(origin, Path):
            return self._copied(entry, origin, wanted)
        if not entry.sha256:
            raise _not_to_be_had(entry)
        if origin is not None:
            return self._mirrored(entry, origin, wanted)
        return self._published(entry)

    def place(self, entry: CatalogueEntry, splits: Splits) -> FetchResult:
        """Put converted sentences in place, all of them or, if one is not right, none."""
        self.wanted(entry)
        files = {split: to_conll_bytes(sentences) for split, sentences in splits.items()}
        found = {split: sha256(content).hexdigest() for split, content in files.items()}
        wrong = [s for s in found if entry.sha256 and found[s] != entry.sha256.get(s)]
        if wrong and self.verify:
            asides = [self._aside(entry, split) for split in wrong]
            for split, aside in zip(wrong, asides, strict=True):
                with atomic_file(aside, "wb") as file:
                    file.write(files[split])
            remedy = (
                f"nothing was put in place; look at {', '.join(map(str, asides))} and accept with "
                "--no-verify, or give the converted files with --from"
            )
            raise _mismatch(entry, wrong[0], found[wrong[0]], "what came out of it", remedy)
        for split, content in files.items():
            with atomic_file(entry.file(self.data, split), "wb") as file:
                file.write(content)
            self._aside(entry, split).unlink(missing_ok=True)
        return FetchResult(entry.name, "converted", found, bool(entry.sha256) and not wrong)

    def wanted(self, entry: CatalogueEntry) -> tuple[str, ...]:
        """The splits that are not here yet; refuses if other files stand in their place."""
        seen = check_files(entry, self.data)
        if self.replace:
            return seen.missing + seen.changed
        if seen.changed:
            split = seen.changed[0]
            remedy = "move your file away, or overwrite it with --replace"
            raise _mismatch(
                entry, split, seen.found[split], str(entry.file(self.data, split)), remedy
            )
        if seen.unverified:
            there = entry.file(self.data, seen.unverified[0])
            raise CorpusUnavailable(
                name=entry.name,
                how=f"into {self.data}",
                reason=f"{there} is there, and no checksum of it is known",
                remedy="move your file away, or overwrite it with --replace",
            )
        return seen.missing

    def _copied(self, entry: CatalogueEntry, origin: Path, wanted: tuple[str, ...]) -> FetchResult:
        folder = entry.folder(origin)
        if not folder.is_dir():
            raise FileMissing(file=folder, hint="--from takes a folder with GROUP/NAME/SPLIT.conll")
        if not entry.sha256:
            wanted = tuple(s for s in SPLITS if entry.file(origin, s).is_file())
            if self.verify or not wanted:
                raise _unverifiable(entry)
        for split in wanted:
            source = entry.file(origin, split)
            if not source.is_file():
                raise FileMissing(file=source, hint="the folder lacks a split of this corpus")
            self._check(entry, split, digest(source), str(source), "give another folder")
        for split in wanted:
            target = entry.file(self.data, split)
            with (
                open(entry.file(origin, split), "rb") as source_file,
                atomic_file(target, "wb") as file,
            ):
                shutil.copyfileobj(source_file, file)
        return self._outcome(entry, "copied", tuple(entry.sha256) or wanted)

    def _mirrored(self, entry: CatalogueEntry, mirror: str, wanted: tuple[str, ...]) -> FetchResult:
        for split in wanted:
            target = entry.file(self.data, split)
            part = target.with_name(f"{target.name}.part")
            url = f"{mirror.rstrip('/')}/{quote(entry.name)}/{quote(target.name)}"
            # A part of an earlier run may be of another file: then once more, from the beginning.
            for stale in (True, False) if part.exists() else (False,):
                self.web.download(url, part, self.watching(f"{entry.short}/{target.name}"))
                try:
                    self._check(entry, split, digest(part), url, "try another mirror")
                except ChecksumMismatch:
                    part.unlink()
                    if not stale:
                        self._remove_if_empty(target.parent)
                        raise
                else:
                    break
            with translate_os_errors(target):
                os.replace(part, target)
        return self._outcome(entry, "downloaded", tuple(entry.sha256))

    def _published(self, entry: CatalogueEntry) -> FetchResult:
        if entry.access != "public":
            raise _not_to_be_had(entry)
        folder = entry.folder(self.data) / "raw"
        files = {part: folder / f"{part}-{Path(entry.raw[part]).name}" for part in entry.raw}
        for part, path in files.items():
            if not path.exists():
                kept = path.with_name(f"{path.name}.part")
                self.web.download(
                    entry.url(part), kept, self.watching(f"{entry.short}/{path.name}")
                )
                with translate_os_errors(path):
                    os.replace(kept, path)
        splits = convert_files(entry.conversion, files)
        try:
            return self.place(entry, splits)
        finally:
            # Right or wrong, they have served: what is wrong must not be taken again.
            for path in files.values():
                path.unlink(missing_ok=True)
            self._remove_if_empty(folder)

    def _check(self, entry: CatalogueEntry, split: str, found: str, what: str, remedy: str) -> None:
        if self.verify and found != entry.sha256.get(split):
            raise _mismatch(entry, split, found, what, f"it was not accepted; {remedy}")

    def _outcome(self, entry: CatalogueEntry, did: str, splits: tuple[str, ...]) -> FetchResult:
        found = {split: digest(entry.file(self.data, split)) for split in splits}
        return FetchResult(entry.name, did, found, found == dict(entry.sha256))

    def _remove_if_empty(self, folder: Path) -> None:
        """A folder of ours that nothing came to, and those it is in, up to the user's own."""
        with suppress(OSError):  # not empty
            while folder != self.data:
                folder.rmdir()
                folder = folder.parent

    def _aside(self, entry: CatalogueEntry, split: str) -> Path:
        path = entry.file(self.data, split)
        return path.with_name(path.name + MISMATCH_ENDING)


def parse_origin(given: str | None) -> Path | str | None:
    """The address of a mirror, a folder that is there, or None for where a corpus was published."""
    if given is None or given.lower().startswith(("http://", "https://")):
        return given
    if "://" in given:
        raise UsageError(
            problem=f"{given}: only http and https addresses can be downloaded from",
            remedy="give such an address, or a folder",
        )
    if not Path(given).is_dir():
        raise FileMissing(file=given, hint="--from takes a folder with GROUP/NAME/SPLIT.conll")
    return Path(given)


def _mismatch(
    entry: CatalogueEntry, split: str, found: str, what: str, remedy: str
) -> ChecksumMismatch:
    expected = entry.sha256.get(split, "of no such split")
    return ChecksumMismatch(
        what=f"{entry.name} {split}: {what}", found=found, expected=expected, remedy=remedy
    )


def _not_to_be_had(entry: CatalogueEntry) -> CorpusUnavailable:
    reasons = {
        "public": ("", ""),
        "copy": (
            "its files cannot be made again from what is published",
            "give a folder or a mirror with the converted files: --from",
        ),
        "by-hand": ("you have to get it yourself", f"get {entry.obtain}"),
        "licensed": (f"licensed ({entry.licence})", f"get {entry.obtain}"),
        "unavailable": ("nobody gives it out", f"there is {entry.obtain}"),
    }
    reason, remedy = reasons[entry.access]
    if entry.conversion:
        remedy += f"; then: adaptner corpora convert {convert_name(entry)} FOLDER -o DATA"
    return CorpusUnavailable(name=entry.name, how="by download", reason=reason, remedy=remedy)


def _unverifiable(entry: CatalogueEntry) -> CorpusUnavailable:
    return CorpusUnavailable(
        name=entry.name,
        how="with a checksum",
        reason="none is known, or the folder has no train, dev or test file of it",
        remedy="take the files as they are with --no-verify",
    )


def convert_name(entry: CatalogueEntry) -> str:
    """What `corpora convert` calls the corpus (or the set it is converted with)."""
    layout = str(entry.conversion["layout"])
    return layout if layout in FOLDER_CONVERTERS else entry.name
