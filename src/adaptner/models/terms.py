"""The terminologies of bases and taggers. A base holds the compiled file; a tagger refers to it by its
checksum, because it is ten times as large as all else in a tagger."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from adaptner.errors import TermsMissing
from adaptner.terms.compiled import CompiledTerms
from adaptner.terms.dictionary import Dictionary
from adaptner.terms.features import TermFeatures

TERMS_FILE, RAW_FILE = "terms.bin", "raw.txt"


class TermsReference(BaseModel):
    """What a tagger needs to know to compute its features again."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    checksum: str  # SHA-256 of the compiled file
    base: str  # the folder of the base that the tagger was made with
    kinds: dict[str, tuple[str, ...]]  # of each label
    doubts: tuple[str, ...]  # in the order of the decoder's columns
    own: dict[str, str] = {}  # for labels with a user's own names, the file in the tagger's folder


def reference_to(features: TermFeatures) -> TermsReference:
    terms = features.dictionary.terms
    names = tuple(d.name or "" for d in features.doubts)
    assert terms.path is not None
    folder = str(terms.path.parent.resolve())
    own = {label: f"names-{i}.bin" for i, label in enumerate(features.dictionary.own)}
    return TermsReference(
        checksum=terms.checksum, base=folder, kinds=features.kinds, doubts=names, own=own
    )


def own_files(features: TermFeatures, reference: TermsReference) -> dict[str, bytes]:
    """The files of the user's own names, for a tagger's folder."""
    own = features.dictionary.own
    return {file: own[label].content() for label, file in reference.own.items()}


@lru_cache(maxsize=2)
def load_dictionary(path: Path) -> Dictionary:
    return Dictionary(CompiledTerms.load(path))


def features_of(reference: TermsReference, file: Path | None, model: Path) -> TermFeatures:
    """The features of a saved tagger. ``file`` is the compiled file with the reference's checksum, or
    None if no installed base has it."""
    if file is None:
        raise TermsMissing(file=model, checksum=reference.checksum[:12])
    dictionary = load_dictionary(file)
    if reference.own:
        own = {label: CompiledTerms.load(model / name) for label, name in reference.own.items()}
        dictionary = Dictionary(dictionary.terms, own)
    return TermFeatures(dictionary, reference.kinds, reference.doubts)
