"""Connections on both sides of a NAT are recognised by their SYN, and counted once."""

from __future__ import annotations

from pathlib import Path

import pytest

from kdissect.api import Dissection
from kdissect.cli.event_loop import read_views
from kdissect.engine.nat_sides import KEPT_NS, MAX_SYNS, NEAR_NS, NatSides
from kdissect.history.exchange_view import ExchangeView
from kdissect.model.endpoint import Endpoint
from kdissect.model.packets.segment import flow_key
from kdissect.session.events import ConnectionClosed
from kdissect.session.info import ConnectionInfo, connection_id
from tests.support.console import run
from tests.support.packets.nat import INSIDE, NAT, OUTSIDE, nat_side

SECOND = 1_000_000_000
CLIENT, BROKER = Endpoint("10.0.0.5", 50_000), Endpoint("10.0.0.9", 9092)
ROUTER, POD = Endpoint("192.0.2.1", 1025), Endpoint("10.1.1.1", 19_092)
INSIDE_FLOW = flow_key(CLIENT, BROKER)
SEQ = 0x7A3B1C01


def closed(*paths: Path) -> list[ConnectionInfo]:
    events = Dissection([str(path) for path in paths]).events()
    return [event.connection for event in events if isinstance(event, ConnectionClosed)]


def counted(*paths: Path) -> int:
    found: list[ExchangeView] = []
    read_views(Dissection([str(path) for path in paths]), found.append)
    return len(found)


def pairs(*paths: Path) -> list[tuple[str, str]]:
    """Hosts of the clients of a connection and of the one that counts instead."""
    found = closed(*paths)
    by_id = {info.id: info for info in found}
    return [(info.client.host, by_id[info.same_as].client.host) for info in found if info.same_as]


def test_both_sides_in_one_capture_count_once() -> None:
    assert pairs(NAT) == [(OUTSIDE, INSIDE)] * 5
    assert counted(NAT) == 28
    assert len(list(Dissection(str(NAT)))) == 56  # all are listed


@pytest.mark.parametrize("jobs", [2, 3])
def test_processes_agree_which_side_counts(jobs: int) -> None:
    alone = run("inspect", NAT, "--format", "jsonl")
    assert run("inspect", NAT, "--format", "jsonl", "--jobs", jobs).out == alone.out
    assert "5 connections of kafka44_nat are read from kafka44_nat" in run("connections", NAT).err


@pytest.mark.parametrize(("shift_ns", "found"), [(0, 5), (NEAR_NS // 2, 5), (2 * NEAR_NS, 0)])
def test_each_side_in_a_capture_of_its_own(shift_ns: int, found: int, tmp_path: Path) -> None:
    inside = nat_side(INSIDE, tmp_path / "inside.pcap")
    outside = nat_side(OUTSIDE, tmp_path / "outside.pcap", shift_ns)
    assert pairs(inside, outside) == [(OUTSIDE, INSIDE)] * found
    assert counted(inside, outside) == (28 if found else 56)


def test_two_taps_of_each_side(tmp_path: Path) -> None:
    """The first of all counts, for the copies of either side."""
    sides = [
        nat_side(host, tmp_path / f"{host}-{shift_ns}.pcap", shift_ns)
        for host in (OUTSIDE, INSIDE)
        for shift_ns in (0, 700)
    ]
    assert counted(*sides) == 28
    assert {other for _, other in pairs(*sides)} == {INSIDE}
    assert len(pairs(*sides)) == 15


def test_one_side_alone_counts(tmp_path: Path) -> None:
    for host in (INSIDE, OUTSIDE):
        side = nat_side(host, tmp_path / f"{host}.pcap")
        assert pairs(side) == [] and counted(side) == 28


@pytest.mark.parametrize(
    ("other", "seq", "window", "ip_id", "after_ns", "is_found"),
    [
        (flow_key(ROUTER, BROKER), SEQ, 100, 7, 50, True),
        (flow_key(CLIENT, POD), SEQ, 100, 7, 50, True),
        (flow_key(ROUTER, POD), SEQ, 100, 7, 50, True),
        (flow_key(ROUTER, POD), SEQ, 100, 8, 50, False),
        (flow_key(ROUTER, BROKER), SEQ, 100, 8, 50, False),
        (flow_key(CLIENT._replace(port=50_001), BROKER), SEQ, 100, 7, 50, False),
        (flow_key(CLIENT, BROKER._replace(port=9093)), SEQ, 100, 7, 50, False),
        (flow_key(CLIENT._replace(port=50_001), POD), SEQ, 100, 7, 50, False),
        (flow_key(ROUTER, BROKER), SEQ + 1, 100, 7, 50, False),
        (flow_key(ROUTER, BROKER), SEQ, 101, 7, 50, False),
        (flow_key(ROUTER, BROKER), SEQ, 100, 7, NEAR_NS + 1, False),
        (flow_key(ROUTER, BROKER), SEQ, 100, 7, -NEAR_NS - 1, False),
        (flow_key(CLIENT, BROKER), SEQ, 100, 7, 50, False),
    ],
)
def test_what_two_syns_have_in_common(
    other: bytes, seq: int, window: int, ip_id: int, after_ns: int, is_found: bool
) -> None:
    sides = NatSides()
    sides.see("a", INSIDE_FLOW, SEQ, 100, 7, SECOND)
    sides.see("a", other, seq, window, ip_id, SECOND + after_ns)
    root = connection_id(INSIDE_FLOW, "a", SECOND), "a"
    assert sides.root("a", other, seq) == (root if is_found else None)
    assert sides.root("a", INSIDE_FLOW, SEQ) is None


@pytest.mark.parametrize("seq", [1, 65_000, 1_000_000, 0x10000000 - 456])
def test_small_and_round_numbers_prove_nothing(seq: int) -> None:
    sides = NatSides()
    sides.see("a", INSIDE_FLOW, seq, 100, 7, SECOND)
    sides.see("a", flow_key(ROUTER, BROKER), seq, 100, 7, SECOND + 50)
    assert sides.root("a", flow_key(ROUTER, BROKER), seq) is None


def test_a_syn_that_was_sent_again_is_the_first() -> None:
    """The first one did not come through: the other side has the second alone."""
    sides = NatSides()
    for ip_id, at_ns in ((7, SECOND), (8, 2 * SECOND), (9, 4 * SECOND)):
        sides.see("a", INSIDE_FLOW, SEQ, 100, ip_id, at_ns)
    sides.see("a", flow_key(CLIENT, POD), SEQ, 100, 9, 4 * SECOND + 50)
    assert sides.root("a", flow_key(CLIENT, POD), SEQ) == (connection_id(INSIDE_FLOW, "a", SECOND), "a")


def test_syns_are_forgotten() -> None:
    sides = NatSides()
    for number in range(MAX_SYNS + 10):
        sides.see("a", INSIDE_FLOW, SEQ + number, 100, 7, SECOND)
    assert len(sides._first) <= MAX_SYNS
    sides.see("a", INSIDE_FLOW, SEQ + 5 * MAX_SYNS, 100, 7, SECOND + 2 * KEPT_NS)
    sides.see("a", flow_key(ROUTER, BROKER), SEQ + 10, 100, 7, SECOND + 50)
    assert sides.root("a", flow_key(ROUTER, BROKER), SEQ + 10) is None


def test_numbers_that_a_tool_gave_all_connections_prove_nothing(reference: Path) -> None:
    """Other ports of one host are other connections, whatever their sequence numbers."""
    paths = list((reference / "captures").glob("dmg_tansu_rdk216_codecs_seqwrap.pcap"))
    if not paths:
        pytest.skip("no such capture in the reference material")
    assert pairs(*paths) == []
