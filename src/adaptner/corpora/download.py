"""Downloads that survive bad lines: resumed where they broke off, tried again, never half in place.

What has arrived is kept in a ``.part`` file. It is the caller who puts it in place, when its
checksum is right.
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
from typing import Any, NoReturn, Protocol
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

_PIECE = 1 << 16
_PASSING = {408, 425, 429, 500, 502, 503, 504}  # answers that may be others in a moment
_LONGEST_PAUSE = 60.0
_NOT_SATISFIABLE = 416


class DownloadProgress(Protocol):
    """Told how many bytes of how many (0: unknown) are here."""

    def __call__(self, done: int, total: int) -> None: ...


def no_download_progress(done: int, total: int) -> None:
    """Nobody is watching."""


class _Passing(Exception):
    """Something that may go better the next time."""

    def __init__(self, reason: str, pause: float = 0.0) -> None:
        super().__init__(reason)
        self.pause = pause


@dataclass(frozen=True)
class Downloader:
    """How patient to be. ``attempts`` in a row that bring nothing new end a download; the pause
    between two of them doubles, beginning with ``pause`` seconds. ``timeout`` is for each answer."""

    attempts: int = 5
    pause: float = 1.0
    timeout: float = 30.0
    sleep: Callable[[float], None] = time.sleep

    def download(
        self, url: str, part: Path, progress: DownloadProgress = no_download_progress
    ) -> None:
        """Fill ``part`` with what ``url`` holds, from where it ends."""
        idle = 0
        while True:
            before = _size(part)
            try:
                self._attempt(url, part, progress)
                return
            except _Passing as trouble:
                idle = 1 if _size(part) > before else idle + 1
                if idle >= self.attempts:
                    _give_up(url, f"{trouble} ({idle} attempts)", part)
                self.sleep(min(max(trouble.pause, self.pause * 2 ** (idle - 1)), _LONGEST_PAUSE))

    def _attempt(self, url: str, part: Path, progress: DownloadProgress) -> None:
        """Until the end, or a break."""
        have = _size(part)
        request = Request(url, headers={"User-Agent": "adaptner", "Accept-Encoding": "identity"})
        if have:
            request.add_header("Range", f"bytes={have}-")
        try:
            response = _opener(url).open(request, timeout=self.timeout)
        except HTTPError as error:
            with error:
                _refused(error, url, part, have)
            return
        except URLError as error:
            if isinstance(error.reason, ssl.SSLCertVerificationError | str):
                _give_up(url, str(error.reason), part)
            raise _Passing(str(error.reason)) from None
        except (OSError, http.client.HTTPException) as error:
            raise _Passing(_words(error)) from None
        with response:
            _receive(response, part, have, progress)


def _receive(response: Any, part: Path, have: int, progress: DownloadProgress) -> None:
    resumed = response.status == http.client.PARTIAL_CONTENT
    if resumed and _range(response.headers)[0] != have:
        part.unlink(missing_ok=True)
        raise _Passing("the server sent another part of the file than asked for")
    done = have if resumed else 0
    total = _range(response.headers)[1] if resumed else _number(response.headers["Content-Length"])
    with translate_os_errors(part):
        part.parent.mkdir(parents=True, exist_ok=True)
        with open(part, "ab" if resumed else "wb") as file:
            progress(done, total)
            while piece := _piece(response):
                file.write(piece)
                done += len(piece)
                progress(done, total)
            file.flush()
            os.fsync(file.fileno())
    if done < total:
        raise _Passing(f"the connection ended after {done:,} of {total:,} bytes")


def _piece(response: Any) -> bytes:
    try:
        piece: bytes = response.read1(_PIECE)  # what is there: read() would lose it if more is late
    except (OSError, http.client.HTTPException) as error:
        raise _Passing(_words(error)) from None
    return piece


def _refused(error: HTTPError, url: str, part: Path, have: int) -> None:
    if error.code == _NOT_SATISFIABLE and have:
        if _range(error.headers)[1] == have:
            return  # all of it was here already
        part.unlink(missing_ok=True)
        raise _Passing("what was here is no part of what the server has")
    answer = f"the server answers {error.code} {error.reason}".rstrip()
    if error.code in _PASSING:
        raise _Passing(answer, float(_number(error.headers["Retry-After"])))
    _give_up(url, answer, part)


def _give_up(url: str, reason: str, part: Path) -> NoReturn:
    kept = _size(part)
    remedy = "check the address and your connection, or give a copy with --from"
    if kept:
        remedy = f"run the same command again, it goes on after {kept:,} bytes; or " + remedy
    raise DownloadFailed(url=url, reason=reason, remedy=remedy)


def _opener(url: str) -> OpenerDirector:
    """HTTP and HTTPS only, also after a redirection; the proxies of the environment, but none for
    this machine's own addresses."""
    director = OpenerDirector()
    for handler in (
        ProxyHandler({}) if _is_here(url) else ProxyHandler(),
        HTTPHandler(),
        HTTPSHandler(),
        HTTPRedirectHandler(),
        HTTPDefaultErrorHandler(),
        HTTPErrorProcessor(),
        UnknownHandler(),
    ):
        director.add_handler(handler)
    return director


def _is_here(url: str) -> bool:
    host = urlsplit(url).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _range(headers: Message) -> tuple[int, int]:
    """First byte and whole length of "bytes 5-9/10" or "bytes */10"; -1 and 0 where not said."""
    stretch, _, total = (headers.get("Content-Range") or "").removeprefix("bytes ").partition("/")
    first = stretch.partition("-")[0]
    return (int(first) if first.isdecimal() else -1), _number(total)


def _number(text: str | None) -> int:
    return int(text) if text and text.strip().isdecimal() else 0


def _words(error: BaseException) -> str:
    if isinstance(error, TimeoutError):
        return "no answer in time"
    return str(error) or type(error).__name__


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0
