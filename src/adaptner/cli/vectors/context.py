"""``adaptner vectors context``: pretrain an encoder on raw text."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

from adaptner.cli import options
from adaptner.cli.common import emit_json, info
from adaptner.errors import UsageError


def context(
    texts: options.Texts,
    vectors: Annotated[
        Path, options.file("--vectors FILE", "Word vectors, as for `adaptner pretrain`.")
    ],
    output: Annotated[Path, options.file("-o, --output FOLDER", "Folder for the base.")],
    as_json: options.JsonFlag = False,
    quiet: options.QuietFlag = False,
    steps: Annotated[
        int, options.research("--steps N", "Training steps of 64 sentences.", min=1)
    ] = 10_000,
    hidden: Annotated[
        int, options.research("--hidden N", "LSTM states per direction.", min=1)
    ] = 192,
    cloze_words: Annotated[
        int, options.research("--cloze-words N", "Words to predict from context per step.", min=0)
    ] = 800,
    names: Annotated[
        bool,
        options.research(
            "--names", 'Also learn the names in phrases such as "diseases such as asthma".'
        ),
    ] = False,
    teacher: Annotated[
        str,
        options.research(
            "--teacher NAME",
            "Also distil this transformer: minilm, a folder or a Hugging Face name.",
        ),
    ] = "",
    word_dropout: Annotated[
        float,
        options.research(
            "--word-dropout X",
            "Share of words that are read by their n-grams alone.",
            min=0,
            max=0.9,
        ),
    ] = 0.0,
    device: options.DeviceName = "auto",
    seed: options.Seed = 0,
    resume: options.Resume = False,
) -> None:
    """Pretrain an encoder over word vectors on raw text, without any label.

    The encoder learns to predict words from their context and, as you choose, the names of things
    and the states of a transformer. The text has one tokenised sentence per line, of which the first
    50 words are read. The result is a base to adapt (`adapt --base`) or to train further on sources
    (`pretrain --start`).

    Example: adaptner vectors context abstracts.txt.xz --vectors own.safetensors -o context
    """
    from adaptner.compute import find_device, prepare_process
    from adaptner.pretraining.on_text import TextPretrainingConfig, pretrain_on_text
    from adaptner.progress import progress_bar
    from adaptner.training.budget import Budget
    from adaptner.vectors.word_vectors import read_vectors

    if not (names or teacher or cloze_words):
        raise UsageError(
            problem="--cloze-words 0 without --names and --teacher leaves nothing to learn",
            remedy="leave out --cloze-words 0, or add --names or --teacher",
        )
    prepare_process()
    config = TextPretrainingConfig(
        encoder=TextPretrainingConfig().encoder.model_copy(update={"hidden": hidden}),
        cloze_words=cloze_words,
        names=names,
        teacher=teacher,
        word_dropout=word_dropout,
    )
    start = time.monotonic()
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
    seconds = time.monotonic() - start
    if as_json:
        emit_json({"base": str(output), "seconds": round(seconds, 1), **base.facts})
    else:
        info(f"{steps:,} steps in {seconds:.0f} s; base in {output}", quiet)
