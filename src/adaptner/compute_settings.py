"""How a process computes: one intra-op thread, and memory that is kept instead of handed back."""

from __future__ import annotations

import ctypes

import torch

# glibc's mallopt parameters (malloc.h)
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3


def prepare_process() -> None:
    """Call once before computing.

    One thread: a two-thread LSTM on a busy two-core machine was seen 30 times slower; parallelism
    is processes. Memory: glibc maps every tensor over 128 KB afresh, and the page faults cost a
    third of a meta-step; keep up to 256 MB of freed memory instead."""
    torch.set_num_threads(1)
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):  # not glibc
        return
    mallopt(_MMAP_THRESHOLD, 64 << 20)
    mallopt(_TRIM_THRESHOLD, 256 << 20)
