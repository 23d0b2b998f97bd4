"""`kdissect tui --web` in Chromium without a window, which is driven over its DevTools protocol."""

import asyncio
import importlib.util
import json
import shutil
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest

from tests.cli.captures.serving import connected, free_port, started, url_of
from tests.support.console import CAPTURES, command
from tests.support.patience import PATIENCE_S

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
GROUPS = CAPTURES / "kafka44_java_groups.pcapng"
pytestmark = [
    pytest.mark.skipif(importlib.util.find_spec("textual_serve") is None, reason="needs the extra web"),
]
needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="needs chromium")


async def answer(session: Any, url: str) -> str:
    """Return what is served there, as soon as it is."""
    until = time.monotonic() + PATIENCE_S
    while True:
        try:
            async with session.get(url) as response:
                text: str = await response.text()
                return text
        except OSError:
            assert time.monotonic() < until, url
            await asyncio.sleep(0.1)


@asynccontextmanager
async def page(session: Any, port: int) -> AsyncIterator[Any]:
    """Yield a function that calls a method of the page."""
    (tab,) = (one for one in json.loads(await answer(session, f"http://127.0.0.1:{port}/json"))
              if one["type"] == "page")  # fmt: skip
    async with session.ws_connect(tab["webSocketDebuggerUrl"], max_msg_size=0) as channel:
        number = 0

        async def call(method: str, **parameters: Any) -> Any:
            nonlocal number
            number += 1
            await channel.send_json({"id": number, "method": method, "params": parameters})
            while True:
                message = await channel.receive_json()
                if message.get("id") == number:
                    return message["result"]

        yield call


async def focused(url: str, devtools: int) -> None:
    """Open the page, touch nothing, and wait until what takes the keys has the focus."""
    from aiohttp import ClientSession

    async with ClientSession() as session, page(session, devtools) as call:
        await call("Page.navigate", url=url)
        until = time.monotonic() + PATIENCE_S
        while True:
            found = await call("Runtime.evaluate", expression="document.activeElement.className")
            if "xterm-helper-textarea" in str(found["result"].get("value")):
                return
            assert time.monotonic() < until
            await asyncio.sleep(0.2)


async def pressed_while_loading(url: str, port: int, devtools: int, keys: str) -> None:
    """Open the page, and press keys before the screen has drawn anything."""
    from aiohttp import ClientSession

    async with ClientSession() as session, page(session, devtools) as call:

        async def value(expression: str) -> Any:
            return (await call("Runtime.evaluate", expression=expression))["result"].get("value")

        await call("Page.navigate", url=url)
        while await value(f"location.port == '{port}' && document.readyState != 'loading'") is not True:
            await asyncio.sleep(0.01)
        for key in keys:
            event = {"key": key, "text": key, "code": f"Key{key.upper()}"}
            await call("Input.dispatchKeyEvent", type="keyDown", **event)
            await call("Input.dispatchKeyEvent", type="keyUp", **event)
        assert await value("document.body.classList.contains('-first-byte')") is False
        await asyncio.sleep(PATIENCE_S)  # the page stays open until it is known what came of them


@pytest.mark.exhaustive
@needs_chromium
def test_keys_while_the_page_loads_are_held_and_come_in_order(tmp_path: Path) -> None:
    """`t` is the other theme, `q` ends it, which keeps the theme."""
    port, devtools = free_port(), free_port()
    serving = command("tui", "--web", "--web-files", "--web-port", port, GROUPS)
    kept = tmp_path / "kdissect" / "tui.json"

    async def play(url: str) -> None:
        pressing = asyncio.create_task(pressed_while_loading(url, port, devtools, "tq"))
        while not kept.exists() and not pressing.done():
            await asyncio.sleep(0.1)
        pressing.cancel()
        if pressing.done():
            pressing.result()

    with (
        started(*serving, XDG_CONFIG_HOME=str(tmp_path)) as server,
        started(*chromium(tmp_path, devtools)),
    ):
        asyncio.run(play(url_of(server)))
    assert json.loads(kept.read_text())["theme"] == "textual-light"


def asked(port: int, path: str, **headers: str) -> tuple[int, str, str]:
    """Status, cookie and text of an answer."""
    sent = {name.replace("_", "-"): text for name, text in headers.items()}
    with closing(HTTPConnection("127.0.0.1", port)) as connection:
        connection.sock = connected("127.0.0.1", port)
        connection.request("GET", path, headers=sent)
        found = connection.getresponse()
        cookie = (found.headers["Set-Cookie"] or "").partition(";")[0]
        return found.status, cookie, found.read().decode("utf-8", "replace")


UPGRADE = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec_WebSocket_Version": "13",
           "Sec_WebSocket_Key": "AAAAAAAAAAAAAAAAAAAAAA=="}  # fmt: skip
PATHS = ("/", "/?token=wrong", "/static/js/textual.js", "/ws", "/download/x", "/nothing")


def test_other_sites_addresses_and_strangers_are_refused() -> None:
    port = free_port()
    with started(*command("tui", "--web", "--web-port", port, GROUPS)) as server:
        url = url_of(server)
        assert url.startswith(f"http://127.0.0.1:{port}/?token=")
        token = f"/{url.rpartition('/')[2]}"
        own = f"http://127.0.0.1:{port}"
        for path in PATHS:
            assert asked(port, path)[0] == 403, path
        assert asked(port, "/ws", Origin=own, **UPGRADE)[0] == 403
        assert asked(port, token, Host=f"site.example:{port}")[:2] == (403, "")
        status, cookie, _ = asked(port, token)
        assert status == 303
        for path in (*PATHS, token):
            for headers in (
                {"Host": f"site.example:{port}"},
                {"Host": f"127.0.0.1:{port + 1}"},
                {"Origin": "http://site.example"},
                {"Origin": "null"},
                {"Origin": f"http://127.0.0.1:{port + 1}"},
            ):
                more = UPGRADE if path == "/ws" else {}
                assert asked(port, path, Cookie=cookie, **headers, **more)[0] == 403, (path, headers)
        assert asked(port, "/ws", Cookie=cookie, **UPGRADE)[0] == 403
        for site in ("cross-site", "same-site"):
            assert asked(port, "/", Cookie=cookie, Sec_Fetch_Site=site)[0] == 403
        assert asked(port, "/", Cookie=cookie + "0")[0] == 403
        status, _, page_text = asked(port, "/", Cookie=cookie)
        assert status == 200
        assert 'href="https://' not in page_text
        assert asked(port, "/", Cookie=cookie, Host=f"localhost:{port}")[0] == 200


def test_one_browser_at_a_time() -> None:
    from aiohttp import ClientSession, CookieJar  # unsafe: of an address

    port = free_port()

    async def play(url: str) -> None:
        own, another = (ClientSession(cookie_jar=CookieJar(unsafe=True)) for _ in range(2))
        async with own, another:
            origin = {"Origin": f"http://127.0.0.1:{port}"}
            where = f"http://127.0.0.1:{port}"
            await answer(own, url)
            async with own.ws_connect(f"{where}/ws", headers=origin) as first:
                await first.receive()
                assert "open in another browser" in await answer(another, url)
                assert 'id="terminal"' in await answer(own, f"{where}/")
                async with own.ws_connect(f"{where}/ws", headers=origin) as again:
                    assert (await again.receive()).data
                    while not first.closed:
                        await first.receive()
                await answer(another, f"{where}/")

    with started(*command("tui", "--web", "--web-port", port, GROUPS)) as server:
        asyncio.run(asyncio.wait_for(play(url_of(server)), 2 * PATIENCE_S))


def chromium(profile: Path, devtools: int) -> tuple[str, ...]:
    return (
        str(CHROMIUM), "--headless=new", "--no-sandbox", "--disable-gpu",
        f"--remote-debugging-port={devtools}", f"--user-data-dir={profile}", "about:blank",
    )  # fmt: skip


@needs_chromium
def test_keys_need_no_click(tmp_path: Path) -> None:
    port, devtools = free_port(), free_port()
    serving = command("tui", "--web", "--web-port", port, GROUPS)
    with (
        started(*serving, XDG_CONFIG_HOME=str(tmp_path)) as server,
        started(*chromium(tmp_path, devtools)),
    ):
        asyncio.run(focused(url_of(server), devtools))


def test_the_page_loads_nothing_from_elsewhere() -> None:
    from kdissect.cli.captures.browser_page import mended

    here = '<link href="http://127.0.0.1:1/x.css" />'
    text = f'<link rel="x"\n href="https://fonts.example/css?family=A" />{here}</body>'
    assert mended(text).startswith(f"{here}<script>")
