"""Metrics are for those who know the token: asked as other sites, strangers and slow clients would."""

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager

import pytest

from kdissect.history.topics.topic_names import TopicNames
from kdissect.metrics import listener
from kdissect.metrics.catalogue import of_snapshot
from kdissect.metrics.meter import Meter
from kdissect.metrics.server import Address, MetricsServer
from tests.support.patience import PATIENCE_S

TOKEN = "a-token-of-this-test"
BEARER = f"Authorization: Bearer {TOKEN}"


@contextmanager
def serving(host: str = "127.0.0.1", token: str | None = TOKEN) -> Iterator[Address]:
    with MetricsServer(Address(host, 0), of_snapshot(Meter(TopicNames()).snapshot), token) as server:
        yield server.address


def needs_ipv6() -> None:
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        pytest.skip("needs IPv6 on loopback")


def asked(address: Address, *headers: str, line: str = "GET /metrics HTTP/1.1", to: str = "127.0.0.1") -> str:
    """Return the answer to a request of exactly these lines."""
    with closing(socket.create_connection((to, address.port), PATIENCE_S)) as link:
        link.sendall("\r\n".join([line, *headers, "", ""]).encode("latin-1"))
        return b"".join(iter(lambda: link.recv(1 << 16), b"")).decode()


def status(
    address: Address, *headers: str, line: str = "GET /metrics HTTP/1.1", to: str = "127.0.0.1"
) -> int:
    return int(asked(address, *headers, line=line, to=to).split()[1])


def test_a_stranger_gets_401_and_is_told_the_scheme() -> None:
    with serving() as address:
        text = asked(address, f"Host: 127.0.0.1:{address.port}")
    assert text.startswith("HTTP/1.0 401 Unauthorized\r\n")
    assert '\r\nWWW-Authenticate: Bearer realm="kdissect"\r\n' in text
    assert "kdissect_build_info" not in text


@pytest.mark.parametrize(
    ("header", "code"),
    [
        (BEARER, 200),
        (f"authorization: bearer  {TOKEN}", 200),
        (f"Authorization: Bearer {TOKEN}x", 401),
        (f"Authorization: Bearer {TOKEN[:-1]}", 401),
        (f"Authorization: Basic {TOKEN}", 401),
        (f"Authorization: {TOKEN}", 401),
        ("Authorization: Bearer", 401),
        ("Authorization: Bearer \xff\xfe", 401),
        (f"Cookie: token={TOKEN}", 401),
    ],
)
def test_tokens(header: str, code: int) -> None:
    with serving() as address:
        assert status(address, f"Host: 127.0.0.1:{address.port}", header) == code


@pytest.mark.parametrize(
    "line",
    [
        "HEAD /metrics", "OPTIONS /metrics", "POST /metrics", "GET /", "GET /favicon.ico",
        f"GET /?token={TOKEN}", "GET //metrics/../x",
    ],
)  # fmt: skip
def test_no_method_and_no_path_goes_around_the_token(line: str) -> None:
    with serving() as address:
        assert status(address, f"Host: 127.0.0.1:{address.port}", line=f"{line} HTTP/1.1") == 401


@pytest.mark.parametrize("token", [TOKEN, None])
def test_names_of_the_server(token: str | None) -> None:
    with serving(token=token) as address:
        port = address.port
        for host in (f"127.0.0.1:{port}", f"localhost:{port}", f"LOCALHOST:{port}", f"[::1]:{port}"):
            assert status(address, f"Host: {host}", BEARER) == 200, host
        for host in ("", "127.0.0.1", f"127.0.0.1:{port + 1}", f"site.example:{port}", f"localhost.:{port}",
                     f"127.0.0.1.site.example:{port}", f"localhost%:{port}", f"127.0.0.1%x:{port}",
                     f"a@127.0.0.1:{port}"):  # fmt: skip
            assert status(address, f"Host: {host}", BEARER) == 403, host
        assert status(address, BEARER) == 403
        two = (f"Host: 127.0.0.1:{port}", "Host: site.example")
        assert status(address, *two, BEARER) == status(address, *reversed(two), BEARER) == 403
        # A request for a proxy: what counts is the Host header, as in any other.
        there = f"GET http://127.0.0.1:{port}/metrics HTTP/1.1"
        assert status(address, f"Host: site.example:{port}", BEARER, line=there) == 403


@pytest.mark.parametrize("token", [TOKEN, None])
def test_other_sites_are_refused(token: str | None) -> None:
    with serving(token=token) as address:
        host = f"Host: 127.0.0.1:{address.port}"
        own = f"Origin: http://127.0.0.1:{address.port}"
        assert status(address, host, BEARER, own) == 200
        assert status(address, host, BEARER, "Sec-Fetch-Site: none") == 200
        for header in (
            "Origin: http://site.example", "Origin: null", "Origin: ", f"{own}0", f"Origin: https{own[12:]}",
            "Sec-Fetch-Site: cross-site", "Sec-Fetch-Site: same-site",
        ):  # fmt: skip
            assert status(address, host, BEARER, header) == 403, header


def test_an_open_server_needs_no_token_and_lets_no_page_read_it() -> None:
    with serving(token=None) as address:
        text = asked(address, f"Host: 127.0.0.1:{address.port}")
    assert text.startswith("HTTP/1.0 200 OK\r\n")
    assert "\r\nCross-Origin-Resource-Policy: same-origin\r\n" in text
    assert "\r\nX-Content-Type-Options: nosniff\r\n" in text
    assert "Access-Control" not in text


@pytest.mark.parametrize("host", ["0.0.0.0", "::"])
def test_an_address_for_all_checks_the_name_on_loopback(host: str) -> None:
    """IPv4 arrives at `::` as an address of IPv6 that has it inside."""
    if host == "::":
        needs_ipv6()
    with serving(host) as address:
        assert status(address, f"Host: 127.0.0.1:{address.port}", BEARER) == 200
        assert status(address, f"Host: {socket.gethostname()}:{address.port}", BEARER) == 200
        assert status(address, f"Host: site.example:{address.port}", BEARER) == 403
        assert status(address, f"Host: 127.0.0.1:{address.port}") == 401


def test_ipv6() -> None:
    needs_ipv6()
    with serving("::1") as address:
        assert status(address, f"Host: [::1]:{address.port}", BEARER, to="::1") == 200
        assert status(address, f"Host: [0:0::1]:{address.port}", BEARER, to="::1") == 200
        assert status(address, f"Host: ::1:{address.port}", BEARER, to="::1") == 403
        assert status(address, f"Host: [::2]:{address.port}", BEARER, to="::1") == 403
        assert status(address, f"Host: [::1]:{address.port}", to="::1") == 401


def test_a_slow_client_is_left_after_a_time(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """One that sends a byte now and then never lets a limit of each read pass."""
    monkeypatch.setattr(listener, "EXCHANGE_S", 0.4)
    with (
        serving() as address,
        closing(socket.create_connection(("127.0.0.1", address.port), PATIENCE_S)) as link,
    ):
        over = threading.Event()

        def drip() -> None:
            while not over.wait(0.05):
                try:
                    link.sendall(b"G")
                except OSError:
                    return

        dripping = threading.Thread(target=drip)
        dripping.start()
        try:
            ended = link.recv(1 << 16)
        except ConnectionError:
            ended = b""
        finally:
            over.set()
            dripping.join()
        assert b"kdissect_" not in ended
        assert status(address, f"Host: 127.0.0.1:{address.port}", BEARER) == 200
    assert "Traceback" not in capfd.readouterr().err


def test_connections_that_say_nothing_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listener, "MAX_CONNECTIONS", 2)
    with serving() as address:
        own = (f"Host: 127.0.0.1:{address.port}", BEARER)
        silent = [socket.create_connection(("127.0.0.1", address.port), PATIENCE_S) for _ in range(3)]
        assert silent[2].recv(1) == b""
        for link in silent:
            link.close()
        until = time.monotonic() + PATIENCE_S
        while True:
            try:
                assert status(address, *own) == 200
                return
            except (ConnectionError, IndexError):  # the threads of those that left have not ended yet
                assert time.monotonic() < until
