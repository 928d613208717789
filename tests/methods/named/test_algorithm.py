"""Which stages there are: φ alone with few mentions, θ too with more."""

from __future__ import annotations

import torch

from adaptner.corpora.bundled import bundled_corpus
from adaptner.methods.named.algorithm import adapt_named
from adaptner.methods.named.decoder_fit import LinearFitConfig
from adaptner.models.installed import default_base
from adaptner.training.budget import Budget


def test_theta_is_tuned_where_there_are_mentions_enough() -> None:
    torch.set_num_threads(1)
    base = default_base()
    support = [s for s in bundled_corpus("cellline").split("train") if s.entities][:6]
    mentions = sum(len(s.entities) for s in support)
    before = {n: p.clone() for n, p in base.model.state_dict().items()}
    frozen = adapt_named(
        base, support, LinearFitConfig(fine_tune_from=mentions + 1), budget=Budget(3)
    )
    tuned = adapt_named(base, support, LinearFitConfig(fine_tune_from=mentions), budget=Budget(3))
    assert frozen.encoder is base.model.encoder
    assert tuned.encoder is not base.model.encoder
    changed = tuned.encoder.state_dict()
    assert any(not torch.equal(p, changed[n]) for n, p in base.model.encoder.state_dict().items())
    assert all(torch.equal(p, before[n]) for n, p in base.model.state_dict().items())
    assert tuned.facts["steps"] == 3
