"""A restricted embedding table gives the same results and changes nothing else."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
import torch
from builders import sentence
from hypothesis import given
from hypothesis import strategies as st

import adaptner.adaptation.loop as adaptation_loop
import adaptner.methods.families.source_pretrained as source_learner
from adaptner.adaptation.fine_tune import FineTuneConfig, fine_tune
from adaptner.bilevel import FirstOrder, InnerLoop, group_gradients
from adaptner.corpora.sources import SourceDomain
from adaptner.methods.finetuning import FineTuning
from adaptner.methods.hgda import HGDA
from adaptner.models.base import Base
from adaptner.nn.batching.word_batch import WordBatch, WordBatcher
from adaptner.nn.encoders.active_vocabulary import ActiveVocabulary, restrict_batch, rows_in_use
from adaptner.nn.encoders.config import EncoderConfig
from adaptner.nn.encoders.recurrent import RecurrentEncoder
from adaptner.nn.model import Losses, ModelShape, Parameters, TaggingModel
from adaptner.training.budget import Budget
from adaptner.training.optimiser import OptimiserConfig
from adaptner.types import LabelSet, Sentence
from adaptner.vectors.word_vectors import WordVectors

WORDS = ("zero", "the", "gene", "Gene", "dose", "unread", "of", "last")
VECTORS = WordVectors(WORDS, np.random.default_rng(3).normal(size=(8, 3)).astype(np.float32))
UNKNOWN = len(WORDS)
DOMAINS = {"gene": LabelSet(("G",)), "drug": LabelSet(("D", "E"))}
TASKS = [
    [sentence("The Gene p53", "O B-G I-G"), sentence("of", "O")],
    [sentence("dose Dose", "B-E I-E"), sentence("the of dose aspirin", "O O O B-D")],
]
MORE = [
    [sentence("GENE of", "B-G O"), sentence("last", "B-G")],
    [sentence("dose", "B-D"), sentence("of the", "O O")],
]
ENCODER = EncoderConfig(
    char_embedding=2, char_cnn_filters=2, char_lstm=0, hidden=2, dropout=0.0, tune_words=True
)


def build(tuned: bool = True) -> tuple[TaggingModel, WordBatcher]:
    batcher = WordBatcher(VECTORS, "abcdefg")
    g = torch.Generator().manual_seed(0)
    config = ENCODER.model_copy(update={"tune_words": tuned})
    shape = ModelShape(head="mean")
    return TaggingModel(RecurrentEncoder(config, batcher, g), DOMAINS, g, shape).double(), batcher


def batch_of(batcher: WordBatcher, tasks: list[list[Sentence]]) -> WordBatch:
    return batcher(tasks, list(DOMAINS.values()))


# --- within an iteration --------------------------------------------------------------------------


def test_rows_in_use_are_ascending():
    model, batcher = build()
    numbers = {word: i for i, word in enumerate(WORDS)}
    first = rows_in_use(model.encoder, [batch_of(batcher, TASKS)])
    assert first is not None
    expected = {numbers[w] for w in ("the", "Gene", "of", "dose")} | {UNKNOWN}
    filler = {0}  # pads the task with fewer distinct words
    assert set(first.tolist()) - filler == expected
    assert first.tolist() == sorted(first.tolist())
    both = rows_in_use(model.encoder, [batch_of(batcher, TASKS), batch_of(batcher, MORE)])
    assert both is not None
    assert set(both.tolist()) - filler == expected | {numbers["gene"], numbers["last"]}
    assert numbers["unread"] not in both.tolist()


def test_frozen_vectors_are_not_restricted():
    model, batcher = build(tuned=False)
    batch = batch_of(batcher, TASKS)
    assert rows_in_use(model.encoder, [batch]) is None
    assert restrict_batch(batch, None) is batch
    assert "encoder.words.table" not in model.stack_tasks([0, 1])


def test_restricted_batch_has_the_same_vectors():
    model, batcher = build()
    batch = batch_of(batcher, TASKS)
    rows = rows_in_use(model.encoder, [batch, batch_of(batcher, MORE)])
    full, less = (
        model.stack_tasks([0, 1])["encoder.words.table"],
        model.stack_tasks([0, 1], rows)["encoder.words.table"],
    )
    assert less.shape == (2, len(rows), 3)
    narrowed = restrict_batch(batch, rows)
    for g in range(2):
        assert torch.equal(less[g][narrowed.rows[g]], full[g][batch.rows[g]])
    assert torch.equal(narrowed.index, batch.index)  # nothing else changes


def gradients_of(narrowed: bool, inner: int) -> tuple[Losses, dict[str, torch.Tensor]]:
    """Losses and dense ``.grad`` of an iteration without (``inner`` 0) or with an inner loop."""
    model, batcher = build()
    batches = [batch_of(batcher, TASKS), batch_of(batcher, MORE)]
    rows = rows_in_use(model.encoder, batches) if narrowed else None
    support, query = (restrict_batch(batch, rows) for batch in batches)
    domains = [0, 1]

    def losses(batch: WordBatch):
        def of(p: Parameters) -> Losses:
            return model.losses(p, batch, domains, aux_weight=0.4)

        return of

    start = model.stack_tasks(domains, rows)
    if inner:
        found, gradients = FirstOrder()(
            InnerLoop(inner, 0.3), losses(support), losses(query), start
        )
    else:
        start = {n: p.requires_grad_() for n, p in start.items()}
        found = losses(support)(start)
        gradients = group_gradients(found, start)
    weights = torch.tensor([0.2, 0.8]).double()
    every = {"encoder": weights, "decoder": weights, "head": weights}
    model.add_gradients(domains, gradients, every, rows)  # type: ignore[arg-type]
    model.add_gradients(domains, gradients, every, rows)  # type: ignore[arg-type]  # adds up
    return found, {n: p.grad for n, p in model.named_parameters()}


@pytest.mark.parametrize("inner", [0, 1, 2])
def test_losses_and_gradients_equal_those_of_the_full_table(inner):
    (full, expected), (less, found) = (gradients_of(narrowed, inner) for narrowed in (False, True))
    torch.testing.assert_close(less.total, full.total, atol=1e-13, rtol=0)
    assert set(found) == set(expected)
    for name, value in expected.items():
        assert found[name].shape == value.shape
        torch.testing.assert_close(found[name], value, atol=1e-13, rtol=0, msg=name)
    table = found["encoder.words.table"][0]
    assert not table[WORDS.index("unread")].any()
    assert not table[WORDS.index("zero")].any()  # the padding's row is unused
    read = ("the", "dose") if inner else ("the", "Gene", "dose", "of")
    assert all(table[WORDS.index(w)].any() for w in read)


# --- within a run ---------------------------------------------------------------------------------


@pytest.fixture
def _double() -> Iterator[None]:
    """New tensors are float64 too."""
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


class FullTable:
    """Replaces ``ActiveVocabulary`` and restricts nothing."""

    def __init__(self, encoder, batcher, sentences, words=()) -> None:
        self.batcher = batcher

    def restore(self) -> None:
        pass


CORPUS = [s for task in TASKS + MORE for s in task]
READ = {VECTORS.row(w) for s in CORPUS for w in s.tokens}
SGD = OptimiserConfig(name="sgd", rate=0.3, momentum=0.9, weight_decay=0, clip=1e9)


def own_base() -> Base:
    model, batcher = build()
    facts = {"vectors": "given", "iterations": 1}
    return Base(model, batcher, "hgda", {}, facts)


@pytest.mark.usefixtures("_double")
def test_fine_tuning_with_a_restricted_table_gives_the_same_tagger(monkeypatch):
    config = FineTuneConfig(batch=3, optimiser=SGD, encoder_scale=1.0)
    taggers, widths = [], []

    class Watched(ActiveVocabulary):
        def __init__(self, encoder, *rest) -> None:
            super().__init__(encoder, *rest)
            widths.append(encoder.words.table.shape[1])

    for table in (Watched, FullTable):
        monkeypatch.setattr(adaptation_loop, "ActiveVocabulary", table)
        taggers.append(fine_tune(own_base(), CORPUS, config, budget=Budget(4), seed=1))
    assert widths == [len(READ | {UNKNOWN})]  # the table was restricted
    (less, full), start = taggers, own_base().model.encoder.words.table[0]
    for (name, a), b in zip(less.named_parameters(), full.parameters(), strict=True):
        torch.testing.assert_close(a, b, atol=1e-12, rtol=0, msg=name)
    table = less.encoder.words.table[0]
    assert table.shape == start.shape
    for row in range(len(WORDS) + 1):
        assert torch.equal(table[row], start[row]) == (row not in READ), row
    assert less.batcher.vectors is VECTORS  # the full vocabulary is restored
    assert [len(e) for e in less.predict_sentences(CORPUS)] == [
        len(e) for e in full.predict_sentences(CORPUS)
    ]


@pytest.mark.usefixtures("_double")
@pytest.mark.parametrize("kind", [FineTuning, HGDA])
def test_pretraining_with_a_restricted_table_gives_the_same_base(kind, monkeypatch):
    sources = [
        SourceDomain("gene", DOMAINS["gene"], {"g": [*TASKS[0], *MORE[0]]}, {}),
        SourceDomain("drug", DOMAINS["drug"], {"d": [*TASKS[1], *MORE[1]]}, {}),
    ]
    method = kind(k=2, tasks=3, encoder=ENCODER.model_dump(), optimiser=SGD.model_dump())
    exact = WordVectors(WORDS, VECTORS.table.astype(np.float64))
    bases = []
    for table in (ActiveVocabulary, FullTable):
        monkeypatch.setattr(source_learner, "ActiveVocabulary", table)
        bases.append(method.fit(sources, Budget(3), vectors=exact, seed=1))
    less, full = (base.model for base in bases)
    assert less.state_dict().keys() == full.state_dict().keys()
    for (name, a), b in zip(less.named_parameters(), full.parameters(), strict=True):
        torch.testing.assert_close(a, b, atol=1e-12, rtol=0, msg=name)
    table = less.encoder.words.table[0]
    start = torch.from_numpy(np.concatenate([VECTORS.table, np.zeros((1, 3), np.float32)]))
    for row in range(len(WORDS) + 1):
        assert torch.equal(table[row], start[row]) == (row not in READ), row
        if row in READ:
            assert (table[row] - start[row]).abs().max() > 1e-5
    assert bases[0].batcher.vectors is exact


def test_frozen_and_fully_used_tables_are_not_restricted():
    model, batcher = build(tuned=False)
    table = ActiveVocabulary(model.encoder, batcher, CORPUS)
    assert table.batcher is batcher
    table.restore()
    model, batcher = build()
    before = model.encoder.words.table
    table = ActiveVocabulary(model.encoder, batcher, [Sentence.from_tokens(WORDS)])
    assert table.batcher is batcher
    table.restore()
    assert model.encoder.words.table is before


def test_run_without_known_words_restores_the_table():
    """Only the row of unknown words is trained."""
    model, batcher = build()
    start = model.encoder.words.table.detach().clone()
    table = ActiveVocabulary(model.encoder, batcher, [sentence("p53 Ras")])
    assert model.encoder.words.table.shape == (1, 1, 3)
    batch = table.batcher([[sentence("Ras")]])
    assert batch.rows.tolist() == [[0]]
    with torch.no_grad():
        model.encoder.words.table.add_(1)
    table.restore()
    after = model.encoder.words.table.detach()
    assert torch.equal(after[0, :UNKNOWN], start[0, :UNKNOWN])
    assert torch.equal(after[0, UNKNOWN], start[0, UNKNOWN] + 1)


word = st.text("aAbBIİßẞ", min_size=1, max_size=3)


@given(
    st.lists(word, min_size=1, max_size=12, unique=True),
    st.lists(st.lists(word, min_size=1, max_size=4), min_size=1, max_size=4),
)
def test_restricted_table_gives_the_same_predictions(vocabulary, texts):
    """Word by word, upper-case ones that fall back to lower-case ones among them; what is learnt
    lands in the row that the full table would have read."""
    values = np.arange(1, 1 + len(vocabulary), dtype=np.float32)[:, None]
    vectors = WordVectors(tuple(vocabulary), values)
    batcher = WordBatcher(vectors, "ab")
    config = EncoderConfig(char_cnn_filters=0, char_lstm=0, hidden=1, tune_words=True)
    encoder = RecurrentEncoder(config, batcher, torch.Generator().manual_seed(0))
    full = encoder.words.table.detach().clone()[0, :, 0]
    sentences = [Sentence.from_tokens(tokens) for tokens in texts]
    table = ActiveVocabulary(encoder, batcher, sentences)
    batch = table.batcher([sentences])
    found = encoder.words(batch.rows)[0, batch.index[0], 0]
    for place, number in enumerate(batch.order[0]):
        tokens = texts[number]
        expected = [full[vectors.row(w)].item() for w in tokens]
        assert found[place, : len(tokens)].tolist() == expected
    read = {vectors.row(w) for tokens in texts for w in tokens}
    size = encoder.words.table.shape[1]
    assert size == len(read | {len(vocabulary)})
    # a distinct value in each row in use
    with torch.no_grad():
        for w in {w for tokens in texts for w in tokens}:
            row = table.batcher.vectors.row(w)
            encoder.words.table[0, row] = 1000.0 + vectors.row(w)
    table.restore()
    after = encoder.words.table.detach()[0, :, 0]
    assert len(after) == len(vocabulary) + 1
    for row in range(len(vocabulary) + 1):
        assert after[row].item() == (1000.0 + row if row in read else full[row].item())
