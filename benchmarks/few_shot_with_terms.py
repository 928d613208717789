"""F1 of the base with terminologies, from no labelled sentence to fifty.

    .venv/bin/python benchmarks/few_shot_with_terms.py -o docs/results/terms-bio8.jsonl
    .venv/bin/python benchmarks/few_shot_with_terms.py --set pairs --draws-from with-entities \\
      -o docs/results/terms-pairs.jsonl

Nothing of the target's kind has taught the base: its decoders of sources and its second encoder are taken
out. A corpus is adapted to as `adaptner adapt` does; its test sentences are encoded once for all draws.
Size 0 is the dictionary alone: sentence by sentence and, as "document", in windows of ten sentences. The
output has a line for each draw; draws that it has already are skipped.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import mean

import numpy as np
from common import ResultFile, print_scores
from dictionary import BIO8, PAIRS, corpus_folder

from adaptner.compute import prepare_process
from adaptner.corpora.corpus import load_corpus
from adaptner.episodes import draw_sentences
from adaptner.episodes.draws import DRAWS_FROM
from adaptner.methods.named.algorithm import adapt_named
from adaptner.methods.named.config import LinearFitConfig
from adaptner.methods.named.encoded import EncodedSentences
from adaptner.methods.named.encoder_choice import encode_target
from adaptner.metrics.spans import Score
from adaptner.models.base import Base
from adaptner.models.installed import DEFAULT, load_base
from adaptner.models.terms import load_dictionary
from adaptner.nn.decoders.chain_gradient import pack_order
from adaptner.nn.decoders.crf import CRF
from adaptner.types import LabelSet, Sentence

BATCH = 100  # sentences encoded at a time
STACKED = 10  # decoders that tag the test sentences side by side
WINDOW = 10  # sentences of a "document"


@dataclass(frozen=True)
class PackedTest:
    """The states of all test tokens without padding, and the mentions that are right."""

    states: np.ndarray
    counts: np.ndarray
    sentence_of: np.ndarray  # for each packed token
    position: np.ndarray
    gold: set[tuple[int, int, int]]  # sentence, first token, end

    @classmethod
    def of(cls, base: Base, sentences: list[Sentence], labels: LabelSet) -> PackedTest:
        features = base.term_features(labels.labels)
        states = []
        gold = set()
        ordered: list[Sentence] = []
        for start in range(0, len(sentences), BATCH):
            part = sentences[start : start + BATCH]
            encoded = EncodedSentences.of(base, part, labels, 1.0, features)
            states.append(encoded.states[0][encoded.mask[0]].numpy())
            ordered += [part[i] for i in encoded.order]
        lengths = np.array([len(s) for s in ordered])
        order, places, counts = pack_order(lengths)
        for number, place in enumerate(order.tolist()):
            gold |= {(number, *span) for span in mentions_of(ordered[place].tags)}
        return cls(
            np.concatenate(states)[places],
            counts,
            np.concatenate([np.arange(count) for count in counts]),
            np.repeat(np.arange(len(counts)), counts),
            gold,
        )

    def scores(self, decoders: list[CRF]) -> list[Score]:
        weight = np.concatenate([d.weight.detach().numpy() for d in decoders])
        bias = np.concatenate([d.bias.detach().numpy() for d in decoders])
        count, tags, width = weight.shape
        emissions = self.states @ weight.reshape(-1, width).T
        emissions = emissions.reshape(-1, count, tags).transpose(1, 0, 2) + bias[:, None]
        limits = decoders[0].constraints
        moves = np.concatenate([d.transition.detach().numpy() for d in decoders])
        start = np.concatenate([d.start.detach().numpy() for d in decoders])
        end = np.concatenate([d.end.detach().numpy() for d in decoders])
        paths = best_paths(
            emissions,
            moves + limits.moves.numpy(),
            start + limits.starts.numpy(),
            end + limits.ends.numpy(),
            self.counts,
        )
        found = []
        for path in paths:
            spans = self._spans(path)
            right = len(spans & self.gold)
            found.append(Score(right, len(spans), len(self.gold)))
        return found

    def _spans(self, path: np.ndarray) -> set[tuple[int, int, int]]:
        """The mentions of one label: tags O, B, I."""
        order = np.lexsort((self.position, self.sentence_of))
        tags, sentence, position = path[order], self.sentence_of[order], self.position[order]
        begins = np.flatnonzero(tags == 1)
        ends = np.append(tags[1:] != 2, True) | np.append(sentence[1:] != sentence[:-1], True)
        last = np.flatnonzero(ends)
        stop = last[np.searchsorted(last, begins)]
        return set(
            zip(
                sentence[begins].tolist(),
                position[begins].tolist(),
                (position[stop] + 1).tolist(),
                strict=True,
            )
        )


def best_paths(
    emissions: np.ndarray, moves: np.ndarray, start: np.ndarray, end: np.ndarray, counts: np.ndarray
) -> np.ndarray:
    """The best tags (decoders, N) of packed sentences (see nn/decoders/chain_gradient.py)."""
    decoders, tokens, tags = emissions.shape
    offsets = np.concatenate([[0], np.cumsum(counts)]).tolist()
    came_from = np.zeros((decoders, tokens, tags), dtype=np.int8)
    best = start[:, None] + emissions[:, : counts[0]]
    every = [best]
    for at in range(1, len(counts)):
        part = slice(offsets[at], offsets[at + 1])
        scores = best[:, : counts[at], :, None] + moves[:, None]
        came_from[:, part] = scores.argmax(2)
        best = scores.max(2) + emissions[:, part]
        every.append(best)
    paths = np.zeros((decoders, tokens), dtype=np.int8)
    following = None
    for at in range(len(counts) - 1, -1, -1):
        count = counts[at]
        chosen = (every[at] + end[:, None]).argmax(-1)
        if following is not None:
            inner = following.shape[1]
            nexts = came_from[:, offsets[at + 1] : offsets[at + 1] + inner]
            chosen[:, :inner] = np.take_along_axis(nexts, following[..., None], 2)[..., 0]
        paths[:, offsets[at] : offsets[at] + count] = chosen
        following = chosen
    return paths


def mentions_of(tags: tuple[str, ...]) -> list[tuple[int, int]]:
    found = []
    begun = None
    for place, tag in enumerate((*tags, "O")):
        if tag[0] != "I" and begun is not None:
            found.append((begun, place))
            begun = None
        if tag[0] == "B":
            begun = place
    return found


def document_score(base: Base, sentences: list[Sentence], label: str) -> Score:
    """Of the dictionary, with the definitions of abbreviations in windows of ten sentences."""
    features = base.term_features([label])
    assert features is not None
    right = predicted = gold = 0
    for start in range(0, len(sentences), 50 * WINDOW):
        part = sentences[start : start + 50 * WINDOW]
        tagged = features.tag(part, [i // WINDOW for i in range(len(part))])
        for mine, theirs in zip(tagged, part, strict=True):
            found, wanted = set(mentions_of(mine.tags)), set(mentions_of(theirs.tags))
            right += len(found & wanted)
            predicted += len(found)
            gold += len(wanted)
    return Score(right, predicted, gold)


def parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--base", default=DEFAULT)
    parser.add_argument("--terms", type=Path, help="another compiled file")
    parser.add_argument("--set", choices=["bio8", "pairs"], default="bio8")
    parser.add_argument("--only", nargs="*", help="parts of corpus names")
    parser.add_argument("--sizes", type=int, nargs="*", default=[5, 10, 20, 50])
    parser.add_argument("--draws", type=int, default=20)
    parser.add_argument("--draws-from", choices=DRAWS_FROM, nargs="*", default=list(DRAWS_FROM))
    parser.add_argument("--split", default="test", help="split to score; dev for choices")
    parser.add_argument("--limit", type=int, help="maximum number of test sentences")
    parser.add_argument("--config", nargs="*", default=[], help="settings as NAME=NUMBER")
    parser.add_argument("-o", "--output", type=Path, required=True)
    return parser.parse_args()


def main() -> None:
    options = parse_options()
    prepare_process()
    base = replace(load_base(options.base).of_domains([]), fine_tuned_encoder=None)
    if options.terms is not None:
        base = replace(base, dictionary=load_dictionary(options.terms))
    changed = {k: float(v) for k, v in (item.split("=") for item in options.config)}
    config = LinearFitConfig(**changed)
    results = ResultFile(options.output, ("corpus", "size", "seed", "draws_from"))
    corpora = {
        name: rest
        for name, rest in (BIO8 if options.set == "bio8" else PAIRS).items()
        if not options.only or any(part in name for part in options.only)
    }
    for name, (kind, wanted) in corpora.items():
        pending = [
            run
            for draws_from in options.draws_from
            for size in options.sizes
            for seed in range(options.draws)
            if (run := {"corpus": name, "size": size, "seed": seed, "draws_from": draws_from})
            not in results
        ]
        at_start = [
            run
            for reads in ("sentence", "document")
            if (run := {"corpus": name, "size": 0, "seed": 0, "draws_from": reads}) not in results
        ]
        if not pending and not at_start:
            continue
        corpus = load_corpus(corpus_folder(name))

        def of_kind(sentences, kind=kind, wanted=wanted):
            return [
                replace(
                    s,
                    entities=tuple(
                        replace(e, label=kind)
                        for e in s.entities
                        if wanted is None or e.label in wanted
                    ),
                )
                for s in sentences
                if len(s)
            ]

        train, sentences = of_kind(corpus.split("train")), of_kind(corpus.split(options.split))
        if options.split == "train":  # for choices on corpora whose other splits are not opened
            half = len(train) // 2
            train, sentences = train[:half], train[half:]
        sentences = sentences[: options.limit]
        labels = LabelSet((kind,))
        test = PackedTest.of(base, sentences, labels)
        for run in at_start:
            if run["draws_from"] == "document":
                score = document_score(base, sentences, kind)
            else:
                start = encode_target(base, train[:1], config, labels).prior(config)
                score = test.scores([start])[0]
            results.add({**run, "f1": score.f1})
        for first in range(0, len(pending), STACKED):
            runs, decoders, facts = pending[first : first + STACKED], [], []
            for run in runs:
                support = draw_sentences(train, run["size"], run["seed"], run["draws_from"])
                begin = time.perf_counter()
                tagger = adapt_named(
                    encode_target(base, support, config, labels), config, seed=run["seed"]
                )
                assert isinstance(tagger.decoder, CRF)
                decoders.append(tagger.decoder)
                facts.append(
                    {
                        "mentions": sum(len(s.entities) for s in support),
                        "seconds": round(time.perf_counter() - begin, 2),
                        "steps": tagger.facts["steps"],
                    }
                )
            for run, score, fact in zip(runs, test.scores(decoders), facts, strict=True):
                results.add({**run, "f1": score.f1, "precision": score.precision, **fact})
        rows = [r for r in results.rows if r["corpus"] == name]
        alone = {r["draws_from"]: 100 * r["f1"] for r in rows if not r["size"]}
        print(f"{name}: {kind}, dictionary {alone}", flush=True)
    for draws_from in options.draws_from:
        rows = [r for r in results.rows if r["size"] == 0 and r["draws_from"] == "sentence"]
        zero = mean([100 * r["f1"] for r in rows if r["corpus"] in corpora])
        print(f"\n{draws_from}, sizes {options.sizes}; dictionary {zero:.1f}")
        rows = [r for r in results.rows if r["draws_from"] == draws_from]
        means = [print_scores(rows, corpus, options.sizes) for corpus in corpora]
        averages = "  ".join(f"{mean(column):.1f}" for column in zip(*means, strict=True))
        print(f"mean of {len(means)}: {averages}")


if __name__ == "__main__":
    main()
