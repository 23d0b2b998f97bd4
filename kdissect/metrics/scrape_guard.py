"""The guard of scrapes: it admits clients with the token, by an address of the server, and no page of another
site.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable
from typing import TYPE_CHECKING

from kdissect.model.http_access import (
    HEADERS,
    is_equal,
    is_loopback,
    is_origin_of,
    is_own_site,
    names_server,
    new_token,
)

if TYPE_CHECKING:
    from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

# The address at which a connection arrived, in the environment of a request.
LOCAL = "kdissect.local"
# RFC 6750 section 2.1, and too long to try all tokens.
_TOKEN = re.compile(r"[A-Za-z0-9\-._~+/]{16,}=*")
_MAX_TOKEN = 4096
_FORBIDDEN = "403: other sites and other names of the server are refused.\n"
_UNAUTHORIZED = "401: send Authorization: Bearer TOKEN; docs/metrics.md says where the token is.\n"


class ScrapeGuard:
    """A WSGI application that asks another one only if the client may scrape. `token` None: everybody may.

    The Host header must name the server if a connection arrives at a loopback address, which pages of other
    sites reach. Elsewhere a server has names that it does not know, and only the token protects it.
    """

    def __init__(self, application: WSGIApplication, host: str, token: str | None) -> None:
        self._application = application
        self._host = host
        self._token = token

    def __call__(self, environ: WSGIEnvironment, start: StartResponse) -> Iterable[bytes]:
        """Answer a request."""
        if self._is_from_elsewhere(environ):
            return _refused(start, "403 Forbidden", _FORBIDDEN)
        if not self._is_allowed(environ.get("HTTP_AUTHORIZATION", "")):
            # RFC 6750 section 3
            return _refused(
                start, "401 Unauthorized", _UNAUTHORIZED, ("WWW-Authenticate", 'Bearer realm="kdissect"')
            )

        def started(status: str, headers: list[tuple[str, str]], *more: object) -> object:
            return start(status, [*headers, *HEADERS.items()], *more)  # type: ignore[arg-type]

        return self._application(environ, started)  # type: ignore[arg-type]

    def _is_from_elsewhere(self, environ: WSGIEnvironment) -> bool:
        header, local, port = environ.get("HTTP_HOST"), environ[LOCAL], int(environ["SERVER_PORT"])
        if is_loopback(local) and not names_server(header, self._host, port, local):
            return True
        if not environ["PATH_INFO"].startswith("/"):  # the address of another server, as from a proxy
            return True
        # Two headers of a name are one here, with a comma in it, which is of no server.
        origin = environ.get("HTTP_ORIGIN")
        if origin is not None and not is_origin_of(origin, header or ""):
            return True
        return not is_own_site(environ.get("HTTP_SEC_FETCH_SITE"))

    def _is_allowed(self, authorization: str) -> bool:
        scheme, _, given = authorization.partition(" ")
        return self._token is None or (scheme.lower() == "bearer" and is_equal(given.strip(), self._token))


def _refused(start: StartResponse, status: str, text: str, *headers: tuple[str, str]) -> list[bytes]:
    body = text.encode()
    kind = ("Content-Type", "text/plain; charset=utf-8")
    start(status, [kind, ("Content-Length", str(len(body))), *headers, *HEADERS.items()])
    return [body]


def token_in(path: str) -> str:
    """Return the token in a file. A file that is not there is created, with mode 0600 and a random token.

    Raises OSError, and ValueError (one line, without the content) for a file that has no token.
    """
    try:
        # A pipe must not wait for a writer.
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    except FileNotFoundError:
        return _created(path)
    with os.fdopen(handle, "rb") as file:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise ValueError("it is not a regular file")
        text = file.read(_MAX_TOKEN + 1)
    token = text.decode("ascii", "replace").strip()
    if len(text) > _MAX_TOKEN or not _TOKEN.fullmatch(token):
        raise ValueError("it has no token: one line of at least 16 letters, digits and any of -._~+/")
    return token


def _created(path: str) -> str:
    token = new_token()
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(f"{token}\n")
    return token
