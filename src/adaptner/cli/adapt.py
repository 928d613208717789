"""``adaptner adapt``: a tagger from a few labelled sentences."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from adaptner.cli import options
from adaptner.cli.common import emit_json, err, info, own_lists, warn, warn_of_unused_names

if TYPE_CHECKING:
    from adaptner.api.adaptation import Adaptation
    from adaptner.corpora.annotation_checks import AnnotationIssue
    from adaptner.models.tagger import Tagger

_MAX_SHOWN = 3  # issues of each kind; `adaptner check` lists all


def adapt(
    output: Annotated[Path, options.file("-o, --output FOLDER", "Folder for the tagger.")],
    sentences: Annotated[
        Path | None, options.argument("FILE", "Labelled sentences (.jsonl or .conll).")
    ] = None,
    unlabelled: Annotated[
        list[Path] | None,
        options.file(
            "--unlabelled FILE...",
            "More text of the same kind (.txt, .jsonl, .conll, .gz or .xz), for methods "
            "that use it, as the default does. Labels are ignored.",
        ),
    ] = None,
    base: options.BaseFolder = None,
    terms: options.OwnNames = None,
    keep_all: options.KeepAll = False,
    from_: options.FormatFrom = None,
    as_json: options.JsonFlag = False,
    quiet: options.QuietFlag = False,
    label: Annotated[
        list[str] | None,
        options.adaptation(
            "--label NAME", "An entity type to find even if no sentence shows it; repeatable."
        ),
    ] = None,
    augment: Annotated[
        int,
        options.adaptation(
            "--augment N",
            "Copies of each sentence to learn from, each with a mention replaced by another "
            "of its type from the sentences or from --sources.",
            min=0,
        ),
    ] = 0,
    estimate: Annotated[
        bool,
        options.adaptation(
            "--estimate/--no-estimate", "Estimate F1 by cross-validation on the labelled sentences."
        ),
    ] = True,
    seed: Annotated[int, options.seed("Random seed for decoder initialisation and dropout.")] = 0,
    device: options.DeviceName = "auto",
    download: options.Download = False,
    method: options.MethodName = None,
    config: options.ConfigFile = None,
    encoder: options.Encoder = None,
    sources: Annotated[
        list[str] | None,
        options.research(
            "--sources FOLDER...",
            "Source corpora for methods that read them while adapting, each FOLDER or "
            "DOMAIN=FOLDER; several may follow.",
        ),
    ] = None,
    zero_shot: Annotated[
        bool,
        options.research(
            "--zero-shot",
            "Adapt without labelled sentences, for methods that can, to a target with the "
            "labels of the sources.",
        ),
    ] = False,
) -> None:
    """Make a tagger from five to fifty labelled sentences.

    The labels are yours: they need not occur in any source. Include sentences without an entity, as
    they occur in your text.

    Example: adaptner adapt my.jsonl -o model

    Example: adaptner adapt my.jsonl --unlabelled my-text.txt -o model

    Example: adaptner adapt my.jsonl --base base --method pdaln --sources news/ \
    --unlabelled my-text.txt -o model
    """
    from adaptner.api.adaptation import AdaptOptions, prepare
    from adaptner.corpora.annotation_checks import find_issues
    from adaptner.progress import progress_bar

    arguments = AdaptOptions(
        base=base,
        method=method,
        config=config,
        labels=label or (),
        sources=sources or (),
        unlabelled=unlabelled or (),
        zero_shot=zero_shot,
        encoder=encoder,
        download=download,
        augment=augment,
        seed=seed,
        terms=own_lists(terms),
        keep_all=keep_all,
        device=device,
    )
    adaptation = prepare(sentences, arguments, from_)
    labels = Counter(e.label for s in adaptation.sentences for e in s.entities)
    issues = find_issues(adaptation.sentences)
    _warn_of_little_data(adaptation, issues, labels, sentences, quiet)
    start = time.perf_counter()
    with progress_bar("adapting", quiet) as progress:
        tagger = adaptation.run(progress)
    seconds = time.perf_counter() - start
    _print_origins(tagger, quiet)
    warn_of_unused_names(tagger.facts, quiet)
    with progress_bar("estimating", quiet) as progress:
        adaptation.assess(tagger, estimate=estimate, progress=progress)
    tagger.save(output)
    if as_json:
        facts = {"method": tagger.method, **tagger.facts, "labels": dict(labels)}
        remarks = [issue.as_json() for issue in issues]
        seconds = round(seconds, 3)
        emit_json({"model": str(output), **facts, "seconds": seconds, "remarks": remarks})
        return
    adapts = adaptation.method.capabilities.adapts
    data = _describe_data(adaptation, tagger, labels)
    done = f"adapted in {seconds:.1f} s" if adapts else "the base is used unchanged"
    if held_out := tagger.facts.get("held_out"):
        done += f" (F1 {tagger.facts['held_out_f1']:.3f} on {held_out} held-out sentences)"
    info(f"{data}; {done}; model in {output}", quiet)
    if estimate and adapts and not quiet:
        _print_estimate(tagger)


def _warn_of_little_data(
    adaptation: Adaptation,
    issues: Sequence[AnnotationIssue],
    labels: Counter[str],
    file: Path | None,
    quiet: bool,
) -> None:
    capabilities = adaptation.method.capabilities
    if capabilities.adapts:
        _warn_of_issues(issues, quiet)
        for name in adaptation.labels.labels:
            if not labels[name]:
                warn(
                    f"{file} has no mention of {name!r}: the tagger only knows the name, and its "
                    "quality cannot be estimated",
                    quiet,
                )
        if len(adaptation.sentences) == 1:
            warn("one sentence only: the tagger will know little more than its words", quiet)
    if capabilities.sources == "optional" and adaptation.sentences and not adaptation.sources:
        name = adaptation.method.name
        info(f"no --sources: {name} learns from the sentences and text of the target only", quiet)


def _warn_of_issues(issues: Sequence[AnnotationIssue], quiet: bool) -> None:
    """Warn of annotations that look inconsistent or harmful."""
    shown: Counter[str] = Counter()
    for issue in issues:
        shown[issue.kind] += 1
        if shown[issue.kind] <= _MAX_SHOWN:
            place = f"sentence {issue.number + 1}: " if issue.is_placed else ""
            warn(place + issue.describe(lambda number: f"sentence {number + 1}"), quiet)
    for kind, count in shown.items():
        if count > _MAX_SHOWN:
            warn(f"{count - _MAX_SHOWN} more of kind {kind!r}: `adaptner check` lists them", quiet)


def _print_origins(tagger: Tagger, quiet: bool) -> None:
    from adaptner.terms.label_kinds import describe

    facts: dict[str, Any] = tagger.facts
    if tagger.features is not None:
        dictionary = tagger.features.dictionary
        for label, kinds in tagger.features.kinds.items():
            sources = [describe(dictionary.terms, kinds)] if kinds else []
            sources += ["your own names"] if label in dictionary.own else []
            info(f"{label} starts from {' and '.join(sources)}", quiet)
    if synonyms := facts.get("synonyms"):
        info(f"synonyms: {synonyms}", quiet)
    if known := facts.get("known"):
        pairs = (a if a == b else f"{a} as {b}" for a, b in known.items())
        info(f"labels that the base knows already: {', '.join(pairs)}", quiet)
    if facts.get("augmented") == 0:
        warn("--augment found no other mention of any type, so there are no copies", quiet)


def _describe_data(adaptation: Adaptation, tagger: Tagger, labels: Counter[str]) -> str:
    counts = ", ".join(f"{name} ({count})" for name, count in labels.most_common())
    data = f"{len(adaptation.sentences)} sentences, "
    if counts:
        data += f"mentions of {counts}"
    else:
        data += f"no labels of the target; it finds {', '.join(tagger.labels.labels)}"
    if copies := tagger.facts.get("augmented"):
        data += f", {copies} augmented copies"
    if text := tagger.facts.get("unlabelled"):
        data += f", {text} unlabelled sentences"
    return data


def _print_estimate(tagger: Tagger) -> None:
    """Print the estimate of F1, or why there is none."""
    assessment = tagger.assessment
    if assessment is None:
        if "held_out" not in tagger.facts:
            err.print(
                "no estimate of F1: only the method `named` has one, for up to 300 sentences. Keep "
                "some sentences back and use `adaptner score`"
            )
    elif assessment.overall is None:
        err.print("no estimate of F1, because no entity is annotated")
    else:
        err.print(f"Estimated F1 on similar text: {assessment.overall}")
        if len(assessment.by_label) > 1:
            width = max(map(len, assessment.by_label))
            for label, estimate in assessment.by_label.items():
                err.print(f"  {label:{width}}  {estimate}  from {estimate.mentions} mention(s)")
