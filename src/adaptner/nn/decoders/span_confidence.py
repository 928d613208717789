"""The factors of the probability of a mention, for each token of a tag path.

P(mention) = P(first tag) x P(each next tag | previous tag) x P(the mention ends | last tag), all given the
sentence. It covers both borders and the label, as strict scoring does; a mean of token probabilities
would say nothing about the borders.
"""

from __future__ import annotations

from functools import lru_cache

import torch
from torch import Tensor

from adaptner.types import LabelSet

_MIN_PROBABILITY = 1e-300  # so that logarithms are finite
_MIN_SCORE = -300.0  # nats below a token's best tag, so that exponentials do not underflow


def forward_backward_messages(
    emissions: Tensor, moves: Tensor, start: Tensor, end: Tensor, mask: Tensor
) -> tuple[Tensor, Tensor]:
    """``before`` and ``ahead``, (G, B, L, T), each up to a factor per token.

    ``before`` is the probability of each tag given the preceding tokens, ``ahead`` that of the token and
    the following ones given its tag. Computed on probabilities in double precision, normalised at
    every step."""
    values = emissions.double()
    emitted = (values - values.amax(-1, keepdim=True)).clamp(min=_MIN_SCORE).exp()
    moved, first, last = moves.double().exp(), start.double().exp(), end.double().exp()
    length = values.shape[2]
    before = [first[:, None].expand_as(emitted[:, :, 0])]
    for t in range(1, length):
        before.append(torch.bmm(_normalised(before[-1] * emitted[:, :, t - 1]), moved))
    final = last[:, None].expand_as(emitted[:, :, 0])
    ahead = [emitted[:, :, -1] * final]
    back = moved.mT
    for t in range(length - 2, -1, -1):
        after = torch.bmm(_normalised(ahead[-1]), back)
        after = torch.where(mask[:, :, t + 1, None], after, final)
        ahead.append(emitted[:, :, t] * after)
    return torch.stack(before, 2), torch.stack(ahead[::-1], 2)


def tag_marginals(before: Tensor, ahead: Tensor) -> Tensor:
    """P(tag at token | sentence)."""
    return _normalised(before * ahead)


def next_tag_probabilities(moves: Tensor, ahead: Tensor, tags: Tensor) -> Tensor:
    """P(tag of the next token | tag of this token in the path ``tags``), (G, B, L - 1, T)."""
    task = torch.arange(len(tags), device=tags.device)[:, None, None]
    return _normalised(moves.double().exp()[task, tags[..., :-1]] * ahead[:, :, 1:])


def span_confidence(
    marginals: Tensor, following: Tensor, tags: Tensor, mask: Tensor, labels: LabelSet
) -> Tensor:
    """Logarithms of three probabilities for each token of a path, (3, G, B, L): that its tag is right
    and, given its tag, that the next tag is right and that no mention continues beyond the token."""
    inside = mask[..., 1:]
    right = marginals.gather(3, tags[..., None])[..., 0]
    next_right = torch.where(inside, following.gather(3, tags[..., 1:, None])[..., 0], 1.0)
    continues = _continuations(labels).to(tags.device)
    ends = (following * ~continues[tags[..., :-1]]).sum(-1)
    stop = torch.where(inside, ends, 1.0)
    last = torch.ones_like(right[..., :1])
    three = torch.stack([right, torch.cat([next_right, last], -1), torch.cat([stop, last], -1)])
    return three.clamp(_MIN_PROBABILITY, 1).log()


@lru_cache(maxsize=64)
def _continuations(labels: LabelSet) -> Tensor:
    """(from, to): whether the second tag continues the mention of the first."""
    return torch.tensor(
        [
            [a[0] in "BI" and b[0] in "IE" and a[1:] == b[1:] for b in labels.tags]
            for a in labels.tags
        ]
    )


def _normalised(values: Tensor) -> Tensor:
    return values / values.sum(-1, keepdim=True).clamp(min=_MIN_PROBABILITY)
