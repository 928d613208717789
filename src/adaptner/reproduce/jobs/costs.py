"""What a job is expected to cost, for --dry-run and for the time that is left.

Constants are processor seconds measured on one core of the two-core machine of docs/results (HGDA's
encoder, sentences of bio8); they are for planning, not for comparison.
"""

from __future__ import annotations

from pathlib import Path

from adaptner.methods import method
from adaptner.methods.families.meta_learner import MetaLearner
from adaptner.methods.metaner import MetaNER
from adaptner.reproduce.jobs.job import Job

SECONDS_A_BASE = 5.0  # sources are read once for all bases of a group
# An iteration of 4 tasks at K = 10: HGDA 0.24 s, HGDA-NEs 0.28, MAML 0.26, MetaNER 0.33.
SECONDS_AN_ITERATION = 0.03
SECONDS_A_TASK_SENTENCE = 0.006
PACE: dict[type, float] = {MetaLearner: 1.0, MetaNER: 1.25}
PLAIN = 0.6  # no inner loop
# Fine-tuning with batches of 10: 0.04 s a step.
SECONDS_A_STEP = 0.01
SECONDS_A_STEP_SENTENCE = 0.003
TAGGED_A_SECOND = 1600
SECONDS_A_DRAW = 0.1
# With MiniLM, as multiples: an iteration of 4 tasks at K = 10 in 2.7 s, a step in 0.30 s
# (docs/results/transformers.md).
TRANSFORMER_PACE, TRANSFORMER_STEP_PACE, TRANSFORMER_TAGGED_A_SECOND = 10.0, 7.5, 105
SENTENCES = 4000  # of a split whose file is not here
_BYTES_A_SENTENCE = 250  # of a CoNLL file

BASIS = (
    "Expected from processor seconds measured on one core with HGDA's encoder: "
    f"{SECONDS_AN_ITERATION} + {SECONDS_A_TASK_SENTENCE} x tasks x K an iteration, "
    f"{SECONDS_A_STEP} + {SECONDS_A_STEP_SENTENCE} x batch a step of fine-tuning, "
    f"{TAGGED_A_SECOND:,} sentences tagged a second. With a transformer {TRANSFORMER_PACE:g} times as "
    f"much an iteration, {TRANSFORMER_STEP_PACE:g} times a step, and {TRANSFORMER_TAGGED_A_SECOND} "
    "sentences a second, as MiniLM takes."
)


def expected_seconds(job: Job, data: Path | None = None) -> float:
    return _base(job) if job.kind == "base" else _draw(job, data)


def _base(job: Job) -> float:
    settings, learner = job.spec["settings"], method(job.spec["learner"])
    pace = next((p for kind, p in PACE.items() if issubclass(learner, kind)), PLAIN)
    pace *= TRANSFORMER_PACE if _has_transformer(job) else 1.0
    each = SECONDS_AN_ITERATION + SECONDS_A_TASK_SENTENCE * settings["tasks"] * settings["k"]
    return float(SECONDS_A_BASE + job.spec["iterations"] * each * pace)


def _draw(job: Job, data: Path | None) -> float:
    spec = job.spec
    told, place = spec["settings"]["adaptation"], spec["target"][0]
    share = 100.0 if spec["size"] == 0 else spec["share"]  # zero-shot: the raw text
    drawn = spec["size"] or round(_sentences(data, place, "train") * share / 100)
    steps = max(told["steps"], told["epochs"] * -(-drawn // told["batch"]))
    step = SECONDS_A_STEP + SECONDS_A_STEP_SENTENCE * min(told["batch"], drawn)
    if method(spec["method"]).joint:
        step *= 1 + told.get("source_tasks", 3)  # crossdomain-lm: four tasks a step
    scored = _sentences(data, place, "test")
    if spec["limit"] is not None:
        scored = min(scored, spec["limit"])
    if _has_transformer(job):
        tagging = scored / TRANSFORMER_TAGGED_A_SECOND
        return float(SECONDS_A_DRAW + steps * step * TRANSFORMER_STEP_PACE + tagging)
    return float(SECONDS_A_DRAW + steps * step + scored / TAGGED_A_SECOND)


def _has_transformer(job: Job) -> bool:
    return bool(job.spec["settings"].get("encoder", {}).get("kind") == "transformer")


def _sentences(data: Path | None, place: str, split: str) -> int:
    """About; by the size of the file."""
    if data is None:
        return SENTENCES
    for path in (data / place).glob(f"{split}.*"):
        return max(1, path.stat().st_size // _BYTES_A_SENTENCE)
    return SENTENCES
