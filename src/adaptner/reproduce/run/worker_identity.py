"""Identifies the worker that holds a job, and tells whether it still runs.

On the same machine the process is looked up; on another the age of its last heartbeat decides.
"""

from __future__ import annotations

import os
import secrets
import socket
from dataclasses import dataclass
from pathlib import Path

HEARTBEAT_SECONDS = 10.0
HEARTBEAT_TIMEOUT_SECONDS = 120.0


@dataclass(frozen=True)
class WorkerIdentity:
    """``machine`` distinguishes hosts, reboots and containers, ``started`` two processes with the same
    number, ``token`` two workers of one process."""

    machine: str
    pid: int
    started: str
    token: str

    @classmethod
    def new(cls) -> WorkerIdentity:
        """A new worker of this process."""
        pid = os.getpid()
        return cls(_machine(), pid, _start_time(pid), secrets.token_hex(4))

    @classmethod
    def parse(cls, text: str) -> WorkerIdentity:
        machine, pid, started, token = text.rsplit("|", 3)
        return cls(machine, int(pid), started, token)

    def __str__(self) -> str:
        return f"{self.machine}|{self.pid}|{self.started}|{self.token}"

    def has_ended(self, silent_for: float) -> bool:
        """``silent_for`` is the number of seconds since the last heartbeat."""
        if self.machine != _machine():
            return silent_for > HEARTBEAT_TIMEOUT_SECONDS
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return True
        except PermissionError:  # it runs, as another user
            return False
        return _start_time(self.pid) != self.started


def _machine() -> str:
    parts = [socket.gethostname()]
    for path in ("/proc/sys/kernel/random/boot_id", "/proc/self/ns/pid"):
        try:
            content = os.readlink(path) if path.endswith("pid") else Path(path).read_text().strip()
        except OSError:  # not Linux
            continue
        parts.append(content)
    return "/".join(parts)


def _start_time(pid: int) -> str:
    """The process's start time in ticks, "" without /proc, "ended" for a zombie."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return ""
    return "ended" if fields[0] in "ZX" else fields[19]
