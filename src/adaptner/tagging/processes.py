"""Crews of this machine: this process alone, or N of one thread each."""

from __future__ import annotations

import multiprocessing
import signal
import sys
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

from adaptner.compute import prepare_process
from adaptner.errors import ProcessDied
from adaptner.models.tagger import Tagger
from adaptner.tagging.executor import Chunk, ChunkEntities, in_order

_AHEAD = 2  # chunks for each process, so that none waits while results are written

_tagger: Tagger | None = None  # that of a worker process


class SerialExecutor:
    def __init__(self, tagger: Tagger) -> None:
        self._tagger = tagger

    def __enter__(self) -> SerialExecutor:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def found(self, chunks: Iterable[Chunk]) -> Iterator[ChunkEntities]:
        return map(self._tagger.predict_documents, chunks)


class ProcessExecutor:
    """On Linux they are forks and share the model's memory; elsewhere each loads it."""

    def __init__(self, tagger: Tagger, folder: Path, number: int) -> None:
        self._number = number
        start = "fork" if sys.platform == "linux" else "spawn"
        given = tagger if start == "fork" else folder
        self._pool = ProcessPoolExecutor(
            number, multiprocessing.get_context(start), initializer=_begin, initargs=(given,)
        )

    def __enter__(self) -> ProcessExecutor:
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.shutdown(cancel_futures=True)

    def found(self, chunks: Iterable[Chunk]) -> Iterator[ChunkEntities]:
        try:
            yield from in_order(
                chunks,
                lambda chunk: self._pool.submit(_predict, chunk),
                lambda future: future.result(),
                lambda: _AHEAD * self._number,
            )
        except BrokenProcessPool as error:
            raise ProcessDied(jobs=self._number) from error


def _begin(given: Tagger | Path) -> None:
    global _tagger
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's, which ends us
    prepare_process()
    _tagger = given if isinstance(given, Tagger) else Tagger.load(given)


def _predict(chunk: Chunk) -> ChunkEntities:
    assert _tagger is not None
    return _tagger.predict_documents(chunk)
