"""Connects to a Ray cluster (extra ``cluster``)."""

from __future__ import annotations

import os
import socket
from typing import Any

from adaptner.errors import ClusterUnusable, ExtraMissing

_TIMEOUT_SECONDS = 15.0


def connected(address: str) -> Any:
    """Return the module ``ray``, connected. ``address`` is HOST:PORT, ``auto`` (a cluster that runs on
    this machine) or ``local`` (a new one for this run). Raises ExtraMissing or ClusterUnusable."""
    # By default, Ray sends usage statistics, and tries for 15 minutes to reach a cluster that does not
    # respond.
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    os.environ.setdefault("RAY_NUM_REDIS_GET_RETRIES", "3")
    try:
        import ray
    except ImportError as error:
        raise ExtraMissing(what="--ray", package="ray", extra="cluster") from error
    _check_port(address)
    try:
        options: dict[str, Any] = {"log_to_driver": False, "logging_level": "warning"}
        if address == "local":
            ray.init(address="local", include_dashboard=False, **options)
        else:
            ray.init(address=address, **options)
    except Exception as error:  # ConnectionError, RuntimeError, ValueError and Ray's own
        reason = str(error).strip().splitlines() or [type(error).__name__]
        raise ClusterUnusable(address=address, reason=reason[0]) from error
    return ray


def _check_port(address: str) -> None:
    """Raise ClusterUnusable if nothing listens at the address; Ray itself finds ``auto`` and ``local``."""
    host, colon, port = address.removeprefix("ray://").rpartition(":")
    if not colon:
        return
    try:
        socket.create_connection((host, int(port)), timeout=_TIMEOUT_SECONDS).close()
    except (OSError, ValueError, OverflowError) as error:
        raise ClusterUnusable(address=address, reason=f"no response ({error})") from error
