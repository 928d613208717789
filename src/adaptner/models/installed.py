"""Bases that have a name: those in the package, and those a user has put beside them.

A base is a folder; wherever one is asked for, its name does too."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import torch

from adaptner.errors import AdaptnerError, UnknownBase, did_you_mean
from adaptner.models.base import Base
from adaptner.models.storage import MANIFEST, Manifest, read_manifest

DEFAULT = "biomedical"  # what the package brings
_PACKAGE = Path(__file__).resolve().parents[1] / "bases"


@dataclass(frozen=True)
class InstalledBase:
    """``problem``: why it cannot be used, if its manifest cannot be read."""

    name: str
    folder: Path
    manifest: Manifest | None
    problem: str = ""

    @property
    def megabytes(self) -> float:
        return sum(f.stat().st_size for f in self.folder.rglob("*") if f.is_file()) / 1e6


def base_folders() -> list[Path]:
    """Where they are looked for; of two with one name, the user's own comes first."""
    home = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local/share"
    return [Path(home) / "adaptner" / "bases", _PACKAGE]


def installed_bases() -> list[InstalledBase]:
    found: dict[str, InstalledBase] = {}
    for place in base_folders():
        for manifest in sorted(place.glob(f"*/{MANIFEST}")):
            folder = manifest.parent
            if folder.name not in found:
                found[folder.name] = _described(folder)
    return sorted(found.values(), key=lambda base: base.name)


def load_base(base: str | Path, device: torch.device | None = None) -> Base:
    """By name or by folder. A folder that is there wins over a name."""
    return Base.load(base_folder(base), device)


def default_base(device: torch.device | None = None) -> Base:
    """The package's own, or what a user has put under its name."""
    return load_base(base_folder(DEFAULT), device)


def default_domains() -> tuple[str, ...]:
    """Of the default base, without loading it."""
    return tuple(d.name for d in read_manifest(base_folder(DEFAULT), "base").domains)


def base_folder(base: str | Path) -> Path:
    path = Path(base)
    if path.exists() or len(path.parts) > 1:  # no name has a slash in it: the folder is missing
        return path
    known = {each.name: each.folder for each in installed_bases()}
    if str(base) in known:
        return known[str(base)]
    raise UnknownBase(
        name=str(base), near=did_you_mean(str(base), list(known)), known=", ".join(known) or "none"
    )


def _described(folder: Path) -> InstalledBase:
    try:
        return InstalledBase(folder.name, folder, read_manifest(folder, "base"))
    except AdaptnerError as error:
        return InstalledBase(folder.name, folder, None, str(error).splitlines()[0])
