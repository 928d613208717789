"""The tagger as a component of a spaCy pipeline (extra ``spacy``).

    nlp = spacy.blank("en")
    nlp.add_pipe("adaptner", config={"model": "my-model"})
    nlp("HeLa cells were grown overnight.").ents

spaCy finds the component through the entry point ``spacy_factories`` and imports this file with every
pipeline, so torch is imported only when there is a document to tag.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import srsly
from spacy.language import Language
from spacy.tokens import Doc, Span
from spacy.util import filter_spans, minibatch

from adaptner.errors import AdaptnerError, UsageError

if TYPE_CHECKING:
    from adaptner.models.tagger import Tagger
    from adaptner.types import Entity

BorderAlignment = Literal["strict", "contract", "expand"]
SCORE = "adaptner_score"  # span._.adaptner_score


class AdaptnerComponent:
    """Sets ``doc.ents``. The tagger tokenises ``doc.text`` itself, as it did in training. A mention that
    begins or ends inside one of spaCy's tokens is extended to the whole token ("expand"), shortened
    ("contract") or dropped ("strict"), as ``alignment`` says.

    ``model`` is not needed for a saved pipeline, which contains a copy of it."""

    def __init__(
        self,
        name: str,
        model: str | None,
        overwrite: bool = True,
        alignment: BorderAlignment = "expand",
        device: str = "auto",
    ) -> None:
        self.name, self._model, self._device = name, model, device
        self._overwrite, self._alignment = overwrite, alignment
        self._loaded: Tagger | None = None
        if not Span.has_extension(SCORE):
            Span.set_extension(SCORE, getter=_score)

    @property
    def tagger(self) -> Tagger:
        if self._loaded is None:
            if self._model is None:
                raise UsageError(
                    problem="the adaptner component has no model",
                    remedy='add it with config={"model": FOLDER}, made by `adaptner adapt`',
                )
            self._load(self._model)
            assert self._loaded is not None
        return self._loaded

    @property
    def labels(self) -> tuple[str, ...]:
        try:
            return self.tagger.labels.labels
        except AdaptnerError:  # spaCy asks before it has loaded a saved pipeline's model
            return ()

    def __call__(self, doc: Doc) -> Doc:
        return self._annotate(doc, self.tagger.predict([doc.text])[0])

    def pipe(self, stream: Iterable[Doc], *, batch_size: int = 128) -> Iterator[Doc]:
        for docs in minibatch(stream, batch_size):
            found = self.tagger.predict([doc.text for doc in docs])
            for doc, entities in zip(docs, found, strict=True):
                yield self._annotate(doc, entities)

    def _annotate(self, doc: Doc, entities: list[Entity]) -> Doc:
        spans: list[Span] = [] if self._overwrite else list(doc.ents)
        taken = {token for span in spans for token in range(span.start, span.end)}
        # Of overlapping entities, the most certain one wins.
        for entity in sorted(entities, key=lambda e: -(e.score or 0.0)):
            span = doc.char_span(
                entity.start, entity.end, label=entity.label, alignment_mode=self._alignment
            )
            if span is None or taken.intersection(range(span.start, span.end)):
                continue
            taken.update(range(span.start, span.end))
            spans.append(span)
            doc.user_data[_key(span)] = entity.score
        doc.ents = filter_spans(spans)
        return doc

    def to_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> None:
        self.tagger.save(path)

    def from_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> AdaptnerComponent:
        self._load(path)
        return self

    def to_bytes(self, *, exclude: Iterable[str] = ()) -> bytes:
        with tempfile.TemporaryDirectory() as folder:
            self.tagger.save(Path(folder) / "model")
            files = {file.name: file.read_bytes() for file in (Path(folder) / "model").iterdir()}
        packed: bytes = srsly.msgpack_dumps(files)
        return packed

    def from_bytes(self, data: bytes, *, exclude: Iterable[str] = ()) -> AdaptnerComponent:
        files: dict[str, bytes] = srsly.msgpack_loads(data)
        with tempfile.TemporaryDirectory() as folder:
            for name, content in files.items():
                (Path(folder) / Path(name).name).write_bytes(content)
            self._load(folder)
        return self

    def _load(self, folder: str | Path) -> None:
        from adaptner.api import load

        self._loaded = load(folder, device=self._device)


@Language.factory(
    "adaptner",
    assigns=["doc.ents", "token.ent_iob", "token.ent_type"],
    default_config={"model": None, "overwrite": True, "alignment": "expand", "device": "auto"},
)
def make_adaptner(
    nlp: Language,
    name: str,
    model: str | None,
    overwrite: bool,
    alignment: BorderAlignment,
    device: str,
) -> AdaptnerComponent:
    return AdaptnerComponent(name, model, overwrite, alignment, device)


def _key(span: Span) -> str:
    return f"{SCORE} {span.start_char} {span.end_char}"


def _score(span: Span) -> Any:
    """None for a span that another component set."""
    return span.doc.user_data.get(_key(span))
