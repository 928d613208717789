"""Processor time of word-level MMD, forward and backward, and of a plain version with one matrix per width.

    .venv/bin/python benchmarks/mmd.py

2,000 tokens of 384 numbers and five widths on one thread; with the tag frequencies of news (83% O), and with
one tag for all tokens, the worst case. Times are medians; the aim is less than 100 ms. The last line is a ratio.
"""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable

os.environ.setdefault("OMP_NUM_THREADS", "1")
import torch
from torch import Tensor

from adaptner.compute import prepare_process
from adaptner.nn.losses.mmd import WIDTHS, label_aware_mmd

TOKENS, WIDTH, TURNS = 2000, 384, 15
SHARES = torch.tensor([0.83, *[0.17 / 8] * 8])


def plain(first: Tensor, first_tags: Tensor, second: Tensor, second_tags: Tensor) -> Tensor:
    """Eq. 6 with a distance matrix, an exponential per width, and autograd."""
    total = first.new_zeros(())
    for tag in sorted(set(first_tags.tolist()) & set(second_tags.tolist())):
        ours, theirs = first[first_tags == tag], second[second_tags == tag]
        both = torch.cat([ours, theirs])
        distance = torch.cdist(both, both).square()
        count = len(both)
        middle = float(distance.detach().sum()) / (count * (count - 1))
        kernel = torch.stack(
            [(-distance / (middle * 2.0 ** (u - WIDTHS // 2))).exp() for u in range(WIDTHS)]
        ).mean(0)
        own = len(ours)
        total = total + kernel[:own, :own].mean() + kernel[own:, own:].mean()
        total = total - 2 * kernel[:own, own:].mean()
    return 0.25 * total


def milliseconds(loss: Callable[..., Tensor], tags: Tensor, states: Tensor) -> float:
    leaf = states.clone().requires_grad_()
    half = TOKENS // 2
    start = time.process_time()
    loss(leaf[:half], tags[:half], leaf[half:], tags[half:]).backward()
    return 1000 * (time.process_time() - start)


def main() -> None:
    prepare_process()
    generator = torch.Generator().manual_seed(0)
    states = torch.randn(TOKENS, WIDTH, generator=generator)
    ratio = 0.0
    for name, tags in (
        ("as news", torch.multinomial(SHARES, TOKENS, True, generator=generator)),
        ("one tag", torch.zeros(TOKENS, dtype=torch.long)),
    ):
        times: dict[str, list[float]] = {"ours": [], "plain": []}
        for turn in range(TURNS + 2):
            for kind, loss in (("ours", label_aware_mmd), ("plain", plain)):
                spent = milliseconds(loss, tags, states)
                if turn >= 2:
                    times[kind].append(spent)
        ours, theirs = (statistics.median(times[kind]) for kind in ("ours", "plain"))
        ratio = theirs / ours
        print(f"{name}: {ours:.0f} ms (least {min(times['ours']):.0f}), plain {theirs:.0f} ms")
    print(f"ratio {ratio:.2f}")


if __name__ == "__main__":
    main()
