"""Pretraining on text, and adapting the shipped base, on another device with the results of the CPU."""

from __future__ import annotations

import string

import pytest
import torch
from pretend_device import PretendTensor, pretend_device

from adaptner import api
from adaptner.compute import CPU
from adaptner.corpora.bundled import bundled_corpus
from adaptner.methods import method as method_named
from adaptner.models.installed import default_base
from adaptner.models.tagger import Tagger
from adaptner.nn.encoders.config import EncoderConfig
from adaptner.pretraining.on_text import TextPretrainingConfig, pretrain_on_text
from adaptner.training.budget import Budget


def on_cpu(tensors: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    return {name: values.detach().cpu() for name, values in tensors.items()}


@pytest.mark.slow
@pytest.mark.parametrize("mentions", ["few", "many"])
def test_shipped_base_adapts_with_an_estimate(mentions, tmp_path):
    sentences = bundled_corpus("cellline").split("train")[:8]
    text = [s.text for s in bundled_corpus("cellline").split("test")[:6]]

    def adapted(device: torch.device) -> Tagger:
        base = default_base(device)
        if mentions == "few":
            return api.adapt(sentences, base, unlabelled=[f"{t} " for t in text])
        method = method_named("named")(adaptation={"fine_tune_from": 1, "steps": 2, "epochs": 0})
        return api.adapt(sentences, base, method=method)

    expected = adapted(CPU)
    found = expected.predict(text)
    with pretend_device() as device:
        tagger = adapted(device)
        assert isinstance(tagger.decoder.weight, PretendTensor)
        torch.testing.assert_close(on_cpu(tagger.state_dict()), on_cpu(expected.state_dict()))
        assert tagger.predict(text) == found
        assert tagger.assessment == expected.assessment
        assert [s.sentence for s in api.suggest(tagger, text, 2)] == [
            s.sentence for s in api.suggest(expected, text, 2)
        ]
        tagger.save(tmp_path / "model")
    assert Tagger.load(tmp_path / "model").predict(text) == found


@pytest.mark.parametrize("names", [False, True])
def test_pretraining_on_text_gives_the_same_base(names, vectors, tmp_path):
    text = tmp_path / "text.txt"
    train = bundled_corpus("disease").split("train")
    lines = [" ".join(s.tokens) for s in train]
    lines += [f"diseases such as {letter}osis ." for letter in string.ascii_lowercase] * 2
    text.write_text("\n".join(lines), encoding="utf-8")
    shape = EncoderConfig(char_embedding=4, char_cnn_filters=4, char_lstm=4, hidden=6)
    config = TextPretrainingConfig(encoder=shape, batch=4, cloze_words=20, names=names)

    def pretrained(device: torch.device) -> dict[str, torch.Tensor]:
        folder = tmp_path / device.type
        base = pretrain_on_text([text], vectors, config, Budget(3), folder, device=device)
        assert base.model.encoder.device == device
        return on_cpu(base.model.state_dict())

    expected = pretrained(CPU)
    with pretend_device() as device:
        torch.testing.assert_close(pretrained(device), expected, rtol=1e-4, atol=1e-5)
