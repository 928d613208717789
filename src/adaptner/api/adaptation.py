"""Checks the arguments of an adaptation once, for Python and the command line, and runs it."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence, Sized
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from adaptner import compute
from adaptner.adaptation.confidence.calibration import CalibrationConstants
from adaptner.adaptation.confidence.estimate import start_of_labels, with_estimate
from adaptner.adaptation.early_stopping import EARLY_STOPPING_FROM, train_with_early_stopping
from adaptner.api.inputs import (
    SourceSpec,
    Unlabelled,
    as_list,
    find_base,
    read,
    read_sources,
    read_text,
    stream_text,
    with_own_names,
)
from adaptner.corpora.sources import SourceDomain
from adaptner.errors import NoEntities, SourcesNeeded, UsageError
from adaptner.methods import methods
from adaptner.methods.base import Method
from adaptner.methods.configuration import make_method, method_for_base, without_labels
from adaptner.models.base import Base
from adaptner.models.installed import default_domains
from adaptner.models.tagger import Tagger
from adaptner.progress import ProgressCallback, no_progress
from adaptner.text.alignment import to_sentences
from adaptner.types import Document, LabelSet, Sentence

Labelled = str | Path | Iterable[Sentence | Document]


@dataclass(frozen=True, kw_only=True)
class AdaptOptions:
    """The arguments of `adapt` other than the sentences, and two that only the command line has."""

    base: str | Path | Base | None = None
    method: str | Method | None = None
    config: Path | None = None  # TOML file with settings of the method
    labels: Iterable[str] = ()
    sources: SourceSpec | Iterable[SourceSpec] = ()
    unlabelled: Unlabelled | Iterable[Unlabelled] = ()
    zero_shot: bool = False
    encoder: str | None = None
    download: bool = False  # the encoder, from the Hugging Face hub
    augment: int = 0
    seed: int = 0
    terms: Mapping[str, str | Path] = field(default_factory=dict)  # files with names of labels
    keep_all: bool = False
    device: str = "auto"


@dataclass
class Adaptation:
    """A checked adaptation, ready to run."""

    base: Base
    method: Method
    sentences: Sequence[Sentence]
    labels: LabelSet
    seed: int
    sources: Sequence[SourceDomain] = ()
    text: Iterable[Sentence] = ()
    copies: Sequence[Sentence] | None = None  # augmented sentences; None: not asked for
    unused_names: dict[str, dict[str, str]] = field(default_factory=dict)  # of labels, with reasons

    @cached_property
    def _encoded(self) -> Any:
        return self.method.encode_once(self.base, self._support, self.labels)

    @property
    def _support(self) -> list[Sentence]:
        return [*self.sentences, *(self.copies or ())]

    @property
    def stops_early(self) -> bool:
        """Whether there are so many sentences that some are held out to stop training."""
        return (
            len(self.sentences) >= EARLY_STOPPING_FROM and self.method.capabilities.early_stopping
        )

    def run(self, progress: ProgressCallback = no_progress) -> Tagger:
        if self.stops_early:
            tagger = train_with_early_stopping(
                self.base,
                self.sentences,
                self.method.config.adaptation,
                labels=self.labels,
                seed=self.seed,
                progress=progress,
            )
            tagger.method = self.method.name
            return tagger
        tagger = self.method.adapt(
            self.base,
            self._support,
            labels=self.labels,
            sources=self.sources if self.method.capabilities.reads_sources else (),
            unlabelled=self.text,
            seed=self.seed,
            progress=progress,
            encoded=self._encoded,
        )
        if self.copies is not None:
            tagger.facts["augmented"] = len(self.copies)
        if self.unused_names:
            tagger.facts["unused_names"] = self.unused_names
        return tagger

    def assess(
        self, tagger: Tagger, *, estimate: bool = True, progress: ProgressCallback = no_progress
    ) -> Tagger:
        """Calibrate the scores of the tagger and, with ``estimate``, estimate its F1. Does nothing
        if the method has no calibration constants for a tagger like this."""
        if self.stops_early or not self.method.can_estimate(self.sentences):
            return tagger
        held_out = None
        if estimate:
            held_out = self.method.held_out(
                self.base,
                self.sentences,
                labels=tagger.labels,
                seed=self.seed,
                progress=progress,
                encoded=None if self.copies else self._encoded,
            )
        constants = CalibrationConstants.of(self.base.folder, start_of_labels(tagger))
        return with_estimate(tagger, self.sentences, held_out, constants)


def prepare(
    sentences: Labelled | None, options: AdaptOptions, format: str | None = None
) -> Adaptation:
    """Check all arguments, cheapest first, and read the data. ``format`` is that of the file."""
    compute.prepare_process()
    compute.find_device(options.device)  # refused before anything is read
    sources: list[SourceSpec] = as_list(options.sources, SourceDomain)
    texts: list[Unlabelled] = as_list(options.unlabelled, Sentence)
    _check_options(sentences, options)
    if options.method is not None and options.base is None and options.encoder is None:
        named = options.method  # checked before the base is loaded
        if not isinstance(named, Method):
            named = make_method(named, options.config)
        check_inputs(named, None, sources, texts, options.augment)
    labelled = _read_labelled(sentences, options, format)
    base = _find_base(options)
    method = options.method
    if not isinstance(method, Method):
        method = method_for_base(method, base, options.config)
    if options.zero_shot:
        method = without_labels(method)
    check_inputs(method, base, sources, texts, options.augment)
    method.check(base)
    unused: dict[str, dict[str, str]] = {}
    if options.terms:
        if not getattr(method.config.adaptation, "use_terms", False):
            raise UsageError(
                problem=f"--terms has no use with {method.name}, which reads no terminologies",
                remedy="leave out --terms, or adapt with --method named",
            )
        labels = {*options.labels, *LabelSet.of(labelled).labels}
        base, unused = with_own_names(base, options.terms, labels, keep_all=options.keep_all)
    adaptation = Adaptation(base, method, labelled, LabelSet(tuple(options.labels)), options.seed)
    adaptation.unused_names = unused
    if adaptation.stops_early:
        _refuse_extra_data(len(labelled), options.augment, texts)
        return adaptation
    adaptation.sources = read_sources(sources)
    streamed = method.capabilities.text == "streamed"
    adaptation.text = stream_text(texts) if streamed else read_text(texts)
    if options.augment:
        from adaptner.episodes.mention_replacement import augment_sentences

        others = [s for domain in adaptation.sources for s in domain.sentences]
        adaptation.copies = augment_sentences(
            labelled, others, options.augment, random.Random(options.seed)
        )
    return adaptation


def check_inputs(
    method: Method | type[Method],
    base: Base | None,
    sources: Sized,
    unlabelled: Sized = (),
    augment: int = 0,
) -> None:
    """Refuse sources, text or augmentation that the method does not use, and missing sources.
    Without ``base``, the default base is meant. Augmentation takes mentions from any sources."""
    capabilities = method.capabilities
    if augment and (capabilities.augments or not capabilities.reads_labels):
        raise UsageError(
            problem=f"--augment cannot be used with {method.name}, which "
            + ("augments the data itself" if capabilities.augments else "learns from no label"),
            remedy="leave out --augment, or name another method with --method",
        )
    from_text = base is None or base.provenance.encoder_from == "raw text"
    can_do_without = capabilities.sources == "optional" and from_text
    if capabilities.reads_sources and not len(sources) and not can_do_without:
        from adaptner.methods.families.joint import domain_names

        domains = base.model.domains if base else default_domains()
        raise SourcesNeeded(method=method.name, given="none", domains=domain_names(domains))
    for option, given, capability, used in (
        ("--sources", sources, "reads_sources", capabilities.reads_sources or augment),
        ("--unlabelled", unlabelled, "reads_text", capabilities.reads_text),
    ):
        if len(given) and not used:
            users = [m.name for m in methods().values() if getattr(m.capabilities, capability)]
            raise UsageError(
                problem=f"{option} has no use with {method.name}",
                remedy=f"leave out {option}, or choose a method that uses it with --method: "
                + ", ".join(users),
            )


def _check_options(sentences: Labelled | None, options: AdaptOptions) -> None:
    if options.encoder is not None and options.base is not None:
        raise UsageError(
            problem="--encoder and --base exclude each other, because a base has an encoder",
            remedy="leave out one of them",
        )
    if options.download and options.encoder is None:
        raise UsageError(
            problem="--download: no transformer is named", remedy="name it with --encoder"
        )
    if options.encoder is not None:
        from adaptner.methods.pretrained_transformer import UNTRAINED_METHOD
        from adaptner.methods.transformer_settings import check_encoder

        method = make_method(UNTRAINED_METHOD, encoder=options.encoder)
        check_encoder(method, download=options.download)
    if sentences is None and not options.zero_shot:
        raise UsageError(
            problem="no labelled sentences", remedy="give a file of them, or --zero-shot"
        )
    if options.zero_shot and isinstance(sentences, (str, Path)):
        raise _labelled_in_zero_shot()
    if options.augment < 0:
        raise UsageError(
            problem=f"--augment {options.augment}: the number of copies is negative",
            remedy="give a number from 0 on",
        )
    if options.augment and options.zero_shot:
        raise UsageError(
            problem="--augment has no use with --zero-shot, where there is no sentence to copy",
            remedy="leave out --augment",
        )


def _read_labelled(
    sentences: Labelled | None, options: AdaptOptions, format: str | None
) -> list[Sentence]:
    if isinstance(sentences, (str, Path)):
        found = read(sentences, format)
        if not options.labels and not any(s.entities for s in found):
            raise NoEntities(file=sentences, sentences=len(found))
        return found
    found = []
    for item in sentences or ():
        found += to_sentences(item) if isinstance(item, Document) else [item]
    if options.zero_shot and found:
        raise _labelled_in_zero_shot()
    return found


def _labelled_in_zero_shot() -> UsageError:
    return UsageError(
        problem="labelled sentences have no use in zero-shot learning",
        remedy="leave them out and give the target's text with --unlabelled, or leave out --zero-shot",
    )


def _find_base(options: AdaptOptions) -> Base:
    if options.encoder is not None:
        from adaptner.methods.pretrained_transformer import transformer_base

        device = compute.find_device(options.device)
        return transformer_base(options.encoder).to(device)
    return find_base(options.base, options.device)


def _refuse_extra_data(sentences: int, augment: int, texts: Sized) -> None:
    for option, given in (("--augment", augment), ("--unlabelled", len(texts))):
        if given:
            raise UsageError(
                problem=f"{option} has no use with {sentences:,} labelled sentences: from "
                f"{EARLY_STOPPING_FROM:,} on, some are held out to stop training early",
                remedy="leave it out",
            )
