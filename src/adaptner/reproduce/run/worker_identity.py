"""Who holds a job, and is it still there? Answered for sure on the same machine, by the age of the
last sign of life elsewhere."""

from __future__ import annotations

import os
import secrets
import socket
from dataclasses import dataclass
from pathlib import Path

SILENT_SECONDS = 120.0  # a worker elsewhere that has not been heard of for so long is gone
BEAT_SECONDS = 10.0


@dataclass(frozen=True)
class WorkerIdentity:
    """``machine`` tells hosts, reboots and containers apart, ``begun`` a process from a later one
    with the same number, ``token`` two workers of one process."""

    machine: str
    pid: int
    begun: str
    token: str

    @classmethod
    def mine(cls) -> WorkerIdentity:
        pid = os.getpid()
        return cls(_machine(), pid, _begun(pid), secrets.token_hex(4))

    @classmethod
    def parse(cls, text: str) -> WorkerIdentity:
        machine, pid, begun, token = text.rsplit("|", 3)
        return cls(machine, int(pid), begun, token)

    def __str__(self) -> str:
        return f"{self.machine}|{self.pid}|{self.begun}|{self.token}"

    def gone(self, silent_for: float) -> bool:
        """On this machine: its process has ended. Elsewhere: it was silent for too long."""
        if self.machine != _machine():
            return silent_for > SILENT_SECONDS
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return True
        except PermissionError:  # it is there, and somebody else's
            return False
        return _begun(self.pid) != self.begun


def _machine() -> str:
    parts = [socket.gethostname()]
    for path in ("/proc/sys/kernel/random/boot_id", "/proc/self/ns/pid"):
        try:
            content = os.readlink(path) if path.endswith("pid") else Path(path).read_text().strip()
        except OSError:  # not Linux
            continue
        parts.append(content)
    return "/".join(parts)


def _begun(pid: int) -> str:
    """The process's start time in ticks, "" where there is no /proc. A zombie has ended."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return ""
    return "ended" if fields[0] in "ZX" else fields[19]
