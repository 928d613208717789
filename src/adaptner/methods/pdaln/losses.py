"""The losses of PDALN's equations 2 and 5 to 7 by name; equations 3 and 4 are in ``nn/losses/mmd.py``."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Generator, Tensor, nn
from torch.nn import functional as F

from adaptner.adaptation.batch_encoding import EncodedBatch
from adaptner.nn.decoders.crf import CRF
from adaptner.nn.losses.mmd import label_aware_mmd, maximum_mean_discrepancy
from adaptner.nn.rnn.parameters import fan_in_parameter


def crf_loss(batch: EncodedBatch, decoder: CRF) -> Tensor:
    """L_crf (eq. 2): the negative log-likelihood of the tags, averaged over the sentences."""
    return batch.loss(decoder)


def sentence_discrepancy(source: EncodedBatch, target: Sequence[EncodedBatch]) -> Tensor:
    """L_MMD^d (eq. 5): the discrepancy of the sentence vectors of source and target."""
    return maximum_mean_discrepancy(source.pooled, torch.cat([batch.pooled for batch in target]))


def word_discrepancy(source: EncodedBatch, target: EncodedBatch, tag_weight: float) -> Tensor:
    """L_MMD^w (eq. 6): the sum over the tags of the discrepancies of their tokens' states."""
    return label_aware_mmd(
        source.tokens, source.token_tags, target.tokens, target.token_tags, tag_weight
    )


class ContrastiveProjection(nn.Module):
    """z = W' h of eq. 7, as wide as h."""

    def __init__(self, width: int, generator: Generator) -> None:
        super().__init__()
        self.weight = fan_in_parameter((width, width), width, generator)

    def forward(
        self, plain: Tensor, distorted: Tensor, temperature: float, unit_length: bool = True
    ) -> Tensor:
        """L_c of sentence vectors (sentences, width) and those of their distorted copies, in the same
        order. ``unit_length``: normalise z to length 1."""
        z, z_distorted = plain @ self.weight, distorted @ self.weight
        if unit_length:
            z, z_distorted = F.normalize(z, dim=-1), F.normalize(z_distorted, dim=-1)
        return contrastive_loss(z, z_distorted, temperature)


def contrastive_loss(z: Tensor, z_distorted: Tensor, temperature: float) -> Tensor:
    """L_c (eq. 7), read as -log exp(z·z̄/τ) / Σ exp(z·z_i/τ), averaged over the sentences.

    The sum is over z̄, all other sentences and their distorted copies."""
    candidates = torch.cat([z_distorted, z])
    scores = z @ candidates.T / temperature
    own = torch.arange(len(z), device=z.device)
    scores = scores.index_put((own, len(z) + own), scores.new_tensor(-torch.inf))  # z itself
    return F.cross_entropy(scores, own)
