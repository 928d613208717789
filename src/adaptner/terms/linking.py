"""Which concepts a mention names, and by which name it was found. Only found mentions are looked up."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from adaptner.terms.definitions import WINDOW
from adaptner.terms.doubts import Doubt
from adaptner.terms.features import PresentFeatures, TermFeatures
from adaptner.terms.hashing import mixed_symbol_keys, mixed_word_keys, name_key
from adaptner.terms.matches import Spans
from adaptner.text.abbreviations import find_definitions
from adaptner.types import Origin

MOST_IDS = 5
# Genes of different species share names: the words that name the species of each file. Where the text names
# none of them, human genes come first.
_SPECIES_OF_GENES = {
    "hgnc": frozenset(
        ["human", "humans", "patient", "patients", "man", "woman", "men", "women", "homo"]
    ),
    "mgi-mouse-genes": frozenset(["mouse", "mice", "murine", "mus"]),
    "rgd-rat-genes": frozenset(["rat", "rats", "rattus"]),
    "zebrafish-genes": frozenset(["zebrafish", "danio"]),
    "fly-genes": frozenset(["drosophila", "fly", "flies"]),
    "yeast-genes": frozenset(["yeast", "yeasts", "saccharomyces", "cerevisiae"]),
}
OWN_LIST = "own list"


class MentionLinker:
    """Finds the names in some sentences once, and answers for the mentions that they turn out to have.
    ``documents`` has the number of each sentence's document, as for `TermFeatures.spans`."""

    def __init__(
        self,
        features: TermFeatures,
        sentences: Sequence[Sequence[str]],
        documents: Sequence[int] | None = None,
    ) -> None:
        self._features, self._sentences = features, sentences
        self.spans, self.starts = features.spans(sentences, documents)
        self._terms = features.dictionary.terms
        self._documents = range(len(sentences)) if documents is None else documents
        self._labels = list(features.kinds)
        self._by_end: dict[int, tuple[np.ndarray, np.ndarray]] = {}
        self._words: dict[int, frozenset[str]] = {}  # of documents

    def present_features(self) -> PresentFeatures:
        return self._features.present(self.spans, self.starts, [len(s) for s in self._sentences])

    def ids(self, sentence: int, first: int, end: int, label: str) -> tuple[str, ...]:
        """The ids of the concepts that have the mention as a name, at most `MOST_IDS`, the likeliest first;
        else those of the longest name inside that ends where the mention does."""
        if label not in self._features.kinds:
            return ()
        found = list(self._own_ids(sentence, first, end, label))
        entries = self._entries(self._rows(sentence, first, end, label), label)
        concepts = self._concepts(entries, label)
        if len({self._terms.source_of(c) for c in concepts} & _SPECIES_OF_GENES.keys()) > 1:
            words = self._words_of_document(sentence)
            concepts.sort(key=lambda c: _rank_of_species(self._terms.source_of(c), words))
        found += (self._terms.id_of(concept) for concept in concepts)
        return tuple(dict.fromkeys(found))[:MOST_IDS]

    def origin(self, sentence: int, first: int, end: int, label: str) -> Origin | None:
        """The name that the mention was found by; None if no name ends where the mention does."""
        if label not in self._features.kinds:
            return None
        words = self._sentences[sentence]
        others = tuple(
            other
            for other in self._labels
            if other != label and len(self._exact_rows(sentence, first, end, other))
        )
        if self._own_entries(words[first:end], label):
            return Origin(" ".join(words[first:end]), (), (OWN_LIST,), (), others)
        rows = self._rows(sentence, first, end, label)
        if not len(rows):
            return None
        spans = self._proposed(label)
        row = min(rows.tolist(), key=lambda r: int(spans.doubts[r]).bit_count())
        start = int(spans.start[row] - self.starts[sentence])
        name = " ".join(words[start:end])
        if spans.doubts[row] & np.uint32(Doubt.DEFINED):
            name = self._long_form(sentence, words[start:end]) or name
        entries = self._entries(rows, label)
        concepts = self._concepts(entries, label)
        known = self._terms.kinds_of(np.array(entries, dtype=np.int64))
        kinds = [k for k in self._terms.facts["kinds"] if (known & self._terms.mask_of([k])).any()]
        return Origin(
            name,
            tuple(kinds) or self._features.kinds[label],
            tuple(dict.fromkeys(map(self._terms.source_of, concepts))),
            tuple(d.name for d in Doubt if d.name and d & int(spans.doubts[row])),
            others,
        )

    def _proposed(self, label: str) -> Spans:
        return self.spans.proposed[self._labels.index(label)]

    def _ending_at(self, place: int, label: str) -> np.ndarray:
        """The rows of the label's proposed spans that end before ``place``."""
        number = self._labels.index(label)
        if number not in self._by_end:
            ends = self.spans.proposed[number].end
            order = np.argsort(ends, kind="stable")
            self._by_end[number] = order, ends[order]
        order, ends = self._by_end[number]
        return order[np.searchsorted(ends, place) : np.searchsorted(ends, place, side="right")]

    def _rows(self, sentence: int, first: int, end: int, label: str) -> np.ndarray:
        """The rows of the longest proposed span that ends where the mention does and is inside of it; one
        that is in a terminology before one that only a rule knows."""
        spans, start = self._proposed(label), int(self.starts[sentence])
        rows: np.ndarray = self._ending_at(start + end, label)
        rows = rows[spans.start[rows] >= start + first]
        listed: np.ndarray = rows[spans.entry[rows] >= 0]
        rows = listed if len(listed) else rows
        if len(rows):
            rows = rows[spans.start[rows] == spans.start[rows].min()]
        return rows

    def _exact_rows(self, sentence: int, first: int, end: int, label: str) -> np.ndarray:
        rows = self._ending_at(int(self.starts[sentence]) + end, label)
        exact: np.ndarray = rows[self._proposed(label).start[rows] == self.starts[sentence] + first]
        return exact

    def _entries(self, rows: np.ndarray, label: str) -> list[int]:
        if not len(rows):
            return []
        return [e for e in dict.fromkeys(self._proposed(label).entry[rows].tolist()) if e >= 0]

    def _concepts(self, entries: Iterable[int], label: str) -> list[int]:
        """The concepts that have a kind of the label: a name may be one of other kinds as well."""
        kinds = self._features.kinds[label]
        return list(dict.fromkeys(c for e in entries for c in self._terms.concepts_of(e, kinds)))

    def _own_entries(self, words: Sequence[str], label: str) -> list[int]:
        """The entries of the user's own names of the label that the words are."""
        own = self._features.dictionary.own.get(label)
        key = None if own is None else name_key(" ".join(words))
        if own is None or key is None:
            return []
        keys = (
            mixed_symbol_keys(np.array([key.symbol], dtype=np.uint64)),
            mixed_word_keys(np.array([key.word], dtype=np.uint64)),
        )
        return [int(entry[0]) for entry in map(own.find, keys) if entry[0] >= 0]

    def _own_ids(self, sentence: int, first: int, end: int, label: str) -> Iterable[str]:
        for entry in self._own_entries(self._sentences[sentence][first:end], label):
            yield from self._features.dictionary.own[label].ids_of(entry)

    def _words_of_document(self, sentence: int) -> frozenset[str]:
        number = self._documents[sentence]
        if number not in self._words:
            low = high = sentence
            while low and self._documents[low - 1] == number:
                low -= 1
            while high < len(self._sentences) and self._documents[high] == number:
                high += 1
            words = {w.lower() for own in self._sentences[low:high] for w in own}
            self._words[number] = frozenset(words)
        return self._words[number]

    def _long_form(self, sentence: int, short: Sequence[str]) -> str:
        """What the text has defined the abbreviation as, the last time; "" if nothing."""
        for number in range(sentence, max(-1, sentence - WINDOW - 1), -1):
            if self._documents[number] != self._documents[sentence]:
                break
            words = self._sentences[number]
            for definition in reversed(list(find_definitions(words))):
                if list(words[slice(*definition.short)]) == list(short):
                    return " ".join(words[slice(*definition.long)])
        return ""


def _rank_of_species(source: str, words: frozenset[str]) -> int:
    if source not in _SPECIES_OF_GENES or _SPECIES_OF_GENES[source] & words:
        return 0
    return 1 if source == "hgnc" else 2
