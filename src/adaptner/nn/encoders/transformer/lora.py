"""Low-rank updates of a frozen network (LoRA, Hu et al. 2022), with the library ``peft``."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec

import torch
from torch import Generator, nn

from adaptner.errors import BadConfiguration, ExtraMissing


def add_lora(
    network: nn.Module, rank: int, alpha: int, targets: Sequence[str], generator: Generator
) -> None:
    """Add low-rank updates to the network, in place; only they require gradients. They start at zero."""
    if find_spec("peft") is None:
        raise ExtraMissing(what="encoder.lora", package="peft", extra="lora")
    from peft import LoraConfig, inject_adapter_in_model

    shape = LoraConfig(r=rank, lora_alpha=alpha, target_modules=list(targets) or None)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(int(torch.randint(2**62, (), generator=generator)))
        try:
            inject_adapter_in_model(shape, network)
        except ValueError as error:
            reason = str(error).splitlines()[0]
            raise BadConfiguration(field="encoder.lora_targets", reason=reason) from error
    for name, p in network.named_parameters():
        p.requires_grad_("lora_" in name)
