"""Splits a text of any length into chunks that can be tagged independently.

A chunk ends at the end of a sentence. The sentence splitter decides from the context nearby
(abbreviations, brackets), so only the last part of a chunk has to be searched for its end.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from adaptner.text.sentences import split_sentences

CHUNK_CHARACTERS = 100_000  # several hundred sentences, enough for batches of similar length
# To bound memory, a longer "sentence" is cut between two words; prose does not have one.
MAX_CHUNK_CHARACTERS = 250_000
_SEARCHED_CHARACTERS = 10_000  # searched for the end of a sentence, from the end of the chunk
# Sentence ends this close to either end of the searched text may change with more context; the
# longest parenthesis has 600 characters.
_UNCERTAIN_CHARACTERS = 1_000


def split_into_chunks(blocks: Iterable[str]) -> Iterator[tuple[str, bool]]:
    """Yields pairs of a chunk and whether it is the last one, at least one pair.

    The chunks joined are the ``blocks`` joined.
    """
    buffer: list[str] = []
    size, min_size = 0, CHUNK_CHARACTERS
    for block in blocks:
        buffer.append(block)
        size += len(block)
        while size >= min_size:
            text = "".join(buffer)
            cut = _cut(text)
            if cut:
                yield text[:cut], False
            buffer, size = [text[cut:]], size - cut
            # Without a cut, wait for half a chunk more, so that not every block is searched.
            min_size = CHUNK_CHARACTERS if cut else size + CHUNK_CHARACTERS // 2
    yield "".join(buffer), True


def text_blocks(text: str) -> Iterator[str]:
    for start in range(0, len(text), CHUNK_CHARACTERS):
        yield text[start : start + CHUNK_CHARACTERS]


def _cut(text: str) -> int:
    """Returns where to cut ``text``, or 0 if that cannot be decided without more text."""
    for size in (_SEARCHED_CHARACTERS, len(text)):
        tail_start = max(0, len(text) - size)
        tail = text[tail_start:]
        for start, _ in reversed(split_sentences(tail)):
            if start < _UNCERTAIN_CHARACTERS:
                break
            if start <= len(tail) - _UNCERTAIN_CHARACTERS:
                return tail_start + start
    if len(text) < MAX_CHUNK_CHARACTERS:
        return 0
    after_space = next(
        (
            end
            for end in range(MAX_CHUNK_CHARACTERS, MAX_CHUNK_CHARACTERS // 2, -1)
            if text[end - 1].isspace()
        ),
        0,
    )
    return after_space or MAX_CHUNK_CHARACTERS
