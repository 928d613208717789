"""Fetches corpora of the catalogue from a folder, a mirror, or their publishers.

A file is installed only if it is complete and its checksum is that of the catalogue.
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
from adaptner.corpora.download import Downloader, DownloadProgress
from adaptner.errors import ChecksumMismatch, CorpusUnavailable, FileMissing, UsageError
from adaptner.files import atomic_file, digest, translate_os_errors
from adaptner.progress import no_progress

MISMATCH_ENDING = ".mismatch"  # of converted files with a wrong checksum
FetchProgress = Callable[[str], DownloadProgress]  # returns the callback for a file of that name


@dataclass(frozen=True)
class FetchResult:
    """How a corpus was obtained: ``did`` is "already there", "copied", "downloaded", or "converted"."""

    name: str
    did: str
    sha256: Mapping[str, str]
    verified: bool


@dataclass(frozen=True)
class Fetcher:
    """Installs corpora in the folder ``data``.

    Existing files that differ are only overwritten with ``replace``. Without ``verify``, files with
    other checksums are accepted.
    """

    data: Path
    web: Downloader = field(default_factory=Downloader)
    progress: FetchProgress = lambda name: no_progress
    verify: bool = True
    replace: bool = False

    def fetch(self, entry: CatalogueEntry, origin: Path | str | None = None) -> FetchResult:
        """Fetches the missing splits of a corpus.

        ``origin`` is a folder or the address of a mirror, both with files GROUP/NAME/SPLIT.conll,
        or None for the publisher of the corpus.
        """
        splits = self.splits_to_install(entry)
        if entry.sha256 and not splits:
            return FetchResult(entry.name, "already there", dict(entry.sha256), True)
        if isinstance(origin, Path):
            return self._copy(entry, origin, splits)
        if not entry.sha256:
            raise _not_downloadable(entry)
        if origin is not None:
            return self._download_from_mirror(entry, origin, splits)
        return self._download_and_convert(entry)

    def install(self, entry: CatalogueEntry, splits: Splits) -> FetchResult:
        """Writes converted sentences to the data folder, or none if a checksum is wrong."""
        self.splits_to_install(entry)
        files = {split: to_conll_bytes(sentences) for split, sentences in splits.items()}
        found = {split: sha256(content).hexdigest() for split, content in files.items()}
        wrong = [s for s in found if entry.sha256 and found[s] != entry.sha256.get(s)]
        if wrong and self.verify:
            rejected = [self._rejected_file(entry, split) for split in wrong]
            for split, path in zip(wrong, rejected, strict=True):
                with atomic_file(path, "wb") as file:
                    file.write(files[split])
            remedy = (
                f"nothing was installed; examine {', '.join(map(str, rejected))} and accept the "
                "files with --no-verify, or give converted files with --from"
            )
            raise _mismatch(entry, wrong[0], found[wrong[0]], "the converted file", remedy)
        for split, content in files.items():
            with atomic_file(entry.file(self.data, split), "wb") as file:
                file.write(content)
            self._rejected_file(entry, split).unlink(missing_ok=True)
        return FetchResult(entry.name, "converted", found, bool(entry.sha256) and not wrong)

    def splits_to_install(self, entry: CatalogueEntry) -> tuple[str, ...]:
        """Returns the splits to install; raises if other files would have to be overwritten."""
        files = check_files(entry, self.data)
        if self.replace:
            return files.missing + files.changed
        remedy = "move your file away, or overwrite it with --replace"
        if files.changed:
            split = files.changed[0]
            path = str(entry.file(self.data, split))
            raise _mismatch(entry, split, files.sha256[split], path, remedy)
        if files.unverified:
            existing = entry.file(self.data, files.unverified[0])
            raise CorpusUnavailable(
                name=entry.name,
                how=f"into {self.data}",
                reason=f"{existing} exists, and its checksum is not known",
                remedy=remedy,
            )
        return files.missing

    def _copy(self, entry: CatalogueEntry, origin: Path, splits: tuple[str, ...]) -> FetchResult:
        folder = entry.folder(origin)
        if not folder.is_dir():
            raise FileMissing(file=folder, hint="--from takes a folder with GROUP/NAME/SPLIT.conll")
        if not entry.sha256:
            splits = tuple(s for s in SPLITS if entry.file(origin, s).is_file())
            if self.verify or not splits:
                raise _unverifiable(entry)
        for split in splits:
            source = entry.file(origin, split)
            if not source.is_file():
                raise FileMissing(file=source, hint="give a folder with all splits of the corpus")
            self._check(entry, split, digest(source), str(source), "give another folder")
        for split in splits:
            target = entry.file(self.data, split)
            with (
                open(entry.file(origin, split), "rb") as source_file,
                atomic_file(target, "wb") as file,
            ):
                shutil.copyfileobj(source_file, file)
        return self._result(entry, "copied", tuple(entry.sha256) or splits)

    def _download_from_mirror(
        self, entry: CatalogueEntry, mirror: str, splits: tuple[str, ...]
    ) -> FetchResult:
        for split in splits:
            target = entry.file(self.data, split)
            part = target.with_name(f"{target.name}.part")
            url = f"{mirror.rstrip('/')}/{quote(entry.name)}/{quote(target.name)}"
            # A partial file of an earlier run may belong to another file: then download all again.
            for resuming in (True, False) if part.exists() else (False,):
                self.web.download(url, part, self.progress(f"{entry.short_name}/{target.name}"))
                try:
                    self._check(entry, split, digest(part), url, "try another mirror")
                except ChecksumMismatch:
                    part.unlink()
                    if not resuming:
                        self._remove_if_empty(target.parent)
                        raise
                else:
                    break
            with translate_os_errors(target):
                os.replace(part, target)
        return self._result(entry, "downloaded", tuple(entry.sha256))

    def _download_and_convert(self, entry: CatalogueEntry) -> FetchResult:
        if entry.access != "public":
            raise _not_downloadable(entry)
        folder = entry.folder(self.data) / "raw"
        files = {part: folder / f"{part}-{Path(entry.raw[part]).name}" for part in entry.raw}
        for part, path in files.items():
            if not path.exists():
                partial = path.with_name(f"{path.name}.part")
                progress = self.progress(f"{entry.short_name}/{path.name}")
                self.web.download(entry.url(part), partial, progress)
                with translate_os_errors(path):
                    os.replace(partial, path)
        splits = convert_files(entry.conversion, files)
        try:
            return self.install(entry, splits)
        finally:
            # Delete raw files that give a wrong result, too, so that they are downloaded again.
            for path in files.values():
                path.unlink(missing_ok=True)
            self._remove_if_empty(folder)

    def _check(self, entry: CatalogueEntry, split: str, found: str, what: str, remedy: str) -> None:
        if self.verify and found != entry.sha256.get(split):
            raise _mismatch(entry, split, found, what, f"it was rejected; {remedy}")

    def _result(self, entry: CatalogueEntry, did: str, splits: tuple[str, ...]) -> FetchResult:
        found = {split: digest(entry.file(self.data, split)) for split in splits}
        return FetchResult(entry.name, did, found, found == dict(entry.sha256))

    def _remove_if_empty(self, folder: Path) -> None:
        """Removes empty folders from ``folder`` up to the data folder."""
        with suppress(OSError):  # not empty
            while folder != self.data:
                folder.rmdir()
                folder = folder.parent

    def _rejected_file(self, entry: CatalogueEntry, split: str) -> Path:
        path = entry.file(self.data, split)
        return path.with_name(path.name + MISMATCH_ENDING)


def parse_origin(origin: str | None) -> Path | str | None:
    """Returns a mirror's address as str, a folder as Path, or None for the publisher."""
    if origin is None or origin.lower().startswith(("http://", "https://")):
        return origin
    if "://" in origin:
        raise UsageError(
            problem=f"{origin}: unsupported address",
            remedy="give an http or https address, or a folder",
        )
    if not Path(origin).is_dir():
        raise FileMissing(file=origin, hint="--from takes a folder with GROUP/NAME/SPLIT.conll")
    return Path(origin)


def _mismatch(
    entry: CatalogueEntry, split: str, found: str, what: str, remedy: str
) -> ChecksumMismatch:
    expected = entry.sha256.get(split, "no such split")
    return ChecksumMismatch(
        what=f"{entry.name} {split}: {what}", found=found, expected=expected, remedy=remedy
    )


def _not_downloadable(entry: CatalogueEntry) -> CorpusUnavailable:
    reasons = {
        "public": ("", ""),
        "copy": (
            "its files cannot be reproduced from the published ones",
            "give a folder or a mirror with the converted files with --from",
        ),
        "by-hand": ("it cannot be downloaded automatically", f"get {entry.obtain}"),
        "licensed": (f"it is licensed ({entry.licence})", f"get {entry.obtain}"),
        "unavailable": ("it is not distributed", f"use {entry.obtain}"),
    }
    reason, remedy = reasons[entry.access]
    if entry.conversion:
        remedy += f"; then run: adaptner corpora convert {convert_name(entry)} FOLDER -o DATA"
    return CorpusUnavailable(name=entry.name, how="by download", reason=reason, remedy=remedy)


def _unverifiable(entry: CatalogueEntry) -> CorpusUnavailable:
    return CorpusUnavailable(
        name=entry.name,
        how="with a checksum",
        reason="none is known, or the folder has no train, dev, or test file",
        remedy="accept the files without verification with --no-verify",
    )


def convert_name(entry: CatalogueEntry) -> str:
    """Returns the name of the corpus, or of the set with which it is converted, in `corpora convert`."""
    layout = str(entry.conversion["layout"])
    return layout if layout in FOLDER_CONVERTERS else entry.name
