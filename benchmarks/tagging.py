"""Tokens per second of our tagger and of spaCy's, on the same raw strings, in one run on one thread.

    .venv/bin/pip install -e '.[spacy]'
    .venv/bin/python benchmarks/tagging.py

Both are trained on the same sentences and tokenise for themselves: ``Tagger.predict`` against
``nlp.pipe`` of spaCy's ``blank('en')`` with its CNN NER. Texts are BC5CDR's test split (the package's
own where it is absent), ten sentences a text. The two take turns and the median of each counts: of
the processor's time in user mode, so that a busy machine slows both alike. (The system's share is
left out in favour of spaCy: page faults of its large arrays, which swing with the machine's load.)
Tokens are the corpus's, for both. The last line printed is ``ratio: N.NN``.
"""

from __future__ import annotations

import argparse
import os
import random
import resource
import statistics
from collections.abc import Callable, Sequence
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("BLIS_NUM_THREADS", "1")
import spacy
import torch
from spacy.training import Example

from adaptner.adaptation.fine_tune import FineTuneConfig, fine_tune
from adaptner.compute import prepare_process
from adaptner.corpora.bundled import bundled_corpus
from adaptner.corpora.corpus import Corpus, load_corpus
from adaptner.methods.configuration import method_for_base
from adaptner.metrics.spans import score_entities
from adaptner.models.base import Base
from adaptner.models.installed import load_base
from adaptner.nn.encoders.recurrent import EncoderConfig
from adaptner.nn.encoders.registry import new_encoder
from adaptner.nn.model import TaggingModel
from adaptner.types import Entity, LabelSet, Sentence
from adaptner.vectors.word_vectors import read_vectors

SHARED = Path(__file__).resolve().parents[2] / "shared"
SENTENCES_A_TEXT = 10
BATCH = 32  # texts that spaCy takes at a time: with its default, 1000, page faults slow it down


def corpus_of(name: str) -> Corpus:
    folder = SHARED / "data/bio8" / name
    return load_corpus(folder) if folder.is_dir() else bundled_corpus("drug")


def our_base(sentences: Sequence[Sentence]) -> Base:
    """HGDA's encoder as it was made, over 200-d vectors where they are: its speed is a trained one's."""
    table = SHARED / "vectors/pubmed-w2v-200d.npy"
    vectors = read_vectors(table) if table.exists() else None
    generator = torch.Generator().manual_seed(0)
    encoder, batcher = new_encoder(EncoderConfig(), sentences, vectors, 0, generator)
    model = TaggingModel(encoder, {"target": LabelSet.of(sentences)}, generator)
    return Base(model, batcher, "in-domain")


def theirs(sentences: Sequence[Sentence], epochs: int) -> spacy.Language:
    nlp = spacy.blank("en")
    recogniser = nlp.add_pipe("ner")
    examples = []
    for sentence in sentences:
        doc = nlp.make_doc(sentence.text)
        spans = [doc.char_span(e.start, e.end, e.label) for e in sentence.entities]
        doc_entities = [(s.start_char, s.end_char, s.label_) for s in spans if s is not None]
        examples.append(Example.from_dict(doc, {"entities": doc_entities}))
        for entity in sentence.entities:
            recogniser.add_label(entity.label)
    optimiser = nlp.initialize(lambda: examples)
    rng = random.Random(0)
    for _ in range(epochs):
        rng.shuffle(examples)
        for batch in spacy.util.minibatch(examples, 8):
            nlp.update(batch, sgd=optimiser, drop=0.2)
    return nlp


def f1(found: list[list[Entity]], sentences: Sequence[Sentence]) -> float:
    return score_entities([list(s.entities) for s in sentences], found).overall.f1


def timed(run: Callable[[], object]) -> float:
    begun = resource.getrusage(resource.RUSAGE_SELF).ru_utime
    run()
    return resource.getrusage(resource.RUSAGE_SELF).ru_utime - begun


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--corpus", default="bc5cdr-chem", help="in shared/data/bio8")
    parser.add_argument(
        "--base", help="adapt this one (folder or name), in its own way, instead of a fresh encoder"
    )
    parser.add_argument("--sentences", type=int, default=500, help="that both learn from")
    parser.add_argument("--epochs", type=int, default=8, help="of ours")
    parser.add_argument("--spacy-epochs", type=int, default=20, help="of spaCy's, which needs more")
    parser.add_argument("--limit", type=int, help="test sentences")
    parser.add_argument("--rounds", type=int, default=7)
    given = parser.parse_args()

    prepare_process()
    corpus = corpus_of(given.corpus)
    train, test = corpus.split("train")[: given.sentences], corpus.split("test")[: given.limit]
    if given.base:
        base = load_base(given.base)
        tagger = method_for_base(None, base).adapt(base, train)
    else:
        config = FineTuneConfig(steps=1, epochs=given.epochs)
        tagger = fine_tune(our_base(train), train, config)
    nlp = theirs(train, given.spacy_epochs)

    groups = [test[at : at + SENTENCES_A_TEXT] for at in range(0, len(test), SENTENCES_A_TEXT)]
    texts = [" ".join(s.text for s in group) for group in groups]
    tokens = sum(map(len, test))
    runs = {
        "adaptner": lambda: tagger.predict(texts),
        "spaCy": lambda: list(nlp.pipe(texts, batch_size=BATCH)),
    }
    seconds: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(given.rounds + 1):
        for name, run in runs.items():
            seconds[name].append(timed(run))
    median = {name: statistics.median(times[1:]) for name, times in seconds.items()}  # 1 to warm up

    alone = [s.text for s in test]
    marked = [[Entity(e.start_char, e.end_char, e.label_) for e in d.ents] for d in nlp.pipe(alone)]
    scores = {"adaptner": f1(tagger.predict(alone), test), "spaCy": f1(marked, test)}
    print(
        f"{corpus.domain}: {len(train)} sentences to learn from, {len(texts)} texts, {tokens} tokens"
    )
    for name, time_taken in median.items():
        speed = tokens / time_taken
        print(f"{name:9} {speed:8.0f} tokens/s   F1 {100 * scores[name]:.1f}")
    print(f"ratio: {median['spaCy'] / median['adaptner']:.2f}")


if __name__ == "__main__":
    main()
