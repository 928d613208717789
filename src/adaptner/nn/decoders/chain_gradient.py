"""The loss of a linear-chain CRF with its gradient, by the forward and backward recursion.

For the fit of a decoder over states that do not change: without autograd, and for several decoders side by
side. Tokens are in one array, position by position over the sentences, longest sentence first, so that
there is no padding and each step of the recursion reads one slice.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class PackedTags:
    """The tags of N tokens: first those of all first tokens, then all second ones, ..."""

    tags: np.ndarray  # (N,)
    counts: np.ndarray  # sentences that have a token at each position; does not grow
    weights: np.ndarray  # (decoders, sentences): how much each sentence counts

    @property
    def lengths(self) -> np.ndarray:
        """The length of each sentence."""
        return (self.counts[None] > np.arange(self.counts[0])[:, None]).sum(1)


@dataclass(frozen=True, eq=False)
class ChainGradient:
    """Values (decoders,), and their gradients by the scores."""

    value: np.ndarray
    emissions: np.ndarray  # (decoders, N, tags)
    moves: np.ndarray  # (decoders, tags, tags)
    start: np.ndarray  # (decoders, tags)
    end: np.ndarray


def pack_order(lengths: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """For sentences of these lengths: their order, longest first; the place of each packed token among the
    tokens of all sentences, one sentence after another; and the counts of each position."""
    order = np.argsort(-lengths, kind="stable")
    first = np.concatenate([[0], np.cumsum(lengths)])[order]
    sorted_lengths = lengths[order]
    longest = int(sorted_lengths[0])
    counts = (sorted_lengths[None] > np.arange(longest)[:, None]).sum(1)
    places = np.concatenate([first[:count] + at for at, count in enumerate(counts.tolist())])
    return order, places, counts


def chain_gradient(
    emissions: np.ndarray,
    moves: np.ndarray,
    start: np.ndarray,
    end: np.ndarray,
    packed: PackedTags,
) -> ChainGradient:
    """The weighted sum of the sentences' negative log-likelihoods for each decoder.

    ``emissions`` are (decoders, N, tags), the other scores (decoders, tags, tags) and (decoders, tags), in
    double precision. No sentence is empty."""
    decoders, tokens, tags = emissions.shape
    counts = packed.counts.tolist()
    offsets = np.concatenate([[0], np.cumsum(packed.counts)])
    firsts = offsets.tolist()
    parts = [slice(a, a + count) for a, count in zip(firsts, counts, strict=False)]
    last = offsets[packed.lengths - 1] + np.arange(counts[0])  # token of each sentence
    top = emissions.max(-1, keepdims=True)
    emitted = np.exp(emissions - top)
    moved, started, ended = np.exp(moves), np.exp(start), np.exp(end)
    # Forward: the share of each tag given the tokens so far, and by how much each token was scaled for it
    ahead = np.empty_like(emitted)
    scale = np.empty((decoders, tokens))
    alpha = started[:, None]  # in front of the first token
    for part, count in zip(parts, counts, strict=True):
        alpha = (alpha[:, :count] @ moved if part.start else alpha) * emitted[:, part]
        scale[:, part] = alpha.sum(-1)
        alpha = ahead[:, part] = alpha / scale[:, part, None]
    closing = (ahead[:, last] * ended[:, None]).sum(-1)  # (decoders, sentences)
    # Backward: the share of each tag at a token is the product of both directions
    behind = np.empty_like(emitted)
    behind[:, last] = ended[:, None] / closing[..., None]
    weights = packed.weights
    expected_moves = np.zeros_like(moved)
    for at in range(len(counts) - 1, 0, -1):
        part, count = parts[at], counts[at]
        before = slice(firsts[at - 1], firsts[at - 1] + count)
        incoming = emitted[:, part] * behind[:, part] / scale[:, part, None]
        behind[:, before] = incoming @ moved.swapaxes(1, 2)
        weighted = ahead[:, before] * weights[:, :count, None]
        expected_moves += weighted.swapaxes(1, 2) @ incoming
    shares = ahead * behind
    # The path of the given tags
    gold, every = packed.tags, np.arange(tokens)
    of_token = weights[:, np.concatenate([np.arange(count) for count in counts])]
    following = every[counts[0] :]
    preceding = following - np.repeat(packed.counts[:-1], packed.counts[1:])
    pairs = gold[preceding] * tags + gold[following]
    seen_moves = np.stack([np.bincount(pairs, w, tags**2) for w in of_token[:, following]])
    by_tag = np.eye(tags)
    seen_start, seen_end = weights @ by_tag[gold[: counts[0]]], weights @ by_tag[gold[last]]
    gradient = shares * of_token[..., None]
    gradient[:, every, gold] -= of_token
    log_partition = (of_token * (np.log(scale) + top[..., 0])).sum(1)
    log_partition += (weights * np.log(closing)).sum(1)
    path = (of_token * emissions[:, every, gold]).sum(1)
    path += (seen_moves * moves.reshape(decoders, -1)).sum(1)
    path += (seen_start * start + seen_end * end).sum(1)
    return ChainGradient(
        log_partition - path,
        gradient,
        expected_moves * moved - seen_moves.reshape(moves.shape),
        (shares[:, : counts[0]] * weights[..., None]).sum(1) - seen_start,
        (shares[:, last] * weights[..., None]).sum(1) - seen_end,
    )
