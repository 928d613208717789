"""Bases with a name: those of the package and those in the user's data folder."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import torch

from adaptner.errors import AdaptnerError, UnknownBase, did_you_mean
from adaptner.models.base import Base
from adaptner.models.storage import MANIFEST, Manifest, read_manifest
from adaptner.models.terms import TERMS_FILE, TermsReference

DEFAULT = "biomedical"  # comes with the package
_PACKAGE = Path(__file__).resolve().parents[1] / "bases"


@dataclass(frozen=True)
class InstalledBase:
    """``problem`` says why the base cannot be used; it has no manifest then."""

    name: str
    folder: Path
    manifest: Manifest | None
    problem: str = ""

    @property
    def megabytes(self) -> float:
        return sum(f.stat().st_size for f in self.folder.rglob("*") if f.is_file()) / 1e6


def base_folders() -> list[Path]:
    """The folders that are searched. The user's own bases hide those of the package."""
    home = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local/share"
    return [Path(home) / "adaptner" / "bases", _PACKAGE]


def installed_bases() -> list[InstalledBase]:
    found: dict[str, InstalledBase] = {}
    for place in base_folders():
        for manifest in sorted(place.glob(f"*/{MANIFEST}")):
            folder = manifest.parent
            if folder.name not in found:
                found[folder.name] = _describe(folder)
    return sorted(found.values(), key=lambda base: base.name)


def load_base(base: str | Path, device: torch.device | None = None) -> Base:
    """Load a base by folder or name; an existing folder hides a name."""
    return Base.load(base_folder(base), device)


def default_base(device: torch.device | None = None) -> Base:
    """Load the base of the package, or the user's own of the same name."""
    return load_base(base_folder(DEFAULT), device)


def default_domains() -> tuple[str, ...]:
    """The domains of the default base, without loading its weights."""
    return tuple(d.name for d in read_manifest(base_folder(DEFAULT), "base").domains)


def base_folder(base: str | Path) -> Path:
    path = Path(base)
    if path.exists() or len(path.parts) > 1:  # names have no slash: a folder, perhaps missing
        return path
    known = {each.name: each.folder for each in installed_bases()}
    if str(base) in known:
        return known[str(base)]
    raise UnknownBase(
        name=str(base), near=did_you_mean(str(base), list(known)), known=", ".join(known) or "none"
    )


def find_terms(reference: TermsReference) -> Path | None:
    """The compiled terminologies that a tagger refers to: in an installed base, or in the one that the
    tagger was made with."""
    for base in (*installed_bases(), _describe(Path(reference.base))):
        manifest = base.manifest
        if manifest is not None and manifest.files.get(TERMS_FILE) == reference.checksum:
            return base.folder / TERMS_FILE
    return None


def _describe(folder: Path) -> InstalledBase:
    try:
        return InstalledBase(folder.name, folder, read_manifest(folder, "base"))
    except AdaptnerError as error:
        return InstalledBase(folder.name, folder, None, str(error).splitlines()[0])
