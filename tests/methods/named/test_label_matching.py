"""Matching of labels with source labels, by name or by mentions, and copying of decoders."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from terms_base_kit import default_base_without_terms

from adaptner.corpora.bundled import bundled_corpus
from adaptner.methods.named.algorithm import adapt_named
from adaptner.methods.named.config import LinearFitConfig
from adaptner.methods.named.decoder_fit import fit_linear_decoder, stronger_penalties
from adaptner.methods.named.decoder_prior import decoder_prior
from adaptner.methods.named.encoded import EncodedSentences
from adaptner.methods.named.encoder_choice import EncodedTarget, encode_target
from adaptner.methods.named.label_matching import (
    MIN_AGREEMENT,
    LabelMatch,
    agreement,
    match_labels,
)
from adaptner.metrics.spans import score_tags
from adaptner.models.base import Base
from adaptner.models.mentions import mentions_of
from adaptner.nn.decoders.crf import CRF
from adaptner.types import LabelSet, Sentence

WIDTH = 4


def random_crf(labels: LabelSet, seed: int) -> CRF:
    generator = torch.Generator().manual_seed(seed)
    decoder = CRF(WIDTH, labels, generator)
    with torch.no_grad():
        for p in decoder.parameters():
            p.copy_(torch.randn(p.shape, generator=generator))
    return decoder


def batch(seed: int, rows: int = 3, length: int = 4) -> tuple[torch.Tensor, torch.Tensor]:
    states = torch.randn(1, rows, length, WIDTH, generator=torch.Generator().manual_seed(seed))
    mask = torch.ones(1, rows, length, dtype=torch.bool)
    mask[0, -1, 2:] = False
    return states * mask[..., None], mask


@pytest.mark.slow
@settings(max_examples=25)
@given(st.integers(0, 10_000), st.sampled_from(["bio", "bioes"]))
def test_decoder_of_one_matched_label_has_the_distribution_of_the_source(seed, scheme):
    """Every path of every sentence is as likely, for any scores of O."""
    source, mine = LabelSet(("Gene",), scheme), LabelSet(("T1",), scheme)
    known, decoder = random_crf(source, seed), random_crf(mine, seed + 1)
    LabelMatch(known, "Gene").copy_to(decoder, "T1")
    states, mask = batch(seed, rows=1, length=3)
    mask[:] = True
    for path in product(range(len(source.tags)), repeat=3):
        tags = torch.tensor([[path]])
        torch.testing.assert_close(
            decoder(states, tags, mask), known(states, tags, mask), atol=1e-3, rtol=1e-4
        )


def test_copying_a_match_leaves_other_labels_unchanged():
    both = LabelSet(("A", "B"))
    decoder, before = random_crf(both, 0), random_crf(both, 0)
    LabelMatch(random_crf(LabelSet(("Gene",)), 1), "Gene").copy_to(decoder, "B")
    kept = [both.index[t] for t in ("O", "B-A", "I-A")]
    for name, p in decoder.named_parameters():
        other = dict(before.named_parameters())[name]
        if name == "transition":
            assert torch.equal(p[0][kept][:, kept], other[0][kept][:, kept])
        else:
            assert torch.equal(p[0, kept], other[0, kept])
    changed = both.index["I-B"]
    assert not torch.equal(decoder.weight[0, changed], before.weight[0, changed])


def test_one_label_of_a_source_with_two_is_copied():
    source = LabelSet(("Drug", "Gene"))
    known, decoder = random_crf(source, 3), random_crf(LabelSet(("Gene",)), 4)
    LabelMatch(known, "Gene").copy_to(decoder, "Gene")
    row = known.weight[0, source.index["B-Gene"]] - known.weight[0, 0] + decoder.weight[0, 0]
    torch.testing.assert_close(decoder.weight[0, 1], row)


def test_agreement_is_f1_with_one_more_mistake():
    """Against mentions counted by the scorer."""
    labels = LabelSet(("Gene",))
    match = LabelMatch(random_crf(labels, 0), "Gene")
    states, mask = batch(5)
    path = match.decoder.decode(states, mask)
    part = EncodedSentences(states, path, mask, tuple(range(len(mask[0]))), torch.ones(1, 1))
    found = match.mentions([part, part])
    rows = [
        [labels.tags[t] for t in row[: int(m.sum())]]
        for row, m in zip(path[0], mask[0], strict=True)
    ]
    correct = score_tags(rows, rows).overall.true_positives
    assert correct, "choose another seed"
    assert len(found) == 2 * correct  # the two parts are equal
    assert agreement(found, found) == pytest.approx(4 * correct / (4 * correct + 1))
    assert agreement(found, set()) == agreement(set(), set()) == 0
    one_of_them = set(sorted(found)[:1])
    assert agreement(found, one_of_them) == pytest.approx(2 / (2 * correct + 1 + 1))


@pytest.fixture(scope="module")
def base() -> Base:
    torch.set_num_threads(1)
    return default_base_without_terms()


def encoded(base: Base, sentences: list[Sentence], labels: LabelSet) -> list[EncodedSentences]:
    return [EncodedSentences.of(base, sentences, labels)]


def relabelled(sentences: list[Sentence], label: str) -> list[Sentence]:
    return [
        Sentence(s.text, s.token_spans, tuple(replace(e, label=label) for e in s.entities))
        for s in sentences
    ]


@pytest.mark.parametrize(
    ("label", "kind"),
    [
        ("Disease", "Disease"),
        ("HumanDiseases", "Disease"),
        ("chemical", "Drug"),
        ("GENE", "Gene"),
        ("Protein", "Gene"),
        ("Organism", "Species"),
        ("CellLine", None),
        ("X", None),
        ("", None),
        ("病気", None),
    ],
)
def test_labels_match_by_name(base, label, kind):
    found = match_labels(base, LabelSet((label,)), [])
    assert (found[label].label if found else None) == kind


@pytest.mark.parametrize(
    ("corpus", "kind"),
    [("disease", "Disease"), ("drug", "Drug"), ("gene", "Gene"), ("cellline", None)],
)
def test_labels_match_by_the_annotated_mentions(base, corpus, kind):
    """The name of the label matches none."""
    sentences = relabelled(list(bundled_corpus(corpus).split("train")[:20]), "T1")
    found = match_labels(base, LabelSet(("T1",)), encoded(base, sentences, LabelSet(("T1",))))
    assert (found["T1"].label if found else None) == kind


def test_each_label_matches_separately(base):
    labels = LabelSet(("CellLine", "Chemical", "Gene"))
    found = match_labels(base, labels, [])
    assert {label: match.label for label, match in found.items()} == {
        "Chemical": "Drug",
        "Gene": "Gene",
    }
    decoder = decoder_prior(base, labels, LinearFitConfig(), found)
    alone = decoder_prior(base, LabelSet(("CellLine",)), LinearFitConfig())
    mine, theirs = labels.index["B-CellLine"], 1
    torch.testing.assert_close(decoder.weight[0, mine], alone.weight[0, theirs])


def test_source_labels_can_be_switched_off(base):
    sentences = [Sentence.from_tokens(["no", "mention"])]
    labels = LabelSet(("Disease",))

    def matches(base: Base, **settings: object) -> object:
        config = LinearFitConfig(**settings)  # type: ignore[arg-type]
        return EncodedTarget.of(base, sentences, config, labels).matches

    assert matches(base)
    assert not matches(base, use_source_labels=False)
    assert not matches(base.of_domains(()))
    assert not matches(base, name_weight=0)


def test_penalties_are_stronger_if_all_labels_match(base):
    config = LinearFitConfig(
        penalty=0.5, bias_penalty=3, transition_penalty=0.1, source_penalty_factor=2
    )
    both, one = LabelSet(("CellLine", "Disease")), LabelSet(("Disease",))
    known = match_labels(base, both, [])
    assert stronger_penalties(config, both, known) == config
    stronger = stronger_penalties(config, one, known)
    assert (stronger.penalty, stronger.bias_penalty, stronger.transition_penalty) == (1.0, 6.0, 0.2)


def test_stronger_penalties_keep_the_fit_nearer_to_the_source(base):
    """With a very large factor, the decoder does not change."""
    sentences = list(bundled_corpus("disease").split("train")[:10])
    labels = LabelSet(("Disease",))
    start = decoder_prior(base, labels, LinearFitConfig(), match_labels(base, labels, [])).weight
    gaps = []
    for factor in (1.0, 4.0, 1e4):
        config = LinearFitConfig(source_penalty_factor=factor)
        found = fit_linear_decoder(EncodedTarget.of(base, sentences, config), config).decoder
        gaps.append(float((found.weight - start).detach().norm()))
    assert gaps[0] > gaps[1] > gaps[2]
    assert gaps[2] < 0.01


def test_annotated_sentences_contradict_a_name(base):
    """A label Disease for cell lines does not match; three mentions are too few to tell."""
    sentences = relabelled(list(bundled_corpus("cellline").split("train")[:30]), "Disease")
    labels = LabelSet(("Disease",))
    assert not match_labels(base, labels, encoded(base, sentences, labels))
    few = [s for s in sentences if len(s.entities) == 1][:3]
    assert match_labels(base, labels, encoded(base, few, labels))["Disease"].label == "Disease"


def test_different_labels_of_the_bundled_corpora_agree_less_than_the_threshold(base):
    corpora = ("disease", "drug", "gene", "species")
    matches = match_labels(base, LabelSet(base.model.domains), []).values()
    compared = 0
    for corpus in corpora:
        labels = bundled_corpus(corpus).labels
        sentences = list(bundled_corpus(corpus).split("train")[:40])
        parts = encoded(base, sentences, labels)
        meant = {
            (0, row, *m[:2])
            for row, place in enumerate(parts[0].order)
            for m in mentions_of(
                labels.tag_ids(sentences[place]), [[0.0] * 3] * len(sentences[place]), labels
            )
        }
        for match in matches:
            if match.label.lower() != corpus:
                compared += 1
                assert agreement(match.mentions(parts), meant) < MIN_AGREEMENT
    assert compared >= len(corpora) * (len(matches) - 1) > 0


@pytest.mark.parametrize("tune_from", [150, 1])  # the decoder alone, or also the encoder
def test_facts_name_the_matched_source_labels(base, tune_from):
    sentences = relabelled(list(bundled_corpus("drug").split("train")[:6]), "Chemical")
    config = LinearFitConfig(fine_tune_from=tune_from, steps=1, epochs=0)
    tagger = adapt_named(encode_target(base, sentences, config), config)
    assert tagger.facts["known"] == {"Chemical": "Drug"}
    cells = list(bundled_corpus("cellline").split("train")[:6])
    assert "known" not in adapt_named(encode_target(base, cells, config), config).facts
