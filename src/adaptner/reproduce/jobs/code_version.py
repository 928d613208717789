"""Which code computed a result: the version and a checksum of what can change a number."""

from __future__ import annotations

import ast
from functools import cache
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path

from adaptner.version import __version__

# What a base or a draw passes through. The doors (cli), the words of errors, the runner and the
# report can change without any number changing, and hours of work should survive that.
COMPUTES = (
    "types.py",
    "text",
    "formats",
    "corpora/corpus.py",
    "corpora/overlap.py",
    "episodes",
    "nn",
    "bilevel",
    "methods",
    "training",
    "adaptation",
    "metrics/spans.py",
    "evaluation/protocol.py",
    "reproduce/jobs/execution.py",
    "reproduce/jobs/data.py",
)


@cache
def code_version() -> str:
    """For example ``0.1.0+5f2c81d0a9e4 torch-2.13.0``. Comments, docstrings and layout do not
    count."""
    root = Path(__file__).parents[2]
    state = sha256()
    for place in COMPUTES:
        for path in sorted((root / place).rglob("*.py")) or [root / place]:
            state.update(f"{path.relative_to(root).as_posix()}\n".encode())
            state.update(_bare(path.read_text(encoding="utf-8")).encode())
    release = version("torch").partition("+")[0]
    return f"{__version__}+{state.hexdigest()[:12]} torch-{release}"


def _bare(source: str) -> str:
    """The program as a tree, without its docstrings."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[0] if node.body else None
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                node.body = node.body[1:]
    return ast.dump(tree)
