"""A tagger: finds entities in text, and can be saved and loaded."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from adaptner.errors import UsageError
from adaptner.files import atomic_folder
from adaptner.formats.chunks import group_chunks, split_document
from adaptner.models.assessment import Assessment
from adaptner.models.installed import find_terms
from adaptner.models.mentions import PredictedMention, mentions_of
from adaptner.models.storage import (
    MANIFEST,
    DomainEntry,
    Manifest,
    consistent_files,
    read_model,
    write_model,
)
from adaptner.models.terms import features_of, own_files, reference_to
from adaptner.nn.batching.batch import Batch, Batcher
from adaptner.nn.decoders.calibration import Calibration
from adaptner.nn.encoders.base import Encoder
from adaptner.nn.encoders.registry import restored_encoder
from adaptner.nn.encoders.word_cache import WordCache
from adaptner.nn.model import Decoder, ModelShape, make_decoder, tag_scores
from adaptner.terms.features import TermFeatures
from adaptner.terms.linking import MentionLinker
from adaptner.text.alignment import to_sentences
from adaptner.types import Document, Entity, LabelSet, Sentence
from adaptner.version import __version__

# Longer sentences are tagged in overlapping windows, so that memory is bounded.
WINDOW, OVERLAP = 512, 64
ESTIMATE_FACT = "estimate"  # the key of the assessment in a tagger's facts
_NO_CONFIDENCE = np.zeros((0, 3))  # of a sentence without a mention
BATCH_TOKENS = 4096  # padded tokens in a batch: larger ones are no faster


class Tagger(nn.Module):
    """An encoder with a decoder. `predict` changes nothing, so several threads may call it.

    >>> tagger = Tagger.load("my-model")                                   # doctest: +SKIP
    >>> tagger.predict(["HeLa cells were grown overnight."])               # doctest: +SKIP
    [[Entity(start=0, end=4, label='CellLine', score=0.97)]]
    """

    def __init__(
        self,
        encoder: Encoder,
        decoder: Decoder,
        batcher: Batcher,
        method: str,
        facts: dict[str, Any] | None = None,
        vectors_from: Path | None = None,
        calibration: Calibration | None = None,
        features: TermFeatures | None = None,
    ) -> None:
        super().__init__()
        self.encoder = encoder
        self.decoder = decoder
        self.batcher = batcher
        self.method = method
        self.facts = facts or {}
        self.calibration = calibration or Calibration()
        self.features = features
        self._vectors_from = vectors_from
        self._memory = WordCache()

    @property
    def labels(self) -> LabelSet:
        return self.decoder.labels

    @property
    def assessment(self) -> Assessment | None:
        """The estimate of F1 made while adapting, or None."""
        values = self.facts.get(ESTIMATE_FACT)
        return None if values is None else Assessment.from_json(values)

    def predict(
        self, texts: Iterable[str], *, ids: bool = True, explain: bool = False
    ) -> list[list[Entity]]:
        """The entities of each text. Offsets are into that text, and a score is the probability that
        borders and label are right.

        ids: give each entity that is a name in a terminology the ids of its concepts.
        explain: say which name it was found by (``entity.origin``)."""
        if isinstance(texts, str):
            raise UsageError(
                problem="predict takes a list of texts", remedy="write predict([text])"
            )
        return list(self.stream((Document(text) for text in texts), ids=ids, explain=explain))

    def predict_documents(
        self, documents: Sequence[Document], *, ids: bool = True, explain: bool = False
    ) -> list[list[Entity]]:
        return list(self.stream(documents, ids=ids, explain=explain))

    def stream(
        self, documents: Iterable[Document], *, ids: bool = True, explain: bool = False
    ) -> Iterator[list[Entity]]:
        """The entities of each document, of which there may be any number: few are read ahead."""
        found: list[Entity] = []
        for chunk in group_chunks(
            part for document in documents for part in split_document(document)
        ):
            sentences = [to_sentences(part.document) for part in chunk]
            numbers = [number for number, own in enumerate(sentences) for _ in own]
            every = [s for own in sentences for s in own]
            tagged = iter(self.predict_sentences(every, numbers, ids=ids, explain=explain))
            for part, own in zip(chunk, sentences, strict=True):
                # `tagged` goes on with the next part
                for sentence, entities in zip(own, tagged, strict=False):
                    found += [e.shifted(part.start + sentence.start) for e in entities]
                if part.last:
                    yield found
                    found = []

    def predict_sentences(
        self,
        sentences: Sequence[Sentence],
        documents: Sequence[int] | None = None,
        *,
        ids: bool = True,
        explain: bool = False,
    ) -> list[list[Entity]]:
        """The entities of tokenised sentences, with offsets into each sentence's text. ``documents`` has
        the number of each sentence's document, whose abbreviations hold in the sentences that follow;
        without it each sentence stands alone. ``ids`` and ``explain`` are as for `predict`."""
        linker = self._linker(sentences, documents)
        mentions = self._mentions(sentences, linker)
        entities = [
            [self._entity(sentence, m) for m in own]
            for sentence, own in zip(sentences, mentions, strict=True)
        ]
        if linker is None or not (ids or explain):
            return entities
        return [
            [
                replace(
                    entity,
                    ids=linker.ids(number, *mention[:3]) if ids else (),
                    origin=linker.origin(number, *mention[:3]) if explain else None,
                )
                for entity, mention in zip(found, own, strict=True)
            ]
            for number, (found, own) in enumerate(zip(entities, mentions, strict=True))
        ]

    def _linker(
        self, sentences: Sequence[Sentence], documents: Sequence[int] | None
    ) -> MentionLinker | None:
        if self.features is None:
            return None
        return MentionLinker(self.features, [s.tokens for s in sentences], documents)

    def mentions(
        self, sentences: Sequence[Sentence], documents: Sequence[int] | None = None
    ) -> list[list[PredictedMention]]:
        """The mentions of each sentence as token spans, with log-odds before calibration."""
        return self._mentions(sentences, self._linker(sentences, documents))

    def _mentions(
        self, sentences: Sequence[Sentence], linker: MentionLinker | None
    ) -> list[list[PredictedMention]]:
        windows = [
            (number, first, window)
            for number, sentence in enumerate(sentences)
            for first, window in _windows(sentence)
        ]
        windows.sort(key=lambda entry: len(entry[2]))
        of_terms: list[np.ndarray] = []
        if linker is not None:
            of_terms = linker.present_features().times(self._weight_of_features())
        tags: list[list[int]] = [[0] * len(s) for s in sentences]
        confidences: list[np.ndarray] = [_NO_CONFIDENCE] * len(sentences)
        start = 0
        while start < len(windows):
            end = start + 1
            while end < len(windows) and (end + 1 - start) * len(windows[end][2]) <= BATCH_TOKENS:
                end += 1
            batch = windows[start:end]
            tagged = self._tag(
                [window for _, _, window in batch],
                [of_terms[n][first : first + len(w)] for n, first, w in batch] if of_terms else [],
            )
            for (number, first, window), (path, confidence) in zip(batch, tagged, strict=True):
                # Each of two overlapping windows decides the half for which it has more context.
                begin = OVERLAP // 2 if first else 0
                is_last = first + len(window) == len(sentences[number])
                stop = len(window) if is_last else len(window) - OVERLAP // 2
                place = slice(first + begin, first + stop)
                tags[number][place] = path[begin:stop]
                if len(confidence) == len(sentences[number]):
                    confidences[number] = confidence
                elif len(confidence):  # the sentence has several windows
                    if not len(confidences[number]):
                        confidences[number] = np.zeros((len(sentences[number]), 3))
                    confidences[number][place] = confidence[begin:stop]
            start = end
        return [mentions_of(t, c, self.labels) for t, c in zip(tags, confidences, strict=True)]

    def states(self, sentences: Sequence[Sentence]) -> tuple[Batch, torch.Tensor]:
        """The sentences as a batch, and what the decoder reads of them: the encoder's states and, beside
        them, the features of terminologies."""
        batch = self.batcher([sentences]).to(self.encoder.device)
        states = self.encoder(batch)
        if self.features is not None:
            of_terms = batch.arrange(self.features.of([s.tokens for s in sentences]))
            states = torch.cat([states, of_terms], -1)
        return batch, states

    def _weight_of_features(self) -> np.ndarray:
        """(features of terminologies, tags)"""
        assert self.decoder.kind != "prototypes"
        weight: np.ndarray = (
            self.decoder.weight[0, :, self.encoder.width :].T.detach().cpu().numpy()
        )
        return weight

    @torch.no_grad()
    def _tag(
        self, sentences: Sequence[Sentence], of_terms: Sequence[np.ndarray] = ()
    ) -> list[tuple[list[int], np.ndarray]]:
        """The tags of each sentence and, if it has a mention, their confidence. ``of_terms`` are the tag
        scores that terminologies give each token."""
        batch = self.batcher([sentences]).to(self.encoder.device)
        of_features = batch.arrange(of_terms) if of_terms else None
        scores = tag_scores(self.encoder, self.decoder, batch, self._memory, of_features)
        paths = self.decoder.decode_scores(scores, batch.mask)
        found = ((paths > 0) & batch.mask).any(2)[0]  # most sentences have none
        confidences = iter(())
        if found.any():
            confidence = self.decoder.path_confidence(
                scores[:, found], batch.mask[:, found], paths[:, found]
            )
            confidences = iter(confidence[:, 0].permute(1, 2, 0).contiguous().cpu().numpy())
        results: list[tuple[list[int], np.ndarray]] = [([], _NO_CONFIDENCE)] * len(sentences)
        rows = zip(batch.order[0], paths[0].tolist(), found.tolist(), strict=True)
        for place, path, has_mention in rows:
            length = len(sentences[place])
            known = next(confidences)[:length] if has_mention else _NO_CONFIDENCE
            results[place] = path[:length], known
        return results

    def _entity(self, sentence: Sentence, mention: PredictedMention) -> Entity:
        start = sentence.token_spans[mention.first][0]
        end = sentence.token_spans[mention.end - 1][1]
        return Entity(start, end, mention.label, round(self.calibration(mention.log_odds), 4))

    def save(self, folder: str | Path) -> None:
        terms, own = None, {}
        if self.features is not None:
            terms = reference_to(self.features)
            own = own_files(self.features, terms)
        manifest = Manifest(
            kind="tagger",
            version=__version__,
            method=self.method,
            encoder=self.encoder.config,
            alphabet=getattr(self.batcher, "alphabet", ""),
            domains=[DomainEntry.of("target", self.labels)],
            shape=ModelShape(decoder=self.decoder.kind),
            facts=self.facts,
            calibration=self.calibration,
            terms=terms,
        )
        with atomic_folder(folder, marker=MANIFEST, kind="an adaptner tagger") as temporary:
            write_model(temporary, manifest, self, self.batcher, self._vectors_from, own)

    @classmethod
    def load(cls, folder: str | Path, device: torch.device | None = None) -> Tagger:
        """The tagger saved in ``folder``, on ``device`` (default: the CPU)."""
        folder = Path(folder)
        with consistent_files(folder, "tagger"):
            manifest, tensors, batcher = read_model(folder, "tagger")
            generator = torch.Generator()
            encoder = restored_encoder(manifest.encoder, batcher, generator)
            labels = manifest.domains[0].label_set()
            features = None
            if manifest.terms is not None:
                features = features_of(manifest.terms, find_terms(manifest.terms), folder)
            width = encoder.width + (0 if features is None else features.width)
            decoder = make_decoder(manifest.shape.decoder, width, labels, generator)
            facts, calibration = manifest.facts, manifest.calibration
            tagger = cls(
                encoder, decoder, batcher, manifest.method, facts, folder, calibration, features
            )
            tagger.load_state_dict(tensors)
        return tagger if device is None else tagger.to(device)


def _windows(sentence: Sentence) -> Iterable[tuple[int, Sentence]]:
    """Pairs of first token and window that cover the sentence; none if it is empty."""
    length = len(sentence)
    if length <= WINDOW:
        if length:
            yield 0, sentence
        return
    for first in range(0, max(1, length - OVERLAP), WINDOW - OVERLAP):
        yield first, Sentence(sentence.text, sentence.token_spans[first : first + WINDOW])
