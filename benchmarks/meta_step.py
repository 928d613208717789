"""Meta-iterations per second of CPU time, of our implementation and of a plain reference, on one thread.

    .venv/bin/python benchmarks/meta_step.py

m = 4 tasks, K = 10, first order, frozen vectors of 200 numbers, HGDA's encoder. The sentences are those of
the shared corpora if present, otherwise of the bundled ones. Losses and gradients must agree before
anything is timed. The last line printed is ``ratio: N.NN``.
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import sys
import time
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
import numpy as np
import torch

sys.path.insert(0, str(Path(__file__).parent))
from plain_reference import PlainTagger, plain_meta_step

from adaptner.bilevel.inner import InnerLoop, group_gradients
from adaptner.compute import prepare_process
from adaptner.corpora.corpus import load_corpus
from adaptner.nn.batching.word_batch import WordBatcher, alphabet_of
from adaptner.nn.encoders.config import EncoderConfig
from adaptner.nn.encoders.recurrent import RecurrentEncoder
from adaptner.nn.model import ModelShape, TaggingModel
from adaptner.vectors.word_vectors import WordVectors, read_vectors

ROOT = Path(__file__).resolve().parents[1]
SHARED = ROOT.parent / "shared"
RATE, TASKS, K = 1e-2, 4, 10


def data():
    real = [
        SHARED / "data/bio8" / name for name in ("ncbi-disease", "bc5cdr-chem", "bc2gm", "s800")
    ]
    folders = (
        real
        if all(f.is_dir() for f in real)
        else sorted((ROOT / "src/adaptner/corpora/bundled").iterdir())[:4]
    )
    corpora = [load_corpus(folder) for folder in folders]
    table = SHARED / "vectors/pubmed-w2v-200d.npy"
    if table.exists():
        vectors = read_vectors(table)
    else:
        words = (s.tokens for c in corpora for s in c.split("train"))
        vectors = WordVectors.random(words, 200, np.random.default_rng(0), least=1)
    return corpora, vectors


def copy_weights(model, domain, plain):
    """Copy the parameters of a domain of our model to the reference."""
    e, d, h = model.encoder, model.decoder[domain], model.head
    with torch.no_grad():
        plain.chars.weight.copy_(e.chars[0])
        plain.chars.weight[0] = 0
        plain.conv.weight.copy_(e.char_cnn.weights[0][0].permute(2, 1, 0))
        plain.conv.bias.copy_(e.char_cnn.biases[0][0])
        for ours, theirs in ((e.char_lstm.lstm, plain.char_lstm), (e.recurrent, plain.lstm)):
            for k, end in enumerate(("", "_reverse")):
                getattr(theirs, f"weight_ih_l0{end}").copy_(ours.input_weight[0, k])
                getattr(theirs, f"weight_hh_l0{end}").copy_(ours.recurrent_weight[0, k])
                getattr(theirs, f"bias_ih_l0{end}").copy_(ours.bias[0, k])
                getattr(theirs, f"bias_hh_l0{end}").zero_()
        plain.emit.weight.copy_(d.weight[0])
        plain.emit.bias.copy_(d.bias[0])
        for name in ("transition", "start", "end"):
            getattr(plain, name).copy_(getattr(d, name)[0])
        plain.classify.weight.copy_(h.weight[0])
        plain.classify.bias.copy_(h.bias[0])


def plain_batch(batcher, sentences, labels, domain):
    """The sentences as padded tensors for the reference: row and characters of every token."""
    spelled = [[batcher.char_ids(w) for w in s.tokens] for s in sentences]
    length = max(map(len, sentences))
    most = max(len(c) for own in spelled for c in own)
    blank = len(batcher.vectors.words)
    rows = [
        [batcher.vectors.row(w) for w in s.tokens] + [blank] * (length - len(s)) for s in sentences
    ]
    chars = [
        [c + [0] * (most - len(c)) for c in own] + [[0] * most] * (length - len(own))
        for own in spelled
    ]
    char_lengths = [[len(c) for c in own] + [0] * (length - len(own)) for own in spelled]
    tags = [[labels.index[t] for t in s.tags] + [0] * (length - len(s)) for s in sentences]
    lengths = [len(s) for s in sentences]
    return (*map(torch.tensor, (rows, chars, char_lengths, lengths, tags)), domain)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--iterations", type=int, default=12, help="batches of tasks per round")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    prepare_process()
    corpora, vectors = data()
    generator = torch.Generator().manual_seed(0)
    sentences = [s for c in corpora for s in c.split("train")]
    batcher = WordBatcher(vectors, alphabet_of(sentences))
    encoder = RecurrentEncoder(EncoderConfig(dropout=0), batcher, generator)
    labels = {c.name: c.labels for c in corpora}
    model = TaggingModel(encoder, labels, generator, ModelShape(head="mean"))
    table = torch.from_numpy(
        np.concatenate([vectors.table, np.zeros((1, vectors.width), np.float32)])
    )
    plains = []
    for domain in range(len(corpora)):
        limits = model.decoder[domain].constraints
        plain = PlainTagger(
            table, len(batcher.alphabet) + 2, 3, len(corpora), limits.moves[0], limits.starts[0]
        )
        copy_weights(model, domain, plain)
        plains.append(plain)

    rng = random.Random(0)
    drawn = []
    for _ in range(options.iterations):
        domains = [rng.randrange(len(corpora)) for _ in range(TASKS)]
        drawn.append((domains, [rng.sample(corpora[d].split("train"), 2 * K) for d in domains]))
    inner = InnerLoop(1, RATE)

    def ours(domains, tasks):
        labels = [corpora[d].labels for d in domains]
        support = batcher([t[:K] for t in tasks], labels)
        query = batcher([t[K:] for t in tasks], labels)
        start = model.stack_tasks(domains)
        adapted = inner.adapt(lambda p: model.losses(p, support, domains), start)
        adapted = {n: p.detach().requires_grad_() for n, p in adapted.items()}
        losses = model.losses(adapted, query, domains)
        gradients = group_gradients(losses, adapted)
        total = losses.total.detach()
        weights = total / total.sum()
        model.zero_grad(set_to_none=True)
        model.add_gradients(
            domains, gradients, dict.fromkeys(("encoder", "decoder", "head"), weights)
        )
        return total

    def reference(domains, tasks):
        batches = [
            (
                plain_batch(batcher, t[:K], corpora[d].labels, d),
                plain_batch(batcher, t[K:], corpora[d].labels, d),
            )
            for d, t in zip(domains, tasks, strict=True)
        ]
        return plain_meta_step([plains[d] for d in domains], batches, RATE)

    worst = 0.0
    for domains, tasks in drawn[:4]:
        mine = ours(domains, tasks)
        theirs, gradients = reference(domains, tasks)
        torch.testing.assert_close(mine, theirs, rtol=2e-4, atol=2e-4)
        grad = model.encoder.recurrent.recurrent_weight.grad[0, 0]
        torch.testing.assert_close(grad, gradients["lstm.weight_hh_l0"], rtol=1e-2, atol=2e-4)
        worst = max(worst, float(((mine - theirs).abs() / theirs).max()))
    print(f"losses agree: largest relative difference {worst:.1e} over 4 batches of {TASKS} tasks")

    # CPU time of the one thread, and interleaved, so that other load on the machine affects all alike.
    times: dict[str, list[float]] = {"reference": [], "engine": []}
    square, peaks = torch.randn(1024, 1024), []
    for _ in range(options.rounds):
        for name, step in (("reference", reference), ("engine", ours)):
            start = time.process_time()
            for domains, tasks in drawn:
                step(domains, tasks)
            times[name].append((time.process_time() - start) / len(drawn))
        start = time.process_time()
        for _ in range(8):
            square @ square
        peaks.append(8 * 2 * 1024**3 / (time.process_time() - start))
    peak = statistics.median(peaks)
    tokens = statistics.mean(sum(len(s) for t in tasks for s in t) for _, tasks in drawn)
    # the BiLSTM's two matrices are multiplied three times: forward, gradient by input and by weight
    work = tokens * 3 * 2 * 2 * 512 * (300 + 128)
    for name, seconds in times.items():
        typical = statistics.median(seconds)
        print(
            f"{name:9}: {1 / typical:6.2f} meta-iterations/s, {typical * 1e3:6.1f} ms each "
            f"(best {min(seconds) * 1e3:.1f}), {work / typical / peak:.0%} of the matrix-multiply limit"
        )
    print(
        f"limit: {peak / 1e9:.0f} GFLOP/s measured; {work / 1e9:.2f} GFLOP of BiLSTM products an iteration"
    )
    print(
        f"ratio: {statistics.median(times['reference']) / statistics.median(times['engine']):.2f}"
    )


if __name__ == "__main__":
    main()
