"""`tag` and `adapt` with the shipped base import no research code."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from adaptner.corpora.bundled import bundled_corpus
from adaptner.corpora.corpus import Corpus

CALL = """
import sys
from adaptner.cli.main import main
sys.argv[0] = "adaptner"
try:
    main()
except SystemExit as end:
    assert not end.code, end.code
assert not {"ray", "spacy"} & set(sys.modules)
print(*(m for m in sys.modules if m.startswith("adaptner.")), file=sys.stderr)
"""
TAGGING = {"cli", "compute", "errors", "files", "formats", "models", "nn", "registry"}
TAGGING |= {"tagging", "terms", "text", "types", "vectors", "version"}
ADAPTING = (TAGGING - {"tagging"}) | {"adaptation", "api", "corpora", "methods", "metrics"}
ADAPTING |= {"progress", "training"}
METHODS = {"base", "configuration", "families", "named"}


def modules_loaded_by(*arguments: object) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", CALL, *map(str, arguments), "--quiet"],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return {name.removeprefix("adaptner.") for name in done.stderr.splitlines()[-1].split()}


def write_conll(corpus: Corpus, file: Path) -> None:
    lines = []
    for sentence in corpus.split("train")[:12]:
        lines += [f"{w}\t{t}" for w, t in zip(sentence.tokens, sentence.tags, strict=True)]
        lines.append("")
    file.write_text("\n".join(lines), encoding="utf-8")


@pytest.mark.slow
@pytest.mark.processes
def test_adapt_and_tag_load_only_the_packages_they_need(tmp_path):
    write_conll(bundled_corpus("cellline"), tmp_path / "my.conll")
    (tmp_path / "text.txt").write_text("HeLa cells grew.")
    model = tmp_path / "model"
    adapting = modules_loaded_by("adapt", tmp_path / "my.conll", "-o", model)
    tagging = modules_loaded_by("tag", model, tmp_path / "text.txt")
    assert {name.split(".")[0] for name in adapting} == ADAPTING
    assert {name.split(".")[1] for name in adapting if name.startswith("methods.")} == METHODS
    families = {name for name in adapting if name.startswith("methods.families.")}
    assert families == {"methods.families.source_pretrained"}
    assert {name.split(".")[0] for name in tagging} == TAGGING
    rules = {name for name in tagging if name.startswith("terms.rules.")}
    assert rules == {"terms.rules.cell_line", "terms.rules.general"}
    # Packages count as modules. Change these numbers knowingly: each module costs start-up time.
    assert (len(adapting), len(tagging)) == (142, 99)
