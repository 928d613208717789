"""``adaptner calibrate``: fit the constants behind a base's scores and estimates of F1."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from adaptner.cli import options
from adaptner.cli.common import info, out

if TYPE_CHECKING:
    from collections.abc import Sequence

    from adaptner.adaptation.confidence.calibration import StartOfLabels
    from adaptner.corpora.corpus import Corpus
    from adaptner.evaluation.calibration.fit import Observation
    from adaptner.models.base import Base


def calibrate(
    corpora: Annotated[
        list[str],
        options.argument("FOLDER...", "Corpora of several domains, each FOLDER or DOMAIN=FOLDER."),
    ],
    output: Annotated[
        Path, options.file("-o, --output FILE", "JSON Lines file with a row per draw.")
    ],
    base: Annotated[
        Path | None,
        options.file(
            "--base BASE",
            "A base: its folder or a name listed by `adaptner bases`.",
            show_default="the package's",
        ),
    ] = None,
    store: Annotated[
        bool, options.file("--store", "Write the fitted constants into the base.")
    ] = False,
    quiet: options.QuietFlag = False,
    known: Annotated[
        bool,
        options.research(
            "--known", "Fit the constants for labels that the base's sources have already."
        ),
    ] = False,
    sizes: Annotated[
        str, options.research("--sizes N,N,...", "Numbers of sentences to draw.")
    ] = "5,10,20,50",
    draws: options.Draws = 4,
    limit: options.Limit = None,
    device: options.DeviceName = "auto",
) -> None:
    """Measure and fit how far a base's scores and estimates of F1 can be trusted.

    Adapts the base to draws from each corpus, without the base's decoder for that corpus's domain,
    and compares scores and estimates with the test split. Shows calibration error and coverage of
    each corpus, by constants fitted on the other domains. Repeat an interrupted command and it
    continues.

    Example: adaptner calibrate bio8/* -o rows.jsonl --limit 500

    Example: adaptner calibrate bio8/* -o rows.jsonl --limit 500 --base my-base --store
    """
    from adaptner.compute import find_device, prepare_process
    from adaptner.corpora.corpus import load_corpus
    from adaptner.evaluation.calibration.fit import Observation, fit_calibration
    from adaptner.evaluation.calibration.report import check_calibration, report
    from adaptner.models.installed import default_base, load_base
    from adaptner.progress import progress_bar

    prepare_process()
    counts = options.size_list(sizes)
    place = find_device(device)
    start = default_base(place) if base is None else load_base(base, place)
    targets = [load_corpus(corpus) for corpus in corpora]
    output.touch()
    rows = [Observation.model_validate_json(line) for line in output.read_text().splitlines()]
    finished = {(row.corpus, row.size, row.seed) for row in rows}
    # One draw of every corpus before the next of any, so that an interrupted run is balanced
    pending = [
        (target, size, seed)
        for seed, target, size in itertools.product(range(draws), targets, counts)
        if (target.name, size, seed) not in finished
    ]
    with (
        progress_bar("calibrating", quiet) as progress,
        open(output, "a", encoding="utf-8") as file,
    ):
        for number, (target, size, seed) in enumerate(pending, 1):
            rows.append(_observe(start, target, size, seed, limit, known))
            file.write(rows[-1].model_dump_json() + "\n")
            file.flush()
            progress(number, len(pending))
    rows = [row for row in rows if row.size in counts and row.seed < draws]
    out.print(report(check_calibration(rows)))
    if store:
        assert start.folder is not None
        fit_calibration(rows).save(start.folder, _start_of(start, targets, known))
        info(f"constants fitted on {len(rows)} draws are in {start.folder}", quiet)


def _start_of(base: Base, targets: Sequence[Corpus], known: bool) -> StartOfLabels:
    """What the labels of all corpora start from, as `start_of_labels` tells of a tagger."""
    labels = {label for target in targets for label in target.labels.labels}
    features = base.term_features(labels)
    if features is not None and set(features.kinds) == labels:
        return "terms"
    return "sources" if known else "names"


def _observe(
    base: Base, target: Corpus, size: int, seed: int, limit: int | None, known: bool
) -> Observation:
    from adaptner.episodes import draw_sentences
    from adaptner.evaluation.calibration.fit import observe
    from adaptner.methods.configuration import method_for_base

    if not known:
        base = base.of_domains(d for d in base.model.domains if d != target.domain)
    support = draw_sentences(target.split("train"), size, seed)
    test = [sentence for sentence in target.split("test") if len(sentence)][:limit]
    row = observe(method_for_base(None, base), base, target, support, test, seed)
    # With known labels, what must be left out is a corpus: other annotators, the same domain
    return row.model_copy(update={"domain": row.corpus}) if known else row
