"""An executor on a Ray cluster (extra ``cluster``): nodes tag batches, the driver reads and writes.

A batch is a task without state, so Ray can repeat it on another node if its node is lost. Nodes need
this version of adaptner and nothing else, because the model is sent to them.
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
from adaptner.tagging.executor import (
    NO_DETAILS,
    BatchEntities,
    Details,
    DocumentBatch,
    TaggingExecutor,
    in_order,
)
from adaptner.version import __version__

_PENDING_PER_CPU = 2
_MAX_RETRIES = 10  # of a batch whose node was lost

Files = dict[str, bytes]
_loaded: tuple[str, Tagger] | None = None  # key and model that this worker process used last


class RayExecutor(TaggingExecutor):
    def __init__(self, model: Path, address: str, details: Details = NO_DETAILS) -> None:
        self._address, self._details = address, dict(details)
        files = {path.name: path.read_bytes() for path in model.iterdir() if path.is_file()}
        self._key = "".join(read_manifest(model, "tagger").files.values())
        self._ray = connected(address)
        self._files = self._ray.put(files)
        self._task = self._ray.remote(num_cpus=1, max_retries=_MAX_RETRIES)(_predict)

    def __exit__(self, *_: object) -> None:
        self._ray.shutdown()

    def tag(self, batches: Iterable[DocumentBatch]) -> Iterator[BatchEntities]:
        return in_order(batches, self._submit, self._wait, self._max_pending)

    def _submit(self, batch: DocumentBatch) -> Any:
        return self._task.remote(self._key, self._files, list(batch), self._details)

    def _wait(self, task: Any) -> BatchEntities:
        try:
            version, entities, problem = self._ray.get(task)
        except self._ray.exceptions.RayError as error:
            lines = str(error).strip().splitlines() or [type(error).__name__]
            raise ClusterUnusable(address=self._address, reason=lines[-1]) from error
        if version != __version__:
            problem = f"a node has adaptner {version}, this machine has {__version__}"
        if problem:
            raise ClusterUnusable(address=self._address, reason=problem)
        return entities

    def _max_pending(self) -> int:
        """At least one, even if the cluster has no node: somebody may start one."""
        return max(1, _PENDING_PER_CPU * int(self._ray.cluster_resources().get("CPU", 0)))


def _predict(
    key: str, files: Files, batch: list[Any], details: dict[str, bool]
) -> tuple[str, BatchEntities, str]:
    """Runs on a node; returns its version, the entities, and an error message or ''."""
    try:
        return __version__, _tagger(key, files).predict_documents(batch, **details), ""
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
            shutil.rmtree(folder, ignore_errors=True)  # memory-mapped files stay readable
    return _loaded[1]
