"""The way to a Ray cluster (extra ``cluster``), for all that can run on one."""

from __future__ import annotations

import os
import socket
from typing import Any

from adaptner.errors import ClusterUnusable, ExtraMissing

_KNOCK_SECONDS = 15.0


def connected(address: str) -> Any:
    """Ray, connected. ``address``: HOST:PORT, ``auto`` (this machine's cluster) or ``local`` (a
    cluster of this machine for this run)."""
    # Ray would report its use to its makers, and would try to reach a silent cluster for a quarter
    # of an hour.
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    os.environ.setdefault("RAY_NUM_REDIS_GET_RETRIES", "3")
    try:
        import ray
    except ImportError as error:
        raise ExtraMissing(what="--ray", package="ray", extra="cluster") from error
    _knock(address)
    try:
        options: dict[str, Any] = {"log_to_driver": False, "logging_level": "warning"}
        if address == "local":
            ray.init(address="local", include_dashboard=False, **options)
        else:
            ray.init(address=address, **options)
    except Exception as error:  # Ray has many: ConnectionError, RuntimeError, ValueError, its own
        reason = str(error).strip().splitlines() or [type(error).__name__]
        raise ClusterUnusable(address=address, reason=reason[0]) from error
    return ray


def _knock(address: str) -> None:
    """Is anybody there? ``auto`` and ``local`` are for Ray to find."""
    host, colon, port = address.removeprefix("ray://").rpartition(":")
    if not colon:
        return
    try:
        socket.create_connection((host, int(port)), timeout=_KNOCK_SECONDS).close()
    except (OSError, ValueError, OverflowError) as error:
        raise ClusterUnusable(address=address, reason=f"nobody answers there ({error})") from error
