"""Bilevel optimisation for all methods that use it: inner loop, outer gradient, task weights, step."""

from adaptner.bilevel.domain_split import DomainBatch, DomainSplit, DomainSplitStep
from adaptner.bilevel.gradient_accumulation import GradientAccumulator
from adaptner.bilevel.inner import InnerLoop, LossFunction, group_gradients
from adaptner.bilevel.outer import OUTER_GRADIENTS, FirstOrder, Implicit, OuterGradient, SecondOrder
from adaptner.bilevel.step import Step, bilevel_step
from adaptner.bilevel.weighting import (
    TASK_WEIGHTINGS,
    TaskWeighting,
    equal_weights,
    hardness_weights,
)

__all__ = [
    "OUTER_GRADIENTS",
    "TASK_WEIGHTINGS",
    "DomainBatch",
    "DomainSplit",
    "DomainSplitStep",
    "FirstOrder",
    "GradientAccumulator",
    "Implicit",
    "InnerLoop",
    "LossFunction",
    "OuterGradient",
    "SecondOrder",
    "Step",
    "TaskWeighting",
    "bilevel_step",
    "equal_weights",
    "group_gradients",
    "hardness_weights",
]
