"""A base: the result of pretraining, from which adaptation starts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import torch

from adaptner.models import fine_tuned_encoder
from adaptner.models.provenance import Provenance
from adaptner.models.storage import DomainEntry, Manifest, consistent_files, read_model, write_model
from adaptner.models.terms import RAW_FILE, TERMS_FILE, load_dictionary
from adaptner.nn.batching.batch import Batcher
from adaptner.nn.encoders.registry import restored_encoder
from adaptner.nn.heads import label_probes
from adaptner.nn.heads.label_probes import LabelProbes
from adaptner.nn.model import TaggingModel
from adaptner.terms.dictionary import Dictionary
from adaptner.terms.features import TermFeatures
from adaptner.terms.label_kinds import kinds_of_label
from adaptner.text.alignment import to_sentences
from adaptner.types import Document, LabelSet, Sentence
from adaptner.version import __version__


@dataclass
class Base:
    """A trained encoder with its source decoders and auxiliary head, and how it was made."""

    model: TaggingModel
    batcher: Batcher
    method: str
    config: dict[str, Any] = field(default_factory=dict)
    facts: dict[str, Any] = field(default_factory=dict)
    folder: Path | None = None  # where it was loaded from, so that its vectors can be linked
    label_probes: LabelProbes | None = None  # directions of label names among the states
    fine_tuned_encoder: TaggingModel | None = None  # trained on sources, with decoders
    provenance: Provenance = field(default_factory=Provenance)
    dictionary: Dictionary | None = None  # terminologies
    raw_sentences: list[Sentence] = field(default_factory=list)  # written for the base

    @property
    def labels(self) -> LabelSet:
        """The labels of all domains, in the tag scheme of pretraining."""
        every = [self.model.labels_of(d) for d in range(len(self.model.domains))]
        if not every:  # trained on raw text only
            return LabelSet(())
        return every[0].with_labels(x for labels in every for x in labels.labels)

    def term_features(self, labels: Iterable[str]) -> TermFeatures | None:
        """What the terminologies know of those labels that they know; None if of none."""
        if self.dictionary is None:
            return None
        kinds = {label: kinds_of_label(self.dictionary.terms, label) for label in labels}
        own = self.dictionary.own
        kinds = {label: found for label, found in kinds.items() if found or label in own}
        return TermFeatures(self.dictionary, kinds) if kinds else None

    @property
    def with_fine_tuned_encoder(self) -> Base | None:
        """This base with its second encoder and that encoder's decoders in place of the first."""
        if self.fine_tuned_encoder is None:
            return None
        provenance = self.provenance.model_copy(update={"encoder_from": "sources"})
        return replace(
            self,
            model=self.fine_tuned_encoder,
            label_probes=None,
            fine_tuned_encoder=None,
            provenance=provenance,
        )

    def of_domains(self, names: Iterable[str], others: Base | None = None) -> Base:
        """This base with the decoders of these domains only, taken from this base or else from
        ``others``, which must have the same encoder. The second encoder is dropped if it was trained
        on any other domain."""
        known = {}
        names = list(names)
        for base in (self,) if others is None else (others, self):
            for number, name in enumerate(base.model.domains):
                known[name] = base.model.decoder_of(number)
        kept = {name: known[name] for name in names}
        domains = {name: decoder.labels for name, decoder in kept.items()}
        model = TaggingModel(self.model.encoder, domains, torch.Generator(), self.model.shape)
        for mine, decoder in zip(model.decoder, kept.values(), strict=True):
            mine.load_state_dict(decoder.state_dict())
        second = self.fine_tuned_encoder
        if second is not None and not set(second.domains) <= set(names):
            second = None
        return replace(self, model=model, fine_tuned_encoder=second)

    def save(self, folder: str | Path) -> None:
        model = self.model
        manifest = Manifest(
            kind="base",
            version=__version__,
            method=self.method,
            encoder=model.encoder.config,
            alphabet=getattr(self.batcher, "alphabet", ""),
            domains=[
                DomainEntry.of(name, model.labels_of(number))
                for number, name in enumerate(model.domains)
            ],
            shape=model.shape,
            config=self.config,
            facts=self.facts,
            provenance=self.provenance,
        )
        files = {}
        if self.dictionary is not None:
            files[TERMS_FILE] = self.dictionary.terms.content()
            files[RAW_FILE] = "".join(f"{s.text}\n" for s in self.raw_sentences).encode()
        if self.label_probes is not None:
            files[label_probes.LABEL_PROBES_FILE] = self.label_probes.content()
        if self.fine_tuned_encoder is not None:
            files[fine_tuned_encoder.FILE] = fine_tuned_encoder.content(self.fine_tuned_encoder)
        write_model(Path(folder), manifest, model, self.batcher, self.folder, files)

    @classmethod
    def load(cls, folder: str | Path, device: torch.device | None = None) -> Base:
        """The base saved in ``folder``, on ``device`` (default: the CPU)."""
        folder = Path(folder)
        with consistent_files(folder, "base"):
            manifest, tensors, batcher = read_model(folder, "base")
            generator = torch.Generator()
            encoder = restored_encoder(manifest.encoder, batcher, generator)
            domains = {d.name: d.label_set() for d in manifest.domains}
            model = TaggingModel(encoder, domains, generator, manifest.shape)
            model.load_state_dict(tensors)
            probes = None
            if label_probes.LABEL_PROBES_FILE in manifest.files:
                probes = LabelProbes.of((folder / label_probes.LABEL_PROBES_FILE).read_bytes())
            second = None
            if fine_tuned_encoder.FILE in manifest.files:
                content = (folder / fine_tuned_encoder.FILE).read_bytes()
                second = fine_tuned_encoder.model_of(content, encoder, batcher, manifest.shape)
            dictionary, raw_sentences = None, []
            if TERMS_FILE in manifest.files:
                dictionary = load_dictionary(folder / TERMS_FILE)
                lines = (folder / RAW_FILE).read_text(encoding="utf-8").splitlines()
                raw_sentences = [s for line in lines for s in to_sentences(Document(line))]
        base = cls(
            model,
            batcher,
            manifest.method,
            manifest.config,
            manifest.facts,
            folder,
            probes,
            second,
            manifest.provenance or Provenance.of_facts(manifest.method, manifest.facts),
            dictionary,
            raw_sentences,
        )
        return base if device is None else base.to(device)

    def to(self, device: torch.device) -> Base:
        """This base with its models on ``device``."""
        self.model.to(device)
        if self.fine_tuned_encoder is not None:
            self.fine_tuned_encoder.to(device)
        return self
