"""Tests of the CoNLL format: round trips in every scheme, located errors, atomic writes."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from adaptner import formats
from adaptner.errors import (
    AdaptnerError,
    EntityNotRepresentable,
    EntityOffTokens,
    LoneCarriageReturn,
    MixedSchemes,
    OverlappingEntities,
    RaggedColumns,
    TooFewColumns,
    UnknownTag,
)
from adaptner.formats.conll import ConllFormat
from adaptner.text.alignment import to_sentences
from adaptner.text.schemes import Scheme, TagRepair
from adaptner.types import Document, Entity, Sentence

in_one_folder = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)

TOKEN = st.text(st.characters(exclude_categories=("Cs", "Cc", "Z")), min_size=1, max_size=6).filter(
    lambda t: not any(c.isspace() for c in t) and t != "-DOCSTART-" and "\ufeff" not in t
)


@st.composite
def tagged(draw: st.DrawFn) -> Sentence:
    tokens = draw(st.lists(TOKEN, min_size=1, max_size=8))
    tags: list[str] = []
    previous_label = ""
    for _ in tokens:
        label = draw(st.sampled_from(["", "", "Gene", "cell-line"]))
        continues = bool(label) and label == previous_label and draw(st.booleans())
        tags.append("O" if not label else f"I-{label}" if continues else f"B-{label}")
        previous_label = label
    return Sentence.from_tokens(tokens, tags)


def document_of(sentence: Sentence) -> Document:
    return Document(sentence.text, sentence.entities, token_spans=sentence.token_spans)


def tokens_and_tags(documents: list[Document]) -> list[tuple[tuple[str, ...], tuple[str, ...]]]:
    return [(s.tokens, s.tags) for d in documents for s in to_sentences(d)]


def read(path: Path, content: str) -> list[Document]:
    path.write_text(content, encoding="utf-8", newline="")
    return list(formats.read(path, "conll"))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "file.conll"


@in_one_folder
@given(st.lists(tagged(), min_size=1, max_size=5), st.sampled_from(Scheme))
def test_round_trip_in_every_scheme(file, sentences, scheme):
    documents = [document_of(s) for s in sentences]
    reported: list[TagRepair] = []
    ConllFormat().write(documents, file, scheme)
    assert list(ConllFormat().read(file, lambda line, r: reported.append(r))) == documents
    assert reported == []


@in_one_folder
@given(st.lists(tagged(), min_size=1, max_size=5))
def test_round_trip_through_jsonl(file, sentences):
    formats.write([document_of(s) for s in sentences], file)
    jsonl, back = file.with_suffix(".jsonl"), file.with_name("back.conll")
    formats.write(formats.read(file), jsonl)
    formats.write(formats.read(jsonl), back)
    assert back.read_bytes() == file.read_bytes()


def test_columns_are_separated_by_tabs_or_spaces_and_docstart_lines_skipped(file):
    content = (
        "-DOCSTART- -X- O O\n\nThe DT  B-NP O\n# NN I-NP I-X\n\n\n -DOCSTART-x N N O\nend E E O"
    )
    documents = read(file, content)
    assert tokens_and_tags(documents) == [
        (("The", "#"), ("O", "B-X")),
        (("-DOCSTART-x", "end"), ("O", "O")),
    ]
    # -DOCSTART- ends a sentence even without a blank line.
    assert len(read(file, "a\tO\n-DOCSTART-\nb\tO\n")) == 2


def test_token_with_a_space_is_read_from_tabs_but_not_written(file):
    (document,) = read(file, "1 1/2\tO\ncups\tB-X \t\n")
    assert tokens_and_tags([document]) == [(("1 1/2", "cups"), ("O", "B-X"))]
    with pytest.raises(EntityNotRepresentable, match="1 1/2"):
        formats.write([document], file.with_name("out.conll"))
    assert not file.with_name("out.conll").exists()


def test_repairs_are_reported_with_lines(file):
    file.write_text("a O\nb I-X\n\nc B-X\nd I-Y\n")
    reported: list[tuple[int, TagRepair]] = []
    documents = list(formats.read(file, on_repair=lambda line, r: reported.append((line, r))))
    assert [tags for _, tags in tokens_and_tags(documents)] == [("O", "B-X"), ("B-X", "B-Y")]
    assert [(line, r.found, r.corrected) for line, r in reported] == [
        (2, "I-X", "B-X"),
        (5, "I-Y", "B-Y"),
    ]


def test_tags_without_label_get_the_default_label(file):
    (document,) = read(file, "a B\nb I\nc O\n")
    assert document.entities == (Entity(0, 3, "ENTITY"),)


@pytest.mark.parametrize(
    ("content", "error", "line"),
    [
        ("a\tO\nb\tO\n\nc\tO\nd\n", RaggedColumns, 5),
        ("a O\nb x O\n", RaggedColumns, 2),
        ("a\tO\nb O\n", RaggedColumns, 2),
        ("\n\nword\nb O\n", TooFewColumns, 3),
        ("a\tO\n\tO\n", TooFewColumns, 2),
        ("a\tO\n \tO\n", TooFewColumns, 2),
        ("a O\nb X-Gene\n", UnknownTag, 2),
        ("a O\n\n# comment\n", UnknownTag, 3),
        ("a O\rb O\rc O\n", LoneCarriageReturn, 1),
        ("a S-X\n\nb B-X\nc O\n", MixedSchemes, None),
    ],
)
def test_error_names_file_and_line(file, content, error, line):
    with pytest.raises(error) as caught:
        read(file, content)
    assert caught.value.file == str(file)
    assert caught.value.line == line
    if error is MixedSchemes:
        assert "S-X at line 1" in str(caught.value)
        assert "B-X at line 3" in str(caught.value)


def test_all_errors_are_reported_and_the_rest_is_read(file):
    file.write_bytes(b"a O\n\nb Q\nc\n\nd O\ne\xff O\n\nf O\n")
    reported: list[AdaptnerError] = []
    documents = [
        p.document.text for p in ConllFormat().read_with_lines(file, on_problem=reported.append)
    ]
    assert documents == ["a", "f"]
    assert [e.line for e in reported] == [3, 4, 7]


def test_untokenised_document_is_written_as_tokenised_sentences(file):
    formats.write([Document("TP53 fell. IL-2 rose.", (Entity(11, 15, "Gene"),))], file)
    assert file.read_text() == (
        "TP53\tO\nfell\tO\n.\tO\n\nIL\tB-Gene\n-\tI-Gene\n2\tI-Gene\nrose\tO\n.\tO\n\n"
    )


@pytest.mark.parametrize(
    ("document", "error"),
    [
        (Document("TP53", (Entity(0, 2, "G"),)), EntityOffTokens),
        (Document("a b", (Entity(0, 3, "G"), Entity(0, 1, "G"))), OverlappingEntities),
        (Document("a b", (Entity(0, 1, "cell line"),)), EntityNotRepresentable),
        (Document("-DOCSTART-", token_spans=((0, 10),)), EntityNotRepresentable),
        (Document("a\u00a0b", token_spans=((0, 3),)), EntityNotRepresentable),
    ],
)
def test_unwritable_document_raises_and_leaves_no_file(file, document, error):
    with pytest.raises(error):
        formats.write([Document("fine"), document], file)
    assert list(file.parent.iterdir()) == []


def test_sentence_of_100000_tokens_is_read(file):
    (document,) = read(file, "w\tO\n" * 100_000)
    assert document.token_spans is not None
    assert len(document.token_spans) == 100_000


def test_documents_are_read_lazily(file):
    """An error at the end is raised after the documents before it."""
    file.write_text("a O\n\n" * 1000 + "b\n")
    documents = formats.read(file)
    assert [next(documents).text for _ in range(1000)] == ["a"] * 1000
    with pytest.raises(RaggedColumns):
        next(documents)
