"""Taggers that read terminologies: documents and their abbreviations."""

from __future__ import annotations

import json

import pytest

from adaptner.adaptation.dictionary_tagger import dictionary_tagger
from adaptner.formats.chunks import GROUP_CHARACTERS
from adaptner.models.base import Base
from adaptner.models.tagger import Tagger
from adaptner.terms.definitions import WINDOW
from adaptner.text.alignment import to_sentences
from adaptner.types import Document

DEFINED = "Radical cystectomy (RC) was done. "
USED = "Nobody liked RC. "
OTHER = "The rats ate. "


@pytest.fixture(scope="module")
def tagger(terms_base: Base) -> Tagger:
    return dictionary_tagger(terms_base, ["Procedure", "MedicalDevice", "CellLine"])


def count(tagger: Tagger, text: str) -> int:
    """How often RC is found."""
    return sum(e.text_in(text) == "RC" for e in tagger.predict([text])[0])


def test_abbreviation_holds_in_the_document_that_defines_it(tagger):
    assert count(tagger, DEFINED + USED + OTHER + USED) == 3
    assert count(tagger, USED + DEFINED) == 1  # forward only
    assert [len(found) for found in tagger.predict([DEFINED, USED, DEFINED + USED])] == [2, 0, 3]


def test_abbreviation_holds_for_ten_sentences(tagger):
    assert count(tagger, DEFINED + OTHER * (WINDOW - 1) + USED) == 2
    assert count(tagger, DEFINED + OTHER * WINDOW + USED) == 1


def test_sentences_given_one_by_one_stand_alone(tagger):
    sentences = to_sentences(Document(DEFINED + USED))
    assert [len(found) for found in tagger.predict_sentences(sentences)] == [2, 0]
    assert [len(found) for found in tagger.predict_sentences(sentences, [0, 0])] == [2, 1]
    assert [len(found) for found in tagger.predict_sentences(sentences, [0, 1])] == [2, 0]
    assert tagger.predict_sentences([]) == []


def test_stream_finds_the_same_in_documents_of_any_order_and_number(tagger):
    texts = [DEFINED + USED, USED, OTHER * 30 + DEFINED + USED, "", USED + DEFINED + USED] * 5
    alone = [tagger.predict([text])[0] for text in texts]
    assert tagger.predict(texts) == alone
    assert list(tagger.stream(map(Document, texts))) == alone


@pytest.mark.slow
@pytest.mark.processes
def test_processes_find_the_same_in_long_documents(call, terms_base, tmp_path):
    text = (DEFINED + OTHER * 3 + USED + OTHER * 12 + USED) * 1200
    assert len(text) > 1.2 * GROUP_CHARACTERS
    file = tmp_path / "long.jsonl"
    file.write_text("".join(json.dumps({"text": t}) + "\n" for t in (text, DEFINED + USED, text)))
    plain = tmp_path / "long.txt"
    plain.write_text(text)
    run = ("tag", "--labels", "Procedure", "--base", terms_base.folder, file, plain)
    alone = call.ok(*run).out
    assert call.ok(*run, "--jobs", 2).out == alone
    long, short, again, of_file = (json.loads(line)["entities"] for line in alone.splitlines())
    assert long == again == of_file
    assert len(short) == 3
    assert len(long) == 3 * 1200


@pytest.mark.slow
def test_memory_does_not_grow_with_the_number_of_labels_and_sentences(terms_base):
    """The features of all tokens at once would take 200 MB."""
    import tracemalloc

    tagger = dictionary_tagger(terms_base, ["Procedure", "MedicalDevice", "CellLine", "DEVI"])
    text = (DEFINED + OTHER * 3 + USED) * (GROUP_CHARACTERS // 90)
    tagger.predict([text[:10_000]])
    tracemalloc.start()
    try:
        tagger.predict([text])
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert most < 100e6
