"""Pretrains a base on source corpora and writes its folder with a model card."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import torch

from adaptner.compute import CPU
from adaptner.corpora.corpus import Corpus, group_by_domain
from adaptner.corpora.sources import SourceDomain, source_domains
from adaptner.errors import OutputExists, RunNotResumable, UsageError
from adaptner.files import atomic_file, digest
from adaptner.methods.base import Method
from adaptner.methods.families.source_pretrained import SourcePretrainedMethod
from adaptner.models.base import Base
from adaptner.models.fine_tuned_encoder import rounded
from adaptner.models.renamed_fields import current_run
from adaptner.models.storage import MANIFEST
from adaptner.nn.batching.word_batch import WordBatcher
from adaptner.progress import ProgressCallback, no_progress
from adaptner.training import checkpoint
from adaptner.training.budget import Budget
from adaptner.training.loop import CONFIG, TrainingRun
from adaptner.vectors.word_vectors import read_vectors
from adaptner.version import __version__

CARD = "card.md"
NAMED = "named"


def pretrain(
    method: Method,
    corpora: Sequence[Corpus],
    budget: Budget,
    folder: Path,
    *,
    vectors: Path | None = None,
    start: Path | None = None,
    second_encoder: bool = False,
    held_out: Sequence[Corpus] = (),
    seed: int = 0,
    resume: bool = False,
    checkpoint_seconds: float = 60.0,
    device: torch.device = CPU,
    progress: ProgressCallback = no_progress,
    tell: Callable[[str], None] = lambda message: None,
) -> Base:
    """Trains a base, saves it in ``folder``, and returns it.

    Training starts from the encoder and vectors of the base ``start``, if given. With
    ``second_encoder``, the result is ``start`` with the trained encoder as its second one. ``tell``
    is called with messages for the user.
    """
    check_folder(folder, resume)
    table = None if vectors is None else read_vectors(vectors)
    start_base = None if start is None else Base.load(start)
    if second_encoder:
        _check_second_encoder(method, start_base)
        assert start_base is not None
        if start_base.fine_tuned_encoder is not None:
            domains = ", ".join(start_base.fine_tuned_encoder.domains)
            tell(f"replacing the second encoder of {start} (domains: {domains})")
    sources = _source_domains(corpora, held_out, tell)
    settings = {
        "version": __version__,
        "method": method.name,
        "config": method.config.model_dump(mode="json"),
        "steps": budget.steps,
        "seed": seed,
        "sources": {d.name: d.sha256 for d in sources},
        "held_out": [c.sha256 for c in held_out],
        "vectors": None if table is None else table.digest(),
        **({} if start is None else {"start": digest(start / MANIFEST)}),
        # "beside" is the older name of second_encoder; runs that began under it are resumed.
        **({"beside": True} if second_encoder else {}),
    }
    fingerprint = sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()
    if resume and (folder / MANIFEST).exists():
        return finished(folder, settings)
    if not resume:
        (folder / MANIFEST).unlink(missing_ok=True)
    run = TrainingRun(folder, fingerprint, settings, resume, checkpoint_seconds, progress, device)
    base = method.fit(sources, budget, vectors=table, start=start_base, seed=seed, run=run)
    if second_encoder:
        assert start_base is not None
        base = _with_second_encoder(start_base, base)
    base.save(folder)
    with atomic_file(folder / CARD) as file:
        file.write(model_card(base, method))
    (folder / checkpoint.CHECKPOINT_FILE).unlink(missing_ok=True)  # no longer needed
    return base


def _source_domains(
    corpora: Sequence[Corpus], held_out: Sequence[Corpus], tell: Callable[[str], None]
) -> list[SourceDomain]:
    """Groups the corpora by domain, without the sentences of held-out test sets."""
    tests = [s for c in held_out for s in c.split("test")]
    sources = source_domains(group_by_domain(corpora), tests)
    for domain in sources:
        tell(
            f"{domain.name}: {len(domain.sentences):,} sentences of {len(domain.corpora)} corpora"
            + (f", {domain.removed} left out (in a held-out test set)" if domain.removed else "")
        )
    return sources


def _with_second_encoder(start: Base, trained: Base) -> Base:
    facts = {"method": trained.method, **trained.facts}
    facts.pop("start", None)  # already in the facts of the start
    return replace(
        start,
        facts={**start.facts, "fine_tuned_encoder": facts},
        fine_tuned_encoder=rounded(trained.model),
    )


def _check_second_encoder(method: Method, start: Base | None) -> None:
    """Only ``named`` uses a second encoder, which must have the shape of the first."""
    if start is None or start.method != NAMED:
        problem = "--second-encoder needs a base of the method named to add the encoder to"
        raise UsageError(problem=problem, remedy="give one with --start, for example biomedical")
    shape = method.config.shape() if isinstance(method, SourcePretrainedMethod) else None
    if method.name == NAMED or shape != start.model.shape:
        problem = f"--second-encoder: {method.name} does not train an encoder of the same shape"
        raise UsageError(problem=problem, remedy="pretrain with --method finetuning")


def finished(folder: Path, settings: Mapping[str, object]) -> Base:
    """Loads the base of a finished run; raises RunNotResumable if the settings differ."""
    finished_settings = json.loads((folder / CONFIG).read_text(encoding="utf-8"))
    if current_run(finished_settings) != json.loads(json.dumps(settings)):
        raise RunNotResumable(
            file=folder, reason="the folder contains a finished run with another configuration"
        )
    return Base.load(folder)


def check_folder(folder: Path, resume: bool) -> None:
    """Raises if ``folder`` contains other files, or an unfinished run without ``resume``."""
    is_run = (folder / CONFIG).exists()
    if folder.exists() and not folder.is_dir():
        raise OutputExists(file=folder, kind="a folder")
    if folder.is_dir() and not is_run and any(folder.iterdir()):
        raise OutputExists(file=folder, kind="a folder of a pretraining run")
    if (folder / checkpoint.CHECKPOINT_FILE).exists() and not resume:
        raise UsageError(
            problem=f"{folder} contains an unfinished run",
            remedy="continue it with --resume, or remove the folder to start again",
        )


def model_card(base: Base, method: Method) -> str:
    """Returns the model card of the base as Markdown."""
    rows = "\n".join(
        f"| {s['domain']} | {', '.join(s['sha256'])} | {s['sentences']:,} | {s['removed']} |"
        for s in base.facts["sources"]
    )
    settings = json.dumps(base.config, indent=1, ensure_ascii=False)
    return f"""# A base for adaptner

Made by {method.title} (`{base.method}`, paper {method.paper}) in {base.facts["iterations"]:,}
iterations, seed {base.facts["seed"]}, with adaptner {__version__}.

| domain | corpora | sentences (train and dev) | left out |
|---|---|---|---|
{rows}

{_describe_input(base)}

**Use.** `adaptner adapt SENTENCES --base THIS_FOLDER -o MODEL`, for entity types that need not be
among those above.

**Limits.** The base was trained on the language of its source corpora (see the table) only. Measure
its quality on a new type (`adaptner evaluate --base THIS_FOLDER --target CORPUS`). The licences of the
source corpora apply to it.

## Settings

```json
{settings}
```
"""


def _describe_input(base: Base) -> str:
    """Describes the word vectors or the transformer of the encoder."""
    batcher, config = base.batcher, base.model.encoder.config
    if isinstance(batcher, WordBatcher):
        size = f"{len(batcher.vectors.words):,} words, {batcher.vectors.width} dimensions"
        return f"Word vectors: {size}, {'trained' if config.tune_words else 'frozen'}."
    return f"Encoder: the pretrained transformer `{config.name}`."
