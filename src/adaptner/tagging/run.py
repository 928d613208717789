"""Tags files and folders: the work of ``adaptner tag``, also for callers in Python."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from adaptner.errors import UsageError
from adaptner.files import digest
from adaptner.formats import find_format
from adaptner.formats.chunks import DocumentChunk
from adaptner.formats.lines import STANDARD, ProblemCallback, raise_problem
from adaptner.tagging.executor import Details, SerialExecutor, TaggingExecutor, with_entities
from adaptner.tagging.folder import OutputFolder
from adaptner.tagging.input_files import InputFiles
from adaptner.tagging.writers import HTML, output_format, write_chunks

if TYPE_CHECKING:
    from adaptner.models.tagger import Tagger

Show = Callable[[Iterator[DocumentChunk], tuple[str, ...]], None]


@dataclass(frozen=True, slots=True)
class TaggingSummary:
    """``documents`` were tagged, ``skipped_files`` had a result from an earlier run, and ``problems``
    files or lines could not be read."""

    documents: int
    skipped_files: int = 0
    problems: int = 0


def tag_files(
    model: str | Path | Tagger,
    files: str | Path | Iterable[str | Path],
    output: str | Path = STANDARD,
    *,
    from_: str | None = None,
    to: str | None = None,
    jobs: int = 1,
    ray: str | None = None,
    device: str = "auto",
    ids: bool = True,
    explain: bool = False,
    report: ProblemCallback = raise_problem,
    show: Show | None = None,
) -> TaggingSummary:
    """Tag files and folders into one file or, if ``output`` is a folder or ends in a slash, into one
    file for each input file. A run into a folder skips files that an earlier run has tagged. Memory
    does not grow with the size of the input.

    ``model`` is a folder, or a tagger, which stays on its device. ``from_`` and ``to`` name the formats,
    by default those of the file endings. ``jobs`` processes or the CPUs of the Ray cluster at the
    address ``ray`` share the work. ``device`` is auto, cpu, cuda or mps. ``ids`` and ``explain`` are as
    for `Tagger.predict`. ``report`` receives each
    problem; by default the first one is raised. ``show``, if given, receives the tagged chunks instead
    of a file.

    >>> from adaptner.tagging import tag_files
    >>> tag_files("my-model", "abstracts", "tagged.jsonl", jobs=4)       # doctest: +SKIP
    TaggingSummary(documents=1200, skipped_files=0, problems=0)
    """
    names = [str(name) for name in ([files] if isinstance(files, (str, Path)) else files)]
    into_folder = str(output).endswith(os.sep) or Path(output).is_dir()
    format = to or ("jsonl" if into_folder else output_format(output))
    for name in (from_, None if format == HTML or show is not None else format):
        if name is not None:
            find_format(STANDARD, name)  # an unknown format is a wrong call, no problem of a file
    if jobs < 1:
        raise UsageError(problem=f"{jobs} processes", remedy="give a number from 1 (--jobs)")
    if ray is not None and jobs > 1:
        raise UsageError(problem="--jobs and --ray together", remedy="give one of the two")
    source = InputFiles(names, from_, report)
    skipped = 0
    with ExitStack() as opened:
        tagger, folder = _load(model, device)
        if folder is None and (into_folder or jobs > 1 or ray is not None):
            folder = Path(opened.enter_context(TemporaryDirectory(prefix="adaptner-"))) / "model"
            tagger.save(folder)
        labels = tagger.labels.labels
        finder = model if isinstance(model, (str, Path)) else f"the method {tagger.method}"
        note = f"{', '.join(labels)}, found by {finder}"
        executor = opened.enter_context(
            _make_executor(tagger, folder, jobs, ray, {"ids": ids, "explain": explain})
        )
        if into_folder:
            assert folder is not None
            from adaptner.models.storage import MANIFEST  # which holds the checksums of all files

            results = OutputFolder(Path(output), format, digest(folder / MANIFEST))
            listed = list(source.files(excluded=Path(output)))
            pending = results.pending(listed)
            skipped = len(listed) - len(pending)
            tagged = with_entities(executor, source.chunks(iter(pending)))
            results.write(tagged, source, labels, note)
        else:
            tagged = with_entities(executor, source.chunks(source.files()))
            first = next(tagged, None)
            if first is not None:  # otherwise nothing could be read, and an earlier output is kept
                tagged = chain([first], tagged)
                if show is None:
                    write_chunks(tagged, output, format, labels, note)
                else:
                    show(tagged, labels)
    return TaggingSummary(source.documents, skipped, source.problems)


def _load(model: str | Path | Tagger, device: str) -> tuple[Tagger, Path | None]:
    """The tagger and the folder that it is saved in, if there is one."""
    # Imported here so that wrong calls are refused before torch is loaded
    from adaptner.compute import find_device, prepare_process
    from adaptner.models.tagger import Tagger

    prepare_process()
    if isinstance(model, Tagger):
        return model, None
    return Tagger.load(model, find_device(device)), Path(model)


def _make_executor(
    tagger: Tagger, folder: Path | None, jobs: int, ray: str | None, details: Details
) -> TaggingExecutor:
    if folder is not None and ray is not None:
        from adaptner.tagging.on_ray import RayExecutor

        return RayExecutor(folder, ray, details)
    if folder is not None and jobs > 1:
        from adaptner.tagging.processes import ProcessExecutor

        return ProcessExecutor(tagger, folder, jobs, details)
    return SerialExecutor(tagger, details)
