"""A base as bytes, to be sent from one machine to another. The vectors stay behind: who can adapt
the base has them, by their checksum."""

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


def place_base(folder: Path, files: Files, vectors: Path | None) -> None:
    """Write the files, the manifest last: without it, it is no base. ``vectors``: the folder that
    has the vector files, for a base that names them."""
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
