"""Compares the speed of our tagger with spaCy's on the same raw texts, in one run on one thread.

    .venv/bin/pip install -e '.[spacy]'
    .venv/bin/python benchmarks/tagging.py

Both are trained on the same sentences and use their own tokenisers: ``Tagger.predict`` and ``nlp.pipe`` of
spaCy's ``blank('en')`` with its CNN NER. Texts are ten sentences each from BC5CDR's test split (or the
package's own corpus if it is missing). Both take turns, and the median user time of the processor counts,
so that other load affects both alike. (System time is left out in favour of spaCy: page faults of its
large arrays vary with the load of the machine.) Tokens are the corpus's for both. The output has tokens
per second and F1 of both; the last line is ``ratio: N.NN``, above 1 if ours is faster.
"""

from __future__ import annotations

import argparse
import os
import random
import resource
import statistics
from collections.abc import Callable, Sequence

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("BLIS_NUM_THREADS", "1")
import spacy
import torch
from common import SHARED, shared_corpus, shared_vectors
from spacy.training import Example

from adaptner.adaptation.fine_tune import FineTuneConfig, fine_tune
from adaptner.compute import prepare_process
from adaptner.corpora.bundled import bundled_corpus
from adaptner.corpora.corpus import Corpus
from adaptner.methods.configuration import method_for_base
from adaptner.metrics.spans import score_entities
from adaptner.models.base import Base
from adaptner.models.installed import load_base
from adaptner.nn.encoders.config import EncoderConfig
from adaptner.nn.encoders.registry import new_encoder
from adaptner.nn.model import TaggingModel
from adaptner.types import Entity, LabelSet, Sentence
from adaptner.vectors.word_vectors import WordVectors

SENTENCES_PER_TEXT = 10
BATCH = 32  # texts per batch of spaCy: with its default of 1000, page faults slow it down


def load_data(name: str) -> tuple[Corpus, WordVectors | None]:
    if (SHARED / "data/bio8").is_dir():
        return shared_corpus(f"bio8/{name}"), shared_vectors("pubmed-w2v-200d.npy")
    return bundled_corpus("drug"), None


def untrained_base(sentences: Sequence[Sentence], vectors: WordVectors | None) -> Base:
    """Returns a base with HGDA's encoder, which is as fast as a trained one."""
    generator = torch.Generator().manual_seed(0)
    encoder, batcher = new_encoder(EncoderConfig(), sentences, vectors, 0, generator)
    model = TaggingModel(encoder, {"target": LabelSet.of(sentences)}, generator)
    return Base(model, batcher, "in-domain")


def train_spacy(sentences: Sequence[Sentence], epochs: int) -> spacy.Language:
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


def f1(predicted: list[list[Entity]], sentences: Sequence[Sentence]) -> float:
    return score_entities([s.entities for s in sentences], predicted).overall.f1


def user_seconds(run: Callable[[], object]) -> float:
    start = resource.getrusage(resource.RUSAGE_SELF).ru_utime
    run()
    return resource.getrusage(resource.RUSAGE_SELF).ru_utime - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--corpus", default="bc5cdr-chem", help="corpus in shared/data/bio8")
    parser.add_argument("--base", help="adapt this base (folder or name), not a new encoder")
    parser.add_argument("--sentences", type=int, default=500, help="training sentences")
    parser.add_argument("--epochs", type=int, default=8, help="epochs of a new encoder")
    parser.add_argument("--spacy-epochs", type=int, default=20, help="spaCy needs more epochs")
    parser.add_argument("--limit", type=int, help="maximum number of test sentences")
    parser.add_argument("--rounds", type=int, default=7, help="timed runs after a warm-up run")
    options = parser.parse_args()

    prepare_process()
    corpus, vectors = load_data(options.corpus)
    train, test = corpus.split("train")[: options.sentences], corpus.split("test")[: options.limit]
    if options.base:
        base = load_base(options.base)
        tagger = method_for_base(None, base).adapt(base, train)
    else:
        config = FineTuneConfig(steps=1, epochs=options.epochs)
        tagger = fine_tune(untrained_base(train, vectors), train, config)
    nlp = train_spacy(train, options.spacy_epochs)

    sentences = [s.text for s in test]
    starts = range(0, len(test), SENTENCES_PER_TEXT)
    texts = [" ".join(sentences[start : start + SENTENCES_PER_TEXT]) for start in starts]
    tokens = sum(map(len, test))
    runs = {
        "adaptner": lambda: tagger.predict(texts),
        "spaCy": lambda: list(nlp.pipe(texts, batch_size=BATCH)),
    }
    seconds: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(options.rounds + 1):
        for name, run in runs.items():
            seconds[name].append(user_seconds(run))
    median = {name: statistics.median(times[1:]) for name, times in seconds.items()}

    docs = nlp.pipe(sentences)
    by_spacy = [[Entity(e.start_char, e.end_char, e.label_) for e in doc.ents] for doc in docs]
    scores = {"adaptner": f1(tagger.predict(sentences), test), "spaCy": f1(by_spacy, test)}
    print(f"{corpus.domain}: {len(train)} training sentences, {len(texts)} texts, {tokens} tokens")
    for name, time_taken in median.items():
        print(f"{name:9} {tokens / time_taken:8.0f} tokens/s   F1 {100 * scores[name]:.1f}")
    print(f"ratio: {median['spaCy'] / median['adaptner']:.2f}")


if __name__ == "__main__":
    main()
