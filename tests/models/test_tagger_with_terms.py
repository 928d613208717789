"""Taggers that read terminologies: abbreviations of documents, ids of concepts."""

from __future__ import annotations

import json

import pytest
from terms_kit import compiled, concept

from adaptner.adaptation.dictionary_tagger import dictionary_tagger
from adaptner.formats.chunks import GROUP_CHARACTERS
from adaptner.models.base import Base
from adaptner.models.tagger import Tagger
from adaptner.terms.definitions import WINDOW
from adaptner.terms.dictionary import Dictionary
from adaptner.terms.features import TermFeatures
from adaptner.terms.linking import MentionLinker
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


# --- ids ------------------------------------------------------------------------------------------


def ids_in(tagger: Tagger, text: str) -> dict[str, tuple[str, ...]]:
    return {e.text_in(text): e.ids for e in tagger.predict([text])[0]}


def test_entities_have_the_ids_of_their_names_preferred_names_first(tagger):
    text = "Heart valve, cardiac valve, stent, HeLa."
    assert ids_in(tagger, text) == {
        "Heart valve": ("D:4",),
        "cardiac valve": ("D:4",),
        "stent": ("D:5", "D:4"),  # a synonym of the second
        "HeLa": ("C:1",),
    }


def test_abbreviations_have_the_ids_of_their_long_forms(tagger):
    assert ids_in(tagger, DEFINED + USED) == {"Radical cystectomy": ("P:4",), "RC": ("P:4",)}
    assert ids_in(tagger, "Heart surgery (HS) was done. No HS.")["HS"] == ("P:1",)


def test_mention_that_is_no_name_has_the_ids_of_the_name_at_its_end(tagger):
    words = "an old heart valve and a stent".split()
    linker = MentionLinker(tagger.features, [words])
    assert linker.ids(0, 1, 4, "MedicalDevice") == ("D:4",)
    assert linker.ids(0, 2, 4, "MedicalDevice") == ("D:4",)
    assert linker.ids(0, 2, 7, "MedicalDevice") == ("D:5", "D:4")  # the last of two
    assert linker.ids(0, 3, 4, "MedicalDevice") == ()  # inside of the name
    assert linker.ids(0, 2, 5, "MedicalDevice") == ()  # goes on after it
    assert linker.ids(0, 2, 4, "Procedure") == ()
    assert linker.ids(0, 2, 4, "Other") == ()


def test_ids_can_be_left_out_and_names_asked_for(tagger):
    text = DEFINED + USED + "A stent."
    with_ids, without = tagger.predict([text])[0], tagger.predict([text], ids=False)[0]
    assert [(e.start, e.end, e.label, e.score) for e in with_ids] == [
        (e.start, e.end, e.label, e.score) for e in without
    ]
    assert all(e.ids for e in with_ids)
    assert not any(e.ids or e.origin for e in without)
    explained = tagger.predict([text], explain=True)[0]
    assert explained == with_ids
    origins = [e.origin for e in explained]
    assert [o.name for o in origins] == [*["Radical cystectomy"] * 3, "stent"]
    assert [o.sources for o in origins] == [*[("maxo",)] * 3, ("fda-devices",)]
    assert [o.kinds for o in origins] == [*[("Procedure",)] * 3, ("Device",)]
    assert [o.doubts for o in origins] == [(), ("DEFINED",), ("DEFINED",), ()]


def test_other_labels_that_know_the_same_words_are_listed(terms_base):
    tagger = dictionary_tagger(terms_base, ["DEVI", "MedicalDevice", "Procedure"])
    (entity,) = tagger.predict(["A stent."], explain=True)[0]
    assert (entity.label, entity.origin.labels) == ("DEVI", ("MedicalDevice",))


def test_genes_of_the_species_in_the_text_come_first():
    genes = {
        "fly-genes": [concept("FB:1", "p53")],
        "hgnc": [concept("HGNC:1", "TP53", "p53")],
        "mgi-mouse-genes": [concept("MGI:1", "Trp53", "p53")],
        "ncbi-taxonomy": [],
    }
    features = TermFeatures(Dictionary(compiled(genes)), {"Gene": ("Gene",)})

    def ids(text: str) -> tuple[str, ...]:
        words = [sentence.split() for sentence in text.split(" . ")]
        place = words[-1].index("p53")
        documents = [0] * len(words)
        linker = MentionLinker(features, words, documents)
        return linker.ids(len(words) - 1, place, place + 1, "Gene")

    assert ids("loss of p53") == ("HGNC:1", "FB:1", "MGI:1")
    assert ids("loss of p53 in mice") == ("MGI:1", "HGNC:1", "FB:1")
    assert ids("Drosophila larvae . loss of p53") == ("FB:1", "HGNC:1", "MGI:1")


def test_at_most_five_ids_are_given():
    names = [concept(f"X:{i}", f"thing {i}", "widget") for i in range(9)]
    features = TermFeatures(Dictionary(compiled({"maxo": names})), {"P": ("Procedure",)})
    linker = MentionLinker(features, [["a", "widget"]])
    assert linker.ids(0, 1, 2, "P") == tuple(f"X:{i}" for i in range(5))
