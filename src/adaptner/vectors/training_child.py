"""The process that floret runs in, started by ``word_vectors``.

    python -m adaptner.vectors.training_child FOLDER ORDER

FOLDER holds the text and gets the vectors; ORDER is JSON. Standard error is floret's own progress,
the answer on standard output is JSON: what was made, or which problem there was.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from importlib.metadata import version
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np

from adaptner.errors import DiskFull
from adaptner.vectors.four_bit import FourBitTable
from adaptner.vectors.ngrams import NgramVectors
from adaptner.vectors.subword_file import write_subwords
from adaptner.vectors.training import RESULT, TEXT, SkipgramSettings
from adaptner.version import __version__

_SENTENCE_END = "</s>"  # floret's own word for it; no text of ours is looked up with it


def main(folder: str, order: str) -> None:
    Thread(target=_end_with_parent, args=(folder,), daemon=True).start()
    os.chdir(folder)  # floret then opens a plain name, whatever characters the path has
    given = json.loads(order)
    answer: dict[str, Any]
    try:
        answer = _train(SkipgramSettings.model_validate(given["settings"]), given["facts"])
    except DiskFull:
        answer = {"problem": "disk"}
    except MemoryError:
        answer = {"problem": "memory"}
    except (ValueError, RuntimeError) as error:
        empty = "Empty vocabulary" in str(error)
        answer = {"problem": "vocabulary" if empty else "floret", "reason": str(error)}
    print(json.dumps(answer), flush=True)


def _end_with_parent(folder: str) -> None:
    """Nobody writes to our standard input: it ends when our parent is gone, and then so do we, with
    the text that it can no longer remove. (floret lets other threads run.)"""
    os.read(0, 1)  # not sys.stdin, whose lock would be held when the interpreter ends
    shutil.rmtree(folder, ignore_errors=True)
    os._exit(1)


def _train(settings: SkipgramSettings, facts: dict[str, Any]) -> dict[str, Any]:
    import floret
    from floret import floret as library

    # floret has a seed, but its function for unsupervised training takes it from here only
    library.unsupervised_default["seed"] = settings.seed
    model = floret.train_unsupervised(
        TEXT,
        model="skipgram",
        dim=settings.width,
        epoch=settings.epochs,
        ws=settings.window,
        minCount=settings.least,
        minn=settings.min_gram,
        maxn=settings.max_gram,
        bucket=settings.buckets,
        thread=settings.threads,
        label=" ",  # no word begins so: a "__label__x" in the text is a word like others
        verbose=2,
    )
    known = model.get_words()
    grams = FourBitTable.of(model.get_input_matrix()[len(known) :])
    words = [word for word in known if word != _SENTENCE_END]
    table = np.empty((len(words), settings.width), dtype=np.float32)
    for row, word in enumerate(words):
        table[row] = model.get_word_vector(word)  # with its n-grams: one look-up serves
    made = {
        "made_by": f"adaptner {__version__}, floret {version('floret')}",
        **{n: str(getattr(settings, n)) for n in ("epochs", "window", "least", "threads", "seed")},
        **{name: str(value) for name, value in facts.items()},
    }
    ours = NgramVectors(grams, settings.min_gram, settings.max_gram, settings.lower)
    write_subwords(Path(RESULT), words, FourBitTable.of(table), ours, made)
    return {"words": len(words), "width": settings.width, "buckets": settings.buckets}


if __name__ == "__main__":
    main(*sys.argv[1:])
