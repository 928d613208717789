"""θ learns from raw text, before any label: it guesses words from what stands around them.

What comes out is a base without source domains. It can be adapted as it is, or be where a method that
learns from sources starts (``Method.fit(start=...)``)."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Sequence
from hashlib import sha256
from itertools import islice
from pathlib import Path

import torch
from pydantic import BaseModel, ConfigDict, Field
from torch import nn

from adaptner import __version__
from adaptner.errors import EmptyFile
from adaptner.files import digest
from adaptner.nn.cloze import ClozeHead
from adaptner.nn.encoder import EncoderConfig, RecurrentEncoder
from adaptner.nn.model import TaggingModel
from adaptner.nn.vectors import WordVectors
from adaptner.nn.word_batch import WordBatcher, alphabet_of
from adaptner.training.base import Base
from adaptner.training.budget import Budget
from adaptner.training.checkpoint import FILE, TrainingState
from adaptner.training.loop import Report, Run, train
from adaptner.training.optimiser import Optimiser, OptimiserConfig
from adaptner.training.pretraining import check_folder, finished
from adaptner.training.progress import Watch, silent
from adaptner.training.raw_text import sentences, text_files
from adaptner.training.storage import MANIFEST
from adaptner.types import Sentence

# So many batches' sentences are read at a time, mixed, and put with others of like length.
POOL = 50
_ALPHABET_FROM = 20_000  # sentences
METHOD = "named"  # how such a base is adapted; of sources it has seen none


class ContextConfig(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    encoder: EncoderConfig = EncoderConfig(hidden=192, char_lstm=0, dropout=0.1)
    batch: int = Field(64, ge=1, description="sentences a step")
    guesses: int = Field(800, ge=1, description="words guessed a step")
    longest: int = Field(50, ge=2, description="words of a sentence that are read")
    optimiser: OptimiserConfig = OptimiserConfig(name="adamw", rate=3e-3, weight_decay=1e-3)


class _Learner(nn.Module):
    def __init__(self, encoder: RecurrentEncoder, cloze: ClozeHead) -> None:
        super().__init__()
        self.encoder = encoder
        self.cloze = cloze


def learn_context(
    texts: Sequence[Path],
    vectors: WordVectors,
    config: ContextConfig,
    budget: Budget,
    folder: Path,
    *,
    seed: int = 0,
    resume: bool = False,
    checkpoint_seconds: float = 60.0,
    watch: Watch = silent,
) -> Base:
    """Train on ``texts`` (streamed; one tokenised sentence a line) and save the base in ``folder``."""
    check_folder(folder, resume)
    files = text_files(texts)
    settings = {
        "version": __version__,
        "config": config.model_dump(mode="json"),
        "steps": budget.steps,
        "seed": seed,
        "texts": {path.name: digest(path) for path in files},
        "vectors": vectors.digest(),
    }
    if resume and (folder / MANIFEST).exists():
        return finished(folder, settings)
    if not resume:
        (folder / MANIFEST).unlink(missing_ok=True)
    generator = torch.Generator().manual_seed(seed)
    some = islice(_again_and_again(files, config.longest, random.Random(seed)), _ALPHABET_FROM)
    batcher = WordBatcher(vectors, alphabet_of(some))
    encoder = RecurrentEncoder(config.encoder, batcher, generator)
    learner = _Learner(encoder, ClozeHead(encoder.width, vectors.width, generator))
    optimiser = Optimiser(learner.parameters(), config.optimiser)
    state = TrainingState(learner, optimiser, random.Random(seed), generator)
    stream: Iterator[list[Sentence]] | None = None

    def iterate(iteration: int) -> Report:
        nonlocal stream
        if stream is None:  # a resumed run goes on in the text where it stopped
            stream = islice(_batches(files, config, seed), iteration - 1, None)
        batch = batcher([next(stream)])
        states = encoder(batch, state.noise)
        words = encoder.words(batch.rows, batch.pieces)
        loss = learner.cloze(states, batch, words, config.guesses, state.noise)
        loss.backward()
        value = float(loss.detach())
        return Report(value, remark=f"loss {value:.2f}")

    fingerprint = sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()
    train(
        state,
        iterate,
        budget,
        Run(folder, fingerprint, settings, resume, checkpoint_seconds, watch),
    )
    facts = {
        "iterations": state.done,
        "seed": seed,
        "vectors": "given",
        "sources": [],
        "texts": settings["texts"],
    }
    model = TaggingModel(_wide(encoder, batcher), {}, generator)
    base = Base(model, batcher, METHOD, {}, facts)
    base.save(folder)
    (folder / FILE).unlink(missing_ok=True)
    return base


def _wide(encoder: RecurrentEncoder, batcher: WordBatcher) -> RecurrentEncoder:
    """The same weights; the decoder to come reads the word beside the states (``nn/wide.py``)."""
    shape = encoder.config.model_copy(update={"wide": True})
    wide = RecurrentEncoder(shape, batcher, torch.Generator())
    wide.load_state_dict(encoder.state_dict())
    return wide


def _read(files: Sequence[Path], longest: int) -> Iterator[Sentence]:
    for path in files:
        for line in sentences(path):
            yield _sentence(line.split(" ")[:longest])


def _sentence(words: Sequence[str]) -> Sentence:
    spans, at = [], 0
    for word in words:
        spans.append((at, at + len(word)))
        at += len(word) + 1
    return Sentence(" ".join(words), tuple(spans))


def _batches(files: Sequence[Path], config: ContextConfig, seed: int) -> Iterator[list[Sentence]]:
    """Without end: the text again and again. A batch holds sentences of like length, since the
    longest sets what a step costs."""
    rng, size = random.Random(seed), config.batch
    read = _again_and_again(files, config.longest, rng)
    while True:
        pool = sorted(islice(read, POOL * size), key=len)
        batches = [pool[i : i + size] for i in range(0, len(pool), size)]
        rng.shuffle(batches)
        yield from batches


def _again_and_again(files: Sequence[Path], longest: int, rng: random.Random) -> Iterator[Sentence]:
    """A sentence of this file, then of that, as often as its size is: a run that ends before the
    text does has read of every file."""
    streams = [_endless(path, longest) for path in files]
    sizes = [path.stat().st_size for path in files]
    while True:
        yield next(rng.choices(streams, sizes)[0])


def _endless(path: Path, longest: int) -> Iterator[Sentence]:
    while True:
        none = True
        for sentence in _read([path], longest):
            if len(sentence) > 1:  # a lone word has no context
                none = False
                yield sentence
        if none:
            raise EmptyFile(file=path, unit="sentence of two words or more")
