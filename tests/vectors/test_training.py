"""Training word vectors: agreement with floret, reproducibility, and errors."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from vectors_kit import QUICK, lines, write_text

from adaptner.errors import (
    DiskFull,
    EmptyFile,
    EmptyVocabulary,
    ExtraMissing,
    UsageError,
    VectorTrainingFailed,
)
from adaptner.types import Sentence
from adaptner.vectors import training as word_vectors
from adaptner.vectors.neighbours import nearest_words
from adaptner.vectors.settings import WalkSettings
from adaptner.vectors.training import SkipgramSettings, train_skipgram_vectors
from adaptner.vectors.walks import Concept
from adaptner.vectors.word_vectors import WordVectors, read_vectors

UNKNOWN = ("unheardly", "TGFβ2x", "日本語です", "😀😀😀😀", "x" * 80)


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("floret")
    return write_text(tmp_path_factory.mktemp("text") / "t.txt")


@pytest.fixture(scope="module")
def trained(text: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict]:
    output = tmp_path_factory.mktemp("trained") / "deep" / "v.safetensors"
    return output, train_skipgram_vectors([text], output, QUICK)


@pytest.fixture(scope="module")
def vectors(trained: tuple[Path, dict]) -> WordVectors:
    return read_vectors(trained[0])


def cosine(one: np.ndarray | None, two: np.ndarray) -> float:
    assert one is not None
    return float(one @ two / np.linalg.norm(one) / np.linalg.norm(two))


@pytest.mark.processes
def test_vectors_equal_those_of_floret(text, vectors, tmp_path, monkeypatch):
    import floret
    from floret import floret as library

    lowered = tmp_path / "lower.txt"
    lowered.write_text(text.read_text(encoding="utf-8").lower(), encoding="utf-8")
    monkeypatch.setitem(library.unsupervised_default, "seed", QUICK.seed)
    theirs = floret.train_unsupervised(
        str(lowered), dim=32, epoch=2, minCount=2, minn=4, maxn=5, bucket=500, thread=1, verbose=0,
        label=" ", ws=7, lr=0.1, t=1e-2, neg=3,
    )  # fmt: skip
    assert list(vectors.words) == [w for w in theirs.get_words() if w != "</s>"]
    known = [cosine(vectors.vector(w), theirs.get_word_vector(w)) for w in vectors.words]
    assert min(known) > 0.98
    for word in UNKNOWN:
        assert vectors.row(word) == len(vectors.words)
        assert cosine(vectors.vector(word), theirs.get_word_vector(word.lower())) > 0.98


def test_rate_sampling_and_negatives_default_to_those_of_floret():
    library = pytest.importorskip("floret.floret")
    settings, theirs = SkipgramSettings(), library.unsupervised_default
    ours = (settings.rate, settings.sampling, settings.negatives, settings.epochs, settings.window)
    assert ours == tuple(theirs[name] for name in ("lr", "t", "neg", "epoch", "ws"))


def test_facts_and_files_of_training(trained, vectors):
    output, facts = trained
    assert [p.name for p in output.parent.iterdir()] == ["v.safetensors"]
    assert facts["words"] == len(vectors.words)
    assert facts["tokens"] == sum(len(line.split()) for line in lines())
    assert facts["bytes"] == output.stat().st_size
    assert vectors.facts["tokens"] == str(facts["tokens"])
    assert vectors.facts["seed"] == "3"
    assert vectors.facts["made_by"].startswith("adaptner ")
    assert {"tgf", "gène", "日本語の言葉", "__label__x"} <= set(vectors.words)
    assert "</s>" not in vectors.words


@pytest.mark.processes
def test_one_thread_and_the_same_seed_give_the_same_bytes(text, trained, tmp_path):
    train_skipgram_vectors([text], tmp_path / "again.safetensors", QUICK)
    assert (tmp_path / "again.safetensors").read_bytes() == trained[0].read_bytes()
    other = QUICK.model_copy(update={"seed": 4})
    train_skipgram_vectors([text], tmp_path / "other.safetensors", other)
    assert (tmp_path / "other.safetensors").read_bytes() != trained[0].read_bytes()


def terminology() -> list[Concept]:
    names = ("Anaemia", "Sickle Cell", "Thalassaemia")
    return [Concept(f"d{i}", name, [f"{name}s"], ["d0"]) for i, name in enumerate(names)]


def floret_text(text: Path, tmp_path: Path, monkeypatch, settings=QUICK, **options):
    """The facts about the text that floret would read, and its lines."""
    content = []

    def pretend(folder: Path, *_: object) -> dict:
        content.append((folder / word_vectors.TEXT).read_text(encoding="utf-8"))
        (folder / word_vectors.RESULT).touch()
        return {}

    monkeypatch.setattr(word_vectors, "_train", pretend)
    output = tmp_path / "v.safetensors"
    facts = train_skipgram_vectors([text], output, settings, **options)
    return facts, content[0].splitlines()


def test_walks_are_mixed_once_into_the_text(text, tmp_path, monkeypatch):
    settings = QUICK.model_copy(update={"walks": WalkSettings(per_heading=5, steps=2)})
    _, plain = floret_text(text, tmp_path, monkeypatch)
    facts, mixed = floret_text(text, tmp_path, monkeypatch, settings, terminology=terminology())
    assert plain == [line.lower() for line in lines()]
    starts = ("anaemia", "sickle cell", "thalassaemia")
    walks = [line for line in mixed if line.startswith(starts)]
    assert [line for line in mixed if line not in walks] == plain
    assert [sum(line.startswith(start) for line in walks) for start in starts] == [5, 5, 5]
    assert (facts["sentences"], facts["walks"]) == (len(plain), 15)
    assert facts["tokens"] == sum(len(line.split()) for line in mixed)
    again = {"terminology": iter(terminology())}
    assert floret_text(text, tmp_path, monkeypatch, settings, **again) == (facts, mixed)
    other = settings.model_copy(update={"seed": 4})
    assert floret_text(text, tmp_path, monkeypatch, other, terminology=terminology())[1] != mixed


def test_held_out_sentences_are_left_out_of_the_text_but_not_of_the_walks(
    text, tmp_path, monkeypatch
):
    plain = lines()
    held_out = [Sentence.from_tokens(plain[i].upper().split()) for i in (0, 3)]
    assert all(len("".join(s.tokens)) >= 40 for s in held_out)
    concept = Concept("d", plain[0], [], [])
    facts, kept = floret_text(
        text, tmp_path, monkeypatch, held_out=held_out, terminology=[concept]
    )  # fmt: skip
    removed = [i for i, line in enumerate(plain) if line in (plain[0], plain[3])]
    expected = [line.lower() for i, line in enumerate(plain) if i not in removed]
    assert [line for line in kept if line != plain[0].lower()] == expected
    assert kept.count(plain[0].lower()) == facts["walks"] == 10
    assert (facts["held_out"], facts["sentences"]) == (len(removed), len(expected))


@pytest.mark.processes
def test_training_with_walks_gives_the_same_bytes_and_knows_their_words(text, tmp_path):
    files = [tmp_path / "1.safetensors", tmp_path / "2.safetensors"]
    for file in files:
        train_skipgram_vectors([text], file, QUICK, terminology=terminology())
    assert files[0].read_bytes() == files[1].read_bytes()
    found = read_vectors(files[0])
    assert {"sickle", "cell", "cells", "thalassaemia"} <= set(found.words)
    assert found.facts["walks"] == "30"


def test_text_without_a_sentence_raises_also_with_walks(tmp_path):
    pytest.importorskip("floret")
    (tmp_path / "t.txt").write_text("\n")
    with pytest.raises(EmptyFile):
        train_skipgram_vectors(
            [tmp_path / "t.txt"], tmp_path / "v.safetensors", QUICK, terminology=terminology()
        )


@pytest.mark.processes
def test_case_is_kept_without_lower(text, tmp_path):
    settings = QUICK.model_copy(update={"lower": False, "epochs": 1})
    train_skipgram_vectors([text], tmp_path / "v.safetensors", settings)
    found = read_vectors(tmp_path / "v.safetensors")
    assert {"The", "the", "TGF"} <= set(found.words)
    assert found.grams is not None
    assert not found.grams.lower


@pytest.mark.processes
def test_progress_reaches_the_end(text, tmp_path):
    titles, steps = [], []

    @contextmanager
    def shown(title: str):
        titles.append(title)
        yield lambda done, total, remark="": steps.append((titles[-1], done, total))

    train_skipgram_vectors([text], tmp_path / "v.safetensors", QUICK, shown=shown)
    assert titles == ["reading text", "training word vectors"]
    assert all(0 <= done <= total == 100 for _, done, total in steps)
    assert steps[-1] == ("training word vectors", 100, 100)


def test_nearest_words_equal_a_brute_force_search(vectors):
    table = np.asarray(vectors.table).astype(np.float64)
    for word, found in zip(
        ("the", "unheardly"), nearest_words(vectors, ["the", "unheardly"], 5), strict=True
    ):
        own = vectors.vector(word)
        plain = sorted(
            ((cosine(own, row), w) for row, w in zip(table, vectors.words, strict=True) if w != word),
            reverse=True,
        )  # fmt: skip
        assert found is not None
        assert [c for _, c in found] == pytest.approx([c for c, _ in plain[:5]], abs=1e-5)
    assert nearest_words(vectors, ["§"], 3) == [None]


# --- what can go wrong ----------------------------------------------------------------------------


@pytest.mark.processes
@pytest.mark.parametrize(
    ("content", "least", "error"),
    [
        ("one two three\n", 2, EmptyVocabulary),
        ("x\n" * 6, 7, EmptyVocabulary),
        ("x " * 9, 5, EmptyVocabulary),  # with only one word, floret would never return
        ("".join(f"w{i}\n" for i in range(50)), 2, EmptyVocabulary),
        (" \n\n", 2, EmptyFile),
    ],
)
def test_too_few_words_raise(tmp_path, content, least, error):
    pytest.importorskip("floret")
    (tmp_path / "t.txt").write_text(content)
    settings = QUICK.model_copy(update={"least": least})
    with pytest.raises(error, match="--min-count" if error is EmptyVocabulary else None):
        train_skipgram_vectors([tmp_path / "t.txt"], tmp_path / "v.safetensors", settings)
    assert [p.name for p in tmp_path.iterdir()] == ["t.txt"]


@pytest.mark.processes
def test_one_word_and_the_sentence_end_are_a_vocabulary(tmp_path):
    pytest.importorskip("floret")
    (tmp_path / "t.txt").write_text("one\n" * 9)
    train_skipgram_vectors([tmp_path / "t.txt"], tmp_path / "v.safetensors", QUICK)
    assert read_vectors(tmp_path / "v.safetensors").words == ("one",)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full on this system")
def test_full_disk_raises(text, tmp_path, monkeypatch):
    monkeypatch.setattr(word_vectors, "TEXT", "/dev/full")
    with pytest.raises(DiskFull):
        train_skipgram_vectors([text], tmp_path / "v.safetensors", QUICK)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("answer", "code", "error"),
    [
        (b'{"problem": "disk"}', 0, DiskFull),
        (b'{"problem": "memory"}', 0, VectorTrainingFailed),
        (b"", -9, VectorTrainingFailed),
        (b"", -11, VectorTrainingFailed),
        (b'{"problem": "floret", "reason": "Encountered NaN."}', 0, VectorTrainingFailed),
    ],
)
def test_problems_of_the_child_process_raise(answer, code, error):
    with pytest.raises(error) as caught:
        word_vectors._parse_result(answer, code, b"\rlast\n", Path("v"), QUICK, {"tokens": 1})
    assert "What to do:" in str(caught.value)


@pytest.mark.processes
def test_child_process_that_fails_to_start_raises(text, tmp_path, monkeypatch):
    monkeypatch.setattr(word_vectors.sys, "executable", "/bin/false")
    with pytest.raises(VectorTrainingFailed):
        train_skipgram_vectors([text], tmp_path / "v.safetensors", QUICK)
    assert list(tmp_path.iterdir()) == []


def test_missing_floret_raises(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "floret", None)
    with pytest.raises(ExtraMissing, match=r"pip install 'adaptner\[vectors\]'"):
        train_skipgram_vectors([tmp_path], tmp_path / "v.safetensors", QUICK)


@pytest.mark.parametrize("name", ["v", "v.npy", "folder.safetensors"])
def test_other_file_ending_raises(text, tmp_path, name):
    (tmp_path / "folder.safetensors").mkdir()
    with pytest.raises(UsageError):
        train_skipgram_vectors([text], tmp_path / name, QUICK)


@pytest.mark.slow
@pytest.mark.processes
def test_vectors_of_real_text(shared_data, tmp_path):
    import lzma

    source = shared_data / "raw" / "abstracts.txt.xz"
    if not source.is_file():
        pytest.skip(f"no raw text at {source}")
    pytest.importorskip("floret")
    with lzma.open(source, "rt", encoding="utf-8") as given:
        slice_ = [next(given) for _ in range(2500)]
    (tmp_path / "t.txt").write_text("".join(slice_), encoding="utf-8")
    settings = SkipgramSettings(width=50, least=3, buckets=5000)
    train_skipgram_vectors([tmp_path / "t.txt"], tmp_path / "v.safetensors", settings)
    found = read_vectors(tmp_path / "v.safetensors")
    assert len(found.words) > 2000
    # With little text, vectors differ little from their mean; less the mean, an unseen form is near the seen one.
    shared = np.asarray(found.table).mean(0)
    seen, unseen, other = (found.vector(w) for w in ("concentration", "concentrationally", "of"))
    assert seen is not None
    assert unseen is not None
    assert other is not None
    assert cosine(seen - shared, unseen - shared) > cosine(other - shared, unseen - shared) + 0.2
