"""Linear-chain CRF over BIO or BIOES tags: loss, best path, marginals.

We do not use a library: none runs several tasks with their own parameters at once, forbids what the tag
scheme forbids, and can be differentiated twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import ClassVar, Literal

import torch
from torch import Generator, Tensor, nn

from adaptner.compute import ready_for_double
from adaptner.nn.decoders.forward_backward import log_marginals
from adaptner.nn.decoders.span_confidence import (
    forward_backward_messages,
    next_tag_probabilities,
    span_confidence,
    tag_marginals,
)
from adaptner.nn.rnn.parameters import fan_in_parameter, uniform_parameter
from adaptner.types import OUTSIDE, LabelSet

FORBIDDEN = -1e4  # finite, so that masked arithmetic stays free of NaN
# Largest numbers of tags for which the tree of matrix products is faster than the recursion on
# probabilities, and than that on logarithms (one thread, 30 sentences: with 5 tags 9 ms instead of 11,
# with 9 tags 42 ms instead of 12).
_TREE_UP_TO, _TREE_ELSE_UP_TO = 5, 9
# Nats between a token's best and worst tag; above, probabilities may underflow.
_MAX_SCORE_RANGE = 60.0


class TagConstraints:
    """Penalties for what the tag schemes of G tasks forbid.

    A task with fewer tags than another one is padded with surplus tags, which are forbidden."""

    def __init__(self, label_sets: Sequence[LabelSet]) -> None:
        most = max(len(labels.tags) for labels in label_sets)
        self.moves = torch.zeros(len(label_sets), most, most)  # (G, from, to)
        self.starts = torch.zeros(len(label_sets), most)
        self.ends = torch.zeros(len(label_sets), most)
        self.surplus = torch.zeros(len(label_sets), most)
        for task, labels in enumerate(label_sets):
            count = len(labels.tags)
            self.moves[task, :, count:] = FORBIDDEN
            self.starts[task, count:] = FORBIDDEN
            self.surplus[task, count:] = FORBIDDEN
            moves, starts, ends = _constraints_of(labels)
            self.moves[task, :count, :count] = moves
            self.starts[task, :count] = starts
            self.ends[task, :count] = ends


@lru_cache(maxsize=256)  # needed at every training step, for the same few label sets
def _constraints_of(labels: LabelSet) -> tuple[Tensor, Tensor, Tensor]:
    """Penalties of moves, starts and ends: only B-x and I-x lead to I-x and E-x, and in BIOES they lead
    nowhere else and do not end a sentence. Callers must not change the tensors."""

    def move(before: str, after: str) -> float:
        is_open = before[0] in "BI"
        if after[0] in "IE":
            forbidden = not is_open or before[2:] != after[2:]
        else:
            forbidden = is_open and labels.scheme == "bioes"
        return FORBIDDEN if forbidden else 0.0

    tags = labels.tags
    return (
        torch.tensor([[move(a, b) for b in tags] for a in tags]),
        torch.tensor([move(OUTSIDE, b) for b in tags]),  # the ends of a sentence act like O
        torch.tensor([move(a, OUTSIDE) for a in tags]),
    )


class CRF(nn.Module):
    """A linear layer to tag scores, and transition scores."""

    kind: ClassVar[Literal["crf"]] = "crf"

    def __init__(self, width: int, labels: LabelSet, generator: Generator) -> None:
        super().__init__()
        tags = len(labels.tags)
        self.labels = labels
        self.constraints = TagConstraints([labels])
        self.weight = fan_in_parameter((1, tags, width), width, generator)
        self.bias = fan_in_parameter((1, tags), width, generator)
        self.transition = uniform_parameter((1, tags, tags), 0.1, generator)
        self.start = uniform_parameter((1, tags), 0.1, generator)
        self.end = uniform_parameter((1, tags), 0.1, generator)

    def forward(
        self, states: Tensor, tags: Tensor, mask: Tensor, constraints: TagConstraints | None = None
    ) -> Tensor:
        """Negative log-likelihood of each sentence, summed over its tokens: (G, B)."""
        emissions, moves, start, end = self._scores(states, constraints or self.constraints)
        partition = log_partition(emissions, moves, start, end, mask)
        return partition - path_score(emissions, moves, start, end, tags, mask)

    @torch.no_grad()
    def decode(self, states: Tensor, mask: Tensor) -> Tensor:
        """Best tags (G, B, L); undefined in the padding."""
        return self.decode_scores(self.tag_scores(states), mask)

    @torch.no_grad()
    def decode_scores(self, scores: Tensor, mask: Tensor) -> Tensor:
        """The best tags, given the result of ``tag_scores``."""
        return viterbi(scores, *self._moves(scores, self.constraints), mask)

    @torch.no_grad()
    def marginals(self, states: Tensor, mask: Tensor) -> Tensor:
        """P(tag at token | sentence), (G, B, L, T)."""
        emissions, moves, start, end, mask = ready_for_double(
            *self._scores(states, self.constraints), mask
        )
        messages = forward_backward_messages(emissions, moves, start, end, mask)
        return (tag_marginals(*messages) * mask[..., None]).to(states)

    @torch.no_grad()
    def path_confidence(self, scores: Tensor, mask: Tensor, tags: Tensor) -> Tensor:
        """The confidence of each token of the path ``tags``, (3, G, B, L), given the result of
        ``tag_scores``: see ``nn/decoders/span_confidence.py``."""
        scores, moves, start, end, mask, tags = ready_for_double(
            scores, *self._moves(scores, self.constraints), mask, tags
        )
        before, ahead = forward_backward_messages(scores, moves, start, end, mask)
        following = next_tag_probabilities(moves, ahead, tags)
        return span_confidence(tag_marginals(before, ahead), following, tags, mask, self.labels)

    def log_marginals(self, states: Tensor, mask: Tensor) -> Tensor:
        """log P(tag at token | sentence), (G, B, L, T), differentiable."""
        return log_marginals(*self._scores(states, self.constraints), mask)

    def tag_scores(self, states: Tensor) -> Tensor:
        """Scores (G, B, L, T) of the tags, without transitions."""
        if len(self.weight) > len(states):  # several decoders over the same states
            flat = states.flatten(1, 2)[0] @ self.weight.flatten(0, 1).T
            flat = flat.view(len(flat), *self.bias.shape).transpose(0, 1) + self.bias[:, None]
        else:
            flat = torch.baddbmm(
                self.bias[:, None], states.flatten(1, 2), self.weight.transpose(1, 2)
            )
        return flat.view(len(flat), *states.shape[1:3], -1)

    def _moves(self, scores: Tensor, constraints: TagConstraints) -> tuple[Tensor, Tensor, Tensor]:
        """Scores of moves, starts and ends, with the penalties."""
        return (
            self.transition + constraints.moves.to(scores),
            self.start + constraints.starts.to(scores),
            self.end + constraints.ends.to(scores),
        )

    def _scores(
        self, states: Tensor, constraints: TagConstraints
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        scores = self.tag_scores(states)
        return scores, *self._moves(scores, constraints)


def path_score(
    emissions: Tensor, moves: Tensor, start: Tensor, end: Tensor, tags: Tensor, mask: Tensor
) -> Tensor:
    """The score of the path ``tags``, (G, B)."""
    inside = mask.to(emissions.dtype)
    task = torch.arange(len(tags), device=tags.device)[:, None]
    emitted = (emissions.gather(3, tags[..., None])[..., 0] * inside).sum(2)
    moved = moves[task[..., None], tags[..., :-1], tags[..., 1:]] * inside[..., 1:]
    final = tags.gather(2, mask.sum(2, keepdim=True) - 1)[..., 0]
    return emitted + moved.sum(2) + start[task, tags[..., 0]] + end[task, final]


def log_partition(
    emissions: Tensor, moves: Tensor, start: Tensor, end: Tensor, mask: Tensor
) -> Tensor:
    """The log-sum-exp of the scores of all paths, (G, B), by the method that is fastest for the number of
    tags."""
    tags = emissions.shape[3]
    values = emissions.detach()
    precise = values.device.type != "mps"  # which has no double precision
    if (
        tags > _TREE_UP_TO
        and precise
        and float((values.amax(-1) - values.amin(-1)).max()) < _MAX_SCORE_RANGE
    ):
        return _scaled_recursion(emissions, moves, start, end, mask)
    alpha = start[:, None] + emissions[:, :, 0]  # (G, B, T)
    if tags > _TREE_ELSE_UP_TO:
        for t in range(1, emissions.shape[2]):
            moved = torch.logsumexp(alpha[..., None] + moves[:, None], -2) + emissions[:, :, t]
            alpha = torch.where(mask[:, :, t, None], moved, alpha)
    elif emissions.shape[2] > 1:
        total = _product(emissions[:, :, 1:], moves, mask[:, :, 1:])  # (from, to, G, B)
        alpha = torch.logsumexp(alpha.permute(2, 0, 1)[:, None] + total, 0).permute(1, 2, 0)
    return torch.logsumexp(alpha + end[:, None], -1)


def _scaled_recursion(
    emissions: Tensor, moves: Tensor, start: Tensor, end: Tensor, mask: Tensor
) -> Tensor:
    """The forward recursion on probabilities, normalised at every step.

    It is a matrix product where the recursion on logarithms is a log-sum-exp over all pairs of tags, at
    a fifth of the cost with 40 tags. In double precision, and only for scores of a limited range: a
    mention that falls behind by 700 nats over its tokens would underflow."""
    values = emissions.double()
    top = values.detach().amax(-1, keepdim=True)
    emitted, moved = (values - top).exp(), moves.double().exp()
    share = emitted[:, :, 0] * start.double().exp()[:, None]
    sums = []
    for t in range(values.shape[2]):
        if t:
            share = torch.where(
                mask[:, :, t, None], torch.bmm(share, moved) * emitted[:, :, t], share
            )
        sums.append(share.sum(-1))
        share = share / sums[-1][..., None]
    logs = torch.stack(sums, 2).log() + top[..., 0] * mask
    ended = (share * end.double().exp()[:, None]).sum(-1)
    return (logs.sum(2) + ended.log()).to(emissions.dtype)


def _product(emissions: Tensor, moves: Tensor, mask: Tensor) -> Tensor:
    """The product (from, to, G, B) of all step matrices in the (log-sum-exp, +) semiring.

    Neighbours are multiplied pairwise: log2(L) vectorised operations instead of L steps of Python. The
    matrix of a masked step is the unit. The tag dimensions come first, so that the inner loops run
    over the many tokens and not over the few tags."""
    tags = moves.shape[-1]
    unit = emissions.new_full((tags, tags), FORBIDDEN)
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
    """The best path (G, B, L)."""
    tasks, batch, length, tags = emissions.shape
    best = start[:, None] + emissions[:, :, 0]
    stay = torch.arange(tags, device=emissions.device).expand(tasks, batch, tags)
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
