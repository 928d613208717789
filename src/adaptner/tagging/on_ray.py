"""The same work on a Ray cluster (extra ``cluster``): nodes tag chunks, the driver reads and writes.

A chunk is a task without a state, so that Ray repeats it elsewhere if its node is lost, and nodes
may come and go. Nodes need this version of adaptner and nothing else: the model travels as bytes.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from adaptner.cluster import connected
from adaptner.compute import prepare_process
from adaptner.errors import AdaptnerError, ClusterUnusable
from adaptner.models.storage import read_manifest
from adaptner.models.tagger import Tagger
from adaptner.tagging.executor import Chunk, ChunkEntities, in_order
from adaptner.version import __version__

_AHEAD = 2  # chunks for each processor
_REPEATS = 10  # of a chunk whose node was lost

Files = dict[str, bytes]
_loaded: tuple[str, Tagger] | None = None  # the model this process of a node had last


class RayExecutor:
    def __init__(self, model: Path, address: str) -> None:
        self._address = address
        files = {path.name: path.read_bytes() for path in model.iterdir() if path.is_file()}
        self._key = "".join(read_manifest(model, "tagger").files.values())
        self._ray = connected(address)
        self._files = self._ray.put(files)
        self._task = self._ray.remote(num_cpus=1, max_retries=_REPEATS)(_predict)

    def __enter__(self) -> RayExecutor:
        return self

    def __exit__(self, *_: object) -> None:
        self._ray.shutdown()

    def found(self, chunks: Iterable[Chunk]) -> Iterator[ChunkEntities]:
        return in_order(chunks, self._submit, self._wait, self._most)

    def _submit(self, chunk: Chunk) -> Any:
        return self._task.remote(self._key, self._files, list(chunk))

    def _wait(self, asked: Any) -> ChunkEntities:
        try:
            version, found, problem = self._ray.get(asked)
        except self._ray.exceptions.RayError as error:
            lines = str(error).strip().splitlines() or [type(error).__name__]
            raise ClusterUnusable(address=self._address, reason=lines[-1]) from error
        if version != __version__:
            problem = f"a node has version {version}, this is {__version__}"
        if problem:
            raise ClusterUnusable(address=self._address, reason=problem)
        return found

    def _most(self) -> int:
        """As the cluster is now; one chunk if it has no node, so that somebody may start one."""
        return max(1, _AHEAD * int(self._ray.cluster_resources().get("CPU", 0)))


def _predict(key: str, files: Files, chunk: list[Any]) -> tuple[str, ChunkEntities, str]:
    """On a node: its version, the entities, and what went wrong, if it did."""
    try:
        return __version__, _tagger(key, files).predict_documents(chunk), ""
    except AdaptnerError as error:
        return __version__, [], str(error).splitlines()[0]


def _tagger(key: str, files: Files) -> Tagger:
    global _loaded
    if _loaded is None or _loaded[0] != key:
        prepare_process()
        folder = Path(tempfile.mkdtemp(prefix="adaptner-ray-"))
        try:
            for name, content in files.items():
                (folder / name).write_bytes(content)
            _loaded = key, Tagger.load(folder)
        finally:
            shutil.rmtree(folder, ignore_errors=True)  # what is mapped stays readable
    return _loaded[1]
