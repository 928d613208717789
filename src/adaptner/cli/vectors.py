"""adaptner vectors: word vectors of one's own, from raw text, and a look at any word vectors."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Any

import typer

from adaptner.cli.common import (
    SEEDS,
    JsonFlag,
    QuietFlag,
    emit_json,
    info,
    out,
    print_error,
)
from adaptner.cli.help import GroupHelp, VerbHelp
from adaptner.cli.options import DeviceName

app = typer.Typer(
    cls=GroupHelp, help="Train word vectors from raw text, and look at them.", no_args_is_help=True
)

Texts = Annotated[
    list[Path],
    typer.Argument(metavar="TEXT...", help="Files (.txt, .gz, .xz) or folders of them."),
]
File = Annotated[
    Path, typer.Option("-o", "--output", metavar="FILE", help="Where to: a .safetensors file.")
]
Width = Annotated[int, typer.Option(min=2, help="Numbers a word; an even number.")]
Window = Annotated[int, typer.Option(min=1, help="Words looked at to each side.")]
Least = Annotated[int, typer.Option(min=1, help="Rarer words have no row, only their n-grams.")]
Lengths = Annotated[str, typer.Option(metavar="A-B", help="Lengths of the character n-grams.")]
Buckets = Annotated[int, typer.Option(min=1, help="Rows that the n-grams share.")]
KeepCase = Annotated[
    bool, typer.Option("--keep-case", help="Tell Words from words; else text is lower-cased.")
]
Tokenise = Annotated[
    bool, typer.Option("--tokenise", help="The text is running text: part its words first.")
]


@app.command(cls=VerbHelp)
def train(
    texts: Texts,
    output: File,
    width: Width = 200,
    epochs: Annotated[int, typer.Option(min=1, help="How often the text is read.")] = 5,
    window: Window = 5,
    least: Least = 5,
    grams: Lengths = "4-5",
    buckets: Buckets = 100_000,
    threads: Annotated[
        int, typer.Option(min=1, help="With 1, the same text and seed give the same file.")
    ] = 2,
    seed: Annotated[int, typer.Option(min=0, max=2**31 - 1)] = 0,
    keep_case: KeepCase = False,
    tokenise: Tokenise = False,
    json: JsonFlag = False,
    quiet: QuietFlag = False,
) -> None:
    """Train subword vectors from raw text: every word has one, seen or unseen.

    One sentence a line, words parted by spaces (or --tokenise). Text of any size is streamed; a
    plain copy of it lies beside FILE while training. The package's extra "vectors" is needed.

    Example: adaptner vectors train abstracts.txt.xz papers/ -o own.safetensors
    """
    from adaptner.progress import progress_bar
    from adaptner.vectors.training import SkipgramSettings, train_skipgram_vectors

    _check_even(width)
    low, high = _limits(grams)
    settings = SkipgramSettings(
        width=width,
        epochs=epochs,
        window=window,
        least=least,
        min_gram=low,
        max_gram=high,
        buckets=buckets,
        threads=threads,
        seed=seed,
        lower=not keep_case,
    )
    begun = time.monotonic()
    made = train_skipgram_vectors(
        texts,
        output,
        settings,
        tokenised=not tokenise,
        shown=lambda title: progress_bar(title, quiet or json),
    )
    _tell(output, made, time.monotonic() - begun, json, quiet)


@app.command(cls=VerbHelp)
def count(
    texts: Texts,
    output: File,
    width: Width = 200,
    window: Window = 5,
    least: Least = 6,
    contexts: Annotated[
        int, typer.Option(min=1, help="The most frequent words, which count as context.")
    ] = 50_000,
    grams: Lengths = "4-5",
    buckets: Buckets = 100_000,
    seed: Annotated[int, typer.Option(min=0, max=2**31 - 1)] = 0,
    keep_case: KeepCase = False,
    tokenise: Tokenise = False,
    json: JsonFlag = False,
    quiet: QuietFlag = False,
) -> None:
    """Make subword vectors by counting what stands beside each word, and on which side.

    Minutes where `train` takes the best part of an hour, and the same file each time; good where there
    is little text. It holds the counts in memory: 3.5 GB for 75 million words. The package's extra
    "vectors" is needed.

    Example: adaptner vectors count abstracts.txt.xz papers/ -o own.safetensors
    """
    from adaptner.progress import progress_bar
    from adaptner.vectors.counting import CountingSettings, train_count_vectors

    _check_even(width)
    low, high = _limits(grams)
    settings = CountingSettings(
        width=width,
        window=window,
        least=least,
        contexts=contexts,
        min_gram=low,
        max_gram=high,
        buckets=buckets,
        seed=seed,
        lower=not keep_case,
    )
    begun = time.monotonic()
    made = train_count_vectors(
        texts,
        output,
        settings,
        tokenised=not tokenise,
        shown=lambda title: progress_bar(title, quiet or json),
    )
    _tell(output, made, time.monotonic() - begun, json, quiet)


@app.command(cls=VerbHelp)
def context(
    texts: Texts,
    vectors: Annotated[Path, typer.Option(help="Word vectors, as `pretrain` takes them.")],
    output: Annotated[Path, typer.Option("-o", "--output", help="Folder for the base.")],
    steps: Annotated[int, typer.Option(min=1, help="Of 64 sentences each.")] = 10_000,
    hidden: Annotated[int, typer.Option(min=1, help="States a direction.")] = 192,
    names: Annotated[
        bool,
        typer.Option(
            "--names", help='Learn the names that the text gives: "diseases such as asthma".'
        ),
    ] = False,
    teacher: Annotated[
        str,
        typer.Option(help="Follow a transformer: a folder, a Hugging Face name, `minilm`."),
    ] = "",
    guesses: Annotated[int, typer.Option(min=0, help="Words guessed a step.")] = 800,
    forgotten: Annotated[
        float, typer.Option(min=0, max=0.9, help="Share of words read by their n-grams alone.")
    ] = 0.0,
    seed: Annotated[int, typer.Option(min=0, max=SEEDS)] = 0,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with an interrupted run.")
    ] = False,
    device: DeviceName = "auto",
    as_json: JsonFlag = False,
    quiet: QuietFlag = False,
) -> None:
    """Teach an encoder over word vectors from raw text, without any label: to guess words from their
    context, and if you like the names of things and what a transformer makes of each word.

    One tokenised sentence a line, of which the first 50 words are read; text of any size is
    streamed. The result is a base that has seen no source: adapt it (`adapt --base`), or learn from
    sources on top of it (`pretrain --start`).

    Example: adaptner vectors context abstracts.txt.xz --vectors own.safetensors -o context
    """
    from adaptner.compute import find_device, prepare_process
    from adaptner.errors import UsageError
    from adaptner.pretraining.on_text import TextPretrainingConfig, pretrain_on_text
    from adaptner.progress import progress_bar
    from adaptner.training.budget import Budget
    from adaptner.vectors.word_vectors import read_vectors

    prepare_process()
    default = TextPretrainingConfig()
    shape = default.encoder.model_copy(update={"hidden": hidden})
    if not (names or teacher or guesses):
        problem = "with --guesses 0, without --names and --teacher there is nothing to learn"
        raise UsageError(problem=problem, remedy="leave --guesses 0 out, or give --names")
    chosen = {"encoder": shape, "names": names, "teacher": teacher, "guesses": guesses}
    config = default.model_copy(update={**chosen, "forgotten": forgotten})
    begun = time.monotonic()
    base = pretrain_on_text(
        texts,
        read_vectors(vectors),
        config,
        Budget(steps),
        output,
        seed=seed,
        resume=resume,
        device=find_device(device),
        shown=lambda title: progress_bar(title, quiet),
    )
    seconds = time.monotonic() - begun
    if as_json:
        emit_json({"base": str(output), "seconds": round(seconds, 1), **base.facts})
    else:
        info(f"{steps:,} steps in {seconds:.0f} s; base in {output}", quiet)


@app.command(cls=VerbHelp)
def senses(
    texts: Texts,
    vectors: Annotated[Path, typer.Option(help="Vectors made by `vectors train`.")],
    output: File,
    as_json: JsonFlag = False,
    quiet: QuietFlag = False,
) -> None:
    """Learn from raw text what names mean: "diseases such as asthma", "rats and other rodents".

    A tagger for a label with such a name (Disease, CellLine, ...) then has a sense of it before the
    first labelled sentence. One tokenised sentence a line; OUTPUT may be the file of the vectors.

    Example: adaptner vectors senses abstracts.txt.xz --vectors own.safetensors -o own.safetensors
    """
    from dataclasses import replace

    from adaptner.corpora.raw_text import sentences_of_files
    from adaptner.errors import UsageError
    from adaptner.progress import progress_bar
    from adaptner.text.hearst_patterns import InstanceCounts
    from adaptner.vectors.direction_training import train_label_directions
    from adaptner.vectors.subword_file import ENDING
    from adaptner.vectors.word_vectors import read_vectors, write_vectors

    known = read_vectors(vectors)
    if known.grams is None or output.suffix != ENDING:
        problem = f"{vectors} or {output} is not a {ENDING} file of `adaptner vectors train`"
        raise UsageError(problem=problem, remedy="make the vectors with `adaptner vectors train`")
    begun = time.monotonic()
    with progress_bar("reading what is called what", quiet or as_json) as progress:
        found = InstanceCounts.of(sentences_of_files(texts, progress))
    learnt = train_label_directions(known, found)
    write_vectors(replace(known, senses=learnt), output)
    seconds = time.monotonic() - begun
    if as_json:
        emit_json({"file": str(output), "names": len(learnt.names), "seconds": round(seconds, 1)})
    else:
        out.print(f"{output}: {len(learnt.names):,} names have a sense", markup=False)
        info(f"read in {seconds:.0f} s", quiet)


@app.command(cls=VerbHelp)
def near(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Word vectors of any format.")],
    words: Annotated[list[str], typer.Argument(metavar="WORD...")],
    count: Annotated[int, typer.Option("--count", "-n", min=1, help="How many of each.")] = 10,
    json: JsonFlag = False,
) -> None:
    """List the words nearest to each WORD, by the cosine of their vectors.

    Example: adaptner vectors near own.safetensors interleukin HEK293T
    """
    from adaptner.vectors.neighbours import nearest_words
    from adaptner.vectors.word_vectors import read_vectors

    vectors = read_vectors(file)
    found = nearest_words(vectors, words, count)
    known = [vectors.row(word) < len(vectors.words) for word in words]
    if json:
        emit_json(
            [
                {
                    "word": word,
                    "known": has_row,
                    "near": None
                    if others is None
                    else [{"word": w, "cosine": c} for w, c in others],
                }
                for word, has_row, others in zip(words, known, found, strict=True)
            ]
        )
    for word, has_row, others in zip(words, known, found, strict=True):
        if others is None:
            print_error(f"{word} has no vector in {file}\n  What to do: give a word that it holds")
        elif not json:
            out.print(f"{word}{'' if has_row else ' (made up of its n-grams)'}", markup=False)
            for other, cosine in others:
                out.print(f"  {cosine:.3f}  {other}", markup=False)
    if None in found:
        raise typer.Exit(1)


def _tell(output: Path, made: dict[str, Any], seconds: float, as_json: bool, quiet: bool) -> None:
    if as_json:
        emit_json({"file": str(output), **made, "seconds": round(seconds, 1)})
        return
    words, width, buckets = made["words"], made["width"], made["buckets"]
    said = f"{words:,} words of {width} numbers, {buckets:,} rows of n-grams"
    out.print(f"{output}: {said}, {made['bytes'] / 1e6:.1f} MB", markup=False)
    info(f"learnt from {made['tokens']:,} words of text in {seconds:.0f} s", quiet)


def _check_even(width: int) -> None:
    from adaptner.errors import UsageError

    if width % 2:
        remedy = f"two numbers share a byte: give --width {width + 1}"
        raise UsageError(problem=f"--width {width} is odd", remedy=remedy)


def _limits(grams: str) -> tuple[int, int]:
    from adaptner.errors import UsageError

    low, _, high = grams.partition("-")
    if low.isdecimal() and high.isdecimal() and 1 <= int(low) <= int(high) <= 20:
        return int(low), int(high)
    remedy = "give the least and most characters, for example --grams 4-5"
    raise UsageError(problem=f"--grams {grams} is not a pair of lengths up to 20", remedy=remedy)
