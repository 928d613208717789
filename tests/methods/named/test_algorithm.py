"""Few mentions fit the decoder alone, many fine-tune the encoder as well."""

from __future__ import annotations

import torch
from terms_base_kit import default_base_without_terms

from adaptner.corpora.bundled import bundled_corpus
from adaptner.methods.named.algorithm import adapt_named
from adaptner.methods.named.config import LinearFitConfig
from adaptner.methods.named.encoder_choice import encode_target
from adaptner.training.budget import Budget


def test_encoder_is_fine_tuned_from_the_mention_threshold_on():
    torch.set_num_threads(1)
    base = default_base_without_terms()
    support = [s for s in bundled_corpus("cellline").split("train") if s.entities][:6]
    mentions = sum(len(s.entities) for s in support)
    before = {n: p.clone() for n, p in base.model.state_dict().items()}
    fitted, tuned = (
        adapt_named(encode_target(base, support, config), config, budget=Budget(3))
        for config in (LinearFitConfig(fine_tune_from=mentions + n) for n in (1, 0))
    )
    assert fitted.encoder is base.model.encoder
    assert tuned.encoder is not base.model.encoder
    changed = tuned.encoder.state_dict()
    assert any(not torch.equal(p, changed[n]) for n, p in base.model.encoder.state_dict().items())
    assert all(torch.equal(p, before[n]) for n, p in base.model.state_dict().items())
    assert tuned.facts["steps"] == 3
