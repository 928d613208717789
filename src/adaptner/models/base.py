"""A base: what pretraining yields and adaptation starts from."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import torch

from adaptner.models import fine_tuned_encoder as taught
from adaptner.models.storage import DomainEntry, Manifest, consistent_files, read_model, write_model
from adaptner.nn.batching.batch import Batcher
from adaptner.nn.encoders.registry import restored_encoder
from adaptner.nn.heads.label_probes import FILE as NAMES
from adaptner.nn.heads.label_probes import LabelProbes
from adaptner.nn.model import TaggingModel
from adaptner.types import LabelSet
from adaptner.version import __version__


@dataclass
class Base:
    """A trained θ with its source decoders φ and head ω, and how it came about."""

    model: TaggingModel
    batcher: Batcher
    method: str
    config: dict[str, Any] = field(default_factory=dict)
    facts: dict[str, Any] = field(default_factory=dict)
    folder: Path | None = None  # where it was loaded from, so that its vectors can be linked
    names: LabelProbes | None = None  # what names mean among θ's states
    taught: TaggingModel | None = None  # a second θ, tuned on sources, with its φ

    @property
    def labels(self) -> LabelSet:
        """All labels it knows, in the tag scheme it was learnt in."""
        every = [self.model.labels_of(d) for d in range(len(self.model.domains))]
        if not every:  # learnt from raw text alone
            return LabelSet(())
        return every[0].with_labels(x for labels in every for x in labels.labels)

    @property
    def raw(self) -> bool:
        """θ is what raw text has made of it: sources, if there are any, have taught φ alone."""
        return not self.model.domains or (self.method == "named" and "start" in self.facts)

    @property
    def over_taught(self) -> Base | None:
        """The base as it is over the θ that its sources have tuned."""
        if self.taught is None:
            return None
        return replace(self, model=self.taught, names=None, taught=None)

    def of_domains(self, names: Iterable[str], others: Base | None = None) -> Base:
        """The same θ with the φ of these domains only: its own, or else those of ``others``, which has
        the same θ. A θ that another domain has tuned is not kept."""
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
        kept_whole = self.taught is not None and set(self.taught.domains) <= set(names)
        return replace(self, model=model, taught=self.taught if kept_whole else None)

    def save(self, folder: str | Path) -> None:
        model = self.model
        manifest = Manifest(
            kind="base",
            version=__version__,
            method=self.method,
            encoder=model.encoder.config,
            alphabet=getattr(self.batcher, "alphabet", ""),
            domains=[
                DomainEntry(name=name, labels=labels.labels, scheme=labels.scheme)
                for number, name in enumerate(model.domains)
                for labels in (model.labels_of(number),)
            ],
            shape=model.shape,
            config=self.config,
            facts=self.facts,
        )
        beside = {} if self.names is None else {NAMES: self.names.content()}
        if self.taught is not None:
            beside[taught.FILE] = taught.content(self.taught)
        write_model(Path(folder), manifest, model, self.batcher, self.folder, beside)

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
            names = None
            if NAMES in manifest.files:
                names = LabelProbes.of((folder / NAMES).read_bytes())
            second = None
            if taught.FILE in manifest.files:
                content = (folder / taught.FILE).read_bytes()
                second = taught.model_of(content, encoder, batcher, manifest.shape)
        own = (manifest.method, manifest.config, manifest.facts)
        base = cls(model, batcher, *own, folder, names, second)
        return base if device is None else base.to(device)

    def to(self, device: torch.device) -> Base:
        """This base with its models on ``device``."""
        self.model.to(device)
        if self.taught is not None:
            self.taught.to(device)
        return self
