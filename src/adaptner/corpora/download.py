"""Resumable downloads that retry after errors.

The data received is kept in a ``.part`` file, which the caller renames after checking it. We keep
our own because urllib cannot resume, and no library that we would otherwise need can either.
"""

from __future__ import annotations

import http.client
import ipaddress
import os
import ssl
import time
from collections.abc import Callable
from dataclasses import dataclass
from email.message import Message
from pathlib import Path
from typing import Any, NoReturn
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import (
    HTTPDefaultErrorHandler,
    HTTPErrorProcessor,
    HTTPHandler,
    HTTPRedirectHandler,
    HTTPSHandler,
    OpenerDirector,
    ProxyHandler,
    Request,
    UnknownHandler,
)

from adaptner.errors import DownloadFailed
from adaptner.files import translate_os_errors
from adaptner.progress import no_progress

_BLOCK_BYTES = 1 << 16
_TEMPORARY_STATUS = {408, 425, 429, 500, 502, 503, 504}
_MAX_PAUSE_SECONDS = 60.0
_RANGE_NOT_SATISFIABLE = 416


# Called with the number of bytes received and the total (0: unknown)
DownloadProgress = Callable[[int, int], None]


class _TemporaryError(Exception):
    """An error after which another attempt may succeed, at the earliest in ``pause`` seconds."""

    def __init__(self, reason: str, pause: float = 0.0) -> None:
        super().__init__(reason)
        self.pause = pause


@dataclass(frozen=True)
class Downloader:
    """Downloads files over HTTP and HTTPS.

    A download fails after ``attempts`` consecutive attempts without new data. The pause between
    two attempts starts at ``pause`` seconds and doubles. ``timeout`` applies to each response.
    """

    attempts: int = 5
    pause: float = 1.0
    timeout: float = 30.0
    sleep: Callable[[float], None] = time.sleep

    def download(self, url: str, part: Path, progress: DownloadProgress = no_progress) -> None:
        """Downloads ``url`` to ``part``, resuming after the data in it; raises DownloadFailed."""
        failures = 0
        while True:
            size = _size(part)
            try:
                self._attempt(url, part, progress)
                return
            except _TemporaryError as error:
                failures = 1 if _size(part) > size else failures + 1
                if failures >= self.attempts:
                    _fail(url, f"{error} ({failures} attempts)", part)
                pause = max(error.pause, self.pause * 2 ** (failures - 1))
                self.sleep(min(pause, _MAX_PAUSE_SECONDS))

    def _attempt(self, url: str, part: Path, progress: DownloadProgress) -> None:
        size = _size(part)
        request = Request(url, headers={"User-Agent": "adaptner", "Accept-Encoding": "identity"})
        if size:
            request.add_header("Range", f"bytes={size}-")
        try:
            response = _opener(url).open(request, timeout=self.timeout)
        except HTTPError as error:
            with error:
                _handle_status(error, url, part, size)
            return
        except URLError as error:
            if isinstance(error.reason, ssl.SSLCertVerificationError | str):
                _fail(url, str(error.reason), part)
            raise _TemporaryError(str(error.reason)) from None
        except (OSError, http.client.HTTPException) as error:
            raise _TemporaryError(_reason(error)) from None
        with response:
            _receive(response, part, size, progress)


def _receive(response: Any, part: Path, size: int, progress: DownloadProgress) -> None:
    resumed = response.status == http.client.PARTIAL_CONTENT
    if resumed and _range(response.headers)[0] != size:
        part.unlink(missing_ok=True)
        raise _TemporaryError("the server sent a different part of the file than requested")
    done = size if resumed else 0
    total = _range(response.headers)[1] if resumed else _number(response.headers["Content-Length"])
    with translate_os_errors(part):
        part.parent.mkdir(parents=True, exist_ok=True)
        with open(part, "ab" if resumed else "wb") as file:
            progress(done, total)
            while block := _read_block(response):
                file.write(block)
                done += len(block)
                progress(done, total)
            file.flush()
            os.fsync(file.fileno())
    if done < total:
        raise _TemporaryError(f"the connection ended after {done:,} of {total:,} bytes")


def _read_block(response: Any) -> bytes:
    try:
        # read1 returns the data received so far; read would lose it in a timeout.
        block: bytes = response.read1(_BLOCK_BYTES)
    except (OSError, http.client.HTTPException) as error:
        raise _TemporaryError(_reason(error)) from None
    return block


def _handle_status(error: HTTPError, url: str, part: Path, size: int) -> None:
    """Returns if ``part`` is complete; otherwise raises _TemporaryError or DownloadFailed."""
    if error.code == _RANGE_NOT_SATISFIABLE and size:
        if _range(error.headers)[1] == size:
            return
        part.unlink(missing_ok=True)
        raise _TemporaryError("the partial file does not belong to the file on the server")
    status = f"the server responded with {error.code} {error.reason}".rstrip()
    if error.code in _TEMPORARY_STATUS:
        raise _TemporaryError(status, float(_number(error.headers["Retry-After"])))
    _fail(url, status, part)


def _fail(url: str, reason: str, part: Path) -> NoReturn:
    size = _size(part)
    remedy = "check the address and your connection, or give a copy with --from"
    if size:
        remedy = f"run the same command again to resume after {size:,} bytes, or {remedy}"
    raise DownloadFailed(url=url, reason=reason, remedy=remedy)


def _opener(url: str) -> OpenerDirector:
    """Returns an opener for HTTP and HTTPS only, also after redirections.

    It uses the proxies of the environment, except for addresses of this machine.
    """
    director = OpenerDirector()
    for handler in (
        ProxyHandler({}) if _is_local(url) else ProxyHandler(),
        HTTPHandler(),
        HTTPSHandler(),
        HTTPRedirectHandler(),
        HTTPDefaultErrorHandler(),
        HTTPErrorProcessor(),
        UnknownHandler(),
    ):
        director.add_handler(handler)
    return director


def _is_local(url: str) -> bool:
    host = urlsplit(url).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _range(headers: Message) -> tuple[int, int]:
    """Returns first byte and total of "bytes 5-9/10" or "bytes */10"; -1 and 0 if missing."""
    interval, _, total = (headers.get("Content-Range") or "").removeprefix("bytes ").partition("/")
    first = interval.partition("-")[0]
    return (int(first) if first.isdecimal() else -1), _number(total)


def _number(text: str | None) -> int:
    return int(text) if text and text.strip().isdecimal() else 0


def _reason(error: BaseException) -> str:
    if isinstance(error, TimeoutError):
        return "timeout"
    return str(error) or type(error).__name__


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0
