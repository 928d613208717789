"""Sends a base from one machine to another as bytes, without its word vectors.

Every machine that may adapt the base has the vectors; it finds them by their checksum.
"""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

from adaptner.files import atomic_file
from adaptner.models.storage import MANIFEST
from adaptner.models.vocabulary_files import VECTOR_FILES

Files = dict[str, bytes]


def read_base(folder: Path) -> Files:
    return {
        path.name: path.read_bytes()
        for path in sorted(folder.iterdir())
        if path.is_file() and path.name not in VECTOR_FILES
    }


def write_base(folder: Path, files: Files, vectors: Path | None) -> None:
    """``vectors`` is the folder of the vector files, for a base whose manifest names them. The
    manifest is written last, because a folder with a manifest counts as a complete base."""
    folder.mkdir(parents=True, exist_ok=True)
    named = json.loads(files[MANIFEST])["files"]
    for name in VECTOR_FILES:
        if name in named and vectors is not None:
            _link(vectors / name, folder / name)
    for name in sorted(files, key=lambda name: name == MANIFEST):
        with atomic_file(folder / Path(name).name, "wb") as file:
            file.write(files[name])


def _link(source: Path, target: Path) -> None:
    target.unlink(missing_ok=True)
    try:
        os.link(source, target)
    except OSError:  # another file system
        shutil.copyfile(source, target)
