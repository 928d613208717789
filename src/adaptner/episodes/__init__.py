"""Tasks for meta-learning, few-shot draws, and augmentation by mention replacement."""

from adaptner.episodes.draws import draw_sentences, draw_share
from adaptner.episodes.tasks import Sampling, Task, TaskSource

__all__ = ["Sampling", "Task", "TaskSource", "draw_sentences", "draw_share"]
