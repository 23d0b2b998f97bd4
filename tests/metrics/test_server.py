"""Served over HTTP, on loopback, by the official client."""

import socket
import sys
import urllib.request

import pytest

from kdissect.history.topics.topic_names import TopicNames
from kdissect.metrics.catalogue import of_snapshot
from kdissect.metrics.meter import Meter
from kdissect.metrics.server import INSTALL, Address, MetricsError, MetricsServer, parse_address

ANY = parse_address("127.0.0.1:0")


def snapshot_server(address: Address = ANY) -> MetricsServer:
    return MetricsServer(address, of_snapshot(Meter(TopicNames()).snapshot), None)


def test_a_scrape() -> None:
    with snapshot_server() as server, urllib.request.urlopen(server.address.url) as answer:
        text = answer.read().decode()
        assert answer.headers["Content-Type"].startswith("text/plain; version=")
    assert "# TYPE kdissect_requests_total counter" in text
    assert "kdissect_build_info{version=" in text


def test_it_ends_with_the_run_and_frees_its_port() -> None:
    with snapshot_server() as server:
        address = server.address
    with snapshot_server(address) as again:
        assert again.address == address


def test_a_port_in_use_is_one_line() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(MetricsError) as error:
            snapshot_server(Address("127.0.0.1", port))
    assert str(error.value) == (
        f"metrics cannot be served at 127.0.0.1:{port}: the port is in use. Choose a free port with --metrics"
    )


def test_an_address_of_another_machine_is_one_line() -> None:
    with pytest.raises(MetricsError, match=r"^metrics cannot be served at 192\.0\.2\.1:0: [^\n]+$"):
        snapshot_server(Address("192.0.2.1", 0))


def test_without_the_library_one_line_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "prometheus_client", None)
    with pytest.raises(MetricsError) as error:
        snapshot_server()
    assert str(error.value) == INSTALL


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("9464", Address("127.0.0.1", 9464)),
        (":9464", Address("127.0.0.1", 9464)),
        ("0.0.0.0:80", Address("0.0.0.0", 80)),
        ("[::1]:9464", Address("::1", 9464)),
        ("metrics.example:1", Address("metrics.example", 1)),
    ],
)
def test_addresses(text: str, address: Address) -> None:
    assert parse_address(text) == address


@pytest.mark.parametrize("text", ["", ":", "host", "::1", "::1:80", "1.2.3.4:", ":70000", ":-1", ":٣"])
def test_what_is_no_address(text: str) -> None:
    with pytest.raises(ValueError, match="no \\[HOST\\]:PORT"):
        parse_address(text)


def test_urls_have_brackets_around_ipv6() -> None:
    assert Address("::1", 9464).url == "http://[::1]:9464/metrics"
