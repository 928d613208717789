"""Tags in several processes of one thread each."""

from __future__ import annotations

import multiprocessing
import signal
import sys
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

import torch

from adaptner.compute import prepare_process
from adaptner.errors import ProcessDied
from adaptner.models.tagger import Tagger
from adaptner.tagging.executor import (
    NO_DETAILS,
    BatchEntities,
    Details,
    DocumentBatch,
    TaggingExecutor,
    in_order,
)

_PENDING_PER_PROCESS = 2  # so that no process waits while results are written

_tagger: Tagger | None = None  # the tagger of a worker process


class ProcessExecutor(TaggingExecutor):
    """Tags in worker processes: on Linux forks that share a model on the CPU, otherwise each process
    loads the model."""

    def __init__(
        self, tagger: Tagger, folder: Path, processes: int, details: Details = NO_DETAILS
    ) -> None:
        self._processes, self._details = processes, dict(details)
        device = tagger.encoder.device
        shared = sys.platform == "linux" and device.type == "cpu"  # CUDA does not survive a fork
        start_method = "fork" if shared else "spawn"
        model = tagger if shared else (folder, device)
        self._pool = ProcessPoolExecutor(
            processes,
            multiprocessing.get_context(start_method),
            initializer=_start_worker,
            initargs=(model,),
        )

    def __exit__(self, *_: object) -> None:
        self._pool.shutdown(cancel_futures=True)

    def tag(self, batches: Iterable[DocumentBatch]) -> Iterator[BatchEntities]:
        try:
            yield from in_order(
                batches,
                lambda batch: self._pool.submit(_predict, batch, self._details),
                lambda future: future.result(),
                lambda: _PENDING_PER_PROCESS * self._processes,
            )
        except BrokenProcessPool as error:
            raise ProcessDied(jobs=self._processes) from error


def _start_worker(model: Tagger | tuple[Path, torch.device]) -> None:
    global _tagger
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent handles Ctrl-C and ends its workers
    prepare_process()
    _tagger = model if isinstance(model, Tagger) else Tagger.load(*model)


def _predict(batch: DocumentBatch, details: dict[str, bool]) -> BatchEntities:
    assert _tagger is not None
    return _tagger.predict_documents(batch, **details)
