"""From source corpora to a base in a folder: the run, its fingerprint, its model card."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import torch

from adaptner.compute import CPU
from adaptner.corpora.corpus import Corpus, group_by_domain
from adaptner.corpora.sources import source_domains
from adaptner.errors import OutputExists, RunNotResumable, UsageError
from adaptner.files import atomic_file, digest
from adaptner.methods.base import Method
from adaptner.methods.families.source_pretrained import SourcePretrainedMethod
from adaptner.models.base import Base
from adaptner.models.fine_tuned_encoder import rounded
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
    beside: bool = False,
    held_out: Sequence[Corpus] = (),
    seed: int = 0,
    resume: bool = False,
    checkpoint_seconds: float = 60.0,
    device: torch.device = CPU,
    progress: ProgressCallback = no_progress,
    tell: Callable[[str], None] = lambda message: None,
) -> Base:
    """Train, save the base in ``folder`` and return it. ``start``: a base whose encoder and vectors
    are begun with; with ``beside`` it stays as it is, and what is learnt is its second θ. ``tell``
    hears what a user should know."""
    check_folder(folder, resume)
    table = None if vectors is None else read_vectors(vectors)
    begun = None if start is None else Base.load(start)
    if beside:
        _check_beside(method, begun)
        if begun is not None and begun.fine_tuned_encoder is not None:
            known = ", ".join(begun.fine_tuned_encoder.domains)
            tell(f"{start} has a second encoder, for {known}: the new one takes its place")
    tests = [s for c in held_out for s in c.split("test")]
    sources = source_domains(group_by_domain(corpora), tests)
    for domain in sources:
        tell(
            f"{domain.name}: {len(domain.sentences):,} sentences of {len(domain.corpora)} corpora"
            + (f", {domain.removed} left out (in a held-out test set)" if domain.removed else "")
        )
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
        **({"beside": True} if beside else {}),
    }
    fingerprint = sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()
    if resume and (folder / MANIFEST).exists():
        return finished(folder, settings)
    if not resume:
        (folder / MANIFEST).unlink(missing_ok=True)
    run = TrainingRun(folder, fingerprint, settings, resume, checkpoint_seconds, progress, device)
    base = method.fit(sources, budget, vectors=table, start=begun, seed=seed, run=run)
    if beside:
        assert begun is not None
        facts = {**begun.facts, "fine_tuned_encoder": {"method": base.method, **base.facts}}
        facts["fine_tuned_encoder"].pop("start", None)  # `facts` has it
        base = replace(begun, facts=facts, fine_tuned_encoder=rounded(base.model))
    base.save(folder)
    with atomic_file(folder / CARD) as file:
        file.write(model_card(base, method))
    (folder / checkpoint.CHECKPOINT_FILE).unlink(missing_ok=True)  # the base is complete without it
    return base


def _check_beside(method: Method, begun: Base | None) -> None:
    """A second θ is used by ``named`` alone, and must look like the first."""
    if begun is None or begun.method != NAMED:
        problem = "--second-encoder: there is no base of the method named to put it beside"
        raise UsageError(problem=problem, remedy="name one with --start, for example biomedical")
    shape = method.config.shape() if isinstance(method, SourcePretrainedMethod) else None
    if method.name == NAMED or shape != begun.model.shape:
        problem = f"--second-encoder: what {method.name} learns is no second encoder of such a base"
        raise UsageError(problem=problem, remedy="learn with --method finetuning")


def finished(folder: Path, settings: Mapping[str, object]) -> Base:
    """Nothing is left to do, if it was the same run."""
    known = json.loads((folder / CONFIG).read_text(encoding="utf-8"))
    if known != json.loads(json.dumps(settings)):
        raise RunNotResumable(file=folder, reason="it is a finished run of another configuration")
    return Base.load(folder)


def check_folder(folder: Path, resume: bool) -> None:
    ours = (folder / CONFIG).exists()
    if folder.exists() and not folder.is_dir():
        raise OutputExists(file=folder, kind="a folder")
    if folder.is_dir() and not ours and any(folder.iterdir()):
        raise OutputExists(file=folder, kind="a run of ours")
    if (folder / checkpoint.CHECKPOINT_FILE).exists() and not resume:
        raise UsageError(
            problem=f"{folder} holds an unfinished run",
            remedy="add --resume to go on with it, or remove the folder to start afresh",
        )


def model_card(base: Base, method: Method) -> str:
    """What a person should know before using the base."""
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

{_reads(base)}

**Use.** `adaptner adapt SENTENCES --base THIS_FOLDER -o MODEL`, for entity types that need not be
among those above.

**Limits.** It knows the language of its sources (see the table) and nothing else; quality on a new
type must be measured (`adaptner evaluate --base THIS_FOLDER --target CORPUS`). The licences of the
source corpora govern what may be done with it.

## Settings

```json
{settings}
```
"""


def _reads(base: Base) -> str:
    """What the encoder starts from."""
    batcher, config = base.batcher, base.model.encoder.config
    if isinstance(batcher, WordBatcher):
        known = f"{len(batcher.vectors.words):,} words of {batcher.vectors.width} numbers"
        return f"Word vectors: {known}, {'tuned' if config.tune_words else 'frozen'}."
    return f"Encoder: the pretrained transformer `{config.name}`."
