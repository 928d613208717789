"""The label-name head: its loss against loops, and the probes that it saves."""

from __future__ import annotations

import math

import pytest
import torch

from adaptner.nn.heads.label_name_head import LabelNameHead, WeakLabels
from adaptner.nn.heads.label_probes import LabelProbes

WIDTH, NAMES = 5, 4


@pytest.fixture
def head() -> LabelNameHead:
    head = LabelNameHead(WIDTH, NAMES, torch.Generator().manual_seed(0))
    torch.nn.init.normal_(head.weight, generator=torch.Generator().manual_seed(1))
    return head


def test_loss_equals_loops(head):
    """With as many tokens outside as inside, all of them are used."""
    states = torch.randn(6, WIDTH, generator=torch.Generator().manual_seed(2))
    borders = [1, 0, 2, 0, 0, 1]
    pairs = {(0, 1): 0.5, (0, 3): 0.75, (2, 1): 0.5, (5, 2): 0.9}
    labels = WeakLabels(
        torch.tensor(borders),
        torch.tensor([t for t, _ in pairs]),
        torch.tensor([n for _, n in pairs]),
        torch.tensor(list(pairs.values())),
    )
    of_borders = of_names = 0.0
    for t, border in enumerate(borders):
        border_scores = [
            float(head.border_weight[k] @ states[t] + head.border_bias[k]) for k in range(3)
        ]
        of_borders += math.log(sum(map(math.exp, border_scores))) - border_scores[border]
        for n in range(NAMES):
            odds = float(head.weight[n] @ states[t] + head.bias[n])
            p, wanted = 1 / (1 + math.exp(-odds)), pairs.get((t, n), 0.0)
            of_names -= wanted * math.log(p) + (1 - wanted) * math.log(1 - p)
    found = float(head(states, labels, torch.Generator()).detach())
    assert found == pytest.approx((of_borders + of_names) / 6, rel=1e-4)


def test_outside_tokens_are_sampled_and_weighted(head):
    """The mean loss over many samples is that of all tokens."""
    states = torch.randn(40, WIDTH, generator=torch.Generator().manual_seed(3))
    borders = torch.zeros(40, dtype=torch.long)
    borders[:4] = 1
    labels = WeakLabels(borders, torch.tensor([0]), torch.tensor([2]), torch.tensor([0.5]))
    wanted = torch.zeros(40, NAMES)
    wanted[0, 2] = 0.5
    odds = states @ head.weight.T + head.bias
    costs = torch.nn.functional.binary_cross_entropy_with_logits(odds, wanted, reduction="none")
    border_scores = states @ head.border_weight.T + head.border_bias
    whole = float(
        (costs.sum(1).mean() + torch.nn.functional.cross_entropy(border_scores, borders)).detach()
    )
    noise = torch.Generator().manual_seed(4)
    found = [float(head(states, labels, noise).detach()) for _ in range(3000)]
    assert sum(found) / len(found) == pytest.approx(whole, rel=0.02)


def test_text_without_mentions_has_only_the_border_loss(head):
    none = torch.zeros(0, dtype=torch.long)
    labels = WeakLabels(torch.zeros(3, dtype=torch.long), none, none, torch.zeros(0))
    assert math.isfinite(float(head(torch.ones(3, WIDTH), labels, torch.Generator()).detach()))


def test_probes_survive_saving(head):
    kept = head.label_probes(["disease", "cell line", "größe", "line"])
    again = LabelProbes.of(kept.content())
    assert again.names == kept.names
    assert again.row("HumanCellLine") == 1
    assert again.row("Lines") == 3
    assert again.row("X") is None
    for name in ("weight", "bias", "border_weight", "border_bias"):
        assert torch.equal(getattr(again, name), getattr(kept, name))
        torch.testing.assert_close(getattr(kept, name), getattr(head, name), rtol=1e-3, atol=1e-3)
