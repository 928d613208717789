"""The results of tests do not depend on the environment in which pytest is started."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
SENSITIVE = (
    "cli/test_main.py",
    "cli/test_check_convert_corpora.py",
    "corpora/test_fetch.py",
    "methods/pdaln/test_synonyms.py",
    "models/test_installed.py",
    "nn/encoders/transformer/test_pretrained.py",
)
HOSTILE = {
    "CI": "true",
    "COLUMNS": "40",
    "FORCE_COLOR": "1",
    "GITHUB_ACTIONS": "true",
    "HF_HUB_OFFLINE": "1",
    "HOME": "/dev/null",  # nothing can be written below it, not even by root
    "HTTPS_PROXY": "http://127.0.0.1:9",
    "HTTP_PROXY": "http://127.0.0.1:9",
    "LANG": "de_DE.UTF-8",
    "LC_ALL": "C",
    "NLTK_DATA": "/nowhere",
    "NO_COLOR": "1",
    "OMP_NUM_THREADS": "4",
    "PYTHONHASHSEED": "1",
    "TERM": "xterm-256color",
    "TZ": "Pacific/Kiritimati",
    "XDG_CACHE_HOME": "/dev/null",
    "XDG_DATA_HOME": "/dev/null",
}


@pytest.mark.slow
@pytest.mark.processes
def test_sensitive_tests_pass_in_a_hostile_environment(tmp_path):
    temporary = tmp_path / "with a space"
    temporary.mkdir()
    kept = {name: os.environ[name] for name in ("PATH", "PYTHONPATH")}
    result = subprocess.run(
        [sys.executable, "-m", "pytest", "-m", "not processes", *SENSITIVE],
        env={**kept, **HOSTILE, "TMPDIR": str(temporary)},
        cwd=HERE,
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert result.returncode == 0, result.stdout[-5000:] + result.stderr[-5000:]
