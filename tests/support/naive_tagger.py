"""A naive tagger (BiGRU, character CNN, CRF, MetaNER's discriminator) that uses none of the package's layers.

It computes one sentence, word, character window and tag path at a time. Parameters are a flat dictionary
with the names of ``TaggingModel``, without the task dimension.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import torch
from torch import Tensor, nn

from adaptner.types import Sentence

Values = dict[str, Tensor]


def values_of(model: nn.Module) -> Values:
    return {n: p.detach()[0].double().clone() for n, p in model.named_parameters()}


def leaves(values: Values) -> Values:
    return {n: v.detach().clone().requires_grad_() for n, v in values.items()}


def gradient(loss: Tensor, by: Values) -> Values:
    found = torch.autograd.grad(loss, list(by.values()), allow_unused=True, retain_graph=True)
    return {
        n: torch.zeros_like(v) if g is None else g
        for (n, v), g in zip(by.items(), found, strict=True)
    }


@dataclass(frozen=True)
class Lexicon:
    """Words and their rows; ``table`` holds frozen vectors, trained ones are parameters."""

    words: tuple[str, ...]
    table: np.ndarray
    alphabet: str

    def row(self, word: str) -> int:
        for form in (word, word.lower()):
            if form in self.words:
                return self.words.index(form)
        return len(self.words)

    def vector(self, p: Values, word: str) -> Tensor:
        row = self.row(word)
        if "encoder.words.table" in p:
            return p["encoder.words.table"][row]
        known = row < len(self.words)
        return torch.tensor(self.table[row] if known else 0 * self.table[0], dtype=torch.float64)

    def letters(self, p: Values, word: str) -> Tensor:
        numbers = [self.alphabet.index(c) + 2 if c in self.alphabet else 1 for c in word]
        return torch.stack([p["encoder.chars"][n] for n in numbers])


def convolved(p: Values, letters: Tensor) -> list[Tensor]:
    """The maximum response over the positions of the word, for each filter width."""
    found = []
    number = 0
    while f"encoder.char_cnn.weights.{number}" in p:
        weight = p[f"encoder.char_cnn.weights.{number}"]
        left = (len(weight) - 1) // 2
        responses = []
        for place in range(len(letters)):
            response = p[f"encoder.char_cnn.biases.{number}"]
            for k in range(len(weight)):
                if 0 <= place - left + k < len(letters):
                    response = response + letters[place - left + k] @ weight[k]
            responses.append(response)
        found.append(torch.stack(responses).max(0).values)
        number += 1
    return found


def scanned(p: Values, inputs: Sequence[Tensor], direction: int) -> list[Tensor]:
    w, u, b, c = (
        p[f"encoder.recurrent.{n}"][direction]
        for n in ("input_weight", "recurrent_weight", "bias", "recurrent_bias")
    )
    h = torch.zeros(u.shape[1], dtype=torch.float64)
    found = []
    for x in inputs:
        r_x, z_x, n_x = (w @ x + b).chunk(3)
        r_h, z_h, n_h = (u @ h + c).chunk(3)
        z = torch.sigmoid(z_x + z_h)
        n = torch.tanh(n_x + torch.sigmoid(r_x + r_h) * n_h)
        h = z * h + (1 - z) * n
        found.append(h)
    return found


def states_of(p: Values, lexicon: Lexicon, tokens: Sequence[str]) -> list[Tensor]:
    """The encoder's states."""
    inputs = []
    for word in tokens:
        parts = [lexicon.vector(p, word)]
        if "encoder.chars" in p:
            parts += convolved(p, lexicon.letters(p, word))
        inputs.append(torch.cat(parts))
    forwards = scanned(p, inputs, 0)
    backwards = scanned(p, inputs[::-1], 1)[::-1]
    return [torch.cat(pair) for pair in zip(forwards, backwards, strict=True)]


def gold_tags(sentence: Sentence, bioes: bool) -> list[str]:
    tags = list(sentence.tags)
    if not bioes:
        return tags
    found = []
    for here, after in zip(tags, [*tags[1:], "O"], strict=True):
        goes_on = after.startswith("I-")
        if here.startswith("B-") and not goes_on:
            here = f"S{here[1:]}"
        elif here.startswith("I-") and not goes_on:
            here = f"E{here[1:]}"
        found.append(here)
    return found


def may_follow(before: str, after: str, bioes: bool) -> bool:
    """``before`` and ``after`` are "O" outside the sentence."""
    unfinished = before[0] in "BI"
    if after[0] in "IE":
        return unfinished and before[2:] == after[2:]
    return not (unfinished and bioes)


@lru_cache(maxsize=1000)
def tag_paths(tags: tuple[str, ...], length: int) -> list[list[int]]:
    bioes = any(t[0] in "ES" for t in tags)
    paths: list[list[int]] = [[]]
    for _ in range(length):
        paths = [
            [*path, t]
            for path in paths
            for t in range(len(tags))
            if may_follow(tags[path[-1]] if path else "O", tags[t], bioes)
        ]
    return [path for path in paths if may_follow(tags[path[-1]], "O", bioes)]


def crf_loss(
    phi: Values, tags: tuple[str, ...], states: list[Tensor], sentence: Sentence
) -> Tensor:
    """-log p(y | h) with a sum over all paths. ``phi`` has the parameter names of the CRF."""
    emitted = torch.stack([phi["weight"] @ h + phi["bias"] for h in states])
    paths = tag_paths(tags, len(sentence))
    gold = [tags.index(t) for t in gold_tags(sentence, any(t[0] in "ES" for t in tags))]
    at = torch.tensor(paths)
    scores = phi["start"][at[:, 0]] + phi["end"][at[:, -1]]
    for place in range(len(sentence)):
        scores = scores + emitted[place, at[:, place]]
        if place:
            scores = scores + phi["transition"][at[:, place - 1], at[:, place]]
    return scores.exp().sum().log() - scores[paths.index(gold)]


def discriminator_loss(gamma: Values, states: list[Tensor], wanted: int) -> Tensor:
    """Eqs 9 to 11 and 13. ``gamma`` has the parameter names of the head."""
    strengths = [
        torch.exp(torch.tanh(h @ gamma["attention_weight"] + gamma["attention_bias"][0]))
        for h in states
    ]
    pooled = torch.zeros_like(states[0])
    for h, strength in zip(states, strengths, strict=True):
        pooled = pooled + strength / sum(strengths) * h
    hidden = torch.tanh(gamma["hidden_weight"] @ pooled + gamma["hidden_bias"])
    scores = gamma["weight"] @ hidden + gamma["bias"]
    return scores.exp().sum().log() - scores[wanted]


def under(values: Values, prefix: str) -> Values:
    return {n.removeprefix(prefix): v for n, v in values.items() if n.startswith(prefix)}


def label_loss(
    p: Values, phi: Values, tags: tuple[str, ...], lexicon: Lexicon, task: Sequence[Sentence]
) -> Tensor:
    """Eq. 12, averaged over the sentences of a task."""
    total = torch.zeros((), dtype=torch.float64)
    for sentence in task:
        total = total + crf_loss(phi, tags, states_of(p, lexicon, sentence.tokens), sentence)
    return total / len(task)


def domain_loss(
    p: Values, gamma: Values, wanted: int, lexicon: Lexicon, task: Sequence[Sentence]
) -> Tensor:
    """Eq. 13, averaged over the sentences of a task."""
    total = torch.zeros((), dtype=torch.float64)
    for sentence in task:
        states = states_of(p, lexicon, sentence.tokens)
        total = total + discriminator_loss(gamma, states, wanted)
    return total / len(task)
