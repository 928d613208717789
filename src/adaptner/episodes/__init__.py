"""What a method sees: tasks for learning to adapt, and the few-shot draws it is judged on."""

from adaptner.episodes.draws import draw_sentences, draw_share
from adaptner.episodes.tasks import Sampling, Task, TaskSource

__all__ = ["Sampling", "Task", "TaskSource", "draw_sentences", "draw_share"]
