"""The probability of a mention against a sum over all tag paths."""

from __future__ import annotations

import math
from itertools import product

import pytest
import torch

from adaptner.models.mentions import mentions_of
from adaptner.nn.decoders.calibration import Calibration, log_odds
from adaptner.nn.decoders.crf import CRF
from adaptner.nn.decoders.prototypes import PrototypeDecoder
from adaptner.types import LabelSet

WIDTH, LENGTH = 3, 3
ONE, TWO = LabelSet(("X",)), LabelSet(("X", "Y"))
ONE_S, TWO_S = LabelSet(("X",), "bioes"), LabelSet(("X", "Y"), "bioes")


def build(labels: LabelSet, seed: int) -> tuple[CRF, torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    crf = CRF(WIDTH, labels, generator).double()
    with torch.no_grad():
        for parameter in crf.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=generator))
        crf.bias[0, 0] -= 1
    return crf, torch.randn(1, 1, LENGTH, WIDTH, generator=generator).double()


def spans(path: tuple[int, ...], labels: LabelSet) -> set[tuple[int, int, str]]:
    return {m[:3] for m in mentions_of(path, [(0.0, 0.0, 0.0)] * len(path), labels)}


@pytest.mark.parametrize("labels", [ONE, TWO, ONE_S, TWO_S], ids=lambda s: f"{s.scheme} {len(s)}")
def test_confidence_is_the_share_of_paths_with_the_mention(labels):
    seen = 0
    for seed in range(16):
        crf, states = build(labels, seed)
        mask = torch.ones(1, 1, LENGTH, dtype=torch.bool)
        best = crf.decode(states, mask)
        sure = crf.path_confidence(crf.tag_scores(states), mask, best)[:, 0, 0].T.tolist()
        paths = list(product(range(len(labels.tags)), repeat=LENGTH))
        tags = torch.tensor(paths)[None]
        every = -crf(states.expand(1, len(paths), -1, -1), tags, mask.expand(1, len(paths), -1))
        chances = every[0].exp().tolist()
        for mention in mentions_of(best[0, 0].tolist(), sure, labels):
            seen += 1
            truth = sum(
                p
                for p, path in zip(chances, paths, strict=True)
                if p > 0 and mention[:3] in spans(path, labels)
            )
            assert mention.log_odds == pytest.approx(log_odds(math.log(truth)), abs=1e-6)
    assert seen > 8


def test_padding_and_other_sentences_have_no_influence():
    crf, states = build(TWO, 3)
    mask = torch.ones(1, 1, LENGTH, dtype=torch.bool)
    best = crf.decode(states, mask)
    alone = crf.path_confidence(crf.tag_scores(states), mask, best)
    padded = torch.cat([states, torch.randn(1, 1, 3, WIDTH).double()], 2)
    longer = torch.cat([padded, torch.randn(1, 1, LENGTH + 3, WIDTH).double()], 1)
    kept = torch.arange(LENGTH + 3) < torch.tensor([[LENGTH], [LENGTH + 3]])
    tags = crf.decode(longer, kept[None])
    torch.testing.assert_close(
        crf.path_confidence(crf.tag_scores(longer), kept[None], tags)[:, :, :1, :LENGTH], alone
    )


def test_several_decoders_equal_separate_decoders():
    decoders = [build(TWO, seed)[0] for seed in range(3)]
    _, states = build(TWO, 9)
    mask = torch.ones(1, 1, LENGTH, dtype=torch.bool)
    several = build(TWO, 0)[0]
    for name, parameter in several.named_parameters():
        parameter.data = torch.cat([dict(d.named_parameters())[name].data for d in decoders])
    tags = torch.zeros(3, 1, LENGTH, dtype=torch.long)
    together = several(states, tags, mask.expand(3, -1, -1))
    for number, decoder in enumerate(decoders):
        torch.testing.assert_close(together[number], decoder(states, tags[:1], mask)[0])
        found = several.decode(states, mask.expand(3, -1, -1))[number]
        assert torch.equal(found, decoder.decode(states, mask)[0])


def test_prototypes_treat_tokens_as_independent():
    decoder = PrototypeDecoder(WIDTH, ONE, torch.Generator())
    means = torch.randn(1, 3, WIDTH, generator=torch.Generator().manual_seed(0))
    decoder.set_means(means, torch.tensor([[False, True, True]]))
    decoder.outside.data -= 2
    states = means[:, None, [1, 2, 1]].clone()
    mask = torch.ones(1, 1, 3, dtype=torch.bool)
    tags = decoder.decode(states, mask)
    assert tags.tolist() == [[[1, 2, 1]]]
    p = decoder.marginals(states, mask)[0, 0].double()
    sure = decoder.path_confidence(decoder.tag_scores(states), mask, tags)[:, 0, 0].T.tolist()
    first, second = mentions_of([1, 2, 1], sure, ONE)
    whole = float(p[0, 1] * p[1, 2] * (1 - p[2, 2]))
    assert first.log_odds == pytest.approx(log_odds(math.log(whole)), abs=1e-4)
    assert second.log_odds == pytest.approx(log_odds(math.log(float(p[2, 1]))), abs=1e-4)


def test_log_odds_are_limited_and_calibrated():
    for p in (0.001, 0.2, 0.5, 0.99):
        assert log_odds(math.log(p)) == pytest.approx(math.log(p / (1 - p)))
        assert Calibration()(log_odds(math.log(p))) == pytest.approx(p)
    assert math.isfinite(log_odds(0.0))
    assert math.isfinite(log_odds(-5000.0))
    assert log_odds(-5000.0) < -13 < 13 < log_odds(0.0)
    doubtful = Calibration(slope=0.5, intercept=-1)
    assert doubtful(2.0) == pytest.approx(0.5)
    assert doubtful(-1.0) < doubtful(0.0) < doubtful(5.0)
