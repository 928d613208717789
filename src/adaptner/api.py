"""The public functions behind ``import adaptner``."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence, Sized
from pathlib import Path
from typing import Any, NoReturn

from adaptner import compute, formats
from adaptner.adaptation.confidence.calibration import CalibrationConstants
from adaptner.adaptation.confidence.estimate import with_estimate
from adaptner.adaptation.early_stopping import EARLY_STOPPING_FROM, train_with_early_stopping
from adaptner.adaptation.suggestion import Suggestion
from adaptner.adaptation.suggestion import select_sentences as choose
from adaptner.corpora.corpus import group_by_domain, load_corpus
from adaptner.corpora.raw_text import ENDINGS, find_text_files
from adaptner.corpora.sentence_stream import ChainedSentences, RawTextFiles
from adaptner.corpora.sources import SourceDomain, source_domains
from adaptner.episodes.mention_replacement import augment_sentences
from adaptner.errors import EmptyFile, SourcesNeeded, UsageError
from adaptner.methods import method as find_method
from adaptner.methods import methods
from adaptner.methods.base import Method
from adaptner.methods.configuration import method_for_base, without_labels
from adaptner.methods.families.joint import domain_names
from adaptner.methods.pretrained_transformer import transformer_base
from adaptner.models.base import Base
from adaptner.models.installed import default_base, default_domains, load_base
from adaptner.models.tagger import Tagger
from adaptner.progress import ProgressCallback, no_progress
from adaptner.text.alignment import to_sentences
from adaptner.types import Document, LabelSet, Sentence

__all__ = ["Tagger", "adapt", "load", "read", "suggest"]

SourceSpec = str | Path | SourceDomain
Unlabelled = str | Path | Sentence


def read(path: str | Path, format: str | None = None) -> list[Sentence]:
    """The labelled sentences of a file (CoNLL, JSON Lines or plain text)."""
    sentences = list(formats.read_sentences(path, format))
    if not sentences:
        raise EmptyFile(file=path, unit="labelled sentence")
    return sentences


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
    device: str = "auto",
    progress: ProgressCallback = no_progress,
) -> Tagger:
    """A tagger from a few labelled sentences (a file, or what ``read`` gives) and a base; without
    one, from the base the package brings.

    ``encoder``: a pretrained transformer (``minilm``, a folder, or the name of one that was
    downloaded before) in place of a base.

    ``labels`` are names of what is to be found, besides those that the sentences show: a name tells
    something even where no sentence has an example.

    From a thousand sentences on it is plain training: a tenth of them is held out, and training
    stops when these are tagged no better.

    ``method`` is the base's own unless named; ``adaptner methods`` lists them. Those that need
    sources at adaptation too get ``sources``: folders of corpora of the base's domains, each
    ``DIR`` or ``DOMAIN=DIR``. Those that make use of unlabelled text get ``unlabelled``: files (a
    Path, or a string that ends as a file does: .txt, .jsonl, .conll, .gz, .xz), texts (any other
    string) or Sentences; labels are ignored. ``crossdomain-lm`` reads text files a line at a time
    and never holds them in memory. With a base that has learnt from raw text alone, as the package's
    has, its sources are any corpora, or none.

    ``estimate``: tell from the sentences themselves how good it will be (``tagger.assessment``), where
    the method has a way to.

    ``zero_shot``: no labelled sentence at all (``sentences`` is empty), for targets with the labels
    of the sources; for the methods that can.

    ``augment``: so many copies of every sentence are learnt from too, each with a mention replaced by
    another of its type, from the other sentences and from ``sources``, which may be any corpora then.

    ``device``: auto (cuda, mps or cpu), cpu, cuda or mps. A ``Base`` that is passed in stays on its own
    device unless another is named here.

    >>> tagger = adapt("sentences.jsonl", base="my-base")            # doctest: +SKIP
    >>> tagger = adapt(                                              # doctest: +SKIP
    ...     "sentences.jsonl",
    ...     base="my-base",
    ...     method="dann",
    ...     sources=["corpora/drug", "corpora/gene"],
    ...     unlabelled=["abstracts.txt", "HeLa cells were grown overnight."],
    ... )
    """
    compute.prepare_process()
    place = compute.find_device(device)
    if encoder is not None:
        if base is not None:
            raise UsageError(
                problem="encoder and base: a base has an encoder of its own",
                remedy="leave out one of them",
            )
        base = transformer_base(encoder).to(place)
    if zero_shot and isinstance(sentences, (str, Path)):
        refuse_labelled()
    if augment < 0 or (augment and zero_shot):
        raise UsageError(
            problem=f"{augment} copies of every labelled sentence" + " of none" * zero_shot,
            remedy="leave out --augment" if zero_shot else "give a number from 0 on",
        )
    specs: Sequence[SourceSpec] = _listed(sources, SourceDomain)
    texts: Sequence[Unlabelled] = _listed(unlabelled, Sentence)
    if base is not None and not isinstance(base, Base):
        base = load_base(base, place)
    elif base is not None and device != "auto":
        base.to(place)
    if method is not None and base is None:  # refused before a base is loaded for nothing
        named = method if isinstance(method, Method) else find_method(method)
        check_given(named, None, specs, texts, augment)
    if isinstance(sentences, (str, Path)):
        given: Sequence[Sentence] = read(sentences)
    else:
        given = [
            part
            for item in sentences
            for part in (to_sentences(item) if isinstance(item, Document) else [item])
        ]
        if zero_shot and given:
            refuse_labelled()
    if base is None:
        base = default_base(place)
    chosen = method if isinstance(method, Method) else method_for_base(method, base)
    if zero_shot:
        chosen = without_labels(chosen)
    check_given(chosen, base, specs, texts, augment)
    chosen.check(base)
    wanted = LabelSet(tuple(labels))
    if len(given) >= EARLY_STOPPING_FROM and chosen.capabilities.early_stopping:
        if augment:
            raise UsageError(
                problem=f"--augment has no use with {len(given):,} sentences: from {EARLY_STOPPING_FROM:,} on, some are "
                "held out to see how good the tagger is",
                remedy="leave it out",
            )
        if texts:
            raise UsageError(
                problem=f"--unlabelled has no use with {len(given):,} labelled sentences",
                remedy="leave it out",
            )
        tagger = train_with_early_stopping(
            base, given, chosen.config.adaptation, labels=wanted, seed=seed, progress=progress
        )
        tagger.method = chosen.name
        return tagger
    domains = sources_for(specs)
    others = [s for domain in domains for s in domain.sentences]
    copies = augment_sentences(given, others, augment, random.Random(seed)) if augment else []
    tagger = chosen.adapt(
        base,
        [*given, *copies],
        labels=wanted,
        sources=domains if chosen.capabilities.reads_sources else (),
        unlabelled=_streamed(texts) if chosen.capabilities.text == "streamed" else _held(texts),
        seed=seed,
        progress=progress,
    )
    if augment:
        tagger.facts["augmented"] = len(copies)
    return assess(tagger, base, chosen, given, estimate=estimate, seed=seed, progress=progress)


def load(folder: str | Path, device: str = "auto") -> Tagger:
    """A tagger saved by ``Tagger.save`` or ``adaptner adapt -o``."""
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
    """The sentences of ``texts`` (as ``adapt`` takes ``unlabelled``) whose marking would help a tagger
    most, best first, without near-duplicates of each other and of those ``labelled`` already.

    >>> for one in suggest("my-model", "abstracts.txt", labelled="my.jsonl"):   # doctest: +SKIP
    ...     print(one.sentence.text)
    """
    if number < 1:
        raise UsageError(problem=f"{number} sentences", remedy="ask for one or more")
    model = tagger if isinstance(tagger, Tagger) else load(tagger, device)
    known = read(labelled) if isinstance(labelled, (str, Path)) else labelled
    given = [texts] if isinstance(texts, (str, Path, Sentence)) else texts
    sentences = (sentence for item in given for sentence in _text_of(item))
    return choose(model, sentences, number, known)


def assess(
    tagger: Tagger,
    base: Base,
    method: Method,
    sentences: Sequence[Sentence],
    *,
    estimate: bool = True,
    seed: int = 0,
    progress: ProgressCallback = no_progress,
) -> Tagger:
    """Calibrate a tagger's scores and tell, from the ``sentences`` it was made from, how good it will
    be. Left as it is: what another method made, or many sentences, of which the constants of trust
    know nothing."""
    if not method.can_estimate(sentences):
        return tagger
    left_out = None
    if estimate:
        left_out = method.held_out(
            base, sentences, labels=tagger.labels, seed=seed, progress=progress
        )
    known = tagger.facts.get("known", {}).keys() >= set(tagger.labels.labels)
    return with_estimate(
        tagger, sentences, left_out, CalibrationConstants.of(base.folder, known=known)
    )


# --- shared with the command line -----------------------------------------------------------------


def check_given(
    method: Method | type[Method],
    base: Base | None,
    sources: Sized,
    unlabelled: Sized = (),
    augment: int = 0,
) -> None:
    """Refuse a method that lacks its sources, and what a method would make no use of, before any
    work. Without ``base`` it is the package's. Augmentation makes use of any sources."""
    if augment and (method.capabilities.augments or not method.capabilities.reads_labels):
        raise UsageError(
            problem=f"--augment has no use where {method.name} adapts a base"
            + (": it makes copies of its own" if method.capabilities.augments else ""),
            remedy="leave out --augment, or name another method with --method",
        )
    alone = method.capabilities.sources == "optional" and (
        base is None or base.provenance.encoder_from == "raw text"
    )
    if method.capabilities.reads_sources and not len(sources) and not alone:
        domains = base.model.domains if base else default_domains()
        raise SourcesNeeded(method=method.name, given="none", domains=domain_names(domains))
    for option, given, use in (
        ("--sources", sources, "reads_sources"),
        ("--unlabelled", unlabelled, "reads_text"),
    ):
        if len(given) and not (
            getattr(method.capabilities, use) or (augment and use == "reads_sources")
        ):
            users = ", ".join(m.name for m in methods().values() if getattr(m.capabilities, use))
            raise UsageError(
                problem=f"{option} has no use where {method.name} adapts a base",
                remedy=f"leave out {option}, or name a method that uses it with --method: {users}",
            )


def refuse_labelled() -> NoReturn:
    raise UsageError(
        problem="labelled sentences have no use in zero-shot learning",
        remedy="leave them out and give the target's text with --unlabelled, or leave out --zero-shot",
    )


def sources_for(
    sources: Iterable[SourceSpec], held_out: Iterable[Sentence] = ()
) -> list[SourceDomain]:
    """Corpora as domains, less the sentences of ``held_out``."""
    given = list(sources)
    corpora = [load_corpus(spec) for spec in given if not isinstance(spec, SourceDomain)]
    domains = [item for item in given if isinstance(item, SourceDomain)]
    return domains + source_domains(group_by_domain(corpora), held_out)


def _listed(given: Any, single: type) -> list[Any]:
    """One thing may stand without a list around it."""
    return [given] if isinstance(given, (str, Path, single)) else list(given)


def _held(texts: Iterable[Unlabelled]) -> list[Sentence]:
    return [s for item in texts for s in _text_of(item) if len(s)]


def _streamed(texts: Sequence[Unlabelled]) -> Iterable[Sentence]:
    """Raw text files are read whenever they are gone through; what is wrong with their names is
    known at once. All else is in memory."""
    files = [
        isinstance(item, (str, Path)) and str(item).lower().endswith(ENDINGS) for item in texts
    ]
    parts: list[Iterable[Sentence]] = []
    for item, raw in zip(texts, files, strict=True):
        if raw:
            text = RawTextFiles(tuple(find_text_files([Path(str(item))])))
            if next(iter(text), None) is None:
                raise EmptyFile(file=str(item), unit="sentence")
            parts.append(text)
        else:
            parts.append(_text_of(item))
    return ChainedSentences(tuple(parts))


def _text_of(item: Unlabelled) -> list[Sentence]:
    """The sentences of a file, of a text, or the sentence itself, without labels."""
    if isinstance(item, Sentence):
        return [Sentence(item.text, item.token_spans)]
    endings = [ending for format in formats.FORMATS.values() for ending in format.endings]
    if isinstance(item, str) and not item.lower().endswith((*endings, *ENDINGS)):
        return to_sentences(Document(item))
    if str(item).lower().endswith((".gz", ".xz")):
        return list(RawTextFiles(tuple(find_text_files([Path(item)]))))
    # Labels go first: those that stand on no token border are no fault here.
    documents = (Document(d.text, token_spans=d.token_spans) for d in formats.read(item))
    return [sentence for document in documents for sentence in to_sentences(document)]
