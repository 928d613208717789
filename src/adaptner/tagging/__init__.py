"""Tags files of any number and size: in this process, in several, or on a Ray cluster."""

from __future__ import annotations

from adaptner.tagging.run import TaggingSummary, tag_files

__all__ = ["TaggingSummary", "tag_files"]
