"""Recorded traffic of real brokers and clients: taps and packets, and taps of two brokers that replicate.

The brokers' own request logs are the truth: each request counts once, however many captures have it.
"""

from __future__ import annotations

import json
import warnings
from collections import Counter
from collections.abc import Callable
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest

from kdissect.api import Dissection
from kdissect.capture.files import open_captures
from kdissect.cli.event_loop import read_views
from kdissect.history.exchange_view import ExchangeView
from kdissect.model.packets.packet import Packet
from tests.support.console import run
from tests.support.packets.pcaps import pcap_bytes

CAPTURES = Path(__file__).parent / "captures"
ONE = ("client", "broker", "packets")
TWO = ("broker1", "broker2", "packets")
CASES = [
    *(("tap_and_packets", parts) for count in (2, 3) for parts in permutations(ONE, count)),
    *(("two_brokers", parts) for count in (2, 3) for parts in permutations(TWO, count)),
]
SECOND = 1_000_000_000
RAW = 101  # LINKTYPE_RAW: what the agent writes
Request = tuple[str, str, int, int]


def paths_of(name: str, parts: tuple[str, ...]) -> list[Path]:
    return [CAPTURES / f"{name}.{part}.pcapng.gz" for part in parts]


def truth_of(name: str) -> dict[str, Any]:
    truth: dict[str, Any] = json.loads((CAPTURES / f"{name}.truth.json").read_text())
    return truth


def requests(*paths: Path) -> Counter[Request]:
    """Return how often each request counts."""
    found: list[ExchangeView] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        read_views(Dissection([str(path) for path in paths]), found.append)
    counts: Counter[Request] = Counter()
    for view in found:
        exchange = view.exchange
        if exchange.request is not None:
            info = exchange.connection
            assert exchange.correlation_id is not None and exchange.api_key is not None
            counts[info.client_text, info.broker_text, exchange.correlation_id, exchange.api_key] += 1
    return counts


def rows_of(*paths: Path) -> dict[str, dict[str, Any]]:
    """Return rows of `connections` by connection."""
    lines = run("connections", *paths, "--format", "jsonl").out.splitlines()
    return {row["connection"]: row for row in map(json.loads, lines)}


@pytest.mark.parametrize(("name", "parts"), CASES)
def test_each_request_counts_once(name: str, parts: tuple[str, ...]) -> None:
    paths = paths_of(name, parts)
    together = requests(*paths)
    assert {key: count for key, count in together.items() if count > 1} == {}
    alone: set[Request] = set()
    for path in paths:
        alone |= requests(path).keys()
    assert together.keys() == alone


@pytest.mark.parametrize(
    ("name", "parts"), [("tap_and_packets", ONE), ("two_brokers", TWO), ("two_brokers", TWO[:2])]
)
def test_requests_of_the_brokers_logs_count_once(name: str, parts: tuple[str, ...]) -> None:
    logged = Counter(tuple(row) for row in truth_of(name)["requests"])
    assert len(logged) > 20 and set(logged.values()) == {1}
    counted = requests(*paths_of(name, parts))
    assert {key: counted[key] for key in logged} == dict(logged)


@pytest.mark.parametrize("parts", [TWO, TWO[:2]])
def test_records_that_brokers_replicate_are_written_once(parts: tuple[str, ...]) -> None:
    listed = run("records", *paths_of("two_brokers", parts), "--format", "jsonl").out
    rows = [json.loads(line) for line in listed.splitlines()]
    assert sum(row["direction"] == "produce" for row in rows) == truth_of("two_brokers")["records"]["sent"]


def test_each_tapped_broker_has_the_replication() -> None:
    """Without that the tests above say nothing about it."""
    ends = truth_of("two_brokers")["replication"]
    for part in TWO[:2]:
        found = requests(*paths_of("two_brokers", (part,)))
        assert any(broker in ends for _, broker, _, _ in found)


@pytest.mark.parametrize("parts", [("client", "packets"), ("packets", "broker"), ONE])
def test_tls_packets_of_a_tapped_connection_are_probably_its_copy(parts: tuple[str, ...]) -> None:
    paths = paths_of("tap_and_packets", parts)
    rows = rows_of(*paths)
    tls = truth_of("tap_and_packets")["tls"]
    unread = [row for row in rows.values() if row["kind"] == "tls"]
    assert len(unread) == 4
    for row in unread:
        read = rows[row["probably_same_as"]]
        assert row["same_as"] is None
        assert (read["client"], read["broker"]) == (row["client"], tls)
        assert (read["kind"], read["same_as"]) == ("kafka", None)
    assert {row["probably_same_as"] for row in rows.values() if row not in unread} == {None}


def _changed(target: Path, change: Callable[[Packet], Packet]) -> Path:
    """Return the packets of `tap_and_packets`, each changed."""
    (path,) = paths_of("tap_and_packets", ("packets",))
    packets = [change(packet) for packet in open_captures([str(path)]).packets()]
    target.write_bytes(pcap_bytes(packets, packets[0].link_type))
    return target


def test_tls_at_another_time_is_another_connection(tmp_path: Path) -> None:
    (client,) = paths_of("tap_and_packets", ("client",))
    later = _changed(
        tmp_path / "later.pcap", lambda packet: packet._replace(time_ns=packet.time_ns + 60 * SECOND)
    )
    rows = rows_of(client, later)
    assert Counter(row["kind"] for row in rows.values()) == {"kafka": 12, "tls": 4}
    assert {row["probably_same_as"] for row in rows.values()} == {None}


def test_tls_that_is_shorter_than_the_plaintext_is_another_connection(tmp_path: Path) -> None:
    """The longest and the shortest TLS connection from the client have each other's port."""
    client, packets = paths_of("tap_and_packets", ("client", "packets"))
    unread = [row for row in rows_of(packets).values() if row["kind"] == "tls"]
    unread.sort(key=lambda row: row["client_bytes"])
    ports = [int(row["client"].rpartition(":")[2]).to_bytes(2) for row in (unread[0], unread[-1])]
    others = dict(zip(ports, ports[::-1], strict=True))

    def turned(packet: Packet) -> Packet:
        data = bytearray(packet.data)
        for at in (34, 36):  # ports behind Ethernet and IPv4 without options
            port = bytes(data[at : at + 2])
            data[at : at + 2] = others.get(port, port)
        return packet._replace(data=bytes(data))

    rows = rows_of(client, _changed(tmp_path / "turned.pcap", turned))
    found = [row for row in rows.values() if row["kind"] == "tls"]
    found.sort(key=lambda row: row["client_bytes"])
    assert [row["probably_same_as"] is None for row in found] == [True, False, False, False]


def test_tls_beside_packets_is_no_copy_of_theirs(tmp_path: Path) -> None:
    """Only a tap has the plaintext of TLS. Here the tap has it at another time, and a packet capture then."""
    client, packets = paths_of("tap_and_packets", ("client", "packets"))
    taken = list(open_captures([str(client)]).packets())
    earlier = [packet._replace(time_ns=packet.time_ns - 60 * SECOND) for packet in taken]
    plain = [packet._replace(data=packet.data[:34] + b"\x7f\xff" + packet.data[36:]) for packet in taken]
    paths = [tmp_path / "earlier.pcap", tmp_path / "plain.pcap"]
    for path, written in zip(paths, (earlier, plain), strict=True):
        path.write_bytes(pcap_bytes(written, RAW))
    rows = rows_of(*paths, packets)
    assert Counter(row["kind"] for row in rows.values())["tls"] == 4
    assert {row["probably_same_as"] for row in rows.values()} == {None}


def test_info_does_not_count_a_probable_copy_as_a_connection() -> None:
    client, packets = paths_of("tap_and_packets", ("client", "packets"))
    alone = json.loads(run("info", client, "--format", "json").out)["connections"]
    ran = run("info", client, packets, "--format", "json")
    facts = json.loads(ran.out)["connections"]
    assert facts["by_kind"] == alone["by_kind"] == {"kafka": 8}
    assert (facts["copies"]["total"], facts["copies"]["probable"]["total"]) == (4, 4)
    assert "4 connections over TLS without keys are probably in a tap" in ran.err


@pytest.mark.parametrize("command", ["info", "connections"])
def test_a_line_names_the_capture_that_is_read(command: str) -> None:
    ran = run(command, *paths_of("tap_and_packets", ("client", "packets")))
    text = " ".join((ran.out + ran.err).split())
    sets = "of tap_and_packets.packets are read from tap_and_packets.client"
    assert f"copies 4 connections {sets}" in text.replace("copies:", "copies")
    assert f"probable copies 4 connections over TLS {sets}" in text.replace("copies:", "copies")


def test_a_verdict_over_probable_copies_is_not_green() -> None:
    paths = paths_of("tap_and_packets", ("client", "packets"))
    assert run("check", *paths, "--fail-on", "error").code == 4
    assert run("check", *paths, "--fail-on", "error", "--allow-unread").code == 0
