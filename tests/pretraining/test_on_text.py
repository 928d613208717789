"""Pretraining on raw text: progress, bit-equal resumption, and use of the base."""

from __future__ import annotations

import gzip
import json
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
import torch

import adaptner
from adaptner.corpora.bundled import BUNDLED, bundled_corpus
from adaptner.errors import EmptyFile, EncoderMissing, RunNotResumable, UsageError
from adaptner.methods.hgda import HGDA
from adaptner.models.base import Base
from adaptner.models.installed import load_base
from adaptner.nn.encoders.config import EncoderConfig
from adaptner.pretraining.on_text import TextPretrainingConfig, pretrain_on_text
from adaptner.progress import ProgressCallback, no_progress
from adaptner.training.budget import Budget
from adaptner.types import Sentence

TINY = EncoderConfig(char_embedding=8, char_cnn_filters=8, char_lstm=8, hidden=12)
CONFIG = TextPretrainingConfig(encoder=TINY, batch=8, cloze_words=100)


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sentences of the bundled corpora, one per line."""
    path = tmp_path_factory.mktemp("text") / "own.txt"
    lines = [" ".join(s.tokens) for name in BUNDLED for s in bundled_corpus(name).split("train")]
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def losses(folder: Path) -> list[float]:
    lines = (folder / "metrics.jsonl").read_text().splitlines()
    return [json.loads(line)["loss"] for line in lines]


def weights(base: Base) -> dict[str, torch.Tensor]:
    return base.model.encoder.state_dict()


def interrupt_at(step: int) -> dict[str, Any]:
    """Options of a run that writes a checkpoint after each step and is interrupted."""

    def progress(done: int, total: int, remark: str = "") -> None:
        if done == step:
            raise KeyboardInterrupt

    return {"checkpoint_seconds": 0, "shown": lambda title: nullcontext(progress)}


@pytest.mark.slow
def test_resumed_run_is_bit_equal(text, vectors, tmp_path):
    whole = pretrain_on_text([text], vectors, CONFIG, Budget(30), tmp_path / "whole")

    with pytest.raises(KeyboardInterrupt):
        pretrain_on_text([text], vectors, CONFIG, Budget(30), tmp_path / "cut", **interrupt_at(17))
    with pytest.raises(UsageError):  # the folder holds an unfinished run
        pretrain_on_text([text], vectors, CONFIG, Budget(30), tmp_path / "cut")
    resumed = pretrain_on_text([text], vectors, CONFIG, Budget(30), tmp_path / "cut", resume=True)
    assert losses(tmp_path / "cut") == losses(tmp_path / "whole")
    for name, value in weights(whole).items():
        assert torch.equal(value, weights(resumed)[name])
    again = pretrain_on_text([text], vectors, CONFIG, Budget(30), tmp_path / "cut", resume=True)
    assert torch.equal(weights(again)["recurrent.bias"], weights(whole)["recurrent.bias"])


@pytest.mark.slow
def test_cloze_loss_decreases(text, vectors, tmp_path):
    pretrain_on_text([text], vectors, CONFIG, Budget(150), tmp_path / "run")
    history = losses(tmp_path / "run")
    assert sum(history[-20:]) < 0.85 * sum(history[:20])


def test_resuming_with_other_text_raises(text, vectors, tmp_path):
    pretrain_on_text([text], vectors, CONFIG, Budget(2), tmp_path / "run")
    other = tmp_path / "own.txt"
    other.write_text("another text here\n" * 20)
    with pytest.raises(RunNotResumable):
        pretrain_on_text([other], vectors, CONFIG, Budget(2), tmp_path / "run", resume=True)


def test_finished_run_with_older_names_of_settings_is_loaded(text, vectors, tmp_path):
    base = pretrain_on_text([text], vectors, CONFIG, Budget(2), tmp_path)
    settings = json.loads((tmp_path / "config.json").read_text())
    older = {"cloze_words": "guesses", "max_words": "longest", "word_dropout": "forgotten"}
    older["distilled_sentences"] = "followed"
    settings["config"] = {older.get(n, n): value for n, value in settings["config"].items()}
    (tmp_path / "config.json").write_text(json.dumps(settings))
    again = pretrain_on_text([text], vectors, CONFIG, Budget(2), tmp_path, resume=True)
    assert torch.equal(weights(again)["recurrent.bias"], weights(base)["recurrent.bias"])


@pytest.mark.slow
def test_compressed_text_gives_the_same_base(text, vectors, tmp_path):
    packed = tmp_path / "own.gz"
    packed.write_bytes(gzip.compress(text.read_bytes()))
    plain = pretrain_on_text([text], vectors, CONFIG, Budget(5), tmp_path / "plain")
    other = pretrain_on_text([packed], vectors, CONFIG, Budget(5), tmp_path / "packed")
    assert torch.equal(weights(plain)["recurrent.bias"], weights(other)["recurrent.bias"])


def test_text_of_single_words_raises(vectors, tmp_path):
    (tmp_path / "words.txt").write_text("word\n" * 50)
    with pytest.raises(EmptyFile, match="two words"):
        pretrain_on_text([tmp_path / "words.txt"], vectors, CONFIG, Budget(2), tmp_path / "run")


def test_base_can_be_adapted(text, vectors, tmp_path):
    pretrain_on_text([text], vectors, CONFIG, Budget(20), tmp_path / "context")
    base = load_base(tmp_path / "context")
    assert base.model.domains == ()
    tagger = adaptner.adapt(bundled_corpus("cellline").split("train")[:10], base)
    tagger.save(tmp_path / "model")
    texts = [s.text for s in bundled_corpus("cellline").split("test")[:10]]
    assert adaptner.load(tmp_path / "model").predict(texts) == tagger.predict(texts)


def test_pretraining_on_sources_starts_from_the_base(text, vectors, sources, tmp_path):
    start = pretrain_on_text([text], vectors, CONFIG, Budget(5), tmp_path / "context")
    before = {name: value.clone() for name, value in weights(start).items()}
    method = HGDA(k=3, tasks=2)
    untouched = method.fit(sources, Budget(0), start=start)
    learnt = method.fit(sources, Budget(2), start=start)
    for name, value in before.items():
        assert torch.equal(weights(untouched)[name], value)
        assert torch.equal(weights(start)[name], value)  # the start is not changed
    assert not torch.equal(weights(learnt)["recurrent.bias"], before["recurrent.bias"])
    assert learnt.config["encoder"]["hidden"] == TINY.hidden
    assert learnt.facts["start"]["iterations"] == 5
    learnt.save(tmp_path / "base")
    assert Base.load(tmp_path / "base").model.domains == ("Disease", "Drug", "Gene")


@pytest.fixture(scope="module")
def naming_text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Thirty diseases and thirty animals, listed once each and then mentioned."""
    path = tmp_path_factory.mktemp("naming") / "text.txt"
    lines = [" ".join(f"w{i}" for i in range(450))] * 20  # common words, which are not instances
    for i in range(30):
        lines += [f"Diseases such as ill{i}itis , beast pox and gout occur ."]
        lines += [f"Animals such as felid{i} , dog{i} and rats occur ."]
        lines += [f"The patient suffers from ill{i}itis today ."] * 3
        lines += [f"We saw a felid{i} in the forest ."] * 3
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


@pytest.mark.slow
def test_resumed_run_with_names_and_teacher_is_bit_equal(
    naming_text, vectors, tiny_transformer, tmp_path
):
    config = CONFIG.model_copy(
        update={"names": True, "teacher": str(tiny_transformer), "teacher_layers": 1}
        | {"word_dropout": 0.3, "distilled_sentences": 4, "cloze_words": 20}
    )
    whole = pretrain_on_text([naming_text], vectors, config, Budget(120), tmp_path / "whole")
    lines = (tmp_path / "whole/metrics.jsonl").read_text().splitlines()
    metrics = [json.loads(line) for line in lines]
    for objective in ("names", "distillation", "cloze"):
        first, last = (sum(m[objective] for m in part) for part in (metrics[:20], metrics[-20:]))
        assert last < 0.9 * first, objective

    options = interrupt_at(57)
    with pytest.raises(KeyboardInterrupt):
        pretrain_on_text([naming_text], vectors, config, Budget(120), tmp_path / "cut", **options)
    pretrain_on_text([naming_text], vectors, config, Budget(120), tmp_path / "cut", resume=True)
    again = Base.load(tmp_path / "cut")
    assert whole.label_probes is not None
    assert again.label_probes is not None
    assert again.label_probes.names == whole.label_probes.names
    assert torch.equal(again.label_probes.weight, whole.label_probes.weight)
    for name, value in weights(whole).items():
        assert torch.equal(value, weights(again)[name])


@pytest.mark.slow
def test_label_probes_recognise_named_instances(naming_text, vectors, tmp_path):
    config = CONFIG.model_copy(update={"names": True, "cloze_words": 0})
    base = pretrain_on_text([naming_text], vectors, config, Budget(300), tmp_path / "run")
    words = ["The", "patient", "suffers", "from", "ill7itis", "today", "."]
    batch = base.batcher([[Sentence.from_tokens(words)]])
    assert base.label_probes is not None
    row = base.label_probes.row("Disease")
    assert row is not None
    with torch.no_grad():
        states = base.model.encoder(batch)[0, 0, :, : len(base.label_probes.weight[0])]
        odds = states @ base.label_probes.weight[row] + base.label_probes.bias[row]
    assert int(odds.argmax()) == 4
    tagger = adaptner.adapt([Sentence.from_tokens(words)], base, labels=["Disease"])
    tagger.save(tmp_path / "model")
    assert not (tmp_path / "model/names.safetensors").exists()  # only bases use them


def test_text_without_names_raises(text, vectors, tmp_path):
    (tmp_path / "plain.txt").write_text("nothing is called by a name here .\n" * 30)
    config = CONFIG.model_copy(update={"names": True})
    with pytest.raises(UsageError, match="20 different instances"):
        pretrain_on_text([tmp_path / "plain.txt"], vectors, config, Budget(2), tmp_path / "run")


def test_missing_teacher_raises_before_the_text_is_read(text, vectors, tmp_path):
    config = CONFIG.model_copy(update={"names": True, "teacher": str(tmp_path / "nobody")})
    titles: list[str] = []

    def shown(title: str) -> nullcontext[ProgressCallback]:
        titles.append(title)
        return nullcontext(no_progress)

    with pytest.raises(EncoderMissing):
        pretrain_on_text([text], vectors, config, Budget(2), tmp_path / "run", shown=shown)
    assert titles == []
