"""A local HTTP server with faults, and a small corpus to download from it."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from adaptner.corpora.catalogue import CatalogueEntry

MAX_STALL_SECONDS = 120  # the end of the test ends a stall earlier


@dataclass
class Server:
    """The files of the server by path, and the faults of the next responses by path.

    A fault is an int (truncate the response after that many bytes), "stall" (after half of them),
    "corrupt" (change bytes), a status such as "500", or "ok".
    """

    address: str
    files: dict[str, bytes]
    faults: dict[str, list[int | str]] = field(default_factory=dict)
    ranges: bool = True
    headers: dict[str, str] = field(default_factory=dict)
    redirects: dict[str, str] = field(default_factory=dict)
    requests: list[tuple[str, str | None]] = field(default_factory=list)
    end_of_test: threading.Event = field(default_factory=threading.Event)

    def url(self, path: str = "") -> str:
        return f"{self.address}/{path}"


@contextmanager
def serving(files: dict[str, bytes]) -> Iterator[Server]:
    httpd = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    httpd.daemon_threads = True
    server = Server(f"http://127.0.0.1:{httpd.server_port}", files)
    httpd.state = server
    thread = threading.Thread(target=httpd.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield server
    finally:
        server.end_of_test.set()
        httpd.shutdown()
        httpd.server_close()
        thread.join()


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        state: Server = self.server.state
        path = self.path.lstrip("/")
        state.requests.append((path, self.headers["Range"]))
        fault = state.faults[path].pop(0) if state.faults.get(path) else "ok"
        if path in state.redirects:
            self.send_response(302)
            self.send_header("Location", state.redirects[path])
            self.send_header("Content-Length", "0")
            self.end_headers()
        elif isinstance(fault, str) and fault.isdigit():
            self.send_error(int(fault))
        elif path not in state.files:
            self.send_error(404)
        else:
            self._send(state, state.files[path], fault)

    def _send(self, state: Server, content: bytes, fault: int | str) -> None:
        start = 0
        range_header = re.fullmatch(r"bytes=(\d+)-", self.headers["Range"] or "")
        if range_header and state.ranges:
            start = int(range_header[1])
            if start >= len(content):
                self.send_response(416)
                self.send_header("Content-Range", f"bytes */{len(content)}")
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            self.send_response(206)
            self.send_header("Content-Range", f"bytes {start}-{len(content) - 1}/{len(content)}")
        else:
            self.send_response(200)
        body = content[start:]
        self.send_header("Content-Length", str(len(body)))
        for name, value in state.headers.items():
            self.send_header(name, value)
        self.end_headers()
        if fault == "corrupt":
            body = body[:-3] + b"\0\0\0"
        if isinstance(fault, int):
            body = body[:fault]
        if fault == "stall":
            self.wfile.write(body[: len(body) // 2])
            self.wfile.flush()
            state.end_of_test.wait(MAX_STALL_SECONDS)
            return
        self.wfile.write(body)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        state: Server = self.server.state
        self.send_response(code)
        for name, value in state.headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        pass


def conll(sentences: int, word: str) -> bytes:
    return "".join(
        f"The\tO\n{word}{i}\tB-Gene\n-\tI-Gene\n2\tI-Gene\nrose\tO\n\n" for i in range(sentences)
    ).encode()


SPLITS = {"train": conll(3000, "TP"), "dev": conll(40, "IL"), "test": conll(50, "CDK")}


def plain(content: bytes) -> bytes:
    """Returns the file as BioBERT would publish it, with tags without labels."""
    return content.replace(b"-Gene", b"")


def entry(name: str = "tiny/gene", **facts: object) -> CatalogueEntry:
    """A catalogue entry for ``SPLITS``; ``published`` is the address of its raw files."""
    published = facts.pop("published", None)
    raw = {s: f"{published}/{s}.tsv" for s in SPLITS} if published else {}
    defaults: dict[str, object] = {
        "domain": "Gene",
        "licence": "none",
        "access": "public" if raw else "copy",
        "sha256": {split: sha256(content).hexdigest() for split, content in SPLITS.items()},
        "raw": raw,
        "conversion": {"layout": "columns", "label": "Gene"} if raw else {},
    }
    return CatalogueEntry(name=name, **{**defaults, **facts})


def mirrored(name: str = "tiny/gene") -> dict[str, bytes]:
    return {f"{name}/{split}.conll": content for split, content in SPLITS.items()}


def write_mirror(folder: Path) -> Path:
    """Writes the files of the mirror below ``folder`` and returns it."""
    for path, content in mirrored().items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
    return folder
