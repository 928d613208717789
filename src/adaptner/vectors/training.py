"""Word vectors from raw text: floret (fastText's skip-gram with subwords) learns them, we pack them.

floret runs in a process of its own: its loops do not hear Ctrl-C, and what it needs of memory is
given back when it ends.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from contextlib import nullcontext
from hashlib import sha256
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from adaptner.corpora.raw_text import find_text_files, sentences_of_files
from adaptner.errors import (
    DiskFull,
    EmptyFile,
    EmptyVocabulary,
    ExtraMissing,
    UsageError,
    VectorTrainingFailed,
)
from adaptner.files import atomic_file, scratch_folder
from adaptner.progress import ProgressCallback, Shown, no_progress
from adaptner.vectors.subword_file import ENDING

TEXT, RESULT = "text.txt", f"vectors{ENDING}"  # in the folder that trainer and child share
_PROGRESS = re.compile(rb"Progress:\s*([\d.]+)%[^\r\n]*avg\.loss:\s*([\d.]+)")
_VOCABULARY = re.compile(rb"Number of words:\s*(\d+)\s")


class SkipgramSettings(BaseModel):
    """fastText's own values, but for width and n-grams: its two million rows for n-grams of 3 to 6
    characters would take 200 megabytes here, these take ten."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    width: int = Field(200, ge=2, multiple_of=2, description="two numbers share a byte")
    epochs: int = Field(5, ge=1)
    window: int = Field(5, ge=1, description="words to each side")
    least: int = Field(5, ge=1, description="words seen less often have no row of their own")
    min_gram: int = Field(4, ge=1)
    max_gram: int = Field(5, ge=1)
    buckets: int = Field(100_000, ge=1, description="rows that the n-grams share")
    threads: int = Field(2, ge=1, description="more than one: no two runs are equal")
    seed: int = Field(0, ge=0, lt=2**31)
    lower: bool = True


def train_skipgram_vectors(
    texts: Sequence[Path],
    output: Path,
    settings: SkipgramSettings,
    *,
    tokenised: bool = True,
    shown: Shown = lambda title: nullcontext(no_progress),
) -> dict[str, Any]:
    """Write ``output`` and tell what is in it. Whatever stops it, nothing else stays behind."""
    try:
        import floret  # noqa: F401
    except ImportError as error:
        raise ExtraMissing(what="vectors train", package="floret", extra="vectors") from error
    if output.suffix != ENDING or output.is_dir():
        problem = f"-o {output}: the vectors go into a file ending in {ENDING}"
        raise UsageError(problem=problem, remedy=f"for example: -o {output.stem}{ENDING}")
    files = find_text_files(texts)
    with scratch_folder(output) as folder:
        with shown("reading text") as progress:
            facts = _prepare(files, folder / TEXT, settings.lower, tokenised, progress)
        with shown("training word vectors") as progress:
            answer = _train(folder, output, settings, facts, progress)
        with open(folder / RESULT, "rb") as made, atomic_file(output, "wb") as file:
            shutil.copyfileobj(made, file)
    return {**answer, **facts, "bytes": output.stat().st_size}


def _prepare(
    files: Sequence[Path], target: Path, lower: bool, tokenised: bool, progress: ProgressCallback
) -> dict[str, Any]:
    """All text in one plain file, as floret wants it; what is to be told of it."""
    state, tokens, lines = sha256(), 0, 0
    with open(target, "wb") as file:
        for sentence in sentences_of_files(files, progress, tokenised=tokenised):
            raw = f"{sentence.lower() if lower else sentence}\n".encode()
            file.write(raw)
            state.update(raw)
            tokens += sentence.count(" ") + 1
            lines += 1
    if not lines:
        raise EmptyFile(file=files[0], unit="sentence")
    return {"tokens": tokens, "sentences": lines, "text_sha256": state.hexdigest()}


def _train(
    folder: Path,
    output: Path,
    settings: SkipgramSettings,
    facts: dict[str, Any],
    progress: ProgressCallback,
) -> dict[str, Any]:
    order = json.dumps({"settings": settings.model_dump(), "facts": facts})
    module = "adaptner.vectors.training_child"
    child = subprocess.Popen(
        [sys.executable, "-m", module, str(folder.absolute()), order],
        stdin=subprocess.PIPE,  # it ends when we are gone, which the child watches
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,  # Ctrl-C is for us; we end it
    )
    assert child.stdin is not None
    assert child.stdout is not None
    assert child.stderr is not None
    try:
        said = b""
        while part := os.read(child.stderr.fileno(), 1 << 16):
            said = (said + part)[-4096:]
            # with one word there is no other to contrast it with, and floret looks for it for ever
            if (vocabulary := _VOCABULARY.search(said)) and int(vocabulary[1]) < 2:
                raise EmptyVocabulary(least=settings.least, tokens=facts["tokens"])
            # (with one thread it tells nothing before the end)
            if steps := _PROGRESS.findall(said):
                percent, loss = steps[-1]
                progress(round(float(percent)), 100, f"loss {loss.decode()}")
        answer = child.stdout.read()
        code = child.wait()
    finally:
        child.kill()
        child.wait()
        for pipe in (child.stdin, child.stdout, child.stderr):
            pipe.close()
    return _understood(answer, code, said, output, settings, facts)


def _understood(
    answer: bytes,
    code: int,
    said: bytes,
    output: Path,
    settings: SkipgramSettings,
    facts: dict[str, Any],
) -> dict[str, Any]:
    try:
        told: dict[str, Any] = json.loads(answer)
    except ValueError:
        told = {"problem": "died"}
    problem = told.pop("problem", None)
    if problem is None:
        return told
    if problem == "vocabulary":
        raise EmptyVocabulary(least=settings.least, tokens=facts["tokens"])
    if problem == "disk":
        raise DiskFull(file=output, needed="a few times the size of the result")
    if problem == "memory" or code == -9:  # what the system does when memory is short
        rows = "(words seen --min-count times x 2 + --buckets) x --width x 4 bytes"
        remedy = f"it needs about {rows}: lower --buckets or --width, or raise --min-count"
        raise VectorTrainingFailed(reason="out of memory", remedy=remedy)
    last = said.decode(errors="replace").strip().rpartition("\n")[2].rpartition("\r")[2]
    reason = f"code {code}, last words {told.get('reason', last)!r}"
    raise VectorTrainingFailed(reason=reason, remedy="run it again; if it stays so, tell us")
