"""The screen in a browser: textual-serve starts one `kdissect tui` for each page that is open.

- It listens on 127.0.0.1 alone: whoever reaches the page reads the captures.
- The page of textual-serve takes no keys before a click, and loads a font from another host. Here keys count
  from the first moment, and nothing is loaded from elsewhere.
"""

from __future__ import annotations

import re
import socket
import sys
from collections.abc import Awaitable, Callable, Sequence
from shlex import join

from aiohttp import web
from textual_serve.server import Server

HOST = "127.0.0.1"
_ELSEWHERE = re.compile(r'<link[^>]*href="https?://(?!127\.0\.0\.1)[^>]*>')
# Keys are held until the screen has drawn something (the class -first-byte), and then typed into the hidden
# text area of xterm.js: a character as an InputEvent, which it takes from scripts too, others as keydown.
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


class PageServer(Server):
    """The server of textual-serve, with another page."""

    async def _make_app(self) -> web.Application:
        app = await super()._make_app()
        app.middlewares.append(_mended)
        return app


@web.middleware
async def _mended(
    request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
) -> web.StreamResponse:
    response = await handler(request)
    if isinstance(response, web.Response) and response.content_type == "text/html" and response.text:
        response.text = mended(response.text)
    return response


def mended(page: str) -> str:
    """The page as it is served."""
    return _ELSEWHERE.sub("", page).replace("</body>", f"{_KEYS}</body>")


def serve(arguments: Sequence[str], port: int) -> None:
    """Serve until Ctrl-C. `arguments` are those of `kdissect tui` without `--web`.

    Raises OSError where the port cannot be had.
    """
    _check(port)
    command = join([sys.executable, "-m", "kdissect", "tui", *arguments])
    PageServer(command, host=HOST, port=port, title="kdissect").serve()


def _check(port: int) -> None:
    """Whether the port can be had: textual-serve itself would print a traceback."""
    with socket.socket() as tried:
        tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        tried.bind((HOST, port))
