"""Sides of a NAT in several capture sets: how long SYNs and sides are known, and what follows from a side."""

from __future__ import annotations

import pickle
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("pyarrow", reason="needs the extra arrow")

from kdissect.model.endpoint import Endpoint
from kdissect.model.packets.segment import flow_key
from kdissect.pipeline.streaming import known_nat_sides
from kdissect.pipeline.streaming.flow_shuffle.file_syns import FileSyn
from kdissect.pipeline.streaming.flows.known_duplicate_taps import KEPT_NS, Mark
from kdissect.pipeline.streaming.known_nat_sides import KnownNatSides
from kdissect.session.info import connection_id

SEQ = 3_141_592_653
BROKER = Endpoint("10.0.0.9", 9092)
S = 1_000_000_000
START = 1_800_000_000 * S


def _flow(client: str, port: int = 40_001) -> bytes:
    return flow_key(Endpoint(client, port), BROKER)


INSIDE, OUTSIDE = _flow("10.0.0.1"), _flow("192.0.2.1")


def _syn(flow: bytes, time_ns: int, seq: int = SEQ, ip_id: int = 7) -> FileSyn:
    return FileSyn(time_ns, 0, time_ns, flow, seq, 64_240, ip_id)


def _report(number: int, *syns: FileSyn, last_ns: int = START, seen: Any = (), marks: Any = ()) -> Any:
    facts = SimpleNamespace(capture_set=number, set_name=f"set {number}")
    return SimpleNamespace(facts=facts, syns=syns, seen=frozenset(seen), marks=marks, last_ns=last_ns)


def _name(flow: bytes, number: int, time_ns: int) -> str:
    return connection_id(flow, f"set {number}", time_ns)


def test_the_first_in_time_counts_also_if_it_comes_last() -> None:
    known = KnownNatSides()
    assert known.take(0, [_report(1, _syn(OUTSIDE, START + 50))], {}) == []
    (mark,) = known.take(1, [_report(2, _syn(INSIDE, START))], {1: {}})
    assert mark == Mark(_name(OUTSIDE, 1, START + 50), 1, _name(INSIDE, 2, START), 0, True)


def test_a_side_of_the_same_batch_changes_no_row() -> None:
    known = KnownNatSides()
    (mark,) = known.take(0, [_report(1, _syn(OUTSIDE, START + 50)), _report(2, _syn(INSIDE, START))], {})
    assert not mark.is_changed


def test_a_third_set_that_was_earlier_counts() -> None:
    known = KnownNatSides()
    known.take(0, [_report(1, _syn(OUTSIDE, START + 50)), _report(2, _syn(INSIDE, START))], {})
    far = _flow("10.9.9.9")
    found = known.take(1, [_report(3, _syn(far, START - 50))], {})
    assert {(mark.capture_set, mark.root) for mark in found} == {
        (1, _name(far, 3, START - 50)),
        (2, _name(far, 3, START - 50)),
    }


def test_a_side_is_marked_for_as_long_as_its_connection_goes_on() -> None:
    """An open connection has a packet in half an hour. Marks of capture sets expire after two hours."""
    known = KnownNatSides()
    known.take(0, [_report(1, _syn(OUTSIDE, START + 50)), _report(2, _syn(INSIDE, START))], {})
    name = _name(OUTSIDE, 1, START + 50)
    for batch in range(1, 20):
        now = START + batch * 1800 * S
        (mark,) = known.take(batch, [_report(1, last_ns=now, seen=[name])], {})
        assert mark == Mark(name, 1, _name(INSIDE, 2, START), batch, False)
        known = pickle.loads(pickle.dumps(known))
    known.take(20, [_report(1, last_ns=now + KEPT_NS + S)], {})
    assert known.take(21, [_report(1, last_ns=now + KEPT_NS + S, seen=[name])], {}) == []


def test_the_other_side_may_come_two_hours_late() -> None:
    for late_ns, is_found in ((KEPT_NS, True), (KEPT_NS + S, False)):
        known = KnownNatSides()
        known.take(0, [_report(1, _syn(OUTSIDE, START))], {})
        known.take(1, [_report(1, last_ns=START + late_ns)], {})
        assert bool(known.take(2, [_report(2, _syn(INSIDE, START + 50))], {})) is is_found


def test_a_syn_that_was_sent_again_begins_no_connection() -> None:
    known = KnownNatSides()
    inside = [_syn(INSIDE, START), _syn(INSIDE, START + S, ip_id=8), _syn(INSIDE, START + 3 * S, ip_id=9)]
    outside = [_syn(OUTSIDE, START + S + 50, ip_id=8), _syn(OUTSIDE, START + 3 * S + 50, ip_id=9)]
    assert known.take(0, [_report(1, *outside), _report(2, *inside)], {}) == [
        Mark(_name(OUTSIDE, 1, START + S + 50), 1, _name(INSIDE, 2, START), 0, False)
    ]


@pytest.mark.parametrize("other", [_syn(INSIDE, START, ip_id=8), _syn(INSIDE, START - 3 * S)])
def test_syns_that_differ(other: FileSyn) -> None:
    assert KnownNatSides().take(0, [_report(1, _syn(OUTSIDE, START + 50)), _report(2, other)], {}) == []


def test_a_duplicate_of_a_side_names_the_connection_that_counts() -> None:
    """A tap whose clock is 3 s ahead has the outside, too. Its mark came with an earlier batch, or comes."""
    known = KnownNatSides()
    tap, outside = _name(OUTSIDE, 3, START + 3 * S), _name(OUTSIDE, 1, START + 50)
    mark = Mark(tap, 3, outside, 0, False)
    syns = _report(1, _syn(OUTSIDE, START + 50)), _report(3, _syn(OUTSIDE, START + 3 * S), marks=[mark])
    assert known.take(0, syns, {}) == [mark]
    inside = _name(INSIDE, 2, START)
    found = known.take(1, [_report(2, _syn(INSIDE, START))], {1: {}, 3: {tap: (outside, START)}})
    assert {(one.connection, one.root, one.is_changed) for one in found} == {
        (outside, inside, True),
        (tap, inside, True),
    }
    assert known.take(2, [_report(3, marks=[mark])], {}) == [mark._replace(root=inside)]


def test_the_number_of_syns_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(known_nat_sides, "MAX_KNOWN_SYNS", 3)
    known = KnownNatSides()
    known.take(0, [_report(1, *(_syn(OUTSIDE, START + number, SEQ + number) for number in range(5)))], {})
    found = known.take(
        1, [_report(2, *(_syn(INSIDE, START + 9 + number, SEQ + number) for number in range(5)))], {}
    )
    assert len(found) == 3
