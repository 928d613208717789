"""The child process in which floret trains vectors, started by ``training``.

    python -m adaptner.vectors.training_child FOLDER ARGUMENTS

The text is read from FOLDER and the vectors are written there; ARGUMENTS is JSON. Standard error is
the progress of floret; standard output is JSON with facts about the vectors or the problem.
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

_SETTINGS_IN_FILE = (
    "epochs", "window", "least", "rate", "sampling", "negatives", "threads", "seed",
)  # fmt: skip
_SENTENCE_END = "</s>"  # added by floret, never looked up


def main(folder: str, arguments: str) -> None:
    Thread(target=_end_with_parent, args=(folder,), daemon=True).start()
    os.chdir(folder)  # so that floret opens an ASCII file name
    parsed = json.loads(arguments)
    result: dict[str, Any]
    try:
        result = _train(SkipgramSettings.model_validate(parsed["settings"]), parsed["facts"])
    except DiskFull:
        result = {"problem": "disk"}
    except MemoryError:
        result = {"problem": "memory"}
    except (ValueError, RuntimeError) as error:
        empty = "Empty vocabulary" in str(error)
        result = {"problem": "vocabulary" if empty else "floret", "reason": str(error)}
    print(json.dumps(result), flush=True)


def _end_with_parent(folder: str) -> None:
    """Waits for the end of standard input, which the parent keeps open, and then exits.

    The folder is deleted, because the parent no longer can. floret lets this thread run.
    """
    os.read(0, 1)  # sys.stdin would hold a lock at exit
    shutil.rmtree(folder, ignore_errors=True)
    os._exit(1)


def _train(settings: SkipgramSettings, facts: dict[str, Any]) -> dict[str, Any]:
    import floret
    from floret import floret as library

    # train_unsupervised takes the seed from here only.
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
        lr=settings.rate,
        t=settings.sampling,
        neg=settings.negatives,
        thread=settings.threads,
        label=" ",  # no word begins with a space, so "__label__x" is an ordinary word
        verbose=2,
    )
    all_words = model.get_words()
    grams = FourBitTable.of(model.get_input_matrix()[len(all_words) :])
    words = [word for word in all_words if word != _SENTENCE_END]
    table = np.empty((len(words), settings.width), dtype=np.float32)
    for row, word in enumerate(words):
        table[row] = model.get_word_vector(word)  # includes its n-grams
    metadata = {
        "made_by": f"adaptner {__version__}, floret {version('floret')}",
        **{name: str(getattr(settings, name)) for name in _SETTINGS_IN_FILE},
        **{name: str(value) for name, value in facts.items()},
    }
    ngrams = NgramVectors(grams, settings.min_gram, settings.max_gram, settings.lower)
    write_subwords(Path(RESULT), words, FourBitTable.of(table), ngrams, metadata)
    return {"words": len(words), "width": settings.width, "buckets": settings.buckets}


if __name__ == "__main__":
    main(*sys.argv[1:])
