"""Connections that two captures have with sequence numbers of their own are recognised by their bytes."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from kdissect.api import Dissection
from kdissect.cli.event_loop import read_views
from kdissect.engine.taps import copies
from kdissect.history.exchange_view import ExchangeView
from kdissect.model.packets.packet import Packet
from kdissect.session.events import ConnectionClosed
from tests.support.console import run
from tests.support.messages.traffic import START_NS, Conversation, request, response
from tests.support.packets.pcaps import pcap_bytes

SECOND = 1_000_000_000
HEARTBEAT = 12
MILLISECOND = 1_000_000


RAW = 101  # LINKTYPE_RAW: what the agent writes
ETHERNET_BYTES = 14


def without_link(packets: list[Packet]) -> list[Packet]:
    """Return the packets as the agent writes them."""
    return [
        packet._replace(
            link_type=RAW, data=packet.data[ETHERNET_BYTES:], wire_length=packet.wire_length - ETHERNET_BYTES
        )
        for packet in packets
    ]


def tapped(
    path: Path,
    numbers: range,
    begin_ns: int = 0,
    orphan: int | None = None,
    pending: int | None = None,
    isn: int = 0,
    refused: int = -1,
) -> Path:
    """Return a tap of one connection: Heartbeats with these correlation ids, one each second from `begin_ns`
    on.

    `orphan` is the response to a request from before, `pending` a request without response, `refused` the one
    of which the response is REBALANCE_IN_PROGRESS.
    """
    talk = Conversation(isn=(0x30000000 + isn, 0x70000000 + isn))
    if orphan is not None:
        talk.now = START_NS + begin_ns - SECOND // 2
        talk.broker(_answer(orphan))
    for at, number in enumerate(numbers):
        talk.now = START_NS + begin_ns + at * SECOND
        talk.client(_ask(number)).broker(_answer(number, b"\x00\x1b" if number == refused else b""))
    if pending is not None:
        talk.client(_ask(pending))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(pcap_bytes(without_link(talk.packets), RAW))
    return path


def _ask(number: int) -> bytes:
    """Heartbeat v0: group, generation, member."""
    return request(HEARTBEAT, 0, number, b"\x00\x01g" + (7).to_bytes(4) + b"\x00\x01m")


def _answer(number: int, body: bytes = b"") -> bytes:
    return response(number, body or b"\x00\x00")


def counted(*paths: Path) -> Counter[int | None]:
    """Return how often each correlation id counts."""
    found: list[ExchangeView] = []
    read_views(Dissection([str(path) for path in paths]), found.append)
    return Counter(one.exchange.correlation_id for one in found)


def same_as(*paths: Path) -> list[bool]:
    """Of each connection whether another one counts instead."""
    events = Dissection([str(path) for path in paths]).events()
    return [event.connection.same_as is not None for event in events if isinstance(event, ConnectionClosed)]


@pytest.mark.parametrize("is_turned", [False, True])
def test_two_taps_of_one_connection_count_once(is_turned: bool, tmp_path: Path) -> None:
    one = tapped(tmp_path / "a" / "trace.pcap", range(20))
    two = tapped(tmp_path / "b" / "trace.pcap", range(20), MILLISECOND, isn=0x55555555)
    paths = (two, one) if is_turned else (one, two)
    assert sorted(same_as(*paths)) == [False, True]
    assert counted(*paths) == Counter(range(20))


def test_what_only_one_of_them_has_counts_too(tmp_path: Path) -> None:
    one = tapped(tmp_path / "a" / "trace.pcap", range(30, 60), orphan=29)
    late = tapped(tmp_path / "b" / "trace.pcap", range(50, 90), 20 * SECOND, orphan=49, isn=0x55555555)
    assert sorted(same_as(one, late)) == [False, True]
    assert counted(one, late) == Counter([29, *range(30, 90)])


def test_a_request_whose_response_one_capture_ended_before_counts_once(tmp_path: Path) -> None:
    one = tapped(tmp_path / "a" / "trace.pcap", range(20), pending=20)
    later = tapped(tmp_path / "b" / "trace.pcap", range(10, 25), 10 * SECOND, isn=0x55555555)
    found: list[ExchangeView] = []
    read_views(Dissection([str(one), str(later)]), found.append)
    assert Counter(view.exchange.correlation_id for view in found) == Counter(range(25))
    assert {str(view.exchange.state) for view in found} == {"complete"}


def test_a_request_without_response_that_only_a_copy_has_counts(tmp_path: Path) -> None:
    """The capture that counts ended before it, or had not yet read it."""
    one = tapped(tmp_path / "a" / "trace.pcap", range(20))
    two = tapped(tmp_path / "b" / "trace.pcap", range(10, 20), 10 * SECOND, pending=20, isn=0x55555555)
    assert sorted(same_as(one, two)) == [False, True]
    assert counted(one, two) == Counter(range(21))


def test_a_request_counts_where_its_response_is(tmp_path: Path) -> None:
    """Each of three captures goes on where the one before ended with a request without response."""
    taps = [
        tapped(
            tmp_path / name / "trace.pcap",
            range(at, at + 30),
            at * SECOND,
            pending=at + 30,
            isn=number * 0x33333333,
        )
        for number, (name, at) in enumerate([("a", 0), ("b", 20), ("c", 40)])
    ]
    found: list[ExchangeView] = []
    read_views(Dissection([str(path) for path in taps]), found.append)
    assert Counter(view.exchange.correlation_id for view in found) == Counter(range(71))
    waiting = [view.exchange.correlation_id for view in found if str(view.exchange.state) == "unanswered"]
    assert waiting == [70]


@pytest.mark.parametrize("is_turned", [False, True])
def test_a_response_whose_request_no_capture_has_counts_once(is_turned: bool, tmp_path: Path) -> None:
    """One of two captures that begin with the same request has the response before it."""
    one = tapped(tmp_path / "a" / "trace.pcap", range(30, 60), orphan=None if is_turned else 29)
    two = tapped(
        tmp_path / "b" / "trace.pcap", range(30, 59), orphan=29 if is_turned else None, isn=0x55555555
    )
    assert counted(one, two) == Counter(range(29, 60))


def test_two_captures_begin_before_the_one_that_counts(tmp_path: Path) -> None:
    """The middle one has a response whose request the first one has."""
    long = tapped(tmp_path / "a" / "trace.pcap", range(40, 90), 40 * SECOND, orphan=39)
    middle = tapped(tmp_path / "b" / "trace.pcap", range(20, 50), 20 * SECOND, orphan=19, isn=0x55555555)
    first = tapped(tmp_path / "c" / "trace.pcap", range(30), isn=0x11111111)
    assert counted(long, middle, first) == Counter(range(90))


def test_three_taps_count_once(tmp_path: Path) -> None:
    taps = [
        tapped(tmp_path / name / "trace.pcap", range(at, at + 30), at * SECOND, isn=number * 0x33333333)
        for number, (name, at) in enumerate([("a", 0), ("b", 20), ("c", 40)])
    ]
    assert sorted(same_as(*taps)) == [False, True, True]
    assert counted(*taps) == Counter(range(70))


def test_equal_ends_with_other_bytes_are_two_connections(tmp_path: Path) -> None:
    """Two networks have the same addresses; their clients begin alike, and one response differs."""
    one = tapped(tmp_path / "a" / "trace.pcap", range(20))
    two = tapped(tmp_path / "b" / "trace.pcap", range(20), MILLISECOND, refused=19, isn=0x55555555)
    assert same_as(one, two) == [False, False]
    assert sum(counted(one, two).values()) == 40


def test_a_port_that_is_used_again_is_another_connection(tmp_path: Path) -> None:
    """A program that starts again says the same; the two were not there at one time."""
    one = tapped(tmp_path / "a" / "trace.pcap", range(3))
    two = tapped(tmp_path / "b" / "trace.pcap", range(3), 60 * SECOND, isn=0x55555555)
    assert same_as(one, two) == [False, False]


def test_equal_bytes_a_day_later_are_another_connection(tmp_path: Path) -> None:
    one = tapped(tmp_path / "a" / "trace.pcap", range(20))
    two = tapped(tmp_path / "b" / "trace.pcap", range(20), 24 * 3600 * SECOND, isn=0x55555555)
    assert same_as(one, two) == [False, False]


def test_connections_of_one_capture_are_no_copies_of_each_other(tmp_path: Path) -> None:
    """A program that uses its port again says the same; the other capture began later."""
    talks = [
        Conversation(isn=(isn, isn + 0x1234567), start_ns=START_NS + number * 100 * MILLISECOND)
        for number, isn in enumerate((0x30000000, 0x50000000, 0x70000000))
    ]
    for talk in talks:
        talk.handshake()
        for number in range(20):
            talk.client(_ask(number)).broker(_answer(number))
        talk.fin(0).fin(1)
    paths = [tmp_path / name / "trace.pcap" for name in "ab"]
    for path, packets in zip(paths, (talks[0].packets + talks[1].packets, talks[2].packets), strict=True):
        path.parent.mkdir()
        path.write_bytes(pcap_bytes(without_link(packets), RAW))
    assert sorted(same_as(*paths)) == [False, False, True]
    assert sum(counted(*paths).values()) == 40


def test_equal_first_exchanges_prove_nothing(tmp_path: Path) -> None:
    """ApiVersions is the same from every client of a kind."""
    paths = []
    for name, isn in (("a", 0x30000000), ("b", 0x60000000)):
        talk = Conversation(isn=(isn, isn + 0x1234567))
        talk.client(request(18, 0, 1)).broker(response(1, bytes(6)))
        paths.append(tmp_path / name / "trace.pcap")
        paths[-1].parent.mkdir()
        paths[-1].write_bytes(pcap_bytes(without_link(talk.packets), RAW))
    assert same_as(*paths) == [False, False]


def _asked(path: Path, ports: list[tuple[int, bool]], isn: int, is_answered: bool = True) -> Path:
    """Return connections of one client, each with ApiVersions, and Heartbeats where that is said."""
    packets: list[Packet] = []
    for number, (port, has_heartbeats) in enumerate(ports):
        talk = Conversation(ports=(port, 9092), isn=(isn + number * 0x1234567, isn ^ 0x40000000))
        talk.client(request(18, 0, 1))
        if is_answered or has_heartbeats:
            talk.broker(response(1, bytes(6)))
        for correlation_id in range(2, 12 if has_heartbeats else 2):
            talk.client(_ask(correlation_id)).broker(_answer(correlation_id))
        packets += talk.packets
    path.parent.mkdir()
    path.write_bytes(pcap_bytes(without_link(packets), RAW))
    return path


def test_equal_first_exchanges_are_proof_within_one_network(tmp_path: Path) -> None:
    """Another connection between the same hosts proves that both captures are of one network."""
    ports = [(40000, True), (40001, False)]
    one = _asked(tmp_path / "a" / "trace.pcap", ports, 0x30000000)
    two = _asked(tmp_path / "b" / "trace.pcap", ports, 0x60000000)
    assert sorted(same_as(one, two)) == [False, False, True, True]
    assert sum(counted(one, two).values()) == 12


@pytest.mark.parametrize("answered", [(True, False), (False, True), (False, False)])
def test_a_connection_with_one_request_that_waits_counts_once(
    answered: tuple[bool, bool], tmp_path: Path
) -> None:
    """One or both captures ended before the response of a connection that had just begun."""
    ports = [(40000, True), (40001, False)]
    one = _asked(tmp_path / "a" / "trace.pcap", ports, 0x30000000, answered[0])
    two = _asked(tmp_path / "b" / "trace.pcap", ports, 0x60000000, answered[1])
    assert sorted(same_as(one, two)) == [False, False, True, True]
    assert sum(counted(one, two).values()) == 12


def test_copies_of_many_long_connections_are_recognised(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their samples are more than memory is used for: each connection keeps fewer."""
    monkeypatch.setattr(copies, "MAX_SAMPLES", 1000)
    paths = []
    for name, isn in (("a", 0x30000000), ("b", 0x60000000)):
        packets: list[Packet] = []
        for number in range(20):
            talk = Conversation(
                ports=(40000 + number, 9092), isn=(isn + number * 0x1234567, isn ^ 0x40000000)
            )
            for correlation_id in range(60):
                talk.client(_ask(correlation_id)).broker(_answer(correlation_id))
            packets += talk.packets
        paths.append(tmp_path / name / "trace.pcap")
        paths[-1].parent.mkdir()
        paths[-1].write_bytes(pcap_bytes(without_link(packets), RAW))
    assert sum(counted(*paths).values()) == 20 * 60


@pytest.mark.parametrize("seconds", [-5, 5])
def test_packets_with_a_wrong_clock_are_recognised_by_other_packets(seconds: int, tmp_path: Path) -> None:
    """Few exchanges at another time prove nothing; the sequence numbers of other packets do."""
    tap = tapped(tmp_path / "a" / "trace.pcap", range(3))
    packets = []
    for name, away_ns in (("b", 0), ("c", seconds * SECOND)):
        talk = Conversation(isn=(0x51234567, 0x61234567), start_ns=START_NS + away_ns)
        for number in range(3):
            talk.client(_ask(number)).broker(_answer(number))
        packets.append(tmp_path / name / "trace.pcap")
        packets[-1].parent.mkdir()
        packets[-1].write_bytes(pcap_bytes(talk.packets))
    assert sorted(same_as(tap, *packets)) == [False, True, True]
    assert counted(tap, *packets) == Counter(range(3))


def test_tables_name_the_connection_that_counts_by_exchange(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    import pyarrow.parquet as parquet

    one = tapped(tmp_path / "a" / "trace.pcap", range(30, 60))
    late = tapped(tmp_path / "b" / "trace.pcap", range(50, 90), 20 * SECOND, isn=0x55555555)
    assert run("tables", one, late, "--tables", "exchanges", "-o", tmp_path / "out").code == 0
    rows = parquet.read_table(tmp_path / "out" / "exchanges").to_pylist()
    assert Counter(row["correlation_id"] for row in rows if row["same_as"] is None) == Counter(range(30, 90))
