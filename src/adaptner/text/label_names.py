"""Words of labels, and a normal form of names, so that "diseases" matches "disease"."""

from __future__ import annotations

import re
from collections.abc import Sequence

# In CellLine and DNAVariant a capital begins a word. Characters other than letters separate words.
_CAPITAL = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[^\W\d_])(?=[A-Z][a-z])")
_WORD = re.compile(r"[^\W\d_]+|\d+")
# Names that different corpora use for the same entities
_EQUIVALENT = (
    ("disease", "disorder"),
    ("drug", "chemical", "medication"),
    ("gene", "protein", "gene product"),
    ("species", "organism", "taxon"),
)


def label_words(label: str) -> list[str]:
    """Returns the words of a label in lower case.

    >>> label_words("CellLine"), label_words("Gene_or_gene_product"), label_words("DNAVariant")
    (['cell', 'line'], ['gene', 'or', 'gene', 'product'], ['dna', 'variant'])
    """
    return [word.lower() for word in _WORD.findall(_CAPITAL.sub(" ", label))]


def normalise_name(words: Sequence[str]) -> str:
    """Returns the name for look-ups: in lower case, with the last word in the singular."""
    lower = [word.lower() for word in words]
    return " ".join([*lower[:-1], singular(lower[-1])])


def equivalent_names(name: str) -> tuple[str, ...]:
    """Returns the names that corpora use for the same entities, including ``name``."""
    return next((names for names in _EQUIVALENT if name in names), (name,))


def singular(word: str) -> str:
    """Removes an English plural ending. It makes mistakes, but both sides of a look-up make the same."""
    if len(word) < 4 or not word.endswith("s") or word.endswith(("ss", "us", "is", "species")):
        return word
    if word.endswith("ies"):
        return word[:-3] + "y"
    return word[:-2] if word.endswith(("sses", "xes", "ches", "shes")) else word[:-1]
