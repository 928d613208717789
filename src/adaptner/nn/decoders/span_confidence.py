"""How sure a chain of tags is, token by token: what the probability of a whole mention is made of.

P(mention) = P(first tag) x P(each next tag | the one before) x P(what follows does not go on with it),
all of them given the sentence. Both borders and the type are in it, which is what a strict scorer asks
for; a mean of the tokens' own probabilities knows nothing of the borders.
"""

from __future__ import annotations

from functools import lru_cache

import torch
from torch import Tensor

from adaptner.types import LabelSet

_LEAST = 1e-300  # what a probability is never below: its logarithm stays finite

_FAR = -300.0  # nats below a token's best tag; with more, what must be could underflow to nothing


def forward_backward_messages(
    emissions: Tensor, moves: Tensor, start: Tensor, end: Tensor, mask: Tensor
) -> tuple[Tensor, Tensor]:
    """``before`` and ``ahead``, (G, B, L, T): how likely each tag is by what stands before the token,
    and how well it explains the token and what stands after it; each up to a factor of its own.

    On probabilities, in double precision, normalised at every step."""
    values = emissions.double()
    emitted = (values - values.amax(-1, keepdim=True)).clamp(min=_FAR).exp()
    moved, first, last = moves.double().exp(), start.double().exp(), end.double().exp()
    length = values.shape[2]
    before = [first[:, None].expand_as(emitted[:, :, 0])]
    for t in range(1, length):
        before.append(torch.bmm(_shared(before[-1] * emitted[:, :, t - 1]), moved))
    final = last[:, None].expand_as(emitted[:, :, 0])
    ahead = [emitted[:, :, -1] * final]
    back = moved.mT
    for t in range(length - 2, -1, -1):
        after = torch.bmm(_shared(ahead[-1]), back)
        after = torch.where(mask[:, :, t + 1, None], after, final)
        ahead.append(emitted[:, :, t] * after)
    return torch.stack(before, 2), torch.stack(ahead[::-1], 2)


def tag_marginals(before: Tensor, ahead: Tensor) -> Tensor:
    """P(tag at token | sentence)."""
    return _shared(before * ahead)


def next_tag_probabilities(moves: Tensor, ahead: Tensor, tags: Tensor) -> Tensor:
    """P(tag of the next token | this token's is that of the path), (G, B, L - 1, T)."""
    task = torch.arange(len(tags), device=tags.device)[:, None, None]
    return _shared(moves.double().exp()[task, tags[..., :-1]] * ahead[:, :, 1:])


def span_confidence(
    marginals: Tensor, following: Tensor, tags: Tensor, mask: Tensor, labels: LabelSet
) -> Tensor:
    """Logarithms of three probabilities of each token of a path, (3, G, B, L): that its tag is right;
    given that, that the next token's is; given that, that no mention goes on beyond it."""
    kept = mask[..., 1:]
    right = marginals.gather(3, tags[..., None])[..., 0]
    on = torch.where(kept, following.gather(3, tags[..., 1:, None])[..., 0], 1.0)
    goes_on = _goes_on(labels).to(tags.device)
    ends = (following * ~goes_on[tags[..., :-1]]).sum(-1)
    stop = torch.where(kept, ends, 1.0)
    last = torch.ones_like(right[..., :1])
    three = torch.stack([right, torch.cat([on, last], -1), torch.cat([stop, last], -1)])
    return three.clamp(_LEAST, 1).log()


@lru_cache(maxsize=64)
def _goes_on(labels: LabelSet) -> Tensor:
    """(from, to): the second tag goes on with the mention that the first is in."""
    return torch.tensor(
        [
            [a[0] in "BI" and b[0] in "IE" and a[1:] == b[1:] for b in labels.tags]
            for a in labels.tags
        ]
    )


def _shared(values: Tensor) -> Tensor:
    return values / values.sum(-1, keepdim=True).clamp(min=_LEAST)
