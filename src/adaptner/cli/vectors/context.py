"""``adaptner vectors context``: pretrain an encoder on raw text."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

from adaptner.cli.common import emit_json, info
from adaptner.cli.options import (
    DeviceName,
    JsonFlag,
    QuietFlag,
    Resume,
    Seed,
    file_option,
    research_option,
)
from adaptner.cli.vectors.options import Texts


def context(
    texts: Texts,
    vectors: Annotated[
        Path, file_option(metavar="FILE", help="Word vectors, as for `adaptner pretrain`.")
    ],
    output: Annotated[
        Path, file_option("-o", "--output", metavar="FOLDER", help="Folder for the base.")
    ],
    as_json: JsonFlag = False,
    quiet: QuietFlag = False,
    steps: Annotated[
        int, research_option(metavar="N", min=1, help="Training steps of 64 sentences.")
    ] = 10_000,
    hidden: Annotated[
        int, research_option(metavar="N", min=1, help="LSTM states per direction.")
    ] = 192,
    cloze_words: Annotated[
        int, research_option(metavar="N", min=0, help="Words to predict from context per step.")
    ] = 800,
    names: Annotated[
        bool,
        research_option(
            "--names", help='Also learn the names in phrases such as "diseases such as asthma".'
        ),
    ] = False,
    teacher: Annotated[
        str,
        research_option(
            metavar="NAME",
            help="Also distil this transformer: minilm, a folder or a Hugging Face name.",
        ),
    ] = "",
    word_dropout: Annotated[
        float,
        research_option(
            metavar="X", min=0, max=0.9, help="Share of words that are read by their n-grams alone."
        ),
    ] = 0.0,
    device: DeviceName = "auto",
    seed: Seed = 0,
    resume: Resume = False,
) -> None:
    """Pretrain an encoder over word vectors on raw text, without any label.

    The encoder learns to predict words from their context and, as you choose, the names of things
    and the states of a transformer. The text has one tokenised sentence per line, of which the first
    50 words are read. The result is a base to adapt (`adapt --base`) or to train further on sources
    (`pretrain --start`).

    Example: adaptner vectors context abstracts.txt.xz --vectors own.safetensors -o context
    """
    from adaptner.compute import find_device, prepare_process
    from adaptner.errors import UsageError
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
