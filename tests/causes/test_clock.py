"""Whether the times of a capture can be trusted, and what `why` says if they cannot."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from captures.faults.damage import DAMAGES
from captures.faults.trust import of_damaged
from kdissect.causes.evidence.clock import NO_TIMES, TWICE, WENT_BACK, Clock

MS = 1_000_000
SECOND = 1_000 * MS


def connection(
    start_ns: int = 7, took_ns: int = 5 * SECOND + 1, port: int = 1, late: tuple[int, int] = (0, 0)
) -> Any:
    times = SimpleNamespace(after_ack=late[0], after_ack_ns=late[1])
    tcp = SimpleNamespace(client_bytes=100, broker_bytes=200, times=times)
    return SimpleNamespace(
        start_ns=start_ns, end_ns=start_ns + took_ns, exchanges=3, tcp=tcp, client_text=f"a:{port}",
        broker_text="b:9092",
    )  # fmt: skip


def flaw(*connections: Any) -> str:
    clock = Clock()
    for one in connections:
        clock.add(one)
    return clock.flaw


def test_times_that_can_be_trusted() -> None:
    assert flaw() == ""
    assert flaw(connection()) == ""
    assert flaw(connection(), connection(start_ns=9 * SECOND, port=2)) == ""


def test_a_clock_that_was_set_back() -> None:
    clock = Clock()
    clock.went_back = True
    assert clock.flaw == WENT_BACK


@pytest.mark.parametrize(("unit_ms", "is_flawed"), [(99, False), (100, True), (150, False), (1_000, True)])
def test_the_unit_of_times(unit_ms: int, is_flawed: bool) -> None:
    found = flaw(connection(took_ns=3 * unit_ms * MS), connection(7 + 4 * unit_ms * MS, unit_ms * MS, 2))
    assert bool(found) is is_flawed


def test_one_time_for_all() -> None:
    assert flaw(connection(took_ns=0), connection(took_ns=0, port=2)) == NO_TIMES


@pytest.mark.parametrize(
    ("late", "words"),
    [((2, SECOND), ""), ((3, SECOND), "by up to 1.00 s"), ((3, 99 * MS), ""), ((3, 100 * MS), "100.00")],
)
def test_packets_after_their_acknowledgments(late: tuple[int, int], words: str) -> None:
    found = flaw(connection(late=late))
    assert words in found
    assert bool(found) is bool(words)


def test_connections_that_two_taps_captured() -> None:
    once = [connection(start_ns=7 + SECOND * port, took_ns=SECOND + port, port=port) for port in range(4)]
    again = [connection(start_ns=SECOND * 60 + port, took_ns=SECOND + port, port=port) for port in range(4)]
    assert flaw(*once, *again) == TWICE
    assert flaw(*once, *again[:1]) == ""
    other = [connection(start_ns=SECOND * 60 + port, took_ns=2 * SECOND, port=port) for port in range(4)]
    assert flaw(*once, *other) == ""


@pytest.mark.parametrize("kind", list(DAMAGES)[17:])
def test_what_the_page_says(kind: str) -> None:
    (judged,) = of_damaged([("kafka44_kp3_transactions", kind)])
    assert [one["id"] for one in judged.page["causes"]] == ["capture-too-poor"]
    assert any(words in judged.page["causes"][0]["sentence"] for words in ("the capture", "most connections"))
