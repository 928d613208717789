"""Where and how a process computes: device, threads, memory and noise generators."""

from __future__ import annotations

import ctypes
from collections.abc import Callable

import torch
from torch import Generator, Tensor

from adaptner.errors import DeviceMissing

CPU = torch.device("cpu")
DEVICES = ("auto", "cpu", "cuda", "mps")
# glibc's mallopt parameters (malloc.h)
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3


def prepare_process() -> None:
    """Set one thread and keep freed memory; call it once, before computing.

    One thread: a two-thread LSTM on a busy two-core machine was seen 30 times slower, so the work is
    spread over processes. Memory: glibc maps every tensor over 128 KB afresh, and the page faults cost
    a third of a meta-step, so up to 256 MB of freed memory are kept."""
    torch.set_num_threads(1)
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):  # not glibc
        return
    mallopt(_MMAP_THRESHOLD, 64 << 20)
    mallopt(_TRIM_THRESHOLD, 256 << 20)


def find_device(name: str = "auto") -> torch.device:
    """The device called ``name``; ``auto`` takes the first available of cuda, mps and cpu.

    The index is part of the result, so that it equals the ``device`` of a tensor there.
    Raises ``DeviceMissing`` if PyTorch cannot use the device on this machine."""
    available: dict[str, Callable[[], bool]] = {
        "cuda": torch.cuda.is_available,
        "mps": torch.backends.mps.is_available,
        "cpu": lambda: True,
    }
    if name == "auto":
        name = next(kind for kind, exists in available.items() if exists())
    kind = name.partition(":")[0]
    if kind not in available or not available[kind]():
        raise DeviceMissing(name=name, known=", ".join(DEVICES))
    if kind == "cpu":
        return CPU
    try:
        device = torch.device(name)
    except RuntimeError as error:  # what follows the colon is no number
        raise DeviceMissing(name=name, known=", ".join(DEVICES)) from error
    if device.index is None:
        device = torch.device(kind, torch.cuda.current_device() if kind == "cuda" else 0)
    elif kind == "cuda" and device.index >= torch.cuda.device_count():
        raise DeviceMissing(name=name, known=", ".join(DEVICES))
    return device


def noise_generator(generator: Generator, device: torch.device) -> Generator:
    """A generator for dropout and other noise on ``device``, with the seed of ``generator``.

    On the CPU it is ``generator`` itself, so that initial parameters and noise come from one sequence."""
    if device.type not in ("cuda", "mps"):
        return generator
    return Generator(device).manual_seed(generator.initial_seed())


def ready_for_double(*tensors: Tensor) -> tuple[Tensor, ...]:
    """The tensors; those on MPS are moved to the CPU, because MPS has no double precision."""
    return tuple(t.cpu() if t.device.type == "mps" else t for t in tensors)
