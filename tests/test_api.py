"""``import adaptner``: six names, nothing heavy until one is used, the same as the command line."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import adaptner as an
from adaptner import errors
from adaptner.corpora.own import own_corpus
from adaptner.types import Document, Entity, Sentence

TEXT = "HeLa cells met the HEK293T line."
LABELLED = Document(TEXT, (Entity(0, 4, "CellLine"), Entity(19, 26, "CellLine")))
LINE = (
    '{"text": "HeLa cells met the HEK293T line.", "entities": '
    '[{"start": 0, "end": 4, "label": "CellLine"}, {"start": 19, "end": 26, "label": "CellLine"}]}\n'
)


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from adaptner.methods import method
    from adaptner.training.budget import Budget
    from adaptner.training.pretraining import pretrain
    from adaptner.training.settings import prepare_process

    prepare_process()
    shape = {"word_width": 16, "char_embedding": 8, "char_cnn_filters": 8, "char_lstm": 8}
    learner = method("maml")(k=4, tasks=2, encoder={**shape, "hidden": 12}, adaptation={"steps": 3})
    folder = tmp_path_factory.mktemp("api") / "base"
    pretrain(learner, [own_corpus("drug")], Budget(2), folder)
    return folder


def state(tagger: an.Tagger) -> dict[str, list[float]]:
    return {name: t.flatten().tolist() for name, t in tagger.state_dict().items()}


def test_the_public_names_are_these() -> None:
    assert sorted(an.__all__) == ["Entity", "Sentence", "Tagger", "adapt", "load", "read"]
    for name in an.__all__:
        assert getattr(an, name).__name__ == name
        assert getattr(an, name).__doc__
    with pytest.raises(AttributeError, match="nonsense"):
        _ = an.nonsense  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", ["__version__", "Entity", "Sentence"])
def test_nothing_heavy_is_loaded_before_it_is_needed(name: str) -> None:
    code = (
        f"import sys, adaptner; adaptner.{name};"
        "sys.exit(any(m in sys.modules for m in ('torch', 'numpy', 'safetensors', 'pydantic')))"
    )
    assert subprocess.run([sys.executable, "-c", code], timeout=60).returncode == 0


def test_the_version_is_that_of_the_package() -> None:
    from importlib.metadata import version

    assert an.__version__ == version("adaptner")


def test_read_gives_labelled_sentences(tmp_path: Path) -> None:
    file = tmp_path / "mine.jsonl"
    file.write_text(LINE + '{"text": "One here. HeLa there.", "entities": []}\n')
    first, second, third = an.read(file)
    assert isinstance(first, Sentence)
    assert first.tokens == ("HeLa", "cells", "met", "the", "HEK293T", "line", ".")
    assert [e.text_in(first.text) for e in first.entities] == ["HeLa", "HEK293T"]
    assert (second.text, third.text) == ("One here.", "HeLa there.")
    assert an.read(str(file)) == [first, second, third]


def test_read_takes_a_format_where_the_ending_does_not_tell(tmp_path: Path) -> None:
    file = tmp_path / "mine.data"
    file.write_text("HeLa\tB-CellLine\ncells\tO\n")
    (sentence,) = an.read(file, "conll")
    assert sentence.tags == ("B-CellLine", "O")
    with pytest.raises(errors.UnknownFormat, match=r"mine\.data"):
        an.read(file)


@pytest.mark.parametrize(
    ("content", "error"),
    [
        ("", errors.EmptyFile),
        ('{"text": ""}\n', errors.EmptyFile),
        ("HeLa\n", errors.BadJson),
        (LINE.replace('"end": 4', '"end": 3'), errors.EntityOffTokens),
    ],
)
def test_read_errors_name_the_file(
    tmp_path: Path, content: str, error: type[errors.AdaptnerError]
) -> None:
    file = tmp_path / "mine.jsonl"
    file.write_text(content)
    with pytest.raises(error) as raised:
        an.read(file)
    assert raised.value.file == str(file)
    with pytest.raises(errors.FileMissing):
        an.read(tmp_path / "missing.jsonl")


def test_a_file_sentences_and_documents_adapt_to_the_same_tagger(
    base: Path, tmp_path: Path
) -> None:
    from adaptner.training.base import Base

    file = tmp_path / "mine.jsonl"
    file.write_text(LINE)
    sentences = an.read(file)
    taggers = [
        an.adapt(file, base),
        an.adapt(str(file), str(base)),
        an.adapt(sentences, base=base),
        an.adapt([LABELLED], base=Base.load(base)),
        an.adapt((s for s in sentences), base=base, seed=0),
    ]
    assert all(isinstance(t, an.Tagger) for t in taggers)
    assert all(state(t) == state(taggers[0]) for t in taggers[1:])
    assert state(an.adapt(file, base, seed=1)) != state(taggers[0])
    assert taggers[0].labels.labels == ("CellLine",)


def test_adapting_leaves_the_base_as_it_is(base: Path) -> None:
    from adaptner.training.base import Base

    start = Base.load(base)
    before = {n: t.clone() for n, t in start.model.state_dict().items()}
    an.adapt([LABELLED], start)
    assert all(before[n].equal(t) for n, t in start.model.state_dict().items())


def test_a_saved_tagger_comes_back(base: Path, tmp_path: Path) -> None:
    tagger = an.adapt([LABELLED], base)
    tagger.save(tmp_path / "model")
    again = an.load(tmp_path / "model")
    assert again.predict([TEXT, "", "  "]) == tagger.predict([TEXT, "", "  "])
    for found in again.predict([TEXT])[0]:
        assert isinstance(found, an.Entity)
        assert 0 <= found.start < found.end <= len(TEXT)
        assert 0 <= found.score <= 1


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ([], errors.TooFewSentences),
        ([Document("Nothing here.")], errors.NoEntities),
        ([Document("HeLa", (Entity(0, 3, "CellLine"),))], errors.EntityOffTokens),
        ([Document("HeLa", (Entity(0, 9, "CellLine"),))], errors.BadEntity),
    ],
)
def test_adapt_refuses(base: Path, given: list[Document], error: type[Exception]) -> None:
    with pytest.raises(error, match="What to do"):
        an.adapt(given, base)


def test_load_and_adapt_name_a_folder_that_is_no_model(base: Path, tmp_path: Path) -> None:
    with pytest.raises(errors.FileMissing, match="adaptner adapt"):
        an.load(tmp_path / "missing")
    with pytest.raises(errors.ModelUnreadable, match=r"no manifest\.json"):
        an.load(tmp_path)
    with pytest.raises(errors.ModelUnreadable, match="it is a base, not a tagger"):
        an.load(base)
    an.adapt([LABELLED], base).save(tmp_path / "model")
    with pytest.raises(errors.ModelUnreadable, match="it is a tagger, not a base"):
        an.adapt([LABELLED], tmp_path / "model")
    with pytest.raises(errors.FileMissing, match="adaptner pretrain"):
        an.adapt([LABELLED], tmp_path / "missing")
