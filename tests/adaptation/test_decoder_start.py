"""The start of a decoder at adaptation: new, the mean of the sources, or with known tags kept."""

from __future__ import annotations

import copy
from collections.abc import Sequence

import numpy as np
import pytest
import torch
from modules_kit import same
from torch import Tensor

from adaptner.adaptation.decoder_start import keep_known_tags, set_to_mean, starting_decoder
from adaptner.adaptation.fine_tune import FineTuneConfig, fine_tune
from adaptner.models.base import Base
from adaptner.nn.batching.word_batch import WordBatcher
from adaptner.nn.decoders.crf import CRF
from adaptner.nn.encoders.config import EncoderConfig
from adaptner.nn.encoders.recurrent import RecurrentEncoder
from adaptner.nn.model import ModelShape, TaggingModel
from adaptner.training.budget import Budget
from adaptner.types import LabelSet, Sentence
from adaptner.vectors.word_vectors import WordVectors

WIDTH = 4
schemes = pytest.mark.parametrize("scheme", ["bio", "bioes"])
PREFIXES = {"bio": "BI", "bioes": "BIES"}


def crf(labels: tuple[str, ...], scheme: str, seed: int) -> CRF:
    g = torch.Generator().manual_seed(seed)
    found = CRF(WIDTH, LabelSet(labels, scheme), g)  # type: ignore[arg-type]
    with torch.no_grad():
        for p in found.parameters():
            p.copy_(torch.randn(p.shape, generator=g))
    return found


def values_of_tag(decoder: CRF, name: str, tag: str) -> Tensor:
    return getattr(decoder, name)[0, decoder.labels.index[tag]].detach()


def transition(decoder: CRF, before: str, after: str) -> float:
    index = decoder.labels.index
    return decoder.transition[0, index[before], index[after]].item()


def average(values: list) -> Tensor:
    return sum(torch.as_tensor(v) for v in values) / len(values)


SIMPLE = ("weight", "bias", "start", "end")


# --- mean -----------------------------------------------------------------------------------------


@schemes
@pytest.mark.parametrize("wanted", [("New",), ("A", "New", "Z")], ids=["one", "three"])
def test_mean_start_averages_over_all_labels_of_all_sources(scheme, wanted):
    """A source with two labels counts twice, for O as well."""
    sources = [crf(("X",), scheme, 1), crf(("P", "Q"), scheme, 2)]
    pairs = [(sources[0], "X"), (sources[1], "P"), (sources[1], "Q")]
    decoder = crf(wanted, scheme, 3)
    before = copy.deepcopy(decoder)
    kept = copy.deepcopy(sources)
    set_to_mean(decoder, sources)

    def source_tag(tag: str, label: str) -> str:
        return "O" if tag == "O" else f"{tag[0]}-{label}"

    for tag in decoder.labels.tags:
        for name in SIMPLE:
            expected = average([values_of_tag(s, name, source_tag(tag, x)) for s, x in pairs])
            torch.testing.assert_close(
                values_of_tag(decoder, name, tag), expected, msg=f"{name} {tag}"
            )
    for a in decoder.labels.tags:
        for b in decoder.labels.tags:
            if "O" in (a, b) or a[2:] == b[2:]:
                expected = average(
                    [transition(s, source_tag(a, x), source_tag(b, x)) for s, x in pairs]
                )
                assert transition(decoder, a, b) == pytest.approx(expected.item(), abs=1e-6), (a, b)
            else:  # no source has a transition between two labels
                assert transition(decoder, a, b) == transition(before, a, b), (a, b)
    assert len(decoder.labels.tags) == 1 + len(wanted) * len(PREFIXES[scheme])
    assert all(same(source, old) for source, old in zip(sources, kept, strict=True))


def test_mean_start_without_sources_changes_nothing():
    decoder = crf(("X",), "bio", 0)
    before = copy.deepcopy(decoder)
    set_to_mean(decoder, [])
    assert same(decoder, before)


# --- known tags -----------------------------------------------------------------------------------


@schemes
def test_known_tags_are_copied_and_others_are_not(scheme):
    source = crf(("Gene", "Drug", "Odd"), scheme, 1)
    decoder = crf(("Amount", "Gene", "Odd", "Zeal"), scheme, 2)
    before = copy.deepcopy(decoder)
    keep_known_tags(decoder, [source])
    known = {"O", *(f"{p}-{x}" for p in PREFIXES[scheme] for x in ("Gene", "Odd"))}
    assert len(known) < len(decoder.labels.tags)
    for tag in decoder.labels.tags:
        origin = source if tag in known else before
        for name in SIMPLE:
            found = values_of_tag(decoder, name, tag)
            assert torch.equal(found, values_of_tag(origin, name, tag)), (name, tag)
            assert torch.equal(found, values_of_tag(before, name, tag)) == (tag not in known)
    for a in decoder.labels.tags:
        for b in decoder.labels.tags:
            origin = source if {a, b} <= known else before
            assert transition(decoder, a, b) == transition(origin, a, b), (a, b)


def test_last_source_that_knows_a_tag_decides():
    first, last = crf(("A", "B"), "bio", 1), crf(("B", "C"), "bio", 2)
    decoder = crf(("A", "B", "C"), "bio", 3)
    before = copy.deepcopy(decoder)
    keep_known_tags(decoder, [first, last])
    by = {"O": last, "B-A": first, "I-A": first, "B-B": last, "I-B": last, "B-C": last}
    for tag, origin in by.items():
        assert torch.equal(
            values_of_tag(decoder, "weight", tag), values_of_tag(origin, "weight", tag)
        ), tag
    assert transition(decoder, "I-A", "O") == transition(first, "I-A", "O")
    assert transition(decoder, "B-A", "B-B") == transition(first, "B-A", "B-B")
    assert transition(decoder, "B-B", "I-B") == transition(last, "B-B", "I-B")
    assert transition(decoder, "B-A", "B-C") == transition(
        before, "B-A", "B-C"
    )  # no source knows both


def test_only_o_is_copied_between_different_labels():
    source, decoder = crf(("A",), "bio", 1), crf(("B",), "bio", 2)
    before = copy.deepcopy(decoder)
    keep_known_tags(decoder, [source])
    assert torch.equal(values_of_tag(decoder, "weight", "O"), values_of_tag(source, "weight", "O"))
    assert torch.equal(decoder.weight[:, 1:], before.weight[:, 1:])
    assert transition(decoder, "O", "O") == transition(source, "O", "O")
    assert torch.equal(decoder.transition[:, 1:], before.transition[:, 1:])


# --- which of them, when --------------------------------------------------------------------------

VECTORS = WordVectors(("a", "b"), np.array([[1, -1], [0.5, 2]], dtype=np.float32))
DOMAINS = (("G",), ("D", "E"))


def base(shared: bool, scheme: str = "bioes", domains: Sequence[tuple[str, ...]] = DOMAINS) -> Base:
    batcher = WordBatcher(VECTORS, "abc")
    g = torch.Generator().manual_seed(0)
    config = EncoderConfig(char_cnn_filters=0, char_lstm=0, hidden=2)
    labels = {str(n): LabelSet(names, scheme) for n, names in enumerate(domains)}  # type: ignore[arg-type]
    encoder = RecurrentEncoder(config, batcher, g)
    model = TaggingModel(encoder, labels, g, ModelShape(shared=shared))
    return Base(model, batcher, "metaner", {}, {"vectors": "given", "iterations": 1})


@schemes
def test_base_with_a_decoder_per_domain_gives_a_new_or_mean_decoder(scheme):
    target_base = base(shared=False, scheme=scheme)
    labels = LabelSet(("G", "N"), scheme)  # type: ignore[arg-type]
    found = starting_decoder(target_base, labels, "fresh", torch.Generator().manual_seed(5))
    assert same(found, CRF(WIDTH, labels, torch.Generator().manual_seed(5)))
    mean = starting_decoder(target_base, labels, "mean", torch.Generator().manual_seed(5))
    expected = CRF(WIDTH, labels, torch.Generator().manual_seed(5))
    set_to_mean(expected, list(target_base.model.decoder))
    assert same(mean, expected)
    assert not same(mean, found)


@pytest.mark.parametrize(
    ("with_empty", "without", "start"),
    [([("A",), ()], [("A",)], "mean"), ([()], [()], "fresh")],
    ids=["some", "all"],
)
def test_mean_start_ignores_sources_without_labels(with_empty, without, start):
    first, second = (
        starting_decoder(base(False, "bio", domains), LabelSet(("N",)), kind, g)
        for domains, kind in ((with_empty, "mean"), (without, start))
        for g in [torch.Generator().manual_seed(5)]
    )
    assert same(first, second)


@schemes
@pytest.mark.parametrize("start", ["fresh", "mean"])
def test_base_with_one_decoder_keeps_its_tags(scheme, start):
    """Unknown tags start as without a base."""
    target_base = base(shared=True, scheme=scheme)
    (source,) = target_base.model.decoder
    assert source.labels.labels == ("D", "E", "G")
    labels = LabelSet(("G", "N"), scheme)  # type: ignore[arg-type]
    found = starting_decoder(target_base, labels, start, torch.Generator().manual_seed(5))
    without = CRF(WIDTH, labels, torch.Generator().manual_seed(5))
    if start == "mean":
        set_to_mean(without, [source])
    for tag in labels.tags:
        origin = without if tag.endswith("-N") else source
        for name in SIMPLE:
            assert torch.equal(values_of_tag(found, name, tag), values_of_tag(origin, name, tag)), (
                name,
                tag,
            )
    assert transition(found, "O", "B-G") == transition(source, "O", "B-G")
    assert transition(found, "O", "B-N") == transition(without, "O", "B-N")
    assert not torch.equal(
        values_of_tag(without, "weight", "B-G"), values_of_tag(source, "weight", "B-G")
    )
    # With the base's labels, the decoder is the base's.
    again = starting_decoder(target_base, source.labels, start, torch.Generator().manual_seed(5))
    assert same(again, source)


@pytest.mark.parametrize("shared", [True, False])
def test_fine_tuning_starts_from_the_starting_decoder(shared):
    """Without a step: the homogeneous setting keeps the decoder, the other one has a new one."""
    target_base = base(shared)
    config = FineTuneConfig()
    known = [Sentence.from_tokens(["a", "b", "c"], ["O", "B-G", "I-G"])]
    tagger = fine_tune(
        target_base, known, config, labels=target_base.labels, budget=Budget(0), seed=7
    )
    fresh = CRF(WIDTH, target_base.labels, torch.Generator().manual_seed(7))
    assert same(tagger.decoder, target_base.model.decoder[0] if shared else fresh)
    assert same(tagger.encoder, target_base.model.encoder)
    # A step does not change the base.
    before = copy.deepcopy(target_base.model.decoder)
    moved = fine_tune(
        target_base, known, config, labels=target_base.labels, budget=Budget(1), seed=7
    )
    assert not same(moved.decoder, tagger.decoder)
    assert all(same(a, b) for a, b in zip(before, target_base.model.decoder, strict=True))
