"""A text of any length in stretches that can be tagged one by one as if it were whole.

A stretch ends where a sentence does. The splitter decides that from what is near (abbreviations,
brackets), so looking at the last part of a stretch is enough to find the place.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from adaptner.text.sentences import split_sentences

CHUNK_CHARACTERS = (
    100_000  # characters: some hundred sentences, enough to fill batches of like length
)
# A "sentence" longer than this is cut between two words: no prose has one, and memory is bounded.
MAX_CHUNK_CHARACTERS = 250_000
_LOOKED_AT = 10_000  # characters at the end of a stretch where a sentence's end is looked for
_SURE = 1_000  # from either end of what is looked at; the widest parenthesis has 600


def split_into_chunks(blocks: Iterable[str]) -> Iterator[tuple[str, bool]]:
    """(stretch, is it the last one) pairs; joined they are the ``blocks`` joined. At least one."""
    held: list[str] = []
    size, wanted = 0, CHUNK_CHARACTERS
    for block in blocks:
        held.append(block)
        size += len(block)
        while size >= wanted:
            text = "".join(held)
            cut = _cut(text)
            if cut:
                yield text[:cut], False
            held, size = [text[cut:]], size - cut
            wanted = (
                CHUNK_CHARACTERS if cut else size + CHUNK_CHARACTERS // 2
            )  # not after every line again
    yield "".join(held), True


def text_blocks(text: str) -> Iterator[str]:
    for at in range(0, len(text), CHUNK_CHARACTERS):
        yield text[at : at + CHUNK_CHARACTERS]


def _cut(text: str) -> int:
    """Where to cut ``text``, or 0 if more of it has to be seen first."""
    for looked_at in (_LOOKED_AT, len(text)):
        first = max(0, len(text) - looked_at)
        tail = text[first:]
        for start, _ in reversed(split_sentences(tail)):
            if start < _SURE:
                break
            if start <= len(tail) - _SURE:
                return first + start
    if len(text) < MAX_CHUNK_CHARACTERS:
        return 0
    blank = next(
        (
            at
            for at in range(MAX_CHUNK_CHARACTERS, MAX_CHUNK_CHARACTERS // 2, -1)
            if text[at - 1].isspace()
        ),
        0,
    )
    return blank or MAX_CHUNK_CHARACTERS
