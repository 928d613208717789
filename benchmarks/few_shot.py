"""Evaluates the shipped base on HGDA's protocol: eight corpora, 5 to 50 sentences, 20 draws each.

    .venv/bin/python benchmarks/few_shot.py -o docs/results/few-shot.jsonl

The first encoder has seen no label, and a target never gets the decoder of its own domain, so one base
serves all targets. If the encoder is not fine-tuned, the test sentences are encoded once for all draws.
The output has one line per draw; draws that it has already are skipped. The command prints the mean
F1 ± standard deviation of each corpus and size with, in brackets, the number of draws without an entity
and the mean number of mentions in a draw, then the means over corpora. ``--draws-from with-entities``
draws only sentences with an entity; its lines may stand in the same file, but only the draws of the
requested kind are averaged. ``--text`` adapts as
`adapt --unlabelled` does, with the text of the train split (the papers' protocol has no such row).

The value of the source decoders is measured on corpora that they were not trained on:

    .venv/bin/python benchmarks/few_shot.py --data bio-extra --sources all -o known.jsonl   # and none
"""

from __future__ import annotations

import argparse
import time
from dataclasses import replace
from pathlib import Path
from statistics import mean

import torch
from common import ResultFile, corpus_folders, print_scores, without_labels
from torch import Tensor

from adaptner.compute import prepare_process
from adaptner.corpora.corpus import Corpus, load_corpus
from adaptner.episodes import check_draws, draw_sentences
from adaptner.episodes.draws import DRAWS_FROM
from adaptner.methods.named.algorithm import adapt_named
from adaptner.methods.named.config import LinearFitConfig
from adaptner.methods.named.encoder_choice import encode_target
from adaptner.metrics.spans import score_tags
from adaptner.models.base import Base
from adaptner.models.installed import DEFAULT, load_base
from adaptner.models.tagger import Tagger
from adaptner.nn.batching.word_batch import WordBatcher
from adaptner.nn.decoders.crf import CRF
from adaptner.nn.encoders.recurrent import RecurrentEncoder
from adaptner.terms.features import TermFeatures
from adaptner.types import Sentence

BATCH = 128  # test sentences
NEVER = 10**9  # mentions from which the encoder is fine-tuned
EncodedBatch = tuple[list[int], Tensor, Tensor]  # positions of the sentences, features, mask


@torch.no_grad()
def encode(
    encoder: RecurrentEncoder,
    batcher: WordBatcher,
    sentences: list[Sentence],
    features: TermFeatures | None,
) -> list[EncodedBatch]:
    """Encodes the sentences in batches of similar length."""
    by_length = sorted(range(len(sentences)), key=lambda i: len(sentences[i]))
    encoded = []
    for start in range(0, len(by_length), BATCH):
        indices = by_length[start : start + BATCH]
        batch = batcher([[sentences[i] for i in indices]])
        states = encoder(batch)
        if features is not None:
            of_terms = batch.arrange(features.of([sentences[i].tokens for i in indices]))
            states = torch.cat([states, of_terms], -1)
        encoded.append(([indices[i] for i in batch.order[0]], states, batch.mask))
    return encoded


def predict(
    decoder: CRF, batches: list[EncodedBatch], sentences: list[Sentence]
) -> list[list[str]]:
    tags: list[list[str]] = [[] for _ in sentences]
    for indices, states, mask in batches:
        for i, row in zip(indices, decoder.decode(states, mask)[0].tolist(), strict=True):
            tags[i] = [decoder.labels.tags[t] for t in row[: len(sentences[i])]]
    return tags


class TestSet:
    """The test sentences of a corpus, encoded once by the encoder of the base."""

    def __init__(self, base: Base, corpus: Corpus, sentences: list[Sentence]) -> None:
        tags = corpus.labels.tags
        self.base, self.sentences = base, sentences
        self.gold = [[tags[n] for n in corpus.labels.tag_ids(s)] for s in sentences]
        self.features = base.term_features(corpus.labels.labels)
        self.encoded = encode(base.model.encoder, base.batcher, sentences, self.features)

    def scores(self, tagger: Tagger) -> dict[str, float]:
        assert isinstance(tagger.decoder, CRF)
        encoded = self.encoded
        if tagger.encoder is not self.base.model.encoder:  # fine-tuned
            encoded = encode(tagger.encoder, self.base.batcher, self.sentences, self.features)
        tags = predict(tagger.decoder, encoded, self.sentences)
        score = score_tags(self.gold, tags).overall
        return {name: round(getattr(score, name), 4) for name in ("precision", "recall", "f1")}


def parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--base", default=DEFAULT)
    parser.add_argument("--corpora", nargs="*", help="default: all of --data")
    parser.add_argument("--sizes", type=int, nargs="*", default=[5, 10, 20, 50])
    parser.add_argument("--draws", type=int, default=20)
    parser.add_argument("--draws-from", choices=DRAWS_FROM, default="all")
    parser.add_argument("--split", default="test", help="split to score; dev for choices")
    parser.add_argument(
        "--name",
        type=float,
        default=LinearFitConfig().name_weight,
        help="weight of the label's name; 0 ignores it",
    )
    parser.add_argument("--no-terms", action="store_true", help="without terminologies")
    parser.add_argument("--linear", action="store_true", help="never fine-tune the encoder")
    parser.add_argument("--sources", choices=("others", "all", "none"), default="others")
    parser.add_argument("--data", default="bio8", help="folder of corpora in shared/data")
    parser.add_argument("--limit", type=int, help="maximum number of test sentences")
    parser.add_argument("--text", action="store_true", help="use the text of the train split")
    parser.add_argument("-o", "--output", type=Path, required=True)
    return parser.parse_args()


def main() -> None:
    options = parse_options()
    prepare_process()
    kind = check_draws(options.draws_from, options.sizes)
    shipped = load_base(options.base)
    if options.no_terms:
        shipped = replace(shipped, dictionary=None, raw_sentences=[])
    config = LinearFitConfig(name_weight=options.name)
    if options.linear:
        config = config.model_copy(update={"fine_tune_from": NEVER})
    key = ("corpus", "size", "seed", "draws_from")
    results = ResultFile(options.output, key, draws_from="all")
    for folder in corpus_folders(options.data):
        if options.corpora and folder.name not in options.corpora:
            continue
        draws = [
            (size, seed)
            for size in options.sizes
            for seed in range(options.draws)
            if dict(zip(key, (folder.name, size, seed, kind), strict=True)) not in results
        ]
        if not draws:
            continue
        target = load_corpus(folder)
        domains = shipped.model.domains
        excluded = {"others": {target.domain}, "all": set(), "none": set(domains)}[options.sources]
        base = shipped.of_domains(d for d in domains if d not in excluded)
        sentences = [s for s in target.split(options.split) if len(s)][: options.limit]
        text = without_labels(target.split("train")) if options.text else []
        test = TestSet(base, target, sentences)
        for size, seed in draws:
            support = draw_sentences(target.split("train"), size, seed, kind)
            start = time.perf_counter()
            encoded = encode_target(base, support, config, target.labels)
            tagger = adapt_named(encoded, config, unlabelled=text, seed=seed)
            seconds = round(time.perf_counter() - start, 2)
            row = dict(zip(key, (target.name, size, seed, kind), strict=True))
            row |= test.scores(tagger)
            mentions = sum(len(s.entities) for s in support)
            results.add({**row, "seconds": seconds, "mentions": mentions})
    rows = [row for row in results.rows if row["draws_from"] == kind]
    corpora = sorted({row["corpus"] for row in rows})
    means = [print_scores(rows, corpus, options.sizes) for corpus in corpora]
    for size, scores in zip(options.sizes, zip(*means, strict=True), strict=True):
        print(f"mean of {len(corpora)} corpora with {size} sentences: {mean(scores):.1f}")


if __name__ == "__main__":
    main()
