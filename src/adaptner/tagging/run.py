"""Files in, results out: what ``adaptner tag`` does, for Python too."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from adaptner.errors import UsageError
from adaptner.files import digest
from adaptner.formats import find_format
from adaptner.formats.chunks import DocumentChunk
from adaptner.formats.lines import STANDARD, ProblemCallback, raise_problem
from adaptner.tagging.executor import TaggingExecutor, with_entities
from adaptner.tagging.folder import OutputFolder
from adaptner.tagging.input_files import InputFiles
from adaptner.tagging.writers import PAGE, target_of, write_chunks

Show = Callable[[Iterator[DocumentChunk], tuple[str, ...]], None]


@dataclass(frozen=True, slots=True)
class TaggingSummary:
    """``documents`` now; ``before``: files whose results were there already; ``problems``: files and
    lines that could not be read."""

    documents: int
    before: int = 0
    problems: int = 0


def tag_files(
    model: str | Path,
    files: str | Path | Iterable[str | Path],
    output: str | Path = STANDARD,
    *,
    from_: str | None = None,
    to: str | None = None,
    jobs: int = 1,
    ray: str | None = None,
    report: ProblemCallback = raise_problem,
    show: Show | None = None,
) -> TaggingSummary:
    """Tag files and folders into one file, or, if ``output`` is a folder or ends in a slash, into a
    file for each; then what was tagged by an earlier run is left as it is. Memory does not grow with
    the size of the input.

    ``from_`` and ``to`` are formats, where endings do not tell; ``jobs`` processes, or a cluster at
    the address ``ray``, share the work; ``report`` gets each problem (the first one is raised if it
    is not given); ``show`` is given the parts instead of a file.

    >>> from adaptner.tagging import tag_files
    >>> tag_files("my-model", "abstracts", "tagged.jsonl", jobs=4)       # doctest: +SKIP
    Tagged(documents=1200, before=0, problems=0)
    """
    named = [files] if isinstance(files, (str, Path)) else list(files)
    into_folder = str(output).endswith(os.sep) or Path(output).is_dir()
    target = to or ("jsonl" if into_folder else target_of(output))
    for format in (from_, None if target == PAGE or show is not None else target):
        if format is not None:
            find_format(
                STANDARD, format
            )  # an unknown name is a wrong call, not a fault of some file
    if jobs < 1:
        raise UsageError(problem=f"{jobs} processes", remedy="give a number from 1 (--jobs)")
    if ray is not None and jobs > 1:
        raise UsageError(problem="--jobs and --ray together", remedy="give one of the two")
    crew, labels = _crew(Path(model), jobs, ray)
    note = f"{', '.join(labels)}, found by {model}"
    source = InputFiles([str(name) for name in named], from_, report)
    with crew:
        if into_folder:
            results = OutputFolder(Path(output), target, _identity(Path(model)))
            every = list(source.files(Path(output)))
            pending = results.pending(every)
            results.write(with_entities(crew, source.parts(iter(pending))), source, labels, note)
            return TaggingSummary(source.documents, len(every) - len(pending), source.problems)
        parts = with_entities(crew, source.parts(source.files()))
        first = next(parts, None)
        if first is not None:  # else all has been reported, and an earlier output stays
            every_part = chain([first], parts)
            if show is not None:
                show(every_part, labels)
            else:
                write_chunks(every_part, output, target, labels, note)
    return TaggingSummary(source.documents, 0, source.problems)


def _crew(model: Path, jobs: int, ray: str | None) -> tuple[TaggingExecutor, tuple[str, ...]]:
    # torch is loaded here, after all that can be refused without it
    from adaptner.compute import prepare_process
    from adaptner.models.tagger import Tagger
    from adaptner.tagging.processes import ProcessExecutor, SerialExecutor

    prepare_process()
    tagger = Tagger.load(model)
    labels = tagger.labels.labels
    if ray is not None:
        from adaptner.tagging.on_ray import RayExecutor

        return RayExecutor(model, ray), labels
    return (SerialExecutor(tagger) if jobs == 1 else ProcessExecutor(tagger, model, jobs)), labels


def _identity(model: Path) -> dict[str, str]:
    from adaptner.models.storage import MANIFEST

    return {"model": digest(model / MANIFEST)}  # which holds the checksums of all other files
