"""A webhook on loopback that answers as told, and rows of `findings` to tell it."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from typing import Any, NamedTuple

import pyarrow.parquet as pq

from tests.pipeline.released.freeze import HERE
from tests.support.http_server import serving
from tests.support.patience import PATIENCE_S

Row = dict[str, Any]


def finding_rows() -> list[Row]:
    """Return findings of a capture, as tables hold them."""
    (path,) = (HERE / "0.1.0" / "findings").glob("*.parquet")
    rows: list[Row] = pq.read_table(path).to_pylist()
    return rows


def different(count: int) -> list[Row]:
    """So many findings, none equal to another: of brokers, which are told apart by their addresses."""
    first = next(row for row in finding_rows() if row["role"] == "broker")
    return [first | {"address": f"127.0.0.1:{number + 1}"} for number in range(count)]


class Request(NamedTuple):
    """What the webhook was sent."""

    path: str
    headers: Mapping[str, str]
    alerts: list[Row]


class Hook:
    """`requests` are what came; `answers` what comes of the next ones: a status, or a function to call."""

    def __init__(self, url: str) -> None:
        self.url = f"{url}/hooks/TOKEN"
        self.requests: list[Request] = []
        self.answers: list[int | Callable[[], int]] = []

    @property
    def ids(self) -> list[str]:
        return [alert["id"] for request in self.requests for alert in request.alerts]


@contextmanager
def listening() -> Iterator[Hook]:
    """Run a webhook that answers 200 unless a test sets another answer."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            hook.requests.append(Request(self.path, self.headers, json.loads(body)))
            answer = hook.answers.pop(0) if hook.answers else 200
            self.send_response(answer if isinstance(answer, int) else answer())
            self.send_header("Location", f"{hook.url}/elsewhere")
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

        def handle(self) -> None:
            try:
                super().handle()
            except ConnectionError:  # the other end was killed
                self.close_connection = True

        def finish(self) -> None:
            try:
                super().finish()
            except ConnectionError:
                self.close_connection = True

    with serving(Handler) as url:
        hook = Hook(url)
        yield hook


@contextmanager
def dripping(seconds: float) -> Iterator[tuple[str, threading.Event]]:
    """Yield the URL of a webhook that sends its answer byte by byte, and is done after this time.

    The event is set once the client is gone before that.
    """
    is_left = threading.Event()

    def serve() -> None:
        link, _ = server.accept()
        with link:
            end = time.monotonic() + seconds
            try:
                link.sendall(b"HTTP/1.1 200 OK\r\nSlow: ")
                while time.monotonic() < end:
                    link.sendall(b"x")
                    time.sleep(0.02)
                link.sendall(b"\r\nContent-Length: 0\r\n\r\n")
            except ConnectionError:
                is_left.set()

    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}/hooks/TOKEN", is_left
        thread.join(PATIENCE_S)
