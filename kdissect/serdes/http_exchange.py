"""One request over HTTP and its response, within a fixed time and without redirections: they would lead to
hosts that the user did not name.

Messages contain no part of the URL, which often has a token, and no text of the server.
"""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import SplitResult, urlsplit
from urllib.request import HTTPHandler, HTTPRedirectHandler, HTTPSHandler, Request, build_opener

from kdissect.model.wording import plural

_TOO_MANY, _SERVER_ERRORS = 429, 500


class HttpFailureError(Exception):
    """No usable response. The text is one line for people. `status` is 0 without a response."""

    def __init__(self, text: str, status: int = 0) -> None:
        super().__init__(text)
        self.status = status
        self.may_have_arrived = False
        """Whether the server may have taken the request: it was reached, and did not respond."""

    @property
    def may_pass(self) -> bool:
        """Whether another attempt may help."""
        return not self.status or self.status == _TOO_MANY or self.status >= _SERVER_ERRORS


def checked_url(url: str, owner: str) -> SplitResult:
    """Return the parts of a URL. Raises ValueError, without the URL; `owner` names it in messages."""
    try:
        parts = urlsplit(url)
        is_whole = bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        raise ValueError(f"the URL of {owner} is none") from None
    if parts.scheme not in ("http", "https"):
        raise ValueError(f"the URL of {owner} begins with http:// or https://")
    if not is_whole or not url.isascii() or not url.isprintable() or " " in url:
        raise ValueError(f"the URL of {owner} is none")
    if "@" in parts.netloc:
        raise ValueError(f"the URL of {owner} has no user name in it")
    return parts


def exchange(request: Request, seconds: float, max_bytes: int = 0) -> bytes:
    """Return the body of the response, which is not read if `max_bytes` is 0. Raises HttpFailureError.

    `seconds` is the limit from the name lookup to the last byte.
    """
    attempt = _Attempt(request, max_bytes)
    found = attempt.result(seconds)
    if isinstance(found, HttpFailureError):
        found.may_have_arrived = attempt.is_connected and not found.status
        raise found
    return found


class _Attempt:
    """One exchange, in a thread: each wait of a socket has its limit, but looking up a name has none, and a
    host that sends a byte now and then never reaches one.
    """

    def __init__(self, request: Request, max_bytes: int) -> None:
        self._request = request
        self._max_bytes = max_bytes
        self._result: bytes | HttpFailureError = _too_late()
        self._connections: list[HTTPConnection] = []
        self._end = 0.0
        self.is_connected = False

    def result(self, seconds: float) -> bytes | HttpFailureError:
        """Return the body, or the reason of a failure within this time."""
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
        return _too_late()

    def _run(self) -> None:
        self._result = self._exchange()

    def _exchange(self) -> bytes | HttpFailureError:
        opener = build_opener(_Stay, _Plain(self._timed), _Secure(self._timed))
        try:
            with opener.open(self._request, timeout=self._left()) as response:
                if not self._max_bytes:
                    return b""
                body: bytes = response.read(self._max_bytes + 1)
        except HTTPError as error:
            error.close()
            return HttpFailureError(f"HTTP status {error.code}", error.code)
        except URLError as error:
            return _reason(error.reason)
        except (OSError, HTTPException, ValueError) as error:
            return _reason(error)
        if len(body) > self._max_bytes:
            return HttpFailureError(f"the response has more than {plural(self._max_bytes, 'byte')}")
        return body

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
                attempt.is_connected = True

        return Timed


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


def _reason(error: object) -> HttpFailureError:
    """Return the reason of a failure, without parts of the URL or the server's text."""
    if isinstance(error, OSError) and error.strerror:
        return HttpFailureError(error.strerror)
    if isinstance(error, TimeoutError):
        return _too_late()
    return HttpFailureError(type(error).__name__ if isinstance(error, Exception) else "no connection")


def _too_late() -> HttpFailureError:
    return HttpFailureError("no answer in time")
