"""``adaptner adapt``: a tagger from a few labelled sentences."""

from __future__ import annotations

import time
from collections import Counter
from pathlib import Path
from typing import Annotated

import typer

from adaptner.cli.common import SEEDS, JsonFlag, QuietFlag, emit_json, info, warn
from adaptner.cli.options import DeviceName


def adapt(
    output: Annotated[Path, typer.Option("-o", "--output", help="Folder for the model.")],
    sentences: Annotated[
        Path | None,
        typer.Argument(help="Labelled sentences (.jsonl or .conll); none with --zero-shot."),
    ] = None,
    base: Annotated[
        Path | None,
        typer.Option(
            help="Folder or name of a base (`adaptner bases`); without it, the one the package brings."
        ),
    ] = None,
    encoder: Annotated[
        str | None,
        typer.Option(
            help="Instead of a base, a pretrained transformer: minilm, a folder, or a Hugging Face name; "
            "settings suit it (docs/transformers.md)."
        ),
    ] = None,
    download: Annotated[
        bool,
        typer.Option("--download", help="Fetch the transformer from the Hugging Face hub."),
    ] = False,
    method: Annotated[
        str | None, typer.Option(help="Instead of the base's own; see `adaptner methods`.")
    ] = None,
    label: Annotated[
        list[str] | None,
        typer.Option(help="Name of a type to find, where the sentences may show none; repeatable."),
    ] = None,
    sources: Annotated[
        list[str] | None,
        typer.Option(
            help="For methods that need sources at adaptation too: corpora of the base's domains, "
            "each DIR or DOMAIN=DIR; several may follow one --sources."
        ),
    ] = None,
    unlabelled: Annotated[
        list[Path] | None,
        typer.Option(
            help="More text of the target, labels are ignored: files (.txt, .jsonl, .conll, .gz, .xz), "
            "for methods that make use of it, as that of the package's base does."
        ),
    ] = None,
    zero_shot: Annotated[
        bool,
        typer.Option(
            "--zero-shot",
            help="No labelled sentence: for methods that can, and a target with the sources' labels.",
        ),
    ] = False,
    augment: Annotated[
        int,
        typer.Option(
            min=0,
            help="Learn from so many copies of every sentence too, each with a mention replaced by "
            "another of its type: from the other sentences and, if given, from any --sources.",
        ),
    ] = 0,
    config: Annotated[
        Path | None, typer.Option(help="TOML file with settings, over those of base and method.")
    ] = None,
    seed: Annotated[
        int, typer.Option(min=0, max=SEEDS, help="Of the new decoder and dropout.")
    ] = 0,
    estimate: Annotated[
        bool,
        typer.Option(help="Tell from the sentences themselves how good it will be."),
    ] = True,
    from_: Annotated[
        str | None, typer.Option("--from", help="Format, if the ending does not tell.")
    ] = None,
    device: DeviceName = "auto",
    as_json: JsonFlag = False,
    quiet: QuietFlag = False,
) -> None:
    """Make a tagger from five to fifty labelled sentences.

    The labels are yours: they need not occur in any source, and there may be several. Include
    sentences without an entity, as they come.

    Another method than the base's own is named with --method; it has the base's settings of
    adaptation. With d-shift and metaner-zero the sentences only show which labels are wanted.

    Example: adaptner adapt my.jsonl -o model

    Example: adaptner adapt my.jsonl --unlabelled my-text.txt -o model

    Example: adaptner adapt my.jsonl --encoder minilm -o model

    Example: adaptner adapt my.jsonl --base base --method agg --sources drug/ gene/ -o model

    Example: adaptner adapt my.jsonl --augment 4 -o model

    Example: adaptner adapt my.jsonl --base base --method pdaln --sources news/ \
    --unlabelled my-text.txt -o model

    Example: adaptner adapt my.jsonl --method crossdomain-lm --unlabelled my-text.txt.xz -o model

    Example: adaptner adapt --zero-shot --method crossdomain-lm --sources news/ \
    --unlabelled my-text.txt.xz -o model
    """
    from adaptner import api
    from adaptner.cli.estimate import say_estimate, say_what_hurts
    from adaptner.compute import find_device
    from adaptner.corpora.annotation_checks import find_issues
    from adaptner.errors import NoEntities, UsageError
    from adaptner.methods.configuration import make_method, method_for_base
    from adaptner.methods.pretrained_transformer import UNTRAINED_METHOD, transformer_base
    from adaptner.methods.transformer_settings import check_encoder
    from adaptner.models.installed import default_base, load_base
    from adaptner.progress import progress_bar

    place = find_device(device)
    if base is not None and encoder is not None:
        raise UsageError(
            problem="--encoder and --base: a base has an encoder of its own",
            remedy="leave out one of them",
        )
    if encoder is not None:
        check_encoder(make_method(UNTRAINED_METHOD, None, encoder=encoder), download=download)
    elif download:
        raise UsageError(
            problem="--download: no transformer is named", remedy="name it with --encoder"
        )
    if method is not None and base is None:  # known before a base is loaded
        api.check_given(make_method(method, config), None, sources or (), unlabelled or (), augment)
    if sentences is None and not zero_shot:
        raise UsageError(
            problem="no labelled sentences", remedy="give a file of them, or --zero-shot"
        )
    if sentences is not None and zero_shot:
        api.refuse_labelled()
    given = [] if sentences is None else api.read(sentences, from_)
    counts = Counter(e.label for s in given for e in s.entities)
    if not counts and not label and sentences is not None:
        raise NoEntities(file=sentences, sentences=len(given))
    if encoder is not None:
        start = transformer_base(encoder).to(place)
    else:
        start = default_base(place) if base is None else load_base(base, place)
    chosen = method_for_base(method, start, config)
    learns = chosen.capabilities.adapts
    if learns:
        say_what_hurts(given, quiet)
    for name in label or ():
        if learns and not counts[name]:
            warn(
                f"no mention of {name!r} in {sentences}: the tagger goes by the name alone, and how "
                "good it is cannot be told",
                quiet,
            )
    if learns and len(given) == 1:
        warn("one sentence only: the tagger will know little more than its words", quiet)
    if (
        chosen.capabilities.sources == "optional"
        and start.provenance.encoder_from == "raw text"
        and not (sources or zero_shot)
    ):
        info(
            f"no --sources: {chosen.name} learns from the sentences and the text of the target alone",
            quiet,
        )
    begun = time.perf_counter()
    with progress_bar("adapting", quiet) as progress:
        tagger = api.adapt(
            given,
            start,
            method=chosen,
            labels=label or (),
            sources=sources or (),
            unlabelled=unlabelled or (),
            zero_shot=zero_shot,
            estimate=False,
            augment=augment,
            seed=seed,
            progress=progress,
        )
    seconds = time.perf_counter() - begun
    if origin := tagger.facts.get("synonyms"):
        info(f"synonyms: {origin}", quiet)
    if taught := tagger.facts.get("known"):
        pairs = (a if a == b else f"{a} as {b}" for a, b in taught.items())
        info(f"known to the base before: {', '.join(pairs)}", quiet)
    if augment and not tagger.facts["augmented"]:
        warn("--augment found no other mention of any type: there are no copies", quiet)
    if estimate and learns:
        with progress_bar("estimating", quiet) as progress:
            api.assess(tagger, start, chosen, given, seed=seed, progress=progress)
    tagger.save(output)
    if as_json:
        facts = {**tagger.facts, "labels": dict(counts), "seconds": round(seconds, 3)}
        facts["remarks"] = [one.as_json() for one in find_issues(given)]
        emit_json({"model": str(output), "method": tagger.method, **facts})
    else:
        seen = ", ".join(f"{name} ({count})" for name, count in counts.most_common())
        known = ", ".join(tagger.labels.labels)
        what = f"mentions of {seen}" if seen else f"no labels of the target; it finds {known}"
        if copies := tagger.facts.get("augmented"):
            what += f" and {copies} copies"
        if text := tagger.facts.get("unlabelled"):
            what += f", {text} sentences without labels"
        done = f"adapted in {seconds:.1f} s" if learns else "the base as it is"
        if held_out := tagger.facts.get("held_out"):
            done += f" (F1 {tagger.facts['held_out_f1']:.3f} on {held_out} of them, held out)"
        info(f"{len(given)} sentences, {what}; {done}; model in {output}", quiet)
        if estimate and learns:
            say_estimate(tagger, quiet)
