"""Pretrains an encoder on raw text, without labels.

The objectives are to predict words from their context, names of instances, and the states of a larger
network. The result is a base without source domains, which can be adapted or from which pretraining on
source corpora can start (``Method.fit(start=...)``).
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from hashlib import sha256
from itertools import islice
from pathlib import Path

import torch
from pydantic import BaseModel, ConfigDict, Field
from torch import nn

from adaptner.compute import CPU, noise_generator
from adaptner.corpora.raw_text import find_text_files, sentences_of_files
from adaptner.errors import UsageError
from adaptner.files import digest
from adaptner.models.base import Base
from adaptner.models.storage import MANIFEST
from adaptner.nn.batching.word_batch import WordBatcher, alphabet_of
from adaptner.nn.encoders.config import EncoderConfig
from adaptner.nn.encoders.lexical_features import STATE_LENGTH
from adaptner.nn.encoders.recurrent import RecurrentEncoder
from adaptner.nn.model import TaggingModel
from adaptner.pretraining.from_sources import check_folder, finished
from adaptner.pretraining.gazetteer import MIN_INSTANCES, Gazetteer
from adaptner.pretraining.objectives import (
    ClozeObjective,
    DistillationObjective,
    LabelNameObjective,
    PretrainingBatch,
)
from adaptner.pretraining.teacher import TransformerTeacher
from adaptner.pretraining.text_batches import POOL, repeat_stream, text_batches
from adaptner.progress import ProgressCallback, Shown, no_progress
from adaptner.text.hearst_patterns import InstanceCounts
from adaptner.training.budget import Budget
from adaptner.training.checkpoint import CHECKPOINT_FILE, TrainingState
from adaptner.training.loop import StepMetrics, TrainingRun, run_training
from adaptner.training.optimiser import Optimiser, OptimiserConfig
from adaptner.types import Sentence
from adaptner.vectors.word_dropout import WordDropoutVectors
from adaptner.vectors.word_vectors import WordVectors
from adaptner.version import __version__

_ALPHABET_SENTENCES = 20_000  # from which the alphabet is collected
METHOD = "named"  # which adapts such a base


class TextPretrainingConfig(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    encoder: EncoderConfig = EncoderConfig(hidden=192, char_lstm=0, dropout=0.1)
    batch: int = Field(64, ge=1, description="Sentences per step.")
    max_words: int = Field(50, ge=2, description="Words read per sentence.")
    cloze_words: int = Field(800, ge=0, description="Words predicted per step; 0 for none.")
    names: bool = Field(False, description="Learn names of instances.")
    name_rate: float = Field(1.5, gt=0, description="Factor of the learning rate for names.")
    teacher: str = Field("", description="Transformer for distillation; empty for none.")
    teacher_layers: int = Field(4, ge=1, description="Layer whose states are the targets.")
    distilled_sentences: int = Field(12, ge=1, description="Sentences distilled per step.")
    word_dropout: float = Field(
        0.0, ge=0, lt=1, description="Share of words that are read by their n-grams only."
    )
    optimiser: OptimiserConfig = OptimiserConfig(name="adamw", rate=3e-3, weight_decay=1e-3)


class _Learner(nn.Module):
    def __init__(self, encoder: RecurrentEncoder, objectives: dict[str, nn.Module]) -> None:
        super().__init__()
        self.encoder = encoder
        self.objectives = nn.ModuleDict(objectives)


def pretrain_on_text(
    texts: Sequence[Path],
    vectors: WordVectors,
    config: TextPretrainingConfig,
    budget: Budget,
    folder: Path,
    *,
    seed: int = 0,
    resume: bool = False,
    checkpoint_seconds: float = 60.0,
    device: torch.device = CPU,
    shown: Shown = lambda title: nullcontext(no_progress),
) -> Base:
    """Trains on ``texts`` (one tokenised sentence per line) and saves the base in ``folder``."""
    check_folder(folder, resume)
    files = find_text_files(texts)
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
    # Load the teacher first, so that a missing model is reported before the slow extraction of names.
    teacher = None
    if config.teacher:
        teacher = TransformerTeacher(config.teacher, config.teacher_layers, device)
    stream_start = repeat_stream(files, config.max_words, random.Random(seed))
    sample = list(islice(stream_start, _ALPHABET_SENTENCES))
    batcher = WordBatcher(vectors, alphabet_of(sample))
    encoder = RecurrentEncoder(config.encoder, batcher, generator)
    gazetteer = None
    if config.names:
        with shown("finding names") as progress:
            gazetteer = find_names(files, progress)
    objectives = _make_objectives(
        config, encoder, vectors.width, gazetteer, teacher, sample, generator
    )
    learner = _Learner(encoder, objectives).to(device)
    name_weights = [p for n, p in learner.named_parameters() if n == "objectives.names.head.weight"]
    rates = dict.fromkeys(name_weights, config.name_rate)
    optimiser = Optimiser(learner.parameters(), config.optimiser, rates)
    noise = noise_generator(generator, device)
    state = TrainingState(learner, optimiser, random.Random(seed), noise)
    fingerprint = sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()
    with shown("training on text") as progress:
        run = TrainingRun(
            folder, fingerprint, settings, resume, checkpoint_seconds, progress, device
        )
        run_training(
            state, _step_function(learner, batcher, files, config, seed, noise), budget, run
        )
    facts = {"iterations": state.done, "seed": seed, "vectors": "given", "sources": []}
    facts["texts"] = settings["texts"]
    if config.teacher:
        facts["teacher"] = config.teacher
    model = TaggingModel(_with_lexical_features(encoder, batcher), {}, generator)
    base = Base(model, batcher, METHOD, {}, facts)
    if isinstance(names := objectives.get("names"), LabelNameObjective):
        base.label_probes = names.head.label_probes(names.gazetteer.names)
    base.save(folder)
    (folder / CHECKPOINT_FILE).unlink(missing_ok=True)
    return base


def find_names(files: Sequence[Path], progress: ProgressCallback) -> Gazetteer:
    """Returns the names of instances in the text; raises UsageError if it has none."""
    gazetteer = Gazetteer.of(InstanceCounts.of(sentences_of_files(files, progress)))
    if not gazetteer.names:
        problem = f"no name in {files[0]} has {MIN_INSTANCES} different instances"
        remedy = 'give more text with phrases like "diseases such as asthma", or omit --names'
        raise UsageError(problem=problem, remedy=remedy)
    return gazetteer


def _make_objectives(
    config: TextPretrainingConfig,
    encoder: RecurrentEncoder,
    word_width: int,
    gazetteer: Gazetteer | None,
    teacher: TransformerTeacher | None,
    sample: Sequence[Sentence],
    generator: torch.Generator,
) -> dict[str, nn.Module]:
    """Their order decides the initial parameters."""
    width, most = encoder.width, config.distilled_sentences
    objectives: dict[str, nn.Module] = {}
    if config.cloze_words:
        objectives["cloze"] = ClozeObjective(width, word_width, config.cloze_words, generator)
    if gazetteer is not None:
        objectives["names"] = LabelNameObjective(width, gazetteer, generator)
    if teacher is not None:
        objectives["distillation"] = DistillationObjective(width, teacher, most, sample, generator)
    return objectives


def _step_function(
    learner: _Learner,
    batcher: WordBatcher,
    files: Sequence[Path],
    config: TextPretrainingConfig,
    seed: int,
    noise: torch.Generator,
) -> Callable[[int], StepMetrics]:
    """Returns a function that reads the batch of an iteration and adds up its gradients."""
    encoder = learner.encoder
    stream: Iterator[list[Sentence]] | None = None
    current_batcher = batcher

    def step(iteration: int) -> StepMetrics:
        nonlocal stream, current_batcher
        if config.word_dropout and (stream is None or iteration % POOL == 0):
            salt = f"{seed} {iteration // POOL}"
            dropped = WordDropoutVectors.of(batcher.vectors, config.word_dropout, salt)
            current_batcher = WordBatcher(dropped, batcher.alphabet)
        if stream is None:  # A resumed run continues in the text where it stopped.
            batches = text_batches(files, config.batch, config.max_words, seed)
            stream = islice(batches, iteration - 1, None)
        sentences = next(stream)
        batch = current_batcher([sentences]).to(encoder.device)
        states = encoder(batch, noise)[0]
        words = encoder.words(batch.rows, batch.pieces)
        ordered = [sentences[i] for i in batch.order[0]]
        pretraining_batch = PretrainingBatch(ordered, batch, states, words, noise)
        losses = {
            name: objective(pretraining_batch) for name, objective in learner.objectives.items()
        }
        loss = torch.stack(list(losses.values())).sum()
        loss.backward()
        metrics = {name: float(value.detach()) for name, value in losses.items()}
        remark = ", ".join(f"{name} {value:.2f}" for name, value in metrics.items())
        return StepMetrics(float(loss.detach()), metrics, remark)

    return step


def _with_lexical_features(encoder: RecurrentEncoder, batcher: WordBatcher) -> RecurrentEncoder:
    """Returns an encoder with the same weights that also gives lexical features to the decoder."""
    shape = encoder.config.model_copy(
        update={"lexical_features": True, "state_length": STATE_LENGTH}
    )
    copy = RecurrentEncoder(shape, batcher, torch.Generator())
    copy.load_state_dict(encoder.state_dict())
    return copy.to(encoder.device)
