"""Names of kinds of things: the words of a label, and one form for "diseases" and "disease"."""

from __future__ import annotations

import re
from collections.abc import Sequence

# CellLine, DNAVariant: a capital begins a word. Whatever is no letter parts words too.
_CAPITAL = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[^\W\d_])(?=[A-Z][a-z])")
_WORD = re.compile(r"[^\W\d_]+|\d+")
# What corpora call by different names and mark alike
_KINDS = (
    ("disease", "disorder"),
    ("drug", "chemical", "medication"),
    ("gene", "protein", "gene product"),
    ("species", "organism", "taxon"),
)


def label_words(label: str) -> list[str]:
    """
    >>> label_words("CellLine"), label_words("Gene_or_gene_product"), label_words("DNAVariant")
    (['cell', 'line'], ['gene', 'or', 'gene', 'product'], ['dna', 'variant'])
    """
    return [word.lower() for word in _WORD.findall(_CAPITAL.sub(" ", label))]


def normalise_name(words: Sequence[str]) -> str:
    """As it is looked up: lower case, the last word in the singular."""
    lower = [word.lower() for word in words]
    return " ".join([*lower[:-1], singular(lower[-1])])


def equivalent_names(name: str) -> tuple[str, ...]:
    """The names under which corpora mark the same things, itself among them."""
    return next((names for names in _KINDS if name in names), (name,))


def singular(word: str) -> str:
    """Good enough to bring "diseases" and "disease" together; both sides of a look-up do the same."""
    if len(word) < 4 or not word.endswith("s") or word.endswith(("ss", "us", "is", "species")):
        return word
    if word.endswith("ies"):
        return word[:-3] + "y"
    return word[:-2] if word.endswith(("sses", "xes", "ches", "shes")) else word[:-1]
