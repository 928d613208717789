"""The tagger in a real spaCy pipeline: entities on spaCy's tokens, saved and loaded with it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

spacy = pytest.importorskip("spacy", reason="spaCy is not installed (extra `spacy`)")

import adaptner  # noqa: E402
from adaptner.errors import DeviceMissing, FileMissing, UsageError  # noqa: E402
from adaptner.spacy_component import AdaptnerComponent  # noqa: E402
from adaptner.types import Entity  # noqa: E402

TEXT = "The HeLa line is old. The rats ate. The HeLa line is old."
TEXTS = [TEXT, "", " \n", "The rats ate.", "µ 漢字 🧬 \x07 The HeLa line is old."]


@pytest.fixture
def nlp(eager_model: Path) -> spacy.Language:
    nlp = spacy.blank("en")
    nlp.add_pipe("adaptner", config={"model": str(eager_model)})
    return nlp


def found(doc) -> list[tuple[int, int, str]]:
    return [(e.start_char, e.end_char, e.label_) for e in doc.ents]


class Fixed(AdaptnerComponent):
    """With entities that are given instead of found."""

    def __init__(self, *entities: Entity, **options: object) -> None:
        super().__init__("fixed", None, **options)
        self.entities = list(entities)

    def __call__(self, doc):
        return self._annotate(doc, self.entities)


def test_entities_are_those_of_the_tagger(nlp, eager_model):
    tagger = adaptner.load(eager_model)
    for text in TEXTS:
        doc = nlp(text)
        expected = tagger.predict([text])[0]
        assert found(doc) == [(e.start, e.end, e.label) for e in expected]
        assert [e._.adaptner_score for e in doc.ents] == [e.score for e in expected]
    assert [e.text for e in nlp(TEXT).ents] == ["HeLa", "HeLa"]
    assert nlp.get_pipe("adaptner").labels == ("Cell",)


def test_pipe_tags_like_single_calls(nlp):
    alone = [found(nlp(text)) for text in TEXTS * 3]
    for size in (1, 4, 1000):
        assert [found(doc) for doc in nlp.pipe(iter(TEXTS * 3), batch_size=size)] == alone


def test_component_works_with_other_components(nlp):
    nlp.add_pipe("sentencizer", first=True)
    ruler = nlp.add_pipe("entity_ruler", last=True)  # adds where nothing is yet
    ruler.add_patterns([{"label": "ANIMAL", "pattern": "rats"}])
    assert [(e.text, e.label_) for e in nlp(TEXT).ents] == [
        ("HeLa", "Cell"),
        ("rats", "ANIMAL"),
        ("HeLa", "Cell"),
    ]


# --- on spaCy's tokens ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("alignment", "expected"), [("expand", ["IL-2/IL-4"]), ("strict", []), ("contract", [])]
)
def test_a_mention_inside_a_token_of_spacys(alignment, expected):
    """spaCy has IL-2/IL-4 in one; the surer of two mentions in it stays."""
    nlp = spacy.blank("en")
    doc = spacy.tokens.Doc(nlp.vocab, ["We", "saw", "IL-2/IL-4", "rise"])
    fixed = Fixed(Entity(7, 11, "Gene", 0.6), Entity(12, 16, "Gene", 0.9), alignment=alignment)
    marked = fixed(doc)
    assert [e.text for e in marked.ents] == expected
    assert [e._.adaptner_score for e in marked.ents] == [0.9] * len(expected)


def test_existing_entities_are_replaced_or_kept():
    def doc():
        marked = spacy.blank("en")("HeLa cells in DMEM")
        marked.ents = [marked.char_span(0, 10, label="OLD")]
        return marked

    ours = Entity(0, 4, "Cell", 0.9), Entity(14, 18, "Medium", 0.8)
    assert found(Fixed(*ours)(doc())) == [(0, 4, "Cell"), (14, 18, "Medium")]
    kept = Fixed(*ours, overwrite=False)(doc())
    assert found(kept) == [(0, 10, "OLD"), (14, 18, "Medium")]
    assert kept.ents[0]._.adaptner_score is None


# --- saved ------------------------------------------------------------------------------------------


def test_saved_pipeline_contains_the_model(nlp, eager_model, tmp_path):
    model = tmp_path / "model"
    shutil.copytree(eager_model, model)
    own = spacy.blank("en")
    own.add_pipe("adaptner", name="cells", config={"model": str(model), "alignment": "strict"})
    own.to_disk(tmp_path / "pipeline")
    own.to_disk(tmp_path / "pipeline")  # over the earlier one
    packed = own.to_bytes()
    shutil.rmtree(model)
    loaded = spacy.load(tmp_path / "pipeline")
    assert loaded.pipe_names == ["cells"]
    assert loaded.get_pipe_config("cells")["alignment"] == "strict"
    expected = [found(nlp(text)) for text in TEXTS]
    assert [found(doc) for doc in loaded.pipe(TEXTS)] == expected
    again = spacy.blank("en")
    again.add_pipe("adaptner", name="cells")
    again.from_bytes(packed)
    assert [found(doc) for doc in again.pipe(TEXTS)] == expected


def test_scores_survive_a_doc_bin(nlp):
    doc = nlp(TEXT)
    packed = spacy.tokens.DocBin(docs=[doc], store_user_data=True).to_bytes()
    (same,) = spacy.tokens.DocBin().from_bytes(packed).get_docs(nlp.vocab)
    assert found(same) == found(doc)
    assert [e._.adaptner_score for e in same.ents] == [e._.adaptner_score for e in doc.ents]


# --- found by spaCy, and wrong calls ----------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.processes
def test_spacy_finds_the_component_without_loading_torch(child):
    result = child(
        "import sys, spacy\n"
        "nlp = spacy.blank('en')\n"
        "nlp.add_pipe('adaptner', config={'model': 'later'})\n"
        "sys.exit('torch' in sys.modules and 'adaptner.api' in sys.modules)\n"
    )
    assert result.returncode == 0, result.stderr


def test_missing_model_is_refused(tmp_path):
    nlp = spacy.blank("en")
    nlp.add_pipe("adaptner")
    with pytest.raises(UsageError, match="adaptner adapt"):
        nlp("HeLa.")
    nlp = spacy.blank("en")
    nlp.add_pipe("adaptner", config={"model": str(tmp_path / "none")})
    with pytest.raises(FileMissing, match="none"):
        nlp("HeLa.")


def test_unavailable_device_is_refused(eager_model):
    nlp = spacy.blank("en")
    nlp.add_pipe("adaptner", config={"model": str(eager_model), "device": "nowhere"})
    with pytest.raises(DeviceMissing, match="nowhere"):
        nlp("HeLa cells grew.")


def test_component_takes_a_saved_tagger_of_label_names(terms_base, tmp_path):
    adaptner.tagger(["MedicalDevice", "CellLine"], terms_base).save(tmp_path / "model")
    nlp = spacy.blank("en")
    nlp.add_pipe("adaptner", config={"model": str(tmp_path / "model")})
    expected = [(0, 5, "MedicalDevice"), (10, 14, "CellLine")]
    assert found(nlp("Stent and HeLa.")) == expected
    nlp.to_disk(tmp_path / "pipeline")
    assert found(spacy.load(tmp_path / "pipeline")("Stent and HeLa.")) == expected
