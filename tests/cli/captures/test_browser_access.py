"""`kdissect tui --web` asked in ways that browsers do not use, at each kind of address, and its sessions."""

import asyncio
import importlib.util
import os
import re
import signal
import socket
import subprocess
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.cli.captures.serving import connected, free_port, started, url_of
from tests.support.console import CAPTURES, command
from tests.support.patience import PATIENCE_S

GROUPS = CAPTURES / "kafka44_java_groups.pcapng"
UPGRADE = ("Upgrade: websocket", "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==")
pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("textual_serve") is None, reason="needs the extra web"
)


class Server(NamedTuple):
    """A server, the address to ask it at, and what its URL says."""

    process: subprocess.Popen[bytes]
    address: str
    port: int
    url: str

    @property
    def token(self) -> str:
        """The path that has the token."""
        return f"/{self.url.rpartition('/')[2]}"

    def asked(self, line: str, *headers: str) -> tuple[int, str]:
        """Status and headers of the answer to exactly these lines."""
        with connected(self.address, self.port) as link:
            link.sendall("\r\n".join([f"{line} HTTP/1.1", *headers, "", ""]).encode("latin-1"))
            text = b""
            while b"\r\n\r\n" not in text:
                data = link.recv(1 << 16)
                assert data, text
                text += data
        return int(text.split()[1]), text.partition(b"\r\n\r\n")[0].decode()

    def cookie(self, host: str) -> str:
        """Return the header with the cookie that the token gives."""
        status, headers = self.asked(f"GET {self.token}", f"Host: {host}")
        assert status == 303
        found = re.search(r"Set-Cookie: ([^;]+)", headers)
        assert found
        return f"Cookie: {found[1]}"


@contextmanager
def serving(host: str = "127.0.0.1", address: str = "127.0.0.1") -> Iterator[Server]:
    port = free_port()
    with started(*command("tui", "--web", "--web-host", host, "--web-port", port, GROUPS)) as process:
        yield Server(process, address, port, url_of(process))


def needs_ipv6() -> None:
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        pytest.skip("needs IPv6 on loopback")


@pytest.mark.parametrize(
    ("host", "address"), [("0.0.0.0", "127.0.0.1"), ("::", "::1"), ("::", "127.0.0.1"), ("::1", "::1")]
)
def test_each_kind_of_address(host: str, address: str) -> None:
    if ":" in host:
        needs_ipv6()
    with serving(host, address) as server:
        port = server.port
        reached = "[::1]" if host == "::1" else socket.gethostname()
        assert server.url.startswith(f"http://{reached}:{port}/?token=")
        for name in (f"127.0.0.1:{port}", f"localhost:{port}", f"LOCALHOST:{port}", f"[::1]:{port}",
                     f"[0:0::1]:{port}", f"{reached}:{port}"):  # fmt: skip
            cookie = server.cookie(name)
            assert server.asked("GET /", f"Host: {name}", cookie)[0] == 200
            assert server.asked("GET /", f"Host: {name}")[0] == 403
            assert server.asked("GET /", f"Host: {name}", cookie, "Origin: http://site.example")[0] == 403
        for name in (f"site.example:{port}", f"localhost.:{port}", f"127.0.0.1.site.example:{port}",
                     f"127.0.0.1%x:{port}", address, "127.0.0.1", f"127.0.0.1:{port + 1}",
                     f"[::2]:{port}", "", "["):  # fmt: skip
            assert server.asked(f"GET {server.token}", f"Host: {name}")[0] == 403, name
            assert server.asked("GET /", f"Host: {name}", cookie)[0] == 403, name


def test_requests_that_no_browser_sends() -> None:
    with serving() as server:
        host = f"Host: 127.0.0.1:{server.port}"
        origin = f"Origin: http://127.0.0.1:{server.port}"
        cookie = server.cookie(host[6:])
        assert server.asked("GET /", host, cookie, origin)[0] == 200
        other = "Origin: http://site.example"
        refused = [
            ("GET /", cookie),
            ("GET /", "Host: site.example", host, cookie),
            ("GET /", host, "Host: site.example", cookie),
            ("GET /", host, cookie, origin, other),
            ("GET /", host, cookie, other, origin),
            ("GET /", host, cookie, "Sec-Fetch-Site: none", "Sec-Fetch-Site: cross-site"),
            ("GET http://site.example/", host, cookie),
            (f"GET http://127.0.0.1:{server.port}/", "Host: site.example", cookie),
            (f"GET http://site.example{server.token}", host),
            ("GET /%77s", host, cookie, "Connection: Upgrade", *UPGRADE),
            ("GET /", host, cookie, "Connection: Upgrade", *UPGRADE),
            (f"GET /?token=x&{server.token[2:]}", host),
            (f"GET /ws{server.token[1:]}", host, origin, "Connection: Upgrade", *UPGRADE),
            *((f"{method} /", host) for method in ("HEAD", "OPTIONS", "POST", "DELETE")),
        ]
        for line, *headers in refused:
            assert server.asked(line, *headers)[0] in (400, 403), (line, headers)


def test_paths_lead_to_nothing_but_the_page() -> None:
    with serving() as server:
        host = f"Host: 127.0.0.1:{server.port}"
        cookie = server.cookie(host[6:])
        for path in (
            "/static/../server.py", "/static/%2e%2e/server.py", "/static/..%2fserver.py", "/static/%00",
            "/static//etc/passwd", "//static/js/textual.js", "/ws/", "/download/x",
        ):  # fmt: skip
            assert server.asked(f"GET {path}", host, cookie)[0] == 404, path
            assert server.asked(f"GET {path}", host)[0] == 403, path


def test_a_cookie_of_another_run_at_the_port_is_worth_nothing() -> None:
    """Browsers send cookies to each port of a host."""
    with serving() as one, serving() as other:
        given = one.cookie(f"127.0.0.1:{one.port}")
        host = f"Host: 127.0.0.1:{other.port}"
        renamed = given.replace(str(one.port), str(other.port), 1)
        assert other.asked("GET /", host, given)[0] == 403
        assert other.asked("GET /", host, renamed)[0] == 403
        assert other.asked(f"GET {one.token}", host)[0] == 403


def test_what_is_no_websocket_ends_no_session() -> None:
    with serving() as server:
        host, origin = f"Host: 127.0.0.1:{server.port}", f"Origin: http://127.0.0.1:{server.port}"
        cookie = server.cookie(host[6:])
        for line, *headers in (
            ("GET /ws",),
            ("HEAD /ws", "Connection: Upgrade", *UPGRADE),
            ("POST /ws", "Connection: Upgrade", *UPGRADE),
            ("GET /ws", "Connection: Upgrade", *UPGRADE[:2]),
        ):  # fmt: skip
            assert server.asked(line, host, origin, cookie, *headers)[0] == 400, line


def processes(server: Server) -> list[int]:
    """Return those of the sessions: the server was started with a group of its own."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, group = entry.read_text().rpartition(")")[2].split()[:3]
        except OSError:
            continue
        if int(group) == server.process.pid != int(entry.parent.name) and state != "Z":
            found.append(int(entry.parent.name))
    return found


def played(play: Callable[[Server, Callable[[], Awaitable[object]]], Awaitable[None]]) -> None:
    """Run a play with the server and a function that opens a page of one browser."""
    if not Path("/proc/self/stat").exists():
        pytest.skip("needs /proc")
    from aiohttp import ClientSession, CookieJar  # unsafe: of an address

    async def run(server: Server) -> None:
        connected(server.address, server.port).close()
        where = f"http://127.0.0.1:{server.port}"
        async with ClientSession(cookie_jar=CookieJar(unsafe=True)) as browser:
            async with browser.get(server.url) as page:
                assert page.status == 200
            await play(server, lambda: browser.ws_connect(f"{where}/ws", headers={"Origin": where}))

    with serving() as server:
        asyncio.run(asyncio.wait_for(run(server), 3 * PATIENCE_S))


def test_a_session_that_dies_closes_its_page() -> None:
    async def play(server: Server, opened: Callable[[], Awaitable[object]]) -> None:
        page: Any = await opened()
        await page.receive()
        for process in processes(server):
            try:
                os.kill(process, signal.SIGKILL)
            except ProcessLookupError:
                continue
        while not page.closed:
            await asyncio.wait_for(page.receive(), PATIENCE_S)
        again: Any = await opened()
        assert (await again.receive()).data

    played(play)


def test_pages_that_are_replaced_while_they_open_leave_no_process() -> None:
    async def play(server: Server, opened: Callable[[], Awaitable[object]]) -> None:
        pages: list[Any] = await asyncio.gather(*[opened() for _ in range(4)])
        for page in pages:
            await page.close()
        until = time.monotonic() + PATIENCE_S
        while left := processes(server):
            assert time.monotonic() < until, left
            await asyncio.sleep(0.1)

    played(play)
