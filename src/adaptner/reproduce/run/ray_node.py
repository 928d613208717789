"""The far end of a Ray run: what one actor does on its node.

It needs the corpora and the vectors at the driver's paths (their checksums are compared) and the
driver's version of the code (compared too). It needs no common output folder: bases travel as bytes.
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
from adaptner.reproduce.run.worker import summary

Answer = dict[str, Any]


class Node:
    """One actor: a workshop with a scratch folder of its own. Answers are plain data; a job that
    fails is an answer too, so that an exception means a lost node."""

    def __init__(self, data: str, vectors: str | None) -> None:
        prepare_process()
        self._scratch = Path(tempfile.mkdtemp(prefix="adaptner-ray-"))
        places = DataPaths(Path(data), None if vectors is None else Path(vectors))
        self._executor = JobExecutor(places, self._scratch)

    def code(self) -> str:
        return code_fingerprint()

    def learn(self, key: str, spec: Spec) -> Answer:
        try:
            self._forget_bases()
            outcome = self._executor.train_base(key, spec)
            return {"outcome": outcome, "files": read_base(self._executor.base_folder(key))}
        except Exception as error:
            return _failed(error)

    def draw(
        self, key: str, spec: Spec, profile: str, outcome: dict[str, Any], files: Files | None
    ) -> Answer:
        """``files``: those of the base, unless it is the one this actor had last."""
        try:
            if files is not None:
                self._forget_bases()
                vectors = self._executor.vector_folder(spec["vectors"])
                write_base(self._executor.base_folder(spec["base"]), files, vectors)
            return {"result": self._executor.run_draw(key, spec, profile, outcome).as_dict()}
        except Exception as error:
            return _failed(error)

    def close(self) -> None:
        shutil.rmtree(self._scratch, ignore_errors=True)

    def _forget_bases(self) -> None:
        shutil.rmtree(self._scratch / "bases", ignore_errors=True)


def _failed(error: Exception) -> Answer:
    return {"error": summary(error), "log": traceback.format_exc()}
