"""A Hugging Face folder of a tiny transformer with random weights and a vocabulary of letters."""

from __future__ import annotations

import json
import string
from pathlib import Path

import pytest

WORDS = ("the", "gene", "cell", "mut", "##ated", "##ation", "of", "is")


def make_tiny_transformer(folder: Path) -> Path:
    pytest.importorskip("transformers", reason="pip install 'adaptner[transformers]'")
    import torch
    from transformers import BertConfig, BertModel

    letters = string.ascii_lowercase + string.digits
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    vocabulary = [*special, *WORDS, *letters, *(f"##{c}" for c in letters)]
    with torch.random.fork_rng():
        torch.manual_seed(0)
        network = BertModel(
            BertConfig(
                vocab_size=len(vocabulary),
                hidden_size=8,
                num_hidden_layers=2,
                num_attention_heads=2,
                intermediate_size=12,
                max_position_embeddings=256,
                initializer_range=0.3,
            )
        )
    network.save_pretrained(folder)
    (folder / "vocab.txt").write_text("\n".join(vocabulary) + "\n")
    settings = {"tokenizer_class": "BertTokenizer", "do_lower_case": True}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    return folder
