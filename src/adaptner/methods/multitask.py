"""MultiTask: target and sources are tasks with separate decoders over one encoder (MetaNER, section
5.1.1; Yang et al. 2017)."""

from __future__ import annotations

from adaptner.methods.families.joint import JointMethod


class MultiTask(JointMethod):
    name = "multitask"
    title = "MultiTask"
    paper = "MetaNER"
    base_method = "finetuning"
