"""Random walks on a terminology, written as lines of text for the training of word vectors.

In such lines the words of a heading stand beside those of its synonyms, parents, and children, however
rare they are in other text (Zhang et al. 2019, BioWordVec).
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

from adaptner.text.tokenizer import tokenize
from adaptner.vectors.settings import WalkSettings


class Concept(NamedTuple):
    """A heading of a terminology; ``parents`` are ids."""

    id: str
    name: str
    synonyms: Sequence[str]
    parents: Sequence[str]


@dataclass(frozen=True)
class TermGraph:
    """The headings of a terminology as numbers, and their names as words with spaces between them."""

    names: tuple[str, ...]
    synonyms: tuple[tuple[str, ...], ...]  # of each heading
    neighbours: tuple[tuple[int, ...], ...]  # the parents and children of each heading

    @classmethod
    def of(cls, concepts: Iterable[Concept]) -> TermGraph:
        """Parents that are not among ``concepts``, and a heading that is its own parent, are ignored."""
        concepts = list(concepts)
        numbers = {concept.id: number for number, concept in enumerate(concepts)}
        # A heading that is both parent and child (in a cycle) is one neighbour.
        neighbours: list[dict[int, None]] = [{} for _ in concepts]
        for child, concept in enumerate(concepts):
            for parent in concept.parents:
                if (number := numbers.get(parent, child)) != child:
                    neighbours[child][number] = None
                    neighbours[number][child] = None
        return cls(
            tuple(_words(concept.name) for concept in concepts),
            tuple(tuple(_words(term) for term in concept.synonyms) for concept in concepts),
            tuple(tuple(of_heading) for of_heading in neighbours),
        )

    def walks(self, settings: WalkSettings, seed: int) -> Iterator[str]:
        """Yields a walk from each heading, in random order, then another from each, and so on."""
        rng = random.Random(seed)
        headings = list(range(len(self.names)))
        for _ in range(settings.per_heading):
            rng.shuffle(headings)
            for heading in headings:
                yield " ".join(self._walk(heading, settings.steps, rng))

    def _walk(self, heading: int, steps: int, rng: random.Random) -> Iterator[str]:
        """Yields the name of ``heading`` and, for each step, a parent, a child, or a synonym.

        All have the same probability. A synonym is another name of the same place: the next step
        leads to a parent, child, or synonym of its heading.
        """
        yield self.names[heading]
        for _ in range(steps):
            neighbours, synonyms = self.neighbours[heading], self.synonyms[heading]
            if not neighbours and not synonyms:
                return
            choice = rng.randrange(len(neighbours) + len(synonyms))
            if choice < len(neighbours):
                heading = neighbours[choice]
                yield self.names[heading]
            else:
                yield synonyms[choice - len(neighbours)]


def spread_evenly(
    sentences: Iterable[str], sentence_count: int, walks: Iterable[str], walk_count: int
) -> Iterator[str]:
    """Yields every sentence and every walk once, in order, with walks at equal distances.

    The learning rate falls to zero along the text, so that walks at its end would hardly count.
    """
    walks, due = iter(walks), 0
    for sentence in sentences:
        yield sentence
        due += walk_count
        yield from islice(walks, due // sentence_count)
        due %= sentence_count


def _words(name: str) -> str:
    return " ".join(name[start:end] for start, end in tokenize(name))
