"""Expected seconds of a job, for --dry-run and the time that is left.

The constants are processor seconds measured on one core of the two-core machine of docs/results (HGDA's
encoder, sentences of bio8). They serve for planning, not for comparison.
"""

from __future__ import annotations

from pathlib import Path

from adaptner.methods import method
from adaptner.methods.families.meta_learner import MetaLearner
from adaptner.methods.metaner import MetaNER
from adaptner.reproduce.jobs.job import Job

SECONDS_PER_BASE = 5.0  # reading the sources, once for all bases of a group
# One iteration of 4 tasks at K = 10: HGDA 0.24 s, HGDA-NEs 0.28, MAML 0.26, MetaNER 0.33.
SECONDS_PER_ITERATION = 0.03
SECONDS_PER_TASK_SENTENCE = 0.006
PACE: dict[type, float] = {MetaLearner: 1.0, MetaNER: 1.25}
PACE_WITHOUT_INNER_LOOP = 0.6
# Fine-tuning with batches of 10: 0.04 s per step.
SECONDS_PER_STEP = 0.01
SECONDS_PER_STEP_SENTENCE = 0.003
TAGGED_PER_SECOND = 1600
SECONDS_PER_DRAW = 0.1
# With MiniLM one iteration of 4 tasks at K = 10 takes 2.7 s, one step 0.30 s
# (docs/results/transformers.md).
TRANSFORMER_PACE, TRANSFORMER_STEP_PACE, TRANSFORMER_TAGGED_PER_SECOND = 10.0, 7.5, 105
DEFAULT_SENTENCES = 4000  # of a split whose file is missing
_BYTES_PER_SENTENCE = 250  # in a CoNLL file

BASIS = (
    "Expected from processor seconds measured on one core with HGDA's encoder: "
    f"{SECONDS_PER_ITERATION} + {SECONDS_PER_TASK_SENTENCE} x tasks x K per iteration, "
    f"{SECONDS_PER_STEP} + {SECONDS_PER_STEP_SENTENCE} x batch per step of fine-tuning, "
    f"{TAGGED_PER_SECOND:,} sentences tagged per second. With a transformer an iteration takes "
    f"{TRANSFORMER_PACE:g} times as long, a step {TRANSFORMER_STEP_PACE:g} times, and "
    f"{TRANSFORMER_TAGGED_PER_SECOND} sentences are tagged per second (measured with MiniLM)."
)


def expected_seconds(job: Job, data: Path | None = None) -> float:
    return _base(job) if job.kind == "base" else _draw(job, data)


def _base(job: Job) -> float:
    settings, learner = job.spec["settings"], method(job.spec["learner"])
    paces = (pace for kind, pace in PACE.items() if issubclass(learner, kind))
    pace = next(paces, PACE_WITHOUT_INNER_LOOP) * (TRANSFORMER_PACE if _has_transformer(job) else 1)
    iteration = (
        SECONDS_PER_ITERATION + SECONDS_PER_TASK_SENTENCE * settings["tasks"] * settings["k"]
    )
    return float(SECONDS_PER_BASE + job.spec["iterations"] * iteration * pace)


def _draw(job: Job, data: Path | None) -> float:
    spec = job.spec
    settings, place = spec["settings"]["adaptation"], spec["target"][0]
    share = 100.0 if spec["size"] == 0 else spec["share"]  # zero-shot: the raw text
    drawn = spec["size"] or round(_sentences(data, place, "train") * share / 100)
    steps = max(settings["steps"], settings["epochs"] * -(-drawn // settings["batch"]))
    step = SECONDS_PER_STEP + SECONDS_PER_STEP_SENTENCE * min(settings["batch"], drawn)
    if method(spec["method"]).capabilities.reads_sources:
        step *= 1 + settings.get("source_tasks", 3)  # crossdomain-lm: four tasks per step
    scored = _sentences(data, place, "test")
    if spec["limit"] is not None:
        scored = min(scored, spec["limit"])
    if _has_transformer(job):
        tagging = scored / TRANSFORMER_TAGGED_PER_SECOND
        return float(SECONDS_PER_DRAW + steps * step * TRANSFORMER_STEP_PACE + tagging)
    return float(SECONDS_PER_DRAW + steps * step + scored / TAGGED_PER_SECOND)


def _has_transformer(job: Job) -> bool:
    return bool(job.spec["settings"].get("encoder", {}).get("kind") == "transformer")


def _sentences(data: Path | None, place: str, split: str) -> int:
    """An estimate from the size of the file."""
    if data is None:
        return DEFAULT_SENTENCES
    for path in (data / place).glob(f"{split}.*"):
        return max(1, path.stat().st_size // _BYTES_PER_SENTENCE)
    return DEFAULT_SENTENCES
