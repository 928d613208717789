"""The one engine of all bilevel methods: inner loop, outer gradient, task weighting, one step."""

from adaptner.bilevel.domain_split import Chosen, DomainSplit, SplitStep
from adaptner.bilevel.gradient_accumulation import Gathered
from adaptner.bilevel.inner import InnerLoop, Objective, group_gradients
from adaptner.bilevel.outer import OUTER, FirstOrder, Implicit, OuterGradient, SecondOrder
from adaptner.bilevel.step import Step, bilevel_step
from adaptner.bilevel.weighting import WEIGHTING, TaskWeighting, hardness, uniform

__all__ = [
    "OUTER",
    "WEIGHTING",
    "Chosen",
    "DomainSplit",
    "FirstOrder",
    "Gathered",
    "Implicit",
    "InnerLoop",
    "Objective",
    "OuterGradient",
    "SecondOrder",
    "SplitStep",
    "Step",
    "TaskWeighting",
    "bilevel_step",
    "group_gradients",
    "hardness",
    "uniform",
]
