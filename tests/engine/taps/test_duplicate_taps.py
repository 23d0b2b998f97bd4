"""Traffic that two hosts captured is recognised, and counted once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from kdissect.api import Dissection
from kdissect.capture.files import open_captures
from kdissect.cli.event_loop import read_views
from kdissect.history.exchange_view import ExchangeView
from kdissect.session.events import ConnectionClosed
from kdissect.session.info import ConnectionInfo
from tests.support.console import run
from tests.support.messages.traffic import Conversation, request, response
from tests.support.packets.pcaps import pcap_bytes, write_pcap
from tests.support.packets.taps import moved, tap

CAPTURES = Path(__file__).parents[3] / "captures"
CAPTURE = CAPTURES / "mock_rdk216_txn.pcap"
SECOND = 1_000_000_000


def counted(dissection: Dissection) -> int:
    """Return how many exchanges commands count."""
    found: list[ExchangeView] = []
    read_views(dissection, found.append)
    return len(found)


def _connections(*paths: Path) -> dict[str, list[ConnectionInfo]]:
    """Return connections by capture set, in the order of their ends."""
    found: dict[str, list[ConnectionInfo]] = {}
    for event in Dissection([str(path) for path in paths]).events():
        if isinstance(event, ConnectionClosed):
            found.setdefault(event.connection.capture_set, []).append(event.connection)
    return found


def _ends(info: ConnectionInfo) -> tuple[str, str]:
    return info.client_text, info.broker_text


def _all(_number: int) -> bool:
    return True


def _lossy(number: int) -> bool:
    return number % 11 != 3


def _later(number: int) -> bool:
    return number > 60


@pytest.mark.sampled(12)
@pytest.mark.parametrize("shift_ns", [0, 2_000, 3 * SECOND, 600 * SECOND])
@pytest.mark.parametrize("keeps", [_all, _lossy, _later])
@pytest.mark.parametrize("name", ["mock_rdk216_txn.pcap", "kafka44_sarama_groups.pcapng"])
def test_what_a_second_tap_saw_is_the_same_as_what_the_first_did(
    name: str, keeps: Callable[[int], bool], shift_ns: int, tmp_path: Path
) -> None:
    first = tap(CAPTURES / name, tmp_path / "a" / "trace.pcap")
    second = tap(CAPTURES / name, tmp_path / "b" / "trace.pcap", shift_ns, keeps)
    found = _connections(first, second)
    counted = {info.id: info for info in found["a/trace"]}
    assert [info.same_as for info in counted.values()] == [None] * len(counted)
    assert len(found["b/trace"]) > 2
    for info in found["b/trace"]:
        assert info.same_as is not None, _ends(info)
        assert _ends(counted[info.same_as]) == _ends(info)
    assert len({info.same_as for info in found["b/trace"]}) == len(found["b/trace"])


@pytest.mark.parametrize(("isn", "marked"), [((1000, 5000), 0), ((0x7A3B1C00, 0x10F2E3D4), 1)])
def test_captures_that_a_tool_wrote_are_not_one_for_their_numbers(
    isn: tuple[int, int], marked: int, tmp_path: Path
) -> None:
    for name in ("a", "b"):
        talk = Conversation(isn=isn).handshake()
        talk.client(request(18, 0, 1)).broker(response(1, bytes(6))).fin(0).fin(1)
        (tmp_path / name).mkdir()
        write_pcap(tmp_path / name / "trace.pcap", talk.packets)
    found = _connections(tmp_path / "a" / "trace.pcap", tmp_path / "b" / "trace.pcap")
    assert sum(info.same_as is not None for infos in found.values() for info in infos) == marked


def test_the_tap_that_lost_nothing_counts_where_it_comes_first_or_not(tmp_path: Path) -> None:
    """Which one counts is known at the first packet: the first in time, whatever it loses later."""
    whole = tap(CAPTURE, tmp_path / "a" / "trace.pcap", SECOND)
    lossy = tap(CAPTURE, tmp_path / "b" / "trace.pcap", 0, _lossy)
    found = _connections(whole, lossy)
    assert {info.same_as for info in found["b/trace"]} == {None}
    assert None not in {info.same_as for info in found["a/trace"]}


def test_three_taps_name_the_same_connection(tmp_path: Path) -> None:
    taps = [
        tap(CAPTURE, tmp_path / name / "trace.pcap", number * SECOND) for number, name in enumerate("abc")
    ]
    found = _connections(*taps)
    counted = {info.id for info in found["a/trace"]}
    for name in "bc":
        assert {info.same_as for info in found[f"{name}/trace"]} == counted


def test_other_connections_between_the_same_ends_are_not_the_same(tmp_path: Path) -> None:
    packets = list(open_captures([str(CAPTURE)]).packets())
    first = tap(CAPTURE, tmp_path / "a" / "trace.pcap")
    second = tmp_path / "b" / "trace.pcap"
    second.parent.mkdir()
    second.write_bytes(pcap_bytes([moved(packet, 123_456) for packet in packets], packets[0].link_type))
    found = _connections(first, second)
    assert len(found["b/trace"]) == len(found["a/trace"]) > 2
    assert {info.same_as for info in found["b/trace"]} == {None}


def test_a_day_later_is_no_wrong_clock(tmp_path: Path) -> None:
    first = tap(CAPTURE, tmp_path / "a" / "trace.pcap")
    second = tap(CAPTURE, tmp_path / "b" / "trace.pcap", 24 * 3600 * SECOND)
    assert {info.same_as for info in _connections(first, second)["b/trace"]} == {None}


def test_a_port_that_is_used_again_finds_each_connection(tmp_path: Path) -> None:
    """Numbers of a new connection are little behind those of the one before, as RFC 6528 makes them."""
    packets = list(open_captures([str(CAPTURE)]).packets())
    length = packets[-1].time_ns - packets[0].time_ns + 10 * SECOND
    again = [
        moved(packet, 2_000_000)._replace(time_ns=packet.time_ns + length, wire_length=packet.wire_length)
        for packet in packets
    ]
    whole = tmp_path / "whole.pcap"
    whole.write_bytes(pcap_bytes([*packets, *again], packets[0].link_type))
    first = tap(whole, tmp_path / "a" / "trace.pcap")
    second = tap(whole, tmp_path / "b" / "trace.pcap", 2 * length)
    found = _connections(first, second)
    by_id = {info.id: info for info in found["a/trace"]}
    assert len(found["b/trace"]) == len(by_id)
    for info in found["b/trace"]:
        assert info.same_as is not None
        assert by_id[info.same_as].start_ns == info.start_ns - 2 * length


def test_commands_count_it_once(tmp_path: Path) -> None:
    first = tap(CAPTURE, tmp_path / "a" / "trace.pcap")
    second = tap(CAPTURE, tmp_path / "b" / "trace.pcap", SECOND, _lossy)
    alone = counted(Dissection(str(first)))
    assert counted(Dissection([str(first), str(second)])) == alone > 100
    assert sum(1 for _ in Dissection([str(first), str(second)])) > alone, "both are listed all the same"


def test_records_of_traffic_that_two_hosts_captured_are_listed_once(tmp_path: Path) -> None:
    """Two packet captures of one traffic, which sequence numbers prove."""
    first = tap(CAPTURE, tmp_path / "a" / "trace.pcap")
    second = tap(CAPTURE, tmp_path / "b" / "trace.pcap", 2_000)
    alone = run("records", first, "--format", "jsonl").out.splitlines()
    both = run("records", first, second, "--format", "jsonl").out.splitlines()
    assert len(both) == len(alone) > 0
