"""Text in bulk: files of any number and size through a tagger, here, in processes or on a cluster."""

from __future__ import annotations

from adaptner.tagging.run import TaggingSummary, tag_files

__all__ = ["TaggingSummary", "tag_files"]
