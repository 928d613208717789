"""The public functions of ``import adaptner``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from adaptner import compute
from adaptner.api.inputs import (
    SourceSpec,
    Unlabelled,
    find_base,
    read,
    sentences_of,
    with_own_names,
)
from adaptner.errors import UsageError
from adaptner.models.tagger import Tagger
from adaptner.progress import ProgressCallback, no_progress
from adaptner.types import Document, Sentence

if TYPE_CHECKING:
    from adaptner.adaptation.suggestion import Suggestion
    from adaptner.methods.base import Method
    from adaptner.models.base import Base

__all__ = ["Tagger", "adapt", "load", "read", "suggest", "tagger"]


def adapt(
    sentences: str | Path | Iterable[Sentence | Document],
    base: str | Path | Base | None = None,
    *,
    method: str | Method | None = None,
    labels: Iterable[str] = (),
    sources: SourceSpec | Iterable[SourceSpec] = (),
    unlabelled: Unlabelled | Iterable[Unlabelled] = (),
    zero_shot: bool = False,
    encoder: str | None = None,
    estimate: bool = True,
    augment: int = 0,
    seed: int = 0,
    terms: Mapping[str, str | Path] | None = None,
    keep_all: bool = False,
    device: str = "auto",
    progress: ProgressCallback = no_progress,
) -> Tagger:
    """Make a tagger from a few labelled sentences: a file, or what `read` returns.

    From 1,000 sentences on, a tenth of them is held out, and training stops when the F1 on these no
    longer rises.

    base: a folder, a name listed by ``adaptner bases`` or a loaded base; defaults to the base that
        comes with the package.
    method: a name listed by ``adaptner methods``; defaults to the base's own method.
    labels: names of entity types to find in addition to those of the sentences. A name has a meaning
        even if no sentence has an example.
    sources: source corpora, each ``FOLDER`` or ``DOMAIN=FOLDER``, for methods that read them while
        adapting. They must be of the base's domains unless its encoder was trained on raw text only.
    unlabelled: more text of the target, for methods that use it: files (a path, or a string ending
        in .txt, .jsonl, .conll, .gz or .xz), texts (any other string) or sentences.
    zero_shot: adapt without any labelled sentence (``sentences`` must be empty), for methods that can
        and targets with the labels of the sources.
    encoder: a pretrained transformer in place of a base: ``minilm``, a folder, or the name of a
        downloaded one.
    estimate: estimate F1 by cross-validation (``tagger.assessment``), if the method can.
    augment: copies of each sentence to learn from as well, each with a mention replaced by another of
        the same label from the sentences or from ``sources``, which may then be any corpora.
    terms and keep_all: as in `tagger`.
    device: auto (cuda, mps or cpu), cpu, cuda or mps. With auto, a loaded ``base`` stays where it is.

    Raises UsageError for arguments that exclude each other or that the method does not use, and other
    subclasses of AdaptnerError for data that cannot be used.

    >>> tagger = adapt("sentences.jsonl")                            # doctest: +SKIP
    >>> tagger = adapt(                                              # doctest: +SKIP
    ...     "sentences.jsonl",
    ...     base="my-base",
    ...     method="dann",
    ...     sources=["corpora/drug", "corpora/gene"],
    ...     unlabelled=["abstracts.txt", "HeLa cells were grown overnight."],
    ... )
    """
    from adaptner.api.adaptation import AdaptOptions, prepare

    options = AdaptOptions(
        base=base,
        method=method,
        labels=labels,
        sources=sources,
        unlabelled=unlabelled,
        zero_shot=zero_shot,
        encoder=encoder,
        augment=augment,
        seed=seed,
        terms=terms or {},
        keep_all=keep_all,
        device=device,
    )
    adaptation = prepare(sentences, options)
    return adaptation.assess(adaptation.run(progress), estimate=estimate, progress=progress)


def tagger(
    labels: str | Iterable[str],
    base: str | Path | Base | None = None,
    *,
    terms: Mapping[str, str | Path] | None = None,
    keep_all: bool = False,
    device: str = "auto",
) -> Tagger:
    """Make a tagger from the names of entity types alone, without any labelled sentence. It finds what
    the terminologies of the base know of these types.

    base and device: as in `adapt`.
    terms: for labels, files with your own names for them, one a line or in a table, that count beside
        those of the base. Names that would do harm, such as ordinary words, are not used
        (``tagger.facts["unused_names"]`` has them with the reasons) unless you ``keep_all``.

    Raises UnknownKind for a type that the terminologies do not know, and TermsNeeded for a base
    without terminologies.

    >>> tagger(["Disease", "Anatomy"]).predict(["He has asthma."])   # doctest: +SKIP
    [[Entity(start=7, end=13, label='Disease', score=0.75)]]
    """
    from adaptner.adaptation.dictionary_tagger import dictionary_tagger

    compute.prepare_process()
    names = [labels] if isinstance(labels, str) else list(labels)
    found = find_base(base, device)
    unused: dict[str, dict[str, str]] = {}
    if terms:
        found, unused = with_own_names(found, terms, names, keep_all=keep_all)
    made = dictionary_tagger(found, names)
    if unused:
        made.facts["unused_names"] = unused
    return made


def load(folder: str | Path, device: str = "auto") -> Tagger:
    """Load a tagger that `Tagger.save` or ``adaptner adapt`` saved.

    >>> tagger = load("my-model")                                    # doctest: +SKIP
    """
    compute.prepare_process()
    return Tagger.load(folder, compute.find_device(device))


def suggest(
    tagger: Tagger | str | Path,
    texts: Unlabelled | Iterable[Unlabelled],
    number: int = 10,
    *,
    labelled: str | Path | Sequence[Sentence] = (),
    device: str = "auto",
) -> list[Suggestion]:
    """Return the sentences of ``texts`` whose annotation would help the tagger most, best first.

    ``texts`` may be anything that `adapt` takes as ``unlabelled``. Near-duplicates of each other and
    of the ``labelled`` sentences are left out.

    >>> for suggestion in suggest("my-model", "abstracts.txt", labelled="my.jsonl"):  # doctest: +SKIP
    ...     print(suggestion.sentence.text)
    """
    from adaptner.adaptation.suggestion import select_sentences

    if number < 1:
        raise UsageError(problem=f"{number} sentences", remedy="ask for one or more")
    model = tagger if isinstance(tagger, Tagger) else load(tagger, device)
    annotated = read(labelled) if isinstance(labelled, (str, Path)) else labelled
    items = [texts] if isinstance(texts, (str, Path, Sentence)) else texts
    sentences = (sentence for item in items for sentence in sentences_of(item))
    return select_sentences(model, sentences, number, annotated)
