"""The base that ships on HGDA's protocol: eight corpora, 5 to 50 sentences, 20 draws, whole test sets.

    .venv/bin/python benchmarks/few_shot.py -o docs/results/few-shot.jsonl

θ has seen no label at all, and a target never sees the φ of its own domain, so that one base serves every
target. Where θ stays as it is, the test sentences are encoded once for all draws. Rows that are in the file
already are not run again. `--linear` never tunes θ, `--name 0` leaves the label's name out of it, `--text` is
what `adapt --unlabelled` does with the text of the train split (no row of the papers' protocol).

What the φ of known domains are worth on corpora that they have not learnt from:

    .venv/bin/python benchmarks/few_shot.py --data bio-extra --sources all -o known.jsonl   # and none
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from statistics import mean, stdev

import torch
from torch import Tensor

from adaptner.compute import prepare_process
from adaptner.corpora.corpus import load_corpus
from adaptner.episodes import draw_sentences
from adaptner.methods.named.algorithm import adapt_named
from adaptner.methods.named.config import LinearFitConfig
from adaptner.methods.named.encoder_choice import encode_target
from adaptner.metrics.spans import score_tags
from adaptner.models.installed import DEFAULT, load_base
from adaptner.nn.batching.word_batch import WordBatcher
from adaptner.nn.decoders.crf import CRF
from adaptner.nn.encoders.recurrent import RecurrentEncoder
from adaptner.types import Sentence

SHARED = Path(__file__).resolve().parents[2] / "shared"
AT_ONCE = 128


def batches(sentences: list[Sentence]) -> list[list[int]]:
    """Places of sentences of like length."""
    order = sorted(range(len(sentences)), key=lambda i: len(sentences[i]))
    return [order[at : at + AT_ONCE] for at in range(0, len(order), AT_ONCE)]


@torch.no_grad()
def encoded(
    encoder: RecurrentEncoder, batcher: WordBatcher, sentences: list[Sentence]
) -> list[tuple[list[int], Tensor, Tensor]]:
    """Places, features and mask of each batch."""
    found = []
    for places in batches(sentences):
        batch = batcher([[sentences[i] for i in places]])
        order = [places[i] for i in batch.order[0]]
        found.append((order, encoder(batch), batch.mask))
    return found


def predicted(
    decoder: CRF, test: list[tuple[list[int], Tensor, Tensor]], sentences: list[Sentence]
) -> list[list[str]]:
    names = decoder.labels.tags
    found: list[list[str]] = [[] for _ in sentences]
    for places, states, mask in test:
        best = decoder.decode(states, mask)[0].tolist()
        for place, row in zip(places, best, strict=True):
            found[place] = [names[t] for t in row[: len(sentences[place])]]
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--base", default=DEFAULT)
    parser.add_argument("--corpora", nargs="*")
    parser.add_argument("--sizes", type=int, nargs="*", default=[5, 10, 20, 50])
    parser.add_argument("--draws", type=int, default=20)
    parser.add_argument("--split", default="test", help="dev for choosing")
    parser.add_argument("--name", type=float, default=LinearFitConfig().name_weight)
    parser.add_argument("--linear", action="store_true")
    parser.add_argument("--sources", choices=("others", "all", "none"), default="others")
    parser.add_argument("--data", default="bio8", help="the folder of corpora")
    parser.add_argument("--limit", type=int, help="test sentences at most (smoke)")
    parser.add_argument("--text", action="store_true", help="learn from the train split's text too")
    parser.add_argument("-o", "--output", type=Path, required=True)
    options = parser.parse_args()
    prepare_process()
    whole = load_base(options.base)
    never = 10**9
    config = LinearFitConfig(
        name_weight=options.name,
        fine_tune_from=never if options.linear else LinearFitConfig().fine_tune_from,
    )
    options.output.touch()
    rows = [json.loads(line) for line in options.output.read_text().splitlines()]
    done = {(r["corpus"], r["size"], r["seed"]) for r in rows}
    folders = [f for f in sorted((SHARED / "data" / options.data).iterdir()) if f.is_dir()]
    for folder in folders:
        if options.corpora and folder.name not in options.corpora:
            continue
        wanted = [(n, s) for n in options.sizes for s in range(options.draws)]
        wanted = [(n, s) for n, s in wanted if (folder.name, n, s) not in done]
        if not wanted:
            continue
        target = load_corpus(folder)
        own = {"others": {target.domain}, "all": set(), "none": set(whole.model.domains)}
        base = whole.of_domains(d for d in whole.model.domains if d not in own[options.sources])
        sentences = [s for s in target.split(options.split) if len(s)][: options.limit]
        gold = [[target.labels.tags[n] for n in target.labels.tag_ids(s)] for s in sentences]
        text = (
            [s.without_entities() for s in target.split("train") if len(s)] if options.text else []
        )
        frozen = base.model.encoder
        once = encoded(frozen, base.batcher, sentences)
        for size, seed in wanted:
            support = draw_sentences(target.split("train"), size, seed)
            begun = time.perf_counter()
            given = encode_target(base, support, config, target.labels)
            tagger = adapt_named(given, config, unlabelled=text, seed=seed)
            seconds = time.perf_counter() - begun
            assert isinstance(tagger.decoder, CRF)
            tuned = tagger.encoder is not frozen
            test = encoded(tagger.encoder, base.batcher, sentences) if tuned else once
            score = score_tags(gold, predicted(tagger.decoder, test, sentences)).overall
            row = {"corpus": target.name, "size": size, "seed": seed}
            row |= {"precision": round(score.precision, 4), "recall": round(score.recall, 4)}
            row |= {"f1": round(score.f1, 4), "seconds": round(seconds, 2)}
            row |= {"mentions": sum(len(s.entities) for s in support)}
            rows.append(row)
            with open(options.output, "a", encoding="utf-8") as file:
                file.write(json.dumps(row) + "\n")
        told(rows, target.name, options.sizes)
    corpora = sorted({r["corpus"] for r in rows})
    means = {c: told(rows, c, options.sizes) for c in corpora}
    for i, size in enumerate(options.sizes):
        print(f"mean of {len(corpora)} at {size}: {mean(m[i] for m in means.values()):.1f}")


def told(rows: list[dict], corpus: str, sizes: list[int]) -> list[float]:
    """The line of a corpus, and its means."""
    found, said = [], []
    for size in sizes:
        values = [100 * r["f1"] for r in rows if r["corpus"] == corpus and r["size"] == size]
        found.append(mean(values))
        said.append(f"{mean(values):5.1f} ± {stdev(values) if len(values) > 1 else 0:4.1f}")
    print(f"{corpus:16}" + "  ".join(said), flush=True)
    return found


if __name__ == "__main__":
    main()
