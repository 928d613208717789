"""The decoder fit: the minimum of a convex objective with a prior from the label name."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
import torch
from builders import equal_parameters, sentence
from torch import Tensor

from adaptner.corpora.bundled import bundled_corpus
from adaptner.errors import NoEntities
from adaptner.methods.named.config import LinearFitConfig
from adaptner.methods.named.decoder_fit import fit_linear_decoder
from adaptner.methods.named.decoder_prior import decoder_prior
from adaptner.methods.named.encoder_choice import EncodedTarget
from adaptner.models.base import Base
from adaptner.models.tagger import Tagger
from adaptner.nn.batching.word_batch import WordBatcher, alphabet_of
from adaptner.nn.decoders.crf import CRF
from adaptner.nn.encoders.config import EncoderConfig
from adaptner.nn.encoders.lexical_features import WORD_LENGTH, word_part
from adaptner.nn.encoders.recurrent import RecurrentEncoder
from adaptner.nn.heads.label_probes import LabelProbes
from adaptner.nn.model import TaggingModel
from adaptner.types import LabelSet, Sentence
from adaptner.vectors.label_directions import LabelDirections
from adaptner.vectors.word_vectors import WordVectors

WIDTH = 8
SMALL = EncoderConfig(
    char_embedding=4, char_cnn_filters=4, char_lstm=0, hidden=4, lexical_features=True
)
LABELS = LabelSet(("CellLine",))


@pytest.fixture(scope="module")
def base() -> Base:
    """Random vectors of the words of the package's cell lines; of a mention the direction is known."""
    sentences = bundled_corpus("cellline").split("train")
    words = sorted({w.lower() for s in sentences for w in s.tokens})
    table = np.random.default_rng(0).normal(size=(len(words), WIDTH)).astype(np.float32)
    table[:, 0] = 0
    table[words.index("hela")] = [5, *[0.0] * (WIDTH - 1)]
    direction = np.array([[4, *[0.0] * (WIDTH - 1)]], dtype=np.float16)
    middle = np.array([0.1, 0.2, *[0.0] * (WIDTH - 2)], dtype=np.float32)
    vectors = WordVectors(
        tuple(words), table, directions=LabelDirections(("cell line",), direction, middle)
    )
    batcher = WordBatcher(vectors, alphabet_of(sentences))
    generator = torch.Generator().manual_seed(0)
    model = TaggingModel(RecurrentEncoder(SMALL, batcher, generator), {}, generator)
    return Base(model, batcher, "named")


@pytest.fixture(scope="module")
def support() -> list[Sentence]:
    return list(bundled_corpus("cellline").split("train")[:6])


def fitted(
    base: Base,
    sentences: list[Sentence],
    config: LinearFitConfig,
    labels: LabelSet | None = None,
    seed: int = 0,
) -> Tagger:
    return fit_linear_decoder(EncodedTarget.of(base, sentences, config, labels), config, seed=seed)


def objective(base: Base, decoder: CRF, support: list[Sentence], config: LinearFitConfig) -> Tensor:
    """The objective by summing over every path of every sentence."""
    start = decoder_prior(base, LABELS, config)
    total = torch.zeros(())
    for s in support:
        batch = base.batcher([[s]], [LABELS])
        assert batch.tags is not None
        scores = base.model.encoder(batch).detach()[0, 0] @ decoder.weight[0].T + decoder.bias[0]

        def path(tags, scores=scores):
            limits = decoder.constraints
            moves = decoder.transition[0] + limits.moves[0]
            sum_ = decoder.start[0, tags[0]] + limits.starts[0, tags[0]]
            sum_ = sum_ + decoder.end[0, tags[-1]] + limits.ends[0, tags[-1]]
            for t, tag in enumerate(tags):
                sum_ = sum_ + scores[t, tag] + (moves[tags[t - 1], tag] if t else 0)
            return sum_

        every = torch.stack([path(tags) for tags in product(range(3), repeat=len(s))])
        share = 1.0 if s.entities else config.empty_sentence_weight
        total = total + share * (every.logsumexp(0) - path(batch.tags[0, 0].tolist()))
    pull = {"weight": config.penalty, "bias": config.bias_penalty}
    for (name, p), q in zip(decoder.named_parameters(), start.parameters(), strict=True):
        total = total + pull.get(name, config.transition_penalty) * ((p - q.detach()) ** 2).sum()
    return total


@pytest.mark.slow
def test_fit_finds_the_minimum_of_the_objective(base):
    """Against L-BFGS on the sum over all paths."""
    short = [
        sentence("HeLa cells grew", "B-CellLine O O"),
        sentence("no cells grew ."),
        sentence("grown HEK293 cells", "O B-CellLine O"),
    ]
    config = LinearFitConfig(linear_steps=300)
    found = fitted(base, short, config, LABELS).decoder
    assert isinstance(found, CRF)
    best = decoder_prior(base, LABELS, config)
    optimiser = torch.optim.LBFGS(best.parameters(), max_iter=200, line_search_fn="strong_wolfe")

    def closure() -> Tensor:
        optimiser.zero_grad()
        value = objective(base, best, short, config)
        value.backward()
        return value

    optimiser.step(closure)
    least = float(objective(base, best, short, config))
    begun = float(objective(base, decoder_prior(base, LABELS, config), short, config))
    ours = float(objective(base, found, short, config))
    assert least <= ours + 1e-4
    assert ours - least < 0.01 * (begun - least)
    torch.testing.assert_close(found.weight, best.weight, atol=0.02, rtol=0)


def test_default_number_of_steps_comes_near_the_minimum(base, support):
    def value(steps: int) -> float:
        remarks: list[str] = []
        config = LinearFitConfig(linear_steps=steps)
        given = EncodedTarget.of(base, support, config)
        fit_linear_decoder(
            given, config, progress=lambda done, total, remark="": remarks.append(remark)
        )
        return float(remarks[-1].split()[1])

    assert value(60) < 1.02 * value(600)


def test_prior_is_the_direction_of_the_label_name(base):
    config = LinearFitConfig(name_weight=3)
    decoder = decoder_prior(base, LABELS, config)
    part = word_part(8, WIDTH)
    for tag in ("B-CellLine", "I-CellLine"):
        row = decoder.weight[0, LABELS.index[tag]].detach()
        assert row[part].tolist() == pytest.approx([3 * 4 / WORD_LENGTH, *[0] * (WIDTH - 1)])
        assert float(row.abs().sum()) == pytest.approx(3 * 4 / WORD_LENGTH)
        assert float(decoder.bias[0, LABELS.index[tag]].detach()) == pytest.approx(-1 - 3 * 4 * 0.1)
    assert not decoder.weight[0, LABELS.index["O"]].any()
    assert not decoder_prior(base, LABELS, LinearFitConfig(name_weight=0)).weight.any()
    assert not decoder_prior(base, LabelSet(("Thing",)), config).weight.any()


def test_prior_combines_word_direction_and_label_probes(base):
    generator = torch.Generator().manual_seed(5)
    weight, borders = torch.randn(2, 8, generator=generator), torch.randn(3, 8, generator=generator)
    names = LabelProbes(
        ("cell line", "gene"), weight, torch.tensor([-5.0, -6.0]), borders, torch.arange(3.0)
    )
    config = LinearFitConfig(name_weight=3, state_share=0.4, border_weight=0.3, entity_bias=2)
    decoder = decoder_prior(replace(base, label_probes=names), LABELS, config)
    for tag, kind in (("B-CellLine", 1), ("I-CellLine", 2)):
        row = decoder.weight[0, LABELS.index[tag]].detach()
        wanted = 0.5 * 0.4 * 3 * weight[0] + 0.3 * (borders[kind] - borders[0])
        torch.testing.assert_close(row[:8], wanted)
        assert row[word_part(8, WIDTH)].tolist() == pytest.approx(
            [0.6 * 3 * 4 / WORD_LENGTH, *[0] * (WIDTH - 1)]
        )
        bias = -1 - 0.6 * 3 * 4 * 0.1 + 0.5 * 0.4 * 3 * (-5 + 2) + 0.3 * kind
        assert float(decoder.bias[0, LABELS.index[tag]].detach()) == pytest.approx(bias)
    assert not decoder.weight[0, LABELS.index["O"]].any()


def test_name_alone_finds_mentions_without_an_annotated_entity(base):
    """Five sentences without any entity."""
    empty = [sentence("no cells grew .")] * 5
    tagger = fitted(base, empty, LinearFitConfig(), LABELS)
    assert tagger.predict(["no HeLa cells"])[0][0].start == 3
    nameless = fitted(base, empty, LinearFitConfig(name_weight=0), LABELS)
    assert nameless.predict(["no HeLa cells"]) == [[]]
    with pytest.raises(NoEntities):
        fitted(base, empty, LinearFitConfig())


def test_fit_depends_on_no_seed_and_leaves_the_base_unchanged(base, support):
    before = {n: p.clone() for n, p in base.model.state_dict().items()}
    one = fitted(base, support, LinearFitConfig(), seed=1)
    other = fitted(base, support, LinearFitConfig(), seed=2)
    assert equal_parameters(one, other)
    assert all(torch.equal(p, before[n]) for n, p in base.model.state_dict().items())


def test_prior_is_zero_without_lexical_features(base, support):
    narrow = RecurrentEncoder(
        SMALL.model_copy(update={"lexical_features": False}),
        base.batcher,
        torch.Generator().manual_seed(0),
    )
    plain = replace(base, model=TaggingModel(narrow, {}, torch.Generator()))
    assert fitted(plain, support, LinearFitConfig()).predict(["HeLa cells"]) is not None
    assert not decoder_prior(plain, LABELS, LinearFitConfig()).weight.any()
