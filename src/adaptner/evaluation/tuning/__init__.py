"""Steps and rates of fine-tuning, chosen on source domains (docs/tuning.md)."""

from adaptner.evaluation.tuning.choice import Choice, choose, store
from adaptner.evaluation.tuning.plan import SearchGrid, Setting, TuningPlan
from adaptner.evaluation.tuning.run import tune

__all__ = ["Choice", "SearchGrid", "Setting", "TuningPlan", "choose", "store", "tune"]
