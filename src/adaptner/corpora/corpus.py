"""Corpora (folders of split files) and domains (corpora with the same kind of entities)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from types import MappingProxyType

from adaptner.errors import AmbiguousSplit, CorpusIncomplete, FileMissing
from adaptner.files import digest
from adaptner.formats import FORMATS, read_sentences
from adaptner.types import LabelSet, Sentence

SPLITS = ("train", "dev", "test")


@dataclass(frozen=True)
class Corpus:
    """Labelled sentences by split; ``sha256`` is the checksum of the files."""

    name: str
    domain: str
    labels: LabelSet
    sha256: str
    folder: Path
    sentences: Mapping[str, tuple[Sentence, ...]] = field(repr=False, compare=False, hash=False)

    @property
    def splits(self) -> tuple[str, ...]:
        """The names of the splits, in the order train, dev, test."""
        return tuple(self.sentences)

    def split(self, name: str) -> tuple[Sentence, ...]:
        if name not in self.sentences:
            found = ", ".join(self.splits)
            raise CorpusIncomplete(file=self.folder, split=name, found=found)
        return self.sentences[name]


@dataclass(frozen=True)
class Domain:
    name: str
    corpora: tuple[Corpus, ...]

    @property
    def labels(self) -> LabelSet:
        return LabelSet(tuple(label for corpus in self.corpora for label in corpus.labels.labels))


def load_corpus(spec: str | Path) -> Corpus:
    """Loads the corpus in a folder, given as ``FOLDER`` or ``DOMAIN=FOLDER``.

    Its files are called train, dev, and test, with the ending of a format; other files
    (train.distant.conll) are ignored. Without ``DOMAIN=``, the domain is the only label of the
    corpus, so that corpora with the same label form one domain, or else the name of the folder.
    """
    domain, folder = _parse_spec(spec)
    if not folder.is_dir():
        raise FileMissing(file=folder, hint="give a folder with train, dev, and test files")
    files = split_files(folder)
    sentences = {name: tuple(read_sentences(path)) for name, path in files.items()}
    labels = LabelSet.of(s for split in sentences.values() for s in split)
    name = folder.resolve().name
    return Corpus(
        name=name,
        domain=domain or (labels.labels[0] if len(labels) == 1 else name),
        labels=labels,
        sha256=combined_digest(files),
        folder=folder,
        sentences=MappingProxyType(sentences),
    )


def group_by_domain(corpora: Iterable[Corpus]) -> list[Domain]:
    """Returns the domains of ``corpora`` in order of first appearance."""
    groups: dict[str, list[Corpus]] = {}
    for corpus in corpora:
        groups.setdefault(corpus.domain, []).append(corpus)
    return [Domain(name, tuple(members)) for name, members in groups.items()]


def _parse_spec(spec: str | Path) -> tuple[str, Path]:
    domain, equals, folder = str(spec).partition("=")
    # An existing folder with '=' in its name takes precedence.
    if isinstance(spec, Path) or not equals or Path(spec).is_dir():
        return "", Path(spec)
    return domain.strip(), Path(folder)


def split_files(folder: Path) -> dict[str, Path]:
    """Returns the files of ``folder`` by split; raises if there are none or several per split."""
    endings = [ending for f in FORMATS.values() if f.name != "text" for ending in f.endings]
    files: dict[str, Path] = {}
    for name in SPLITS:
        candidates = [p for ending in endings if (p := folder / f"{name}{ending}").is_file()]
        if len(candidates) > 1:
            names = " and ".join(p.name for p in candidates)
            raise AmbiguousSplit(file=folder, split=name, names=names)
        if candidates:
            files[name] = candidates[0]
    if not files:
        raise CorpusIncomplete(file=folder, split="train, dev or test", found="none")
    return files


def combined_digest(files: Mapping[str, Path]) -> str:
    """Returns a SHA-256 of the names and contents of the splits, independent of the folder."""
    state = sha256()
    for name, path in files.items():
        state.update(f"{name} {digest(path)}\n".encode())
    return state.hexdigest()
