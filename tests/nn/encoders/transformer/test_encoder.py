"""The transformer encoder: word states, windows, rates, frozen layers, LoRA and dropout."""

from __future__ import annotations

import copy
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from adaptner.errors import BadConfiguration, EncoderUnusable
from adaptner.nn.encoders.active_vocabulary import ActiveVocabulary, restrict_batch, rows_in_use
from adaptner.nn.encoders.registry import new_encoder
from adaptner.nn.encoders.transformer.encoder import (
    TransformerConfig,
    TransformerEncoder,
    similar_length_ranges,
)
from adaptner.nn.encoders.transformer.subwords import SubwordBatcher, overlapping_windows
from adaptner.types import Sentence

SENTENCES = [
    Sentence.from_tokens(text.split())
    for text in (
        "the gene",
        "mutation of p53 is the cell mutated",
        "Ω",
        "the cell of the gene is a mutated gene of the cell",
    )
]


def build(folder: Path, **settings: Any) -> tuple[TransformerEncoder, SubwordBatcher]:
    given = {"max_length": 40, "overlap": 8, **settings}
    config = TransformerConfig(name=str(folder), **given)
    encoder, batcher = new_encoder(config, [], None, 0, torch.Generator().manual_seed(0))
    assert isinstance(encoder, TransformerEncoder)
    assert isinstance(batcher, SubwordBatcher)
    return encoder.double(), batcher


def naive(folder: Path, sentence: Sentence, alignment: str, **more: Any) -> Tensor:
    """States of one sentence by the library's network and tokenizer and a loop over words."""
    from transformers import AutoModel, AutoTokenizer

    network = AutoModel.from_pretrained(folder, attn_implementation="eager").double().eval()
    tokenizer = AutoTokenizer.from_pretrained(folder, **more)
    encoded = tokenizer([list(sentence.tokens)], is_split_into_words=True, return_tensors="pt")
    with torch.no_grad():
        states = network(**encoded).last_hidden_state[0]
    words = encoded.word_ids(0)
    rows = []
    for word in range(len(sentence)):
        own = [states[place] for place, owner in enumerate(words) if owner == word]
        rows.append(own[0] if alignment == "first" else sum(own) / len(own))  # type: ignore[arg-type]
    return torch.stack(rows)


@pytest.mark.parametrize("alignment", ["first", "mean"])
def test_word_states_are_those_of_their_subwords(tiny_transformer, alignment):
    encoder, batcher = build(tiny_transformer, subwords=alignment)
    batch = batcher([SENTENCES])
    states = encoder(batch).detach()
    assert states.shape == (1, 4, 12, encoder.width)
    for place, original in enumerate(batch.order[0]):
        sentence = SENTENCES[original]
        truth = naive(tiny_transformer, sentence, alignment)
        torch.testing.assert_close(states[0, place, : len(sentence)], truth)
        assert not states[0, place, len(sentence) :].any()
    assert len(batcher.pieces(["mutated"])[0]) == 2  # so that first and mean differ
    assert len(batcher.pieces(["p53"])[0]) == 3


@pytest.mark.parametrize("alignment", ["first", "mean"])
def test_states_do_not_depend_on_other_sentences_or_padding(tiny_transformer, alignment):
    encoder, batcher = build(tiny_transformer, subwords=alignment)
    expected = [encoder(batcher([[s]]))[0, 0].detach() for s in SENTENCES]
    shifted = SENTENCES[1:] + SENTENCES[:1]
    longer = [Sentence.from_tokens(["cell"] * (30 - n)) for n in range(4)]
    for tasks in ([SENTENCES], [shifted], [longer, SENTENCES], [shifted, longer]):
        batch = batcher(tasks)
        parameters = {n: p.expand(len(tasks), *p.shape[1:]) for n, p in encoder.named_parameters()}
        states = torch.func.functional_call(encoder, parameters, (batch,)).detach()
        for g, task in enumerate(tasks):
            for i, original in enumerate(batch.order[g]):
                if (sentence := task[original]) in SENTENCES:
                    truth = expected[SENTENCES.index(sentence)]
                    found = states[g, i, : len(sentence)]
                    torch.testing.assert_close(found, truth, atol=1e-12, rtol=0)


def test_tasks_have_separate_parameters(tiny_transformer):
    encoder, batcher = build(tiny_transformer)
    other = copy.deepcopy(encoder)
    with torch.no_grad():
        for p in other.parameters():
            p.add_(0.1)
    tasks = [SENTENCES, SENTENCES[::-1]]
    both = {
        n: torch.cat([p, q]).detach()
        for (n, p), q in zip(encoder.named_parameters(), other.parameters(), strict=True)
    }
    states = torch.func.functional_call(encoder, both, (batcher(tasks),))
    for g, own in enumerate((encoder, other)):
        torch.testing.assert_close(states[g], own(batcher([tasks[g]]))[0])


def test_network_of_another_family_is_padded(tmp_path):
    """RoBERTa: positions start after the padding id; sub-words consist of bytes and include a space."""
    pytest.importorskip("transformers", reason="pip install 'adaptner[transformers]'")
    from tokenizers import ByteLevelBPETokenizer
    from transformers import RobertaConfig, RobertaModel

    tokenizer = ByteLevelBPETokenizer()
    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    text = ["the gene", "mutated cell", "of the mutation"]
    tokenizer.train_from_iterator(text, 300, 1, special_tokens=special, show_progress=False)
    tokenizer.save_model(str(tmp_path))
    (tmp_path / "tokenizer_config.json").write_text('{"tokenizer_class": "RobertaTokenizer"}')
    shape = {"hidden_size": 8, "num_hidden_layers": 2, "num_attention_heads": 2}
    with torch.random.fork_rng():
        torch.manual_seed(1)
        RobertaModel(
            RobertaConfig(
                vocab_size=300, intermediate_size=12, max_position_embeddings=42,
                pad_token_id=1, bos_token_id=0, eos_token_id=2, initializer_range=0.3, **shape,
            )
        ).save_pretrained(tmp_path)  # fmt: skip
    encoder, batcher = build(tmp_path)
    table = ActiveVocabulary(encoder, batcher, SENTENCES)
    for used in (table.batcher, batcher):  # a restricted and the full embedding table
        batch = used([SENTENCES])
        states = encoder(batch).detach()
        for place, original in enumerate(batch.order[0]):
            sentence = SENTENCES[original]
            truth = naive(tmp_path, sentence, "first", add_prefix_space=True)
            torch.testing.assert_close(states[0, place, : len(sentence)], truth)
        table.restore()
    with pytest.raises(EncoderUnusable, match="at most 40 sub-words"):
        build(tmp_path, max_length=41)


# --- windows --------------------------------------------------------------------------------------


@given(
    sizes=st.lists(st.integers(1, 5), min_size=1, max_size=40),
    room=st.integers(5, 15),
    overlap=st.integers(0, 7),
)
def test_windows_cover_every_word_once_within_the_limit(sizes, room, overlap):
    found = overlapping_windows(sizes, room, overlap)
    assert [w for own in found for w in range(own.begin, own.stop)] == list(range(len(sizes)))
    for own in found:
        assert own.first <= own.begin
        assert own.stop <= own.end
        assert sum(sizes[own.first : own.end]) <= room
    for before, after in pairwise(found):
        assert before.first < after.first  # windows advance
        assert sum(sizes[after.first : before.end]) <= overlap
    if sum(sizes) <= room:
        assert len(found) == 1


@pytest.mark.parametrize("alignment", ["first", "mean"])
def test_long_sentence_is_split_into_windows(tiny_transformer, alignment):
    """The state of each word is that of its window, encoded as a separate sentence."""
    encoder, batcher = build(tiny_transformer, subwords=alignment)
    tokens = ["gene", "mutated", "p53", "cell"] * 12
    sentence = Sentence.from_tokens(tokens)
    states = encoder(batcher([[sentence, SENTENCES[0]]]))[0, 0].detach()
    cut = overlapping_windows([len(p) for p in batcher.pieces(tokens)], 38, 8)
    assert len(cut) > 2
    for own in cut:
        alone = Sentence.from_tokens(tokens[own.first : own.end])
        read = naive(tiny_transformer, alone, alignment)
        truth = read[own.begin - own.first : own.stop - own.first]
        torch.testing.assert_close(states[own.begin : own.stop], truth)
    short = encoder(batcher([[SENTENCES[0]]]))[0, 0]
    torch.testing.assert_close(encoder(batcher([[sentence, SENTENCES[0]]]))[0, 1, :2], short)


def test_long_word_is_cut_in_the_middle(tiny_transformer):
    _, batcher = build(tiny_transformer, max_length=16)
    (pieces,) = batcher.pieces(["acgt" * 20])
    whole = [*batcher.pieces(["acgt"])[0]]
    assert len(pieces) == 14  # the maximum of a window
    assert pieces[:4] == tuple(whole)
    assert batcher([[Sentence.from_tokens(["acgt" * 20, "gene"])]]).rows.shape[2] <= 16


@given(st.lists(st.integers(1, 60), min_size=1, max_size=20))
def test_windows_of_similar_length_are_grouped(lengths):
    ordered = sorted(lengths, reverse=True)
    parts = list(similar_length_ranges(ordered))
    assert [n for first, end in parts for n in ordered[first:end]] == ordered
    assert all(ordered[end - 1] >= 0.75 * ordered[first] for first, end in parts)


# --- learning ----------------------------------------------------------------------------------------


def gradients(encoder: TransformerEncoder, batcher: SubwordBatcher, seed: int = 3) -> list[Tensor]:
    states = encoder(batcher([SENTENCES]), torch.Generator().manual_seed(seed))
    return list(torch.autograd.grad(states.square().sum(), list(encoder.parameters())))


def test_every_parameter_is_used(tiny_transformer):
    """An unused parameter would make the inner loop's gradient fail."""
    encoder, batcher = build(tiny_transformer)
    assert all(g.any() for g in gradients(encoder, batcher))
    assert not any("pooler" in n for n, _ in encoder.named_parameters())


@pytest.mark.parametrize("settings", [{}, {"lora": 2}])
def test_checkpointing_gives_the_same_gradients(tiny_transformer, settings):
    """The repeated forward pass uses the same dropout noise."""
    plain, batcher = build(tiny_transformer, **settings)
    saving, _ = build(tiny_transformer, checkpointing=True, **settings)
    for a, b in zip(gradients(plain, batcher), gradients(saving, batcher), strict=True):
        torch.testing.assert_close(a, b, atol=1e-12, rtol=0)


def test_checkpointing_repeats_the_forward_pass(tiny_transformer, monkeypatch):
    encoder, batcher = build(tiny_transformer, checkpointing=True)
    calls = []
    real = encoder.network.forward
    monkeypatch.setattr(encoder.network, "forward", lambda **k: calls.append(1) or real(**k))
    gradients(encoder, batcher)
    assert len(calls) == 2


def test_dropout_depends_only_on_the_generator(tiny_transformer):
    encoder, batcher = build(tiny_transformer, dropout=0.0)
    batch = batcher([SENTENCES])
    torch.manual_seed(1)
    before = torch.random.get_rng_state()
    one, two, other = (encoder(batch, torch.Generator().manual_seed(s)) for s in (1, 1, 2))
    assert torch.equal(one, two)
    assert not torch.equal(one, other)
    assert torch.equal(torch.random.get_rng_state(), before)
    assert torch.equal(encoder(batch), encoder(batch))  # no dropout without noise
    quiet, _ = build(tiny_transformer, dropout=0.0, network_dropout=False)
    assert torch.equal(quiet(batch, torch.Generator().manual_seed(1)), quiet(batch))


def test_layer_decay_scales_the_rates(tiny_transformer):
    encoder, _ = build(tiny_transformer, layer_decay=0.5)
    rates = {n: encoder.rates()[p] for n, p in encoder.named_parameters()}
    assert {r for n, r in rates.items() if "layer.1." in n} == {1.0}
    assert {r for n, r in rates.items() if "layer.0." in n} == {0.5}
    assert {r for n, r in rates.items() if "embeddings" in n} == {0.25}
    assert len(rates) == len(list(encoder.parameters()))
    assert build(tiny_transformer)[0].rates() == {}


def test_frozen_layers_are_not_trained(tiny_transformer):
    whole, batcher = build(tiny_transformer)
    upper, _ = build(tiny_transformer, frozen_layers=1)
    names = [n for n, _ in upper.named_parameters()]
    assert names == [n for n, _ in whole.named_parameters() if "layer.1." in n]
    assert upper.table is None  # embeddings are below the layers
    batch = batcher([SENTENCES])
    assert torch.equal(upper(batch), whole(batch))
    truth = dict(zip(dict(whole.named_parameters()), gradients(whole, batcher), strict=True))
    for name, found in zip(names, gradients(upper, batcher), strict=True):
        torch.testing.assert_close(found, truth[name], atol=1e-12, rtol=0)


def test_freezing_all_layers_raises(tiny_transformer):
    with pytest.raises(BadConfiguration, match="has 2 layers"):
        build(tiny_transformer, frozen_layers=2)


def test_frozen_layers_have_no_low_rank_updates(tiny_transformer):
    pytest.importorskip("peft", reason="pip install 'adaptner[lora]'")
    names = [n for n, _ in build(tiny_transformer, frozen_layers=1, lora=2)[0].named_parameters()]
    assert names
    assert all("layer.1." in n and "lora_" in n for n in names)


def test_lora_trains_only_its_updates(tiny_transformer):
    pytest.importorskip("peft", reason="pip install 'adaptner[lora]'")
    encoder, batcher = build(tiny_transformer, lora=2)
    plain, _ = build(tiny_transformer)
    names = [n for n, _ in encoder.named_parameters()]
    assert names
    assert all("lora_" in n for n in names)
    assert encoder.table is None
    batch = batcher([SENTENCES])
    torch.testing.assert_close(encoder(batch), plain(batch))  # the updates start at zero
    frozen = {n: t.clone() for n, t in encoder.named_buffers()}
    found = gradients(encoder, batcher)
    with torch.no_grad():
        for p, g in zip(encoder.parameters(), found, strict=True):
            p.sub_(g)
    assert not torch.allclose(encoder(batch), plain(batch))
    assert all(torch.equal(t, frozen[n]) for n, t in encoder.named_buffers())


def test_restricted_table_gives_the_same_states_and_gradients(tiny_transformer):
    encoder, batcher = build(tiny_transformer)
    assert encoder.table is not None
    batch = batcher([SENTENCES])
    rows = rows_in_use(encoder, [batch])
    assert rows is not None
    parameters = dict(encoder.named_parameters())
    full = parameters[encoder.table]
    assert len(rows) < full.shape[1]
    fewer = {**parameters, encoder.table: full[:, rows].detach().requires_grad_()}
    expected = torch.autograd.grad(encoder(batch).square().sum(), full)[0]
    states = torch.func.functional_call(encoder, fewer, (restrict_batch(batch, rows),))
    torch.testing.assert_close(states, encoder(batch))
    (found,) = torch.autograd.grad(states.square().sum(), fewer[encoder.table])
    torch.testing.assert_close(found, expected[:, rows])
    assert not expected[:, [r for r in range(full.shape[1]) if r not in rows]].any()


def test_run_holds_only_the_rows_in_use(tiny_transformer):
    encoder, batcher = build(tiny_transformer)
    expected = encoder(batcher([SENTENCES])).detach()
    start = encoder.get_parameter(encoder.table or "").detach().clone()
    table = ActiveVocabulary(encoder, batcher, SENTENCES[:2])
    learned = encoder.get_parameter(encoder.table or "")
    assert learned.shape[1] < start.shape[1]
    torch.testing.assert_close(
        encoder(table.batcher([SENTENCES[:2]])), encoder_of(tiny_transformer, SENTENCES[:2])
    )
    with torch.no_grad():
        learned.mul_(2)
    table.restore()
    after = encoder.get_parameter(encoder.table or "").detach()
    moved = (after - start)[0].any(-1)
    assert int(moved.sum()) == learned.shape[1] - 1  # the padding's row is zero
    (unseen,) = batcher.pieces(["z"])
    assert not moved[list(unseen)].any()
    assert not torch.allclose(encoder(batcher([SENTENCES])), expected)


def encoder_of(folder: Path, sentences: list[Sentence]) -> Tensor:
    encoder, batcher = build(folder)
    return encoder(batcher([sentences]))
