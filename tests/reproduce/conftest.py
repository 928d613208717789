"""What tests of tables and plans share."""

from __future__ import annotations

from pathlib import Path

import pytest

from adaptner.reproduce.tables.protocols import PROTOCOLS


@pytest.fixture(scope="session")
def everything(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All corpora of all protocols, a sentence a split: enough to plan with."""
    root = tmp_path_factory.mktemp("everything")
    for protocol in PROTOCOLS.values():
        for group in protocol.groups:
            for place in (*group.sources, *(t.corpus for t in group.targets)):
                (root / "data" / place).mkdir(parents=True, exist_ok=True)
                for split in ("train", "dev", "test"):
                    file = root / "data" / place / f"{split}.conll"
                    file.write_text(f"{place}\tB-X\n{split}\tO\n")
    (root / "vectors").mkdir()
    for name in ("pubmed-w2v-200d", "glove-6b-100d"):
        (root / "vectors" / f"{name}.npy").write_bytes(name.encode())
        (root / "vectors" / f"{name}.vocab.txt").write_text("word\n")
    return root
