"""The vocabulary files of a saved model: word list, vectors or tokeniser."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import numpy as np
from torch import Tensor

from adaptner.files import atomic_file
from adaptner.nn.batching.batch import Batcher
from adaptner.nn.batching.word_batch import WordBatcher
from adaptner.nn.encoders.config import EncoderConfig, TransformerConfig
from adaptner.vectors.word_vectors import WordVectors, read_vectors, write_vectors

VECTORS, VOCABULARY = "vectors.npy", "vectors.vocab.txt"
SUBWORDS, WORDS = "vectors.safetensors", "words.txt"
VECTOR_FILES = (VECTORS, VOCABULARY, SUBWORDS)


def write_vocabulary(
    folder: Path,
    config: EncoderConfig | TransformerConfig,
    batcher: Batcher,
    vectors_from: Path | None,
) -> list[str]:
    """Write the files and return their names. Vector files in ``vectors_from`` may be linked."""
    if isinstance(config, TransformerConfig):
        from adaptner.nn.encoders.transformer.subwords import SubwordBatcher

        assert isinstance(batcher, SubwordBatcher)
        return batcher.pretrained.write(folder)
    assert isinstance(batcher, WordBatcher)
    if config.tune_words:
        with atomic_file(folder / WORDS, "wb") as file:
            file.write("".join(f"{w}\n" for w in batcher.vectors.words).encode())
        return [WORDS]
    names = vector_files(batcher.vectors)
    if vectors_from is None or not (vectors_from / names[-1]).is_file():
        write_vectors(batcher.vectors, folder / names[0])
    elif vectors_from.resolve() != folder.resolve():
        for name in names:
            _link(vectors_from / name, folder / name)
    return list(names)


def read_vocabulary(
    folder: Path,
    config: EncoderConfig | TransformerConfig,
    alphabet: str,
    names: dict[str, str],
    tensors: dict[str, Tensor],
) -> Batcher:
    if isinstance(config, TransformerConfig):
        from adaptner.nn.encoders.transformer.pretrained import PretrainedTransformer
        from adaptner.nn.encoders.transformer.subwords import subword_batcher

        return subword_batcher(config, PretrainedTransformer.read(folder))
    if config.tune_words:
        words = (folder / WORDS).read_bytes().decode().split("\n")[:-1]
        width = tensors["encoder.words.table"].shape[2]
        vectors = WordVectors(tuple(words), np.zeros((len(words), width), dtype=np.float32))
    else:
        vectors = read_vectors(folder / (SUBWORDS if SUBWORDS in names else VECTORS))
    return WordBatcher(vectors, alphabet)


def vector_files(vectors: WordVectors) -> tuple[str, ...]:
    """The file names that ``write_vectors`` uses, in the order of writing."""
    return (VECTORS, VOCABULARY) if vectors.grams is None else (SUBWORDS,)


def _link(source: Path, target: Path) -> None:
    """Link the file if possible, else copy it: vectors are large and never change."""
    target.unlink(missing_ok=True)
    try:
        os.link(source, target)
    except OSError:
        with open(source, "rb") as opened, atomic_file(target, "wb") as file:
            shutil.copyfileobj(opened, file)
