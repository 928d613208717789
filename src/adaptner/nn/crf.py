"""Linear-chain CRF over BIO tags: loss, best path and marginals; impossible moves are forbidden."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Generator, Tensor, nn

from adaptner.nn.parameters import fan_in, uniform
from adaptner.types import LabelSet

FORBIDDEN = -1e4  # finite, so that masked arithmetic stays free of NaN
# Up to this many tags the tree of matrix products beats the step-by-step recursion.
_TREE_UP_TO = 9


class Limits:
    """What the tag schemes of G tasks forbid: I-x may follow B-x and I-x only, may not open a
    sentence, and a task with fewer tags than another has no use for the surplus ones."""

    def __init__(self, label_sets: Sequence[LabelSet]) -> None:
        most = max(len(labels.tags) for labels in label_sets)
        self.moves = torch.zeros(len(label_sets), most, most)  # (G, from, to)
        self.starts = torch.zeros(len(label_sets), most)
        for task, labels in enumerate(label_sets):
            tags = labels.tags
            self.moves[task, :, len(tags) :] = FORBIDDEN
            self.starts[task, len(tags) :] = FORBIDDEN
            for j, tag in enumerate(tags):
                if tag.startswith("I-"):
                    self.starts[task, j] = FORBIDDEN
                    for i, before in enumerate(tags):
                        if before not in (tag, f"B-{tag[2:]}"):
                            self.moves[task, i, j] = FORBIDDEN


class CRF(nn.Module):
    """φ: a linear layer to tag scores and the scores of moving from tag to tag."""

    def __init__(self, width: int, labels: LabelSet, generator: Generator) -> None:
        super().__init__()
        tags = len(labels.tags)
        self.labels = labels
        self.limits = Limits([labels])
        self.weight = fan_in((1, tags, width), width, generator)
        self.bias = fan_in((1, tags), width, generator)
        self.transition = uniform((1, tags, tags), 0.1, generator)
        self.start = uniform((1, tags), 0.1, generator)
        self.end = uniform((1, tags), 0.1, generator)

    def fresh(self, labels: LabelSet, generator: Generator) -> CRF:
        """A new decoder of the same input width for another label set."""
        return CRF(self.weight.shape[2], labels, generator)

    def forward(
        self, states: Tensor, tags: Tensor, mask: Tensor, limits: Limits | None = None
    ) -> Tensor:
        """Negative log-likelihood of each sentence, summed over its tokens: (G, B)."""
        emissions, moves, start, end = self._scores(states, limits or self.limits)
        partition = log_partition(emissions, moves, start, end, mask)
        return partition - path_score(emissions, moves, start, end, tags, mask)

    @torch.no_grad()
    def decode(self, states: Tensor, mask: Tensor) -> Tensor:
        """Best tags (G, B, L); what stands beyond a sentence's end means nothing."""
        return viterbi(*self._scores(states, self.limits), mask)

    def marginals(self, states: Tensor, mask: Tensor) -> Tensor:
        """P(tag at token | sentence), (G, B, L, T): the gradient of log Z by the emissions."""
        with torch.enable_grad():
            emissions, moves, start, end = (t.detach() for t in self._scores(states, self.limits))
            emissions.requires_grad_()
            partition = log_partition(emissions, moves, start, end, mask)
            (grad,) = torch.autograd.grad(partition.sum(), emissions)
        return grad

    def _scores(self, states: Tensor, limits: Limits) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        flat = torch.baddbmm(self.bias[:, None], states.flatten(1, 2), self.weight.transpose(1, 2))
        emissions = flat.view(*states.shape[:3], -1)
        dtype = emissions.dtype
        moves = self.transition + limits.moves.to(dtype)
        return emissions, moves, self.start + limits.starts.to(dtype), self.end


def path_score(
    emissions: Tensor, moves: Tensor, start: Tensor, end: Tensor, tags: Tensor, mask: Tensor
) -> Tensor:
    kept = mask.to(emissions.dtype)
    task = torch.arange(len(tags))[:, None]
    emitted = (emissions.gather(3, tags[..., None])[..., 0] * kept).sum(2)
    moved = moves[task[..., None], tags[..., :-1], tags[..., 1:]] * kept[..., 1:]
    final = tags.gather(2, mask.sum(2, keepdim=True) - 1)[..., 0]
    return emitted + moved.sum(2) + start[task, tags[..., 0]] + end[task, final]


def log_partition(
    emissions: Tensor, moves: Tensor, start: Tensor, end: Tensor, mask: Tensor
) -> Tensor:
    alpha = start[:, None] + emissions[:, :, 0]  # (G, B, T)
    if emissions.shape[2] > 1:
        if emissions.shape[3] <= _TREE_UP_TO:
            total = _product(emissions[:, :, 1:], moves, mask[:, :, 1:])  # (from, to, G, B)
            alpha = torch.logsumexp(alpha.permute(2, 0, 1)[:, None] + total, 0).permute(1, 2, 0)
        else:
            for t in range(1, emissions.shape[2]):
                moved = torch.logsumexp(alpha[..., None] + moves[:, None], -2) + emissions[:, :, t]
                alpha = torch.where(mask[:, :, t, None], moved, alpha)
    return torch.logsumexp(alpha + end[:, None], -1)


def _product(emissions: Tensor, moves: Tensor, mask: Tensor) -> Tensor:
    """Product of all step matrices in the (log-sum-exp, +) semiring by pairing neighbours: log2(L)
    levels of one vectorised operation each instead of L steps of Python. Masked steps are the unit.

    The tag dimensions stand first, so that the inner loops run over tokens, of which there are many,
    and not over tags, of which there are three."""
    tags = moves.shape[-1]
    unit = torch.full((tags, tags), FORBIDDEN, dtype=emissions.dtype)
    unit.fill_diagonal_(0)
    by_tag = emissions.permute(3, 0, 1, 2).contiguous()
    steps = moves.permute(1, 2, 0)[..., None, None] + by_tag  # (from, to, G, B, L)
    steps = torch.where(mask, steps, unit[..., None, None, None])
    while (length := steps.shape[-1]) > 1:
        left, right = steps[..., 0 : length - 1 : 2], steps[..., 1::2]
        paired = torch.logsumexp(left[:, :, None] + right[None], 1)
        steps = torch.cat([paired, steps[..., -1:]], -1) if length % 2 else paired
    return steps[..., 0]


def viterbi(emissions: Tensor, moves: Tensor, start: Tensor, end: Tensor, mask: Tensor) -> Tensor:
    tasks, batch, length, tags = emissions.shape
    best = start[:, None] + emissions[:, :, 0]
    stay = torch.arange(tags).expand(tasks, batch, tags)
    came_from = []
    for t in range(1, length):
        value, source = (best[..., None] + moves[:, None]).max(2)
        alive = mask[:, :, t, None]
        best = torch.where(alive, value + emissions[:, :, t], best)
        came_from.append(torch.where(alive, source, stay))
    tag = (best + end[:, None]).argmax(-1)
    path = [tag]
    for source in reversed(came_from):
        tag = source.gather(2, tag[..., None])[..., 0]
        path.append(tag)
    return torch.stack(path[::-1], 2)
