"""Folders of saved bases and taggers: tensors, vocabulary and a manifest.

The manifest is written last and holds the SHA-256 of every other file, so that an interrupted save is
no model and a damaged file is noticed. Nothing is pickled.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError
from safetensors import SafetensorError
from safetensors.torch import load_file, save
from torch import Tensor, nn

from adaptner.errors import FileMissing, ModelTooNew, ModelUnreadable, VectorsMissing
from adaptner.files import atomic_file, digest
from adaptner.models.provenance import Provenance
from adaptner.models.renamed_fields import current_manifest
from adaptner.models.terms import TermsReference
from adaptner.models.vocabulary_files import VECTOR_FILES, read_vocabulary, write_vocabulary
from adaptner.nn.batching.batch import Batcher
from adaptner.nn.decoders.calibration import Calibration
from adaptner.nn.encoders.config import AnyEncoderConfig
from adaptner.nn.model import ModelShape
from adaptner.types import LabelSet, TagScheme

# The format that is written. 5 renamed settings of the encoder (models/renamed_fields.py), so that older
# code would take the manifest for damaged; formats 2 to 4 differ in what a folder may contain.
FORMAT, OLDEST_FORMAT = 5, 2
MANIFEST, WEIGHTS = "manifest.json", "weights.safetensors"
FolderKind = Literal["base", "tagger"]
COMMAND = {"base": "adaptner pretrain", "tagger": "adaptner adapt"}


class DomainEntry(BaseModel):
    name: str
    labels: tuple[str, ...]
    scheme: TagScheme = "bio"  # of manifests without one

    @classmethod
    def of(cls, name: str, labels: LabelSet) -> DomainEntry:
        return cls(name=name, labels=labels.labels, scheme=labels.scheme)

    def label_set(self) -> LabelSet:
        return LabelSet(self.labels, self.scheme)


class Manifest(BaseModel):
    """The description of a saved model. It has no date, so that the same run gives the same bytes."""

    model_config = ConfigDict(extra="ignore")

    format: int = OLDEST_FORMAT
    kind: FolderKind
    version: str
    method: str
    encoder: AnyEncoderConfig
    alphabet: str = ""  # of a recurrent encoder
    domains: list[DomainEntry]
    shape: ModelShape = ModelShape()
    config: dict[str, Any] = {}
    facts: dict[str, Any] = {}  # sources, budget, seed and so on
    calibration: Calibration = Calibration()  # of a tagger's scores
    provenance: Provenance | None = None  # of a base; folders written before 2026-11-19 have none
    terms: TermsReference | None = None  # of a tagger
    files: dict[str, str] = {}  # name -> SHA-256


def write_model(
    folder: Path,
    manifest: Manifest,
    module: nn.Module,
    batcher: Batcher,
    vectors_from: Path | None,
    extra_files: Mapping[str, bytes] | None = None,
) -> None:
    """Write the folder, its manifest last. ``vectors_from``: a folder whose vector files may be
    linked; ``extra_files``: the content of further files."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / MANIFEST).unlink(missing_ok=True)
    tensors = {n: t.detach().contiguous() for n, t in module.state_dict().items()}
    with atomic_file(folder / WEIGHTS, "wb") as file:
        file.write(save(tensors))
    for name, content in (extra_files or {}).items():
        with atomic_file(folder / name, "wb") as file:
            file.write(content)
    vocabulary = write_vocabulary(folder, manifest.encoder, batcher, vectors_from)
    files = {n: digest(folder / n) for n in (WEIGHTS, *(extra_files or {}), *vocabulary)}
    complete = manifest.model_copy(update={"format": FORMAT, "files": files})
    with atomic_file(folder / MANIFEST) as file:
        json.dump(complete.model_dump(mode="json"), file, ensure_ascii=False, indent=1)


def read_manifest(folder: Path, kind: FolderKind) -> Manifest:
    if not folder.exists():
        raise FileMissing(file=folder, hint=f"make a {kind} with `{COMMAND[kind]}`")
    path = folder / MANIFEST
    if not path.is_file():
        reason = f"no {MANIFEST} in it"
        if (folder / "checkpoint.safetensors").exists():
            reason = "its training was interrupted (continue it with --resume)"
        raise _unreadable(folder, kind, reason)
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        found = content.get("format") if isinstance(content, dict) else None
        if isinstance(found, int) and found > FORMAT:
            raise ModelTooNew(file=folder, found=found, known=FORMAT)
        if isinstance(found, int) and found < OLDEST_FORMAT:
            raise _unreadable(folder, kind, f"written by an older version (format {found})")
        manifest = Manifest.model_validate(
            current_manifest(content) if isinstance(content, dict) else content
        )
    except (ValueError, ValidationError, OSError) as error:
        reason = f"damaged {MANIFEST} ({str(error).splitlines()[0]})"
        raise _unreadable(folder, kind, reason) from error
    if manifest.kind != kind:
        raise _unreadable(folder, kind, f"it is a {manifest.kind}, not a {kind}")
    return manifest


def amend_manifest(folder: Path, kind: FolderKind, **changed: Any) -> None:
    """Replace fields of a saved model's manifest; the other files do not change."""
    manifest = read_manifest(folder, kind).model_copy(update={"format": FORMAT, **changed})
    with atomic_file(folder / MANIFEST) as file:
        json.dump(manifest.model_dump(mode="json"), file, ensure_ascii=False, indent=1)


def read_model(folder: Path, kind: FolderKind) -> tuple[Manifest, dict[str, Tensor], Batcher]:
    manifest = read_manifest(folder, kind)
    for name, known in manifest.files.items():
        path = folder / name
        if path.is_file() and digest(path) == known:
            continue
        reason = f"{name} is {'changed or cut off' if path.is_file() else 'missing'}"
        if name in VECTOR_FILES:
            raise VectorsMissing(file=folder, kind=kind, reason=reason, wanted=name)
        raise _unreadable(folder, kind, reason)
    try:
        tensors = load_file(folder / WEIGHTS)
    except (SafetensorError, OSError) as error:
        raise _unreadable(folder, kind, str(error)) from error
    batcher = read_vocabulary(folder, manifest.encoder, manifest.alphabet, manifest.files, tensors)
    return manifest, tensors, batcher


@contextmanager
def consistent_files(folder: Path, kind: FolderKind) -> Iterator[None]:
    """Raise ModelUnreadable for errors in the body: files that do not fit together were edited."""
    try:
        yield
    except (KeyError, IndexError, RuntimeError, ValueError) as error:
        reason = f"its files do not fit together ({str(error).splitlines()[0]})"
        raise _unreadable(folder, kind, reason) from error


def _unreadable(folder: Path, kind: FolderKind, reason: str) -> ModelUnreadable:
    return ModelUnreadable(file=folder, kind=kind, reason=reason, command=COMMAND[kind])
