"""A checksum of the package's source code, stored beside each result for information.

Results are found by declared versions of methods and protocols, not by this fingerprint. The nodes of a
cluster must have the same one.
"""

from __future__ import annotations

from functools import cache
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path

from adaptner.version import __version__


@cache
def code_fingerprint() -> str:
    """For example ``0.1.0+5f2c81d0a9e4 torch-2.13.0``."""
    root = Path(__file__).parents[2]
    state = sha256()
    for path in sorted(root.rglob("*.py")):
        state.update(f"{path.relative_to(root).as_posix()}\n".encode())
        state.update(path.read_bytes())
    return f"{__version__}+{state.hexdigest()[:12]} torch-{torch_release()}"


def torch_release() -> str:
    """The version of PyTorch without the build: 2.13.0 for ``2.13.0+cpu``."""
    return version("torch").partition("+")[0]
