"""Computes jobs on one node of a Ray cluster: the code of an actor.

A node needs the corpora and the vectors at the driver's paths and the driver's code; both are compared
by checksum. It needs no shared output folder, because bases are sent as bytes.
"""

from __future__ import annotations

import shutil
import tempfile
import traceback
from pathlib import Path
from typing import Any

from adaptner.compute import prepare_process
from adaptner.reproduce.jobs.base_files import Files, read_base, write_base
from adaptner.reproduce.jobs.code_fingerprint import code_fingerprint
from adaptner.reproduce.jobs.execution import JobExecutor
from adaptner.reproduce.jobs.job import DataPaths, Spec
from adaptner.reproduce.run.worker import first_line

Answer = dict[str, Any]


class Node:
    """One actor with a scratch folder. A failed job is an answer too, so that an exception always means
    a lost node."""

    def __init__(self, data: str, vectors: str | None) -> None:
        prepare_process()
        self._scratch = Path(tempfile.mkdtemp(prefix="adaptner-ray-"))
        places = DataPaths(Path(data), None if vectors is None else Path(vectors))
        self._executor = JobExecutor(places, self._scratch)

    def code_fingerprint(self) -> str:
        return code_fingerprint()

    def train_base(self, key: str, spec: Spec) -> Answer:
        try:
            self._remove_bases()
            outcome = self._executor.train_base(key, spec)
            return {"outcome": outcome, "files": read_base(self._executor.base_folder(key))}
        except Exception as error:
            return _failure(error)

    def run_draw(
        self, key: str, spec: Spec, profile: str, outcome: dict[str, Any], files: Files | None
    ) -> Answer:
        """``files`` are those of the base; None if this actor has it already."""
        try:
            if files is not None:
                self._remove_bases()
                vectors = self._executor.vector_folder(spec["vectors"])
                write_base(self._executor.base_folder(spec["base"]), files, vectors)
            return {"result": self._executor.run_draw(key, spec, profile, outcome).as_dict()}
        except Exception as error:
            return _failure(error)

    def close(self) -> None:
        shutil.rmtree(self._scratch, ignore_errors=True)

    def _remove_bases(self) -> None:
        shutil.rmtree(self._scratch / "bases", ignore_errors=True)


def _failure(error: Exception) -> Answer:
    return {"error": first_line(error), "log": traceback.format_exc()}
