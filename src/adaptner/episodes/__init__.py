"""Tasks for meta-learning, few-shot draws, and augmentation by mention replacement."""

from adaptner.episodes.draws import DrawsFrom, check_draws, draw_sentences, draw_share
from adaptner.episodes.tasks import Sampling, Task, TaskSource

__all__ = [
    "DrawsFrom",
    "Sampling",
    "Task",
    "TaskSource",
    "check_draws",
    "draw_sentences",
    "draw_share",
]
