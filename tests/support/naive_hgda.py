"""HGDA's Algorithms 1 and 2 written out naively, sharing nothing with the engine: torch.nn layers,
one sentence and one word at a time, a CRF that enumerates its paths, modules copied per task."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from adaptner.episodes import Task
from adaptner.nn.model import TaggingModel
from adaptner.types import LabelSet, Sentence
from adaptner.vectors.word_vectors import WordVectors


def _bidirectional(ours: nn.Module) -> tuple[nn.LSTM, dict[str, list[Tensor]]]:
    """A torch LSTM with our weights; its second bias is always zero."""
    rows, inputs = ours.input_weight.shape[2:]
    lstm = nn.LSTM(inputs, rows // 4, bidirectional=True).double()
    names = {"input_weight": "weight_ih", "recurrent_weight": "weight_hh", "bias": "bias_ih"}
    found: dict[str, list[Tensor]] = {}
    for name, theirs in names.items():
        found[name] = [getattr(lstm, f"{theirs}_l0{s}") for s in ("", "_reverse")]
        for d, p in enumerate(found[name]):
            p.data.copy_(getattr(ours, name)[0, d])
    for suffix in ("", "_reverse"):
        p = getattr(lstm, f"bias_hh_l0{suffix}")
        p.data.zero_()
        p.requires_grad_(False)
    return lstm, found


class Encoder(nn.Module):
    """θ"""

    def __init__(self, ours: nn.Module, vectors: WordVectors, alphabet: str) -> None:
        super().__init__()
        self.vectors, self.alphabet = vectors, alphabet
        self.chars = nn.Parameter(ours.chars[0].detach().double())
        weight = ours.char_cnn.weights[0][0].detach().double()  # (width, E, filters)
        self.conv = nn.Conv1d(weight.shape[1], weight.shape[2], weight.shape[0]).double()
        self.conv.weight.data.copy_(weight.permute(2, 1, 0))
        self.conv.bias.data.copy_(ours.char_cnn.biases[0][0])
        self.char_lstm, _ = _bidirectional(ours.char_lstm.lstm)
        self.lstm, _ = _bidirectional(ours.recurrent)

    def word(self, word: str) -> Tensor:
        vector = torch.zeros(self.vectors.width, dtype=torch.float64)
        for form in (word.lower(), word):  # the last one that has a vector
            if form in self.vectors.words:
                row = self.vectors.words.index(form)
                vector = torch.from_numpy(self.vectors.table[row].astype("float64"))
        letters = [self.alphabet.index(c) + 2 if c in self.alphabet else 1 for c in word]
        seen = self.chars[letters]
        width = self.conv.kernel_size[0]
        left = (width - 1) // 2
        convolved = self.conv(F.pad(seen.T[None], (left, width - 1 - left)))[0].max(1).values
        _, (last, _) = self.char_lstm(seen)
        return torch.cat([vector, convolved, last.flatten()])

    def forward(self, sentence: Sentence) -> Tensor:
        return self.lstm(torch.stack([self.word(w) for w in sentence.tokens]))[0]

    def export(self) -> dict[str, Tensor]:
        def both(lstm: nn.LSTM, name: str) -> Tensor:
            return torch.stack([getattr(lstm, f"{name}_l0{s}") for s in ("", "_reverse")])[None]

        found = {
            "encoder.chars": self.chars[None],
            "encoder.char_cnn.weights.0": self.conv.weight.permute(2, 1, 0)[None],
            "encoder.char_cnn.biases.0": self.conv.bias[None],
        }
        for prefix, lstm in (("char_lstm.lstm", self.char_lstm), ("recurrent", self.lstm)):
            found[f"encoder.{prefix}.input_weight"] = both(lstm, "weight_ih")
            found[f"encoder.{prefix}.recurrent_weight"] = both(lstm, "weight_hh")
            found[f"encoder.{prefix}.bias"] = both(lstm, "bias_ih")
        return found


class Decoder(nn.Module):
    """φ"""

    def __init__(self, ours: nn.Module) -> None:
        super().__init__()
        self.labels: LabelSet = ours.labels
        for name, p in ours.named_parameters():
            setattr(self, name, nn.Parameter(p[0].detach().double()))

    def forward(self, states: Tensor, sentence: Sentence) -> Tensor:
        tags = self.labels.tags
        emissions = F.linear(states, self.weight, self.bias)
        paths = [
            path
            for path in itertools.product(range(len(tags)), repeat=len(sentence))
            if all(
                tags[b][0] != "I" or (a is not None and tags[a] in (tags[b], f"B{tags[b][1:]}"))
                for a, b in itertools.pairwise((None, *path))
            )
        ]
        chosen = torch.tensor(paths)
        scores = self.start[chosen[:, 0]] + self.end[chosen[:, -1]]
        scores = scores + emissions[torch.arange(len(sentence)), chosen].sum(1)
        scores = scores + self.transition[chosen[:, :-1], chosen[:, 1:]].sum(1)
        gold = paths.index(tuple(tags.index(t) for t in sentence.tags))
        return torch.logsumexp(scores, 0) - scores[gold]


@dataclass
class Naive:
    theta: Encoder
    phis: list[Decoder]
    omega: nn.Linear | None

    @classmethod
    def of(cls, model: TaggingModel, vectors: WordVectors, alphabet: str) -> Naive:
        omega = None
        if model.head is not None:
            omega = nn.Linear(model.head.weight.shape[2], model.head.weight.shape[1]).double()
            omega.weight.data.copy_(model.head.weight[0])
            omega.bias.data.copy_(model.head.bias[0])
        phis = [Decoder(d) for d in model.decoder]
        return cls(Encoder(model.encoder, vectors, alphabet), phis, omega)

    def export(self) -> dict[str, Tensor]:
        found = self.theta.export()
        for number, phi in enumerate(self.phis):
            found |= {f"decoder.{number}.{n}": p[None] for n, p in phi.named_parameters()}
        if self.omega is not None:
            found |= {f"head.{n}": p[None] for n, p in self.omega.named_parameters()}
        return {n: p.detach().clone() for n, p in found.items()}


@dataclass
class Settings:
    alpha: float
    beta: float
    lam: float
    inner_steps: int
    hardness: bool
    momentum: float
    decay: float
    clip: float


def _losses(
    theta: Encoder,
    phi: Decoder,
    omega: nn.Linear | None,
    sentences: Sequence[Sentence],
    domain: int,
) -> tuple[Tensor, Tensor | None]:
    label, cls = [], []
    for sentence in sentences:
        states = theta(sentence)
        label.append(phi(states, sentence))
        if omega is not None:
            cls.append(F.cross_entropy(omega(states.mean(0))[None], torch.tensor([domain])))
    return torch.stack(label).mean(), torch.stack(cls).mean() if cls else None


def _trained(module: nn.Module) -> list[nn.Parameter]:
    return [p for p in module.parameters() if p.requires_grad]


def _gradients(loss: Tensor, module: nn.Module) -> list[Tensor]:
    return list(torch.autograd.grad(loss, _trained(module), retain_graph=True))


def algorithm_2(naive: Naive, task: Task, s: Settings):
    """Query losses and their first-order gradients at the adapted parameters of the task."""
    theta, phi = copy.deepcopy(naive.theta), copy.deepcopy(naive.phis[task.domain])
    omega = copy.deepcopy(naive.omega)
    for step in range(s.inner_steps + 1):
        data = task.support if step < s.inner_steps else task.query
        label, cls = _losses(theta, phi, omega, data, task.domain)
        total = label if cls is None else label + s.lam * cls
        by = [(theta, total), (phi, label)] + ([(omega, cls)] if omega is not None else [])
        gradients = [_gradients(loss, module) for module, loss in by]
        if step == s.inner_steps:
            return (total.item(), label.item(), None if cls is None else cls.item()), gradients
        with torch.no_grad():
            for (module, _), found in zip(by, gradients, strict=True):
                for p, g in zip(_trained(module), found, strict=True):
                    p -= s.beta * g
    raise AssertionError


class Algorithm1:
    """Lines 2 to 13 with the SGD of the appendix: clipping, decay, momentum and linear schedule."""

    def __init__(self, naive: Naive, settings: Settings) -> None:
        self.naive, self.settings = naive, settings
        self.momenta: dict[int, Tensor] = {}

    def iterate(self, batch: Sequence[Task], share_left: float) -> None:
        s, m = self.settings, len(batch)
        results = [algorithm_2(self.naive, task, s) for task in batch]
        self.losses = [losses for losses, _ in results]
        collected: dict[nn.Parameter, Tensor] = {}
        for task, (losses, gradients) in zip(batch, results, strict=True):
            modules = [self.naive.theta, self.naive.phis[task.domain], self.naive.omega]
            for group, found in enumerate(gradients):
                total = sum(other[group] for other in self.losses)
                gamma = losses[group] / total if s.hardness else 1 / m
                for p, g in zip(_trained(modules[group]), found, strict=True):
                    collected[p] = collected.get(p, 0) + gamma * g
        norm = torch.sqrt(sum(g.square().sum() for g in collected.values()))
        self.norm = float(norm)
        with torch.no_grad():
            for p, g in collected.items():
                g = g * min(1.0, s.clip / (self.norm + 1e-6)) + s.decay * p
                before = self.momenta.get(id(p))
                self.momenta[id(p)] = g if before is None else s.momentum * before + g
                p -= s.alpha * share_left * self.momenta[id(p)]
