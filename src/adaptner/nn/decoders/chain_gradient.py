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
    """The weighted sum of the sentences' negative log-likelihoods for each decoder."""
    decoders, tokens, tags = emissions.shape
    counts = packed.counts.tolist()
    offsets = np.concatenate([[0], np.cumsum(packed.counts)]).tolist()
    top = emissions.max(-1, keepdims=True)
    emitted = np.exp(emissions - top)
    moved, started, ended = np.exp(moves), np.exp(start), np.exp(end)
    ahead = np.empty_like(emitted)  # alpha, normalised at each token
    scale = np.empty((decoders, tokens))
    previous = None
    for at, count in enumerate(counts):
        part = slice(offsets[at], offsets[at] + count)
        if previous is None:
            alpha = started[:, None] * emitted[:, part]
        else:
            alpha = np.matmul(previous[:, :count], moved) * emitted[:, part]
        total = alpha.sum(-1)
        alpha /= total[..., None]
        ahead[:, part], scale[:, part] = alpha, total
        previous = alpha
    lengths = packed.lengths
    last = np.array(offsets)[lengths - 1] + np.arange(len(lengths))
    closing = (ahead[:, last] * ended[:, None]).sum(-1)
    log_scale = np.log(scale) + top[..., 0]
    log_partition = np.log(closing)  # (decoders, sentences)
    sentence_of = np.concatenate([np.arange(count) for count in counts])
    sums = np.zeros_like(log_partition)
    np.add.at(sums, (slice(None), sentence_of), log_scale)
    log_partition = log_partition + sums
    # Backward: the share of each tag at each token
    behind = np.empty_like(emitted)
    behind[:, last] = ended[:, None] / closing[..., None]
    weights = packed.weights
    pairs = np.zeros_like(moved)
    for at in range(len(counts) - 1, 0, -1):
        count = counts[at]
        part = slice(offsets[at], offsets[at] + count)
        before = slice(offsets[at - 1], offsets[at - 1] + count)
        incoming = emitted[:, part] * behind[:, part] / scale[:, part, None]
        behind[:, before] = np.matmul(incoming, moved.transpose(0, 2, 1))
        weighted = ahead[:, before] * weights[:, :count, None]
        pairs += np.matmul(weighted.transpose(0, 2, 1), incoming)
    shares = ahead * behind
    by_token = weights[:, sentence_of]
    gold = packed.tags
    gradient = shares * by_token[..., None]
    gradient[:, np.arange(tokens), gold] -= by_token
    pairs *= moved
    path = emissions[:, np.arange(tokens), gold]
    path_sums = np.zeros_like(log_partition)
    np.add.at(path_sums, (slice(None), sentence_of), path)
    first, final = gold[: counts[0]], gold[last]
    path_sums += start[:, first] + end[:, final]
    moves_seen = np.zeros((decoders, tags, tags))
    for at in range(1, len(counts)):
        count = counts[at]
        a = gold[offsets[at - 1] : offsets[at - 1] + count]
        b = gold[offsets[at] : offsets[at] + count]
        path_sums[:, :count] += moves[:, a, b]
        np.add.at(moves_seen, (slice(None), a, b), weights[:, :count])
    start_gradient = (shares[:, : counts[0]] * weights[..., None]).sum(1)
    np.add.at(start_gradient, (slice(None), first), -weights)
    end_gradient = (shares[:, last] * weights[..., None]).sum(1)
    np.add.at(end_gradient, (slice(None), final), -weights)
    return ChainGradient(
        (weights * (log_partition - path_sums)).sum(1),
        gradient,
        pairs - moves_seen,
        start_gradient,
        end_gradient,
    )
