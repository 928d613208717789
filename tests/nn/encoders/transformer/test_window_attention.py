"""Windows in one sequence have the states and gradients of separate windows."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from adaptner.nn.encoders.config import TransformerConfig
from adaptner.nn.encoders.registry import new_encoder
from adaptner.nn.encoders.transformer import window_attention
from adaptner.nn.encoders.transformer.window_attention import FAMILIES, pack_windows
from adaptner.types import Sentence

LENGTHS = [7, 5, 1]
SMALL = {
    "vocab_size": 30,
    "hidden_size": 8,
    "embedding_size": 8,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 12,
    "max_position_embeddings": 20,
    "pad_token_id": 1,
    "initializer_range": 0.3,
}


@pytest.mark.parametrize("family", FAMILIES)
def test_packed_windows_equal_separate_windows(family):
    """The library's own attention, window by window: states, gradients of all parameters, and no
    trace of one window in another."""
    transformers = pytest.importorskip(
        "transformers", reason="pip install 'adaptner[transformers]'"
    )
    transformers.AttentionInterface.register(
        window_attention.NAME, window_attention.window_attention
    )
    config = transformers.AutoConfig.for_model(family, **SMALL)
    torch.manual_seed(0)
    plain = transformers.AutoModel.from_config(config, attn_implementation="eager").double().eval()
    packed = transformers.AutoModel.from_config(
        copy.deepcopy(config), attn_implementation=window_attention.NAME
    )  # networks that share a configuration share its attention
    packed.load_state_dict(plain.state_dict())
    packed.double().eval()
    words = [torch.randn(n, 8, dtype=torch.float64) for n in LENGTHS]
    expected = torch.cat([plain(inputs_embeds=w[None]).last_hidden_state[0] for w in words])
    places = torch.cat([torch.arange(n) for n in LENGTHS])[None]
    first = 2 if family in ("camembert", "roberta", "xlm-roberta") else 0
    found = packed(
        inputs_embeds=torch.cat(words)[None], position_ids=places + first, window_lengths=LENGTHS
    ).last_hidden_state[0]
    torch.testing.assert_close(found, expected)
    weight = torch.randn_like(found)
    for network, states in ((plain, expected), (packed, found)):
        (states * weight).sum().backward()
        assert sum(p.grad is not None for p in network.parameters()) > 30
    for a, b in zip(plain.parameters(), packed.parameters(), strict=True):
        assert (a.grad is None) == (b.grad is None)
        if a.grad is not None:
            torch.testing.assert_close(b.grad, a.grad, atol=1e-12, rtol=1e-9)


def build(folder: Path, padded: bool, monkeypatch: pytest.MonkeyPatch, **settings: Any) -> Any:
    with monkeypatch.context() as patch:
        if padded:
            patch.setattr(window_attention, "FAMILIES", ())
        config = TransformerConfig(name=str(folder), max_length=40, overlap=8, **settings)
        return new_encoder(config, [], None, 0, torch.Generator().manual_seed(0))


def test_packed_and_padded_encoders_agree(tiny_transformer, monkeypatch):
    """Several sentences per task, one of them in windows; gradients of first and second order."""
    sentences = [
        Sentence.from_tokens(text.split())
        for text in ("the gene", "mutation of p53 is mutated", "gene of p53 mutated " * 10)
    ]
    tasks = [sentences, [sentences[1], sentences[0], sentences[0]]]
    results = []
    for padded in (False, True):
        encoder, batcher = build(tiny_transformer, padded, monkeypatch)
        encoder.double()
        stacked = {n: p.expand(2, *p.shape[1:]) for n, p in encoder.named_parameters()}
        states = torch.func.functional_call(encoder, stacked, (batcher(tasks),))
        theta = list(encoder.parameters())
        first = torch.autograd.grad(states.square().sum(), theta, create_graph=True)
        norm = torch.stack([g.square().sum() for g in first]).sum()
        second = torch.autograd.grad(norm, theta)
        results.append([states, *first, *second])
    for packed, plain in zip(*results, strict=True):
        torch.testing.assert_close(packed, plain, atol=1e-9, rtol=1e-9)


def test_missing_window_lengths_raise(tiny_transformer, monkeypatch):
    """Otherwise sentences would attend to each other."""
    encoder, _ = build(tiny_transformer, False, monkeypatch)
    with pytest.raises(TypeError, match="window_lengths"):
        window_attention.window_attention(encoder.network, *[torch.zeros(1, 2, 3, 4)] * 3, None)


def test_batch_is_one_sequence(tiny_transformer, monkeypatch):
    encoder, batcher = build(tiny_transformer, False, monkeypatch)
    sentences = [Sentence.from_tokens(["gene"] * n) for n in (2, 30, 11)]
    widths = []
    real = encoder.network.forward

    def watched(**arguments: Any) -> Any:
        widths.append(arguments["inputs_embeds"].shape)
        return real(**arguments)

    monkeypatch.setattr(encoder.network, "forward", watched)
    encoder(batcher([sentences]))
    assert widths == [(1, 2 + 30 + 11 + 2 * 3, 8)]  # two special sub-words per window, no padding


@given(st.lists(st.integers(1, 60), max_size=20), st.integers(1, 100))
def test_packs_hold_every_window_once_within_the_limit(lengths, most):
    found = list(pack_windows(lengths, most))
    assert [n for first, end in found for n in lengths[first:end]] == lengths
    for number, (first, end) in enumerate(found):
        assert sum(lengths[first:end]) <= most or end == first + 1
        if number:  # it did not fit into the previous pack
            before = found[number - 1]
            assert sum(lengths[before[0] : before[1]]) + lengths[first] > most
