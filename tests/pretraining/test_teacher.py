"""The teacher against the transformers library."""

from __future__ import annotations

import torch

from adaptner.pretraining.teacher import TransformerTeacher
from adaptner.types import Sentence

TEXTS = ("the gene", "mutation of p53 is the cell mutated", "Ω")


def test_states_equal_those_of_the_library_after_n_layers(tiny_transformer):
    from transformers import AutoModel, AutoTokenizer

    network = AutoModel.from_pretrained(tiny_transformer, output_hidden_states=True).eval()
    tokenizer = AutoTokenizer.from_pretrained(tiny_transformer)
    found = TransformerTeacher(str(tiny_transformer), 1).states(
        [Sentence.from_tokens(t.split()) for t in TEXTS]
    )
    assert network.config.num_hidden_layers > 1
    for text, states in zip(TEXTS, found, strict=True):
        read = tokenizer([text.split()], is_split_into_words=True, return_tensors="pt")
        with torch.no_grad():
            after_one = network(**read).hidden_states[1][0]
        word_ids = read.word_ids(0)
        for word in range(len(text.split())):
            pieces = [after_one[i] for i, owner in enumerate(word_ids) if owner == word]
            mean = sum(pieces) / len(pieces)
            torch.testing.assert_close(states[word], mean, rtol=1e-4, atol=1e-5)
        assert len(states) == len(text.split())
