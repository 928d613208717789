"""Converters from published files to our layout, one for each layout of raw files.

A converter reads files or a folder and returns sentences of tokens with BIO tags by split. The
catalogue names the converter of each corpus and its settings.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from adaptner.corpora.converters.ace2005 import convert_ace2005
from adaptner.corpora.converters.bond import convert_bond, convert_wikigold
from adaptner.corpora.converters.columns import convert_columns
from adaptner.corpora.converters.folders import FolderConverter
from adaptner.corpora.converters.ontonotes import convert_ontonotes
from adaptner.corpora.converters.sentences import Splits

FILE_CONVERTERS: dict[str, Callable[..., Splits]] = {
    "columns": convert_columns,
    "bond": convert_bond,
    "wikigold": convert_wikigold,
}
# These read a folder of licensed files and may return several corpora.
FOLDER_CONVERTERS: dict[str, FolderConverter] = {
    "ontonotes": convert_ontonotes,
    "ace2005": convert_ace2005,
}


def convert_files(conversion: Mapping[str, Any], files: Mapping[str, Path]) -> Splits:
    """Returns the splits of a corpus from its raw ``files``, by part, and ``conversion`` settings."""
    settings = {key: value for key, value in conversion.items() if key != "layout"}
    return FILE_CONVERTERS[conversion["layout"]](files, **settings)
