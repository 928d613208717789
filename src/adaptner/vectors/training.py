"""Trains word vectors on raw text with floret (skip-gram with subwords) and packs them.

floret runs in a child process, because its loops ignore Ctrl-C and its memory must be released.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from contextlib import nullcontext
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

from pydantic import Field

from adaptner.corpora.overlap import fingerprint, fingerprints
from adaptner.corpora.raw_text import find_text_files, sentences_of_files
from adaptner.errors import DiskFull, EmptyFile, EmptyVocabulary, VectorTrainingFailed
from adaptner.files import atomic_file, scratch_folder
from adaptner.progress import ProgressCallback, Shown, no_progress
from adaptner.types import Sentence
from adaptner.vectors.settings import VectorSettings, WalkSettings, check_call
from adaptner.vectors.subword_file import ENDING
from adaptner.vectors.walks import Concept, TermGraph, spread_evenly

TEXT, RESULT = "text.txt", f"vectors{ENDING}"  # in the folder shared with the child process
_PROGRESS = re.compile(rb"Progress:\s*([\d.]+)%[^\r\n]*avg\.loss:\s*([\d.]+)")
_VOCABULARY = re.compile(rb"Number of words:\s*(\d+)\s")


class SkipgramSettings(VectorSettings):
    """The defaults of fastText, except for width and n-grams.

    Its two million rows for n-grams of 3 to 6 characters would need 200 MB, ours need 10 MB.
    """

    epochs: int = Field(5, ge=1, description="Passes over the text.")
    rate: float = Field(0.05, gt=0, description="Learning rate, which falls to zero.")
    sampling: float = Field(
        1e-4, gt=0, description="Words with a larger share of the text are thinned out."
    )
    negatives: int = Field(5, ge=1, description="Random words that each word is compared with.")
    walks: WalkSettings = Field(WalkSettings(), description="Walks on a terminology, if given.")
    threads: int = Field(2, ge=1, description="Threads; with more than one, results vary.")


def train_skipgram_vectors(
    texts: Sequence[Path],
    output: Path,
    settings: SkipgramSettings,
    *,
    tokenised: bool = True,
    held_out: Iterable[Sentence] = (),
    terminology: Iterable[Concept] = (),
    shown: Shown = lambda title: nullcontext(no_progress),
) -> dict[str, Any]:
    """Trains vectors on ``texts``, writes them to ``output``, and returns facts about them.

    Sentences of ``texts`` that occur in ``held_out`` are left out, and random walks on
    ``terminology`` are mixed into the rest. After an error, no file is left behind.
    """
    check_call("train", "floret", output)
    text = _TrainingText(find_text_files(texts), tokenised, fingerprints(held_out))
    graph = TermGraph.of(terminology)
    with scratch_folder(output) as folder:
        facts = _prepare(text, graph, folder / TEXT, settings, shown)
        with shown("training word vectors") as progress:
            result = _train(folder, output, settings, facts, progress)
        with open(folder / RESULT, "rb") as vectors, atomic_file(output, "wb") as file:
            shutil.copyfileobj(vectors, file)
    return {**result, **facts, "bytes": output.stat().st_size}


@dataclass(frozen=True)
class _TrainingText:
    """The sentences of ``files`` without those that are held out; counts are of the last reading."""

    files: Sequence[Path]
    tokenised: bool
    held_out: AbstractSet[str]
    counts: Counter[str] = field(default_factory=Counter)

    def read(self, progress: ProgressCallback) -> Iterator[str]:
        self.counts.clear()
        for sentence in sentences_of_files(self.files, progress, tokenised=self.tokenised):
            if self.held_out and fingerprint(sentence) in self.held_out:
                self.counts["held_out"] += 1
            else:
                self.counts["sentences"] += 1
                yield sentence


def _prepare(
    text: _TrainingText, graph: TermGraph, target: Path, settings: SkipgramSettings, shown: Shown
) -> dict[str, Any]:
    """Writes all text to one file for floret and returns facts about it."""
    state, tokens, walk_count = sha256(), 0, settings.walks.per_heading * len(graph.names)
    if walk_count:
        with shown("counting sentences") as progress:
            sentence_count = sum(1 for _ in text.read(progress))
    with open(target, "wb") as file, shown("reading text") as progress:
        lines = text.read(progress)
        if walk_count:
            walks = graph.walks(settings.walks, settings.seed)
            lines = spread_evenly(lines, sentence_count, walks, walk_count)
        for line in lines:
            raw = f"{line.lower() if settings.lower else line}\n".encode()
            file.write(raw)
            state.update(raw)
            tokens += line.count(" ") + 1
    if not text.counts["sentences"]:
        raise EmptyFile(file=text.files[0], unit="sentence")
    facts = {"tokens": tokens, "sentences": text.counts["sentences"], "walks": walk_count}
    return {**facts, "held_out": text.counts["held_out"], "text_sha256": state.hexdigest()}


def _train(
    folder: Path,
    output: Path,
    settings: SkipgramSettings,
    facts: dict[str, Any],
    progress: ProgressCallback,
) -> dict[str, Any]:
    arguments = json.dumps({"settings": settings.model_dump(), "facts": facts})
    module = "adaptner.vectors.training_child"
    child = subprocess.Popen(
        [sys.executable, "-m", module, str(folder.absolute()), arguments],
        stdin=subprocess.PIPE,  # closed when this process ends, which ends the child
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,  # Ctrl-C reaches this process only, which ends the child
    )
    assert child.stdin is not None
    assert child.stdout is not None
    assert child.stderr is not None
    try:
        log = b""
        while block := os.read(child.stderr.fileno(), 1 << 16):
            log = (log + block)[-4096:]
            # With only one word, floret would search for negative samples forever.
            if (vocabulary := _VOCABULARY.search(log)) and int(vocabulary[1]) < 2:
                raise EmptyVocabulary(least=settings.least, tokens=facts["tokens"])
            # With one thread, floret reports no progress before the end.
            if steps := _PROGRESS.findall(log):
                percent, loss = steps[-1]
                progress(round(float(percent)), 100, f"loss {loss.decode()}")
        stdout = child.stdout.read()
        code = child.wait()
    finally:
        child.kill()
        child.wait()
        for pipe in (child.stdin, child.stdout, child.stderr):
            pipe.close()
    return _parse_result(stdout, code, log, output, settings, facts)


def _parse_result(
    stdout: bytes,
    code: int,
    log: bytes,
    output: Path,
    settings: SkipgramSettings,
    facts: dict[str, Any],
) -> dict[str, Any]:
    try:
        result: dict[str, Any] = json.loads(stdout)
    except ValueError:
        result = {"problem": "died"}
    problem = result.pop("problem", None)
    if problem is None:
        return result
    if problem == "vocabulary":
        raise EmptyVocabulary(least=settings.least, tokens=facts["tokens"])
    if problem == "disk":
        raise DiskFull(file=output, needed="a few times the size of the result")
    if problem == "memory" or code == -9:  # killed, usually for lack of memory
        needed = "(2 x words with --min-count occurrences + --buckets) x --width x 4 bytes"
        remedy = f"lower --buckets or --width, or raise --min-count; it needs about {needed}"
        raise VectorTrainingFailed(reason="out of memory", remedy=remedy)
    last_line = log.decode(errors="replace").strip().rpartition("\n")[2].rpartition("\r")[2]
    reason = f"exit code {code}, last output {result.get('reason', last_line)!r}"
    raise VectorTrainingFailed(
        reason=reason, remedy="run it again; if it fails again, please report it with this output"
    )
