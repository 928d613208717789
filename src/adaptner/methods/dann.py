"""DANN: a domain discriminator behind a gradient reversal makes the encoder's states of source and
target text alike (MetaNER, section 5.1.1; Ganin and Lempitsky 2015).

With ``adaptation.zero_shot`` it learns from the target's text alone, as in Jia2019's Table 4.
"""

from __future__ import annotations

from pydantic import Field

from adaptner.adaptation.joint_training import JointConfig
from adaptner.methods.base import Capabilities
from adaptner.methods.families.joint import JointMethod, JointMethodConfig


class DANNTuneConfig(JointConfig):
    aux_weight: float = Field(
        0.8, ge=0, description="Weight λ of the discriminator, as in MetaNER."
    )


class DANNConfig(JointMethodConfig):
    adaptation: JointConfig = DANNTuneConfig()


class DANN(JointMethod):
    name = "dann"
    title = "DANN"
    paper = "MetaNER"
    needs = "source corpora, at adaptation too; unlabelled target text helps"
    base_method = "finetuning"
    capabilities = Capabilities(target_labels="optional", sources="required", text="in memory")
    Config = DANNConfig
