"""An encoder that learns from raw text: it gets better at it, resumes bit-equal, and can be used."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
import torch

import adaptner
from adaptner.corpora.own import OWN, own_corpus
from adaptner.errors import BadUsage, EmptyFile, RunNotResumable
from adaptner.methods.hgda import HGDA
from adaptner.methods.method import SourceDomain
from adaptner.nn.encoder import EncoderConfig
from adaptner.nn.vectors import WordVectors
from adaptner.training.base import Base
from adaptner.training.budget import Budget
from adaptner.training.context import ContextConfig, learn_context
from adaptner.training.installed_bases import load_base

TINY = EncoderConfig(char_embedding=8, char_cnn_filters=8, char_lstm=8, hidden=12)
CONFIG = ContextConfig(encoder=TINY, batch=8, guesses=100)


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sentences of the package's corpora, one a line."""
    path = tmp_path_factory.mktemp("text") / "own.txt"
    lines = [" ".join(s.tokens) for name in OWN for s in own_corpus(name).split("train")]
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def losses(folder: Path) -> list[float]:
    lines = (folder / "metrics.jsonl").read_text().splitlines()
    return [json.loads(line)["loss"] for line in lines]


def weights(base: Base) -> dict[str, torch.Tensor]:
    return base.model.encoder.state_dict()


def test_it_learns_to_guess(text: Path, vectors: WordVectors, tmp_path: Path) -> None:
    learn_context([text], vectors, CONFIG, Budget(150), tmp_path / "run")
    found = losses(tmp_path / "run")
    assert sum(found[-20:]) < 0.85 * sum(found[:20])


def test_stopped_and_resumed_is_bit_equal(text: Path, vectors: WordVectors, tmp_path: Path) -> None:
    whole = learn_context([text], vectors, CONFIG, Budget(30), tmp_path / "whole")

    def stop(done: int, total: int, remark: str = "") -> None:
        if done == 17:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        learn_context(
            [text], vectors, CONFIG, Budget(30), tmp_path / "cut", checkpoint_seconds=0, watch=stop
        )
    with pytest.raises(BadUsage):  # not by accident
        learn_context([text], vectors, CONFIG, Budget(30), tmp_path / "cut")
    resumed = learn_context([text], vectors, CONFIG, Budget(30), tmp_path / "cut", resume=True)
    assert losses(tmp_path / "cut") == losses(tmp_path / "whole")
    for name, value in weights(whole).items():
        assert torch.equal(value, weights(resumed)[name])
    again = learn_context([text], vectors, CONFIG, Budget(30), tmp_path / "cut", resume=True)
    assert torch.equal(weights(again)["recurrent.bias"], weights(whole)["recurrent.bias"])


def test_other_text_does_not_go_on(text: Path, vectors: WordVectors, tmp_path: Path) -> None:
    learn_context([text], vectors, CONFIG, Budget(2), tmp_path / "run")
    other = tmp_path / "own.txt"
    other.write_text("another text here\n" * 20)
    with pytest.raises(RunNotResumable):
        learn_context([other], vectors, CONFIG, Budget(2), tmp_path / "run", resume=True)


def test_compressed_text_is_the_same_text(text: Path, vectors: WordVectors, tmp_path: Path) -> None:
    packed = tmp_path / "own.gz"
    packed.write_bytes(gzip.compress(text.read_bytes()))
    plain = learn_context([text], vectors, CONFIG, Budget(5), tmp_path / "plain")
    other = learn_context([packed], vectors, CONFIG, Budget(5), tmp_path / "packed")
    assert torch.equal(weights(plain)["recurrent.bias"], weights(other)["recurrent.bias"])


def test_text_of_lone_words_is_refused(vectors: WordVectors, tmp_path: Path) -> None:
    (tmp_path / "words.txt").write_text("word\n" * 50)
    with pytest.raises(EmptyFile, match="two words"):
        learn_context([tmp_path / "words.txt"], vectors, CONFIG, Budget(2), tmp_path / "run")


def test_the_base_is_adapted_as_it_is(text: Path, vectors: WordVectors, tmp_path: Path) -> None:
    learn_context([text], vectors, CONFIG, Budget(20), tmp_path / "context")
    base = load_base(tmp_path / "context")
    assert base.model.domains == ()
    tagger = adaptner.adapt(own_corpus("cellline").split("train")[:10], base)
    tagger.save(tmp_path / "model")
    texts = [s.text for s in own_corpus("cellline").split("test")[:10]]
    assert adaptner.load(tmp_path / "model").predict(texts) == tagger.predict(texts)


def test_learning_from_sources_starts_there(
    text: Path, vectors: WordVectors, sources: list[SourceDomain], tmp_path: Path
) -> None:
    start = learn_context([text], vectors, CONFIG, Budget(5), tmp_path / "context")
    before = {name: value.clone() for name, value in weights(start).items()}
    method = HGDA(k=3, tasks=2)
    untouched = method.fit(sources, Budget(0), start=start)
    learnt = method.fit(sources, Budget(2), start=start)
    for name, value in before.items():
        assert torch.equal(weights(untouched)[name], value)
        assert torch.equal(weights(start)[name], value)  # the start itself stays as it was
    assert not torch.equal(weights(learnt)["recurrent.bias"], before["recurrent.bias"])
    assert learnt.config["encoder"]["hidden"] == TINY.hidden
    assert learnt.facts["start"]["iterations"] == 5
    learnt.save(tmp_path / "base")
    assert Base.load(tmp_path / "base").model.domains == ("Disease", "Drug", "Gene")
