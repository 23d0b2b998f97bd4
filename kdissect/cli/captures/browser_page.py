"""The screen in a browser: textual-serve starts one `kdissect tui` for each page that is open.

- It listens on loopback unless the user names another address, and answers only with the token of the URL
  that it prints: a program that reaches the page reads the captures. The token is exchanged for a cookie.
- Other sites in the user's browser get 403: see `_Guard`.
- The page of textual-serve takes no keys before a click, and loads a font from another host. Here keys count
  from the first moment, and no resource comes from another host.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import logging
import os
import re
import secrets
import socket
import sys
from collections.abc import Awaitable, Callable, Sequence
from shlex import join
from typing import Any

from aiohttp import web
from textual_serve.server import Server

from kdissect.model.http_access import (
    HEADERS,
    authority,
    is_equal,
    is_origin_of,
    is_own_site,
    names_server,
    new_token,
    reached,
)

_ELSEWHERE = re.compile(r'<link[^>]*href="https?://(?!127\.0\.0\.1)[^>]*>')
# Keys are buffered until the screen has drawn something (the class -first-byte), and then typed into the
# hidden text area of xterm.js: a character as an InputEvent, which it accepts from scripts, too, other keys
# as keydown.
_KEYS = """<script>
(function () {
  const held = [];
  let area = null;
  function type(event) {
    if (event.key.length === 1 && !event.ctrlKey && !event.altKey) {
      area.dispatchEvent(new InputEvent("input", {data: event.key, inputType: "insertText", bubbles: true}));
      return;
    }
    const {key, code, keyCode, ctrlKey, altKey, shiftKey} = event;
    area.dispatchEvent(
      new KeyboardEvent("keydown", {key, code, keyCode, ctrlKey, altKey, shiftKey, bubbles: true}));
  }
  function hold(event) {
    if (event.metaKey || ["Shift", "Control", "Alt"].includes(event.key)) return;
    held.push(event);
    event.preventDefault();
    event.stopPropagation();
  }
  function begin() {
    area = document.querySelector(".xterm-helper-textarea");
    if (area === null || !document.body.classList.contains("-first-byte")) return;
    seen.disconnect();
    area.focus();
    window.addEventListener("focus", () => area.focus());
    setTimeout(() => {
      window.removeEventListener("keydown", hold, true);
      held.forEach(type);
    }, 500);
  }
  window.addEventListener("keydown", hold, true);
  const seen = new MutationObserver(begin);
  seen.observe(document.body, {attributes: true, childList: true, subtree: true});
})();
</script>"""


_Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
_TOKEN = "token"
_SOCKET = "/ws"
_REFUSED = "403: open the URL that kdissect tui --web printed. Other sites and addresses are refused.\n"
_NO_UPGRADE = "400: this address is for a WebSocket.\n"
_IN_USE = (
    "<!DOCTYPE html><html><head><title>kdissect</title></head>"
    "<body><h1>kdissect is open in another browser</h1>"
    "<p>Close the other page, and <a href='/'>try again</a>. "
    "<code>--web-sessions N</code> allows N pages at a time.</p></body></html>"
)


class _Guard:
    """Decides who may use the server: clients with the token, or with the cookie that they received for it.

    The Host header must name the server, and an Origin header must name that address, too. A WebSocket needs
    an Origin: browsers send it, and only it distinguishes pages.
    """

    def __init__(self, host: str, port: int) -> None:
        self.token = new_token()
        self._host = host
        self._port = port
        self._key = secrets.token_bytes(32)
        # Cookies do not know ports: a second server must not overwrite that of the first.
        self._cookie = f"kdissect_{port}"

    def browser_of(self, request: web.Request) -> str | None:
        """Return the number of the browser that a valid cookie names; None without one."""
        number, _, code = request.cookies.get(self._cookie, "").partition(".")
        return number if is_equal(code, self._code(number)) else None

    def is_from_elsewhere(self, request: web.Request) -> bool:
        """Return whether a page of another site asks, or one by another address."""
        local = request.transport.get_extra_info("sockname")[0] if request.transport is not None else ""
        if not names_server(request.headers.get("Host"), self._host, self._port, local):
            return True
        # Programs differ on which of two headers counts, and on addresses in a proxy's form.
        is_plain = all(len(request.headers.getall(name, ())) < 2 for name in ("Origin", "Sec-Fetch-Site"))
        if not is_plain or not request.raw_path.startswith("/"):
            return True
        origin = request.headers.get("Origin")
        if origin is None:
            return request.path == _SOCKET or "upgrade" in request.headers or not self._is_own_site(request)
        return not is_origin_of(origin, request.headers["Host"])

    def _is_own_site(self, request: web.Request) -> bool:
        """Return whether the request comes from the own site or has the token: a link with the right token
        may be on any page, such as a terminal in a browser.
        """
        return is_own_site(request.headers.get("Sec-Fetch-Site")) or self.has_token(request)

    def has_token(self, request: web.Request) -> bool:
        """Return whether it is the URL that was printed."""
        given = request.query.get(_TOKEN)
        return request.path == "/" and given is not None and is_equal(given, self.token)

    def let_in(self, request: web.Request) -> web.Response:
        """Exchange the token for a cookie, and lead on to the URL without it: history and logs keep URLs."""
        response = web.Response(status=303, headers={"Location": "/"})
        if self.browser_of(request) is None:
            number = secrets.token_hex(16)
            cookie = f"{number}.{self._code(number)}"
            response.set_cookie(self._cookie, cookie, httponly=True, samesite="Strict", path="/")
        return response

    def _code(self, number: str) -> str:
        return hmac.new(self._key, number.encode("utf-8", "replace"), hashlib.sha256).hexdigest()


class PageServer(Server):
    """The server of textual-serve, with another page, for clients with the token.

    At most `sessions` pages are open. One more of the same browser takes the place of its first.
    """

    def __init__(self, command: str, host: str, port: int, sessions: int) -> None:
        super().__init__(command, host=host, port=port, title="kdissect")
        # asyncio has an address of IPv6 take IPv6 alone: `::` is all addresses, as for other servers.
        self.host: Any = [host, "0.0.0.0"] if host == "::" else host
        self.guard = _Guard(host, port)
        self.url = f"http://{authority(reached(host), port)}/?{_TOKEN}={self.guard.token}"
        self._most = sessions
        self._open: dict[asyncio.Task[Any], str] = {}

    async def _make_app(self) -> web.Application:
        app = await super()._make_app()
        app.middlewares.append(self._guarded)
        return app

    def initialize_logging(self) -> None:
        """Faults alone: a log of requests has the token in it, and one with local variables, too."""
        logging.basicConfig(level=logging.WARNING, format="%(message)s")

    async def on_startup(self, app: web.Application) -> None:
        """Print the URL."""
        sys.stdout.write(f"kdissect is at {self.url}\nCtrl+C ends it\n")
        sys.stdout.flush()

    @web.middleware
    async def _guarded(self, request: web.Request, handler: _Handler) -> web.StreamResponse:
        if self.guard.is_from_elsewhere(request):
            response: web.StreamResponse = web.Response(status=403, text=_REFUSED)
        elif self.guard.has_token(request):
            response = self.guard.let_in(request)
        elif (browser := self.guard.browser_of(request)) is None:
            response = web.Response(status=403, text=_REFUSED)
        elif request.path == _SOCKET and not _is_upgrade(request):
            response = web.Response(status=400, text=_NO_UPGRADE)
        elif request.path in ("/", _SOCKET) and not self._has_room(browser):
            response = web.Response(status=409, text=_IN_USE, content_type="text/html")
        else:
            try:
                response = await handler(request)
            except web.HTTPException as error:  # no such page
                response = web.Response(status=error.status, text=error.text)
        if not response.prepared:
            response.headers.update(HEADERS)
        return response

    async def _process_messages(self, websocket: web.WebSocketResponse, app_service: Any) -> None:
        """Pass on what the page sends, and close it when its process ends: a dead screen says nothing."""
        ends: list[asyncio.Task[Any]] = []
        reading = app_service._task  # noqa: SLF001  nothing else says when the process ends
        reading.add_done_callback(lambda _: ends.append(asyncio.create_task(websocket.close())))
        await super()._process_messages(websocket, app_service)

    def _has_room(self, browser: str) -> bool:
        return len(self._open) < self._most or browser in self._open.values()

    async def handle_index(self, request: web.Request) -> web.StreamResponse:
        """Return the page.

        Its links use the address in the request: the cookie is valid there.
        """
        self.public_url = f"http://{request.host}"
        response = await super().handle_index(request)
        assert isinstance(response, web.Response)
        response.text = mended(response.text or "")
        return response

    async def handle_websocket(self, request: web.Request) -> web.WebSocketResponse:
        """Return a page that is open, until it is closed."""
        browser, task = self.guard.browser_of(request), asyncio.current_task()
        assert browser is not None
        assert task is not None
        while len(self._open) >= self._most:
            oldest = next(other for other, owner in self._open.items() if owner == browser)
            del self._open[oldest]
            oldest.cancel()  # textual-serve then closes the WebSocket and ends the process
        self._open[task] = browser
        try:
            return await super().handle_websocket(request)
        finally:
            self._open.pop(task, None)


def _is_upgrade(request: web.Request) -> bool:
    return request.method == "GET" and web.WebSocketResponse().can_prepare(request).ok


def mended(page: str) -> str:
    """Return the page as it is served."""
    return _ELSEWHERE.sub("", page).replace("</body>", f"{_KEYS}</body>")


def serve(arguments: Sequence[str], host: str, port: int, sessions: int) -> None:
    """Serve until Ctrl-C. `arguments` are the arguments of `kdissect tui` without `--web`.

    Raises OSError if the address and port are not available.
    """
    _check(host, port)
    # textual-serve asks a shell. Without `exec` a process would outlive the shell that is killed for it.
    shell = "exec " if os.name == "posix" else ""
    command = shell + join([sys.executable, "-m", "kdissect", "tui", *arguments])
    PageServer(command, host, port, sessions).serve()


def _check(host: str, port: int) -> None:
    """Raise OSError unless the port is available: textual-serve itself would print a traceback."""
    family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    with socket.socket(family) as tried:
        tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        tried.bind(address)
