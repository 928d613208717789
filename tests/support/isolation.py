"""Gives the tests, and the processes that they start, the same environment on every machine.

Import before torch, rich, typer and huggingface_hub: they read the environment when imported.
"""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
import time
from collections.abc import MutableMapping
from importlib.util import find_spec

KEPT = ("PATH", "LD_LIBRARY_PATH", "TMPDIR", "USER", "LOGNAME", "SHELL", "PYTHONHASHSEED")
KEPT_PREFIXES = ("PYTEST_", "ADAPTNER_", "COVERAGE_", "COV_CORE_")
FIXED = {
    "COLUMNS": "200",
    "CUDA_VISIBLE_DEVICES": "",
    "LC_ALL": "C.UTF-8",
    "NO_PROXY": "*",  # urllib also asks the system for proxies on macOS and Windows
    "OMP_NUM_THREADS": "1",
    "RAY_NUM_REDIS_GET_RETRIES": "3",
    "TERM": "dumb",
    "TZ": "UTC",
    "WNSEARCHDIR": "/none",  # the same synonyms, whether WordNet is installed or not
}


def isolate(environment: MutableMapping[str, str]) -> None:
    """Keeps the variables in KEPT, sets those in FIXED and removes all others. The home folder
    becomes an empty temporary one, so that no cache and no setting of the user is read."""
    for name in set(environment) - set(KEPT):
        if not name.startswith(KEPT_PREFIXES):
            del environment[name]
    home = tempfile.mkdtemp(prefix="adaptner-tests-home-")
    atexit.register(shutil.rmtree, home, ignore_errors=True)
    environment.update(FIXED, HOME=home)
    package = find_spec("adaptner")
    if package is not None and package.origin is not None:  # child processes test the same code
        environment["PYTHONPATH"] = os.path.dirname(os.path.dirname(package.origin))
    if hasattr(time, "tzset"):
        time.tzset()


isolate(os.environ)
