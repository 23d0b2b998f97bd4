"""Receivers of findings: a file of JSON lines, or a webhook.

A target takes all alerts of a call, or raises `NotSentError`. After a failure it receives all of them again,
although it may have taken some. Its name in messages has only the host of a URL: the path often is a token.
"""

from __future__ import annotations

import json
import os
import socket
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import Any, Protocol
from urllib.error import HTTPError, URLError
from urllib.parse import SplitResult, urlsplit
from urllib.request import HTTPHandler, HTTPRedirectHandler, HTTPSHandler, Request, build_opener

from kdissect.model.version import __version__

Alert = dict[str, Any]
"""A finding as receivers get it."""

# A person waits for the alert, a stream for the person's webhook: less than the batches of most.
TIMEOUT_S = 5.0
# Waits between attempts: three attempts, 17 seconds at most, whatever the host does.
PAUSES_S = (0.5, 1.5)
_TOO_MANY, _SERVER_ERRORS = 429, 500
_READ_BYTES = 1 << 16
_TOO_LATE = ("no answer in time", True)


class NotSentError(Exception):
    """A target did not take alerts. The text is one line for people, without secrets."""


class Target(Protocol):
    """A receiver of findings."""

    name: str
    """Its name in messages."""
    identity: str
    """Its identity among targets. May contain a secret."""

    def send(self, alerts: Sequence[Alert]) -> None:
        """Send some. Raises NotSentError."""


class JsonLines:
    """Appends a line to a file for each alert."""

    def __init__(self, path: str) -> None:
        self.name = path
        self.identity = f"jsonl={os.path.abspath(path)}"  # noqa: PTH100  pathlib would resolve links
        self._path = path

    def send(self, alerts: Sequence[Alert]) -> None:
        """Write and flush to disk. First remove a line that a kill cut off."""
        lines = "".join(json.dumps(alert, ensure_ascii=True) + "\n" for alert in alerts).encode()
        try:
            with open(self._path, "a+b") as file:  # noqa: PTH123
                _end_of_lines(file)
                file.write(lines)
                file.flush()
                if file.seekable():
                    os.fsync(file.fileno())
        except OSError as error:
            raise NotSentError(error.strerror or str(error)) from error


class Webhook:
    """Sender that posts a JSON list of alerts. It follows no redirections: they would lead to hosts that the
    user did not name.

    `timeout_s` is the limit of an attempt in seconds, from the name lookup to the headers of the answer. It
    does not read the answer's body.
    """

    def __init__(
        self, url: str, timeout_s: float = TIMEOUT_S, pauses_s: Sequence[float] = PAUSES_S,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:  # fmt: skip
        parts = _checked(url)
        self.name = f"{parts.scheme}://{parts.hostname}"
        self.identity = f"webhook={url}"
        self._url = url
        self._timeout_s = timeout_s
        self._pauses_s = pauses_s
        self._sleep = sleep

    def send(self, alerts: Sequence[Alert]) -> None:
        """Post the alerts. Try again if that may help."""
        body = json.dumps(list(alerts), ensure_ascii=True).encode()
        for pause in self._pauses_s:
            why, may_help = self._post(body)
            if not why:
                return
            if not may_help:
                raise NotSentError(why)
            self._sleep(pause)
        why, _ = self._post(body)
        if why:
            raise NotSentError(why)

    def _post(self, body: bytes) -> tuple[str, bool]:
        """Return the reason of a failure (empty: none), and whether another attempt may help."""
        headers = {"Content-Type": "application/json", "User-Agent": f"kdissect/{__version__}"}
        return _Attempt(Request(self._url, body, headers, method="POST")).result(self._timeout_s)


class _Attempt:
    """One exchange, in a thread: each wait of a socket has its limit, but looking up a name has none, and a
    host that sends a byte now and then never reaches one.
    """

    def __init__(self, request: Request) -> None:
        self._request = request
        self._result = _TOO_LATE
        self._connections: list[HTTPConnection] = []
        self._end = 0.0

    def result(self, seconds: float) -> tuple[str, bool]:
        """Return the reason of a failure within this time (empty: none), and whether another attempt may
        help.
        """
        self._end = time.monotonic() + seconds
        thread = threading.Thread(target=self._run, daemon=True)
        thread.start()
        thread.join(seconds)
        if not thread.is_alive():
            return self._result
        for connection in self._connections:
            if connection.sock is not None:
                # A read that waits for bytes gets the end of the stream. The shutdown of TLS would send a
                # goodbye first.
                with suppress(OSError):
                    socket.socket.shutdown(connection.sock, socket.SHUT_RDWR)
        return _TOO_LATE

    def _run(self) -> None:
        self._result = self._exchange()

    def _exchange(self) -> tuple[str, bool]:
        opener = build_opener(_Stay, _Plain(self._timed), _Secure(self._timed))
        try:
            with opener.open(self._request, timeout=self._left()):
                return "", False
        except HTTPError as error:
            error.close()
            return f"HTTP status {error.code}", error.code == _TOO_MANY or error.code >= _SERVER_ERRORS
        except URLError as error:
            return _reason(error.reason), True
        except (OSError, HTTPException, ValueError) as error:
            return _reason(error), True

    def _left(self) -> float:
        """Seconds. Raises TimeoutError for none."""
        left = self._end - time.monotonic()
        if left <= 0:
            raise TimeoutError
        return left

    def _timed(self, kind: type[HTTPConnection]) -> type[HTTPConnection]:
        """Make a class of connections that are known here, and that send no bytes after the end."""
        attempt = self

        class Timed(kind):  # type: ignore[valid-type, misc]
            def connect(self) -> None:
                attempt._connections.append(self)
                self.timeout = attempt._left()
                super().connect()
                attempt._left()

        return Timed


def target_of(text: str) -> Target:
    """Return the target of `jsonl=FILE` or `webhook=URL`. Raises ValueError with one line for people."""
    kind, _, value = text.partition("=")
    if kind == "jsonl" and value:
        return JsonLines(value)
    if kind == "webhook" and value:
        return Webhook(value)
    raise ValueError(f"{kind!r} is neither jsonl=FILE nor webhook=URL")


def _checked(url: str) -> SplitResult:
    """Return the parts of a URL. The messages do not repeat it."""
    try:
        parts = urlsplit(url)
        is_whole = bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        raise ValueError("the URL of the webhook is none") from None
    if parts.scheme not in ("http", "https"):
        raise ValueError("the URL of a webhook begins with http:// or https://")
    if not is_whole or not url.isascii() or not url.isprintable() or " " in url:
        raise ValueError("the URL of the webhook is none")
    if "@" in parts.netloc:
        raise ValueError("the URL of a webhook has no user name in it")
    return parts


_Timed = Callable[[type[HTTPConnection]], type[HTTPConnection]]


class _Stay(HTTPRedirectHandler):
    def redirect_request(self, *_: Any) -> None:
        return None  # the status becomes an error


class _Plain(HTTPHandler):
    def __init__(self, timed: _Timed) -> None:
        super().__init__()
        self._timed = timed

    def http_open(self, req: Request) -> Any:
        return self.do_open(self._timed(HTTPConnection), req)


class _Secure(HTTPSHandler):
    def __init__(self, timed: _Timed) -> None:
        super().__init__()
        self._timed = timed

    def https_open(self, req: Request) -> Any:
        return self.do_open(self._timed(HTTPSConnection), req)


def _reason(error: object) -> str:
    """Return the reason of a failure, without parts of the URL or the server's text."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    if isinstance(error, TimeoutError):
        return _TOO_LATE[0]
    return type(error).__name__ if isinstance(error, Exception) else "no connection"


def _end_of_lines(file: Any) -> None:
    """Cut a file after its last whole line."""
    if not file.seekable():
        return  # a pipe or a terminal
    end = position = file.seek(0, os.SEEK_END)
    while position:
        start = max(0, position - _READ_BYTES)
        file.seek(start)
        found = file.read(position - start).rfind(b"\n")
        if found >= 0 or not start:
            keep = start + found + 1
            if keep < end:
                file.truncate(keep)
            return
        position = start
