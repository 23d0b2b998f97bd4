"""Connections that a load balancer forgets while they are silent, and resets that are something else."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from kdissect.causes.evidence.idle_resets import IdleReset, IdleResets
from kdissect.model.anomaly import Anomaly, AnomalyKind
from kdissect.session.info import Close, CloseKind
from tests.causes.diagnosing import ids
from tests.causes.talks import Talk, what_is_wrong
from tests.history.talk import MS, START_NS
from tests.history.talk import Talk as ByHand

_CLIENT, _BROKER = 0, 1


def _dropped(number: int, silent: float, side: int = _BROKER) -> Talk:
    """Return a connection that works, is silent, and is reset at the next request."""
    talk = Talk("shop", 40000 + number).heartbeats(2).wait(silent).beat().wait(0.01)
    talk.talk.rst(side)
    return talk


def _later(number: int, silent: float, start: float, side: int = _BROKER) -> Talk:
    """Return the same on a connection that begins later."""
    talk = _dropped(number, silent, side)
    for place, packet in enumerate(talk.talk.packets):
        talk.talk.packets[place] = packet._replace(time_ns=packet.time_ns + int(start * 1_000_000_000))
    return talk


def _told(folder: Path, make: Callable[[int], Talk], *others: Talk) -> list[str]:
    return ids(what_is_wrong(folder, *(make(number) for number in range(4)), *others))


def test_what_is_silent_for_long_is_forgotten_again_and_again(tmp_path: Path) -> None:
    talks = [_later(number, 6 + number, 20 * number) for number in range(4)]
    first = what_is_wrong(tmp_path, *talks, Talk("busy", 41000).heartbeats(3).wait(3).heartbeats(2)).causes[0]
    assert (first.id, first.certainty) == ("idle-connection-reset", "likely")
    assert "were reset 4 times as soon as client 'shop'" in first.sentence
    assert (
        "after 7.00 s of silence or more; after 4.00 s of silence at most they still worked" in first.sentence
    )


def test_a_connection_that_works_after_a_longer_silence_refutes_it(tmp_path: Path) -> None:
    served = Talk("shop", 41000).heartbeats(2).wait(30).heartbeats(2)
    found = _told(tmp_path, lambda number: _later(number, 6, 20 * number), served)
    assert found[:1] == ["broker-closes"]


def test_a_machine_that_was_restarted_resets_its_old_connections_once(tmp_path: Path) -> None:
    assert "idle-connection-reset" not in _told(tmp_path, lambda number: _dropped(number, 6 + number))


def test_a_reset_without_a_silence_is_none(tmp_path: Path) -> None:
    assert "idle-connection-reset" not in _told(tmp_path, lambda number: _later(number, 0, 20 * number))


def test_who_resets_its_own_connection_did_not_lose_it(tmp_path: Path) -> None:
    found = _told(tmp_path, lambda number: _later(number, 6 + number, 20 * number, _CLIENT))
    assert "idle-connection-reset" not in found


def _closed(number: int, silent: float, *, asks_then: bool = False, asks_before: bool = False) -> Talk:
    """Return a connection that works, is silent, and is closed; the client may ask once more."""
    talk = Talk("shop", 40000 + number, begins=20 * number).heartbeats(2).wait(silent)
    if asks_before:
        talk.beat().wait(0.01)
    talk.talk.fin(_BROKER)
    if asks_then:
        talk.wait(1).beat().wait(0.01)
        talk.talk.rst(_BROKER)
    return talk


@pytest.mark.parametrize(("asks_then", "asks_before", "is_idle"), [(0, 0, 1), (1, 0, 1), (0, 1, 0)])
def test_connections_that_are_closed_after_the_same_silence(
    tmp_path: Path, asks_then: int, asks_before: int, is_idle: int
) -> None:
    """A request that the client sends after the close does not change the silence before it."""
    talks = [
        _closed(number, 6, asks_then=bool(asks_then), asks_before=bool(asks_before)) for number in range(4)
    ]
    first = what_is_wrong(tmp_path, *talks, Talk("shop", 41000, begins=90).heartbeats(2)).causes[0]
    assert (first.id == "idle-connection-closed") is bool(is_idle)
    if is_idle:
        assert "closed 4 times after 7.00 s of silence, and none lasted" in first.sentence
        assert first.certainty == "likely"


# Exchanges made by hand, at the limits.


def _reset(
    silent_ms: int = 2000,
    until_reset_ms: int = 2000,
    last: bool = True,
    gap_ms: int | None = None,
    **changed: Any,
) -> list[IdleReset]:
    """Return a request after a silence, and the reset after it."""
    talk = ByHand()
    exchange = talk.ask(12, 0, {"group_id": "g", "generation_id": 1, "member_id": "m"}, None, at=5000)
    exchange.close = Close("broker", CloseKind.RST, START_NS + (5000 + until_reset_ms) * MS)
    for name, value in changed.items():
        setattr(exchange, name, value)
    last_ns = START_NS + (5000 - silent_ms) * MS
    if gap_ms is not None:
        talk.info.note(Anomaly(AnomalyKind.GAP, "", 0, last_ns + gap_ms * MS))
    silences: Any = SimpleNamespace(last=lambda connection: last_ns if last else None)
    found = IdleResets(silences)
    found.add(exchange)
    found.add(exchange)
    return [one for of in found.by_broker() for one in of]


def test_a_reset_after_a_silence_of_two_seconds() -> None:
    (one,) = _reset()
    assert (one.silent_ns, one.reset_ns - one.start_ns) == (2000 * MS, 7000 * MS)
    assert (one.route, one.packets.what) == (("set", "10.0.0.1", "10.0.0.2:9092"), "Heartbeat v0")


@pytest.mark.parametrize(
    ("changed", "count"),
    [
        ({"silent_ms": 1999}, 0),
        ({"until_reset_ms": 2001}, 0),
        ({"last": False}, 0),
        ({"gap_ms": 0}, 0),
        ({"gap_ms": -1}, 1),
        ({"close": None}, 0),
        ({"close": Close("broker", CloseKind.FIN, START_NS + 5001 * MS)}, 0),
        ({"close": Close("client", CloseKind.RST, START_NS + 5001 * MS)}, 0),
        ({"request": None}, 0),
        ({"response": SimpleNamespace()}, 0),
    ],
)
def test_what_is_a_reset_after_a_silence(changed: dict[str, Any], count: int) -> None:
    assert len(_reset(**changed)) == count


def test_those_of_one_broker_stand_together() -> None:
    found = IdleResets(SimpleNamespace(last=lambda connection: START_NS))  # type: ignore[arg-type]
    for number, (client, broker, capture_set) in enumerate(
        [("10.0.0.1", "10.0.0.2", "a"), ("10.0.0.9", "10.0.0.2", "a"), ("10.0.0.1", "10.0.0.3", "a"),
         ("10.0.0.7", "10.0.0.2", "b")]
    ):  # fmt: skip
        talk = ByHand(client, broker, capture_set)
        asked = {"group_id": "g", "generation_id": 1, "member_id": "m"}
        exchange = talk.ask(12, 0, asked, None, at=9000 - number)
        exchange.close = Close("broker", CloseKind.RST, START_NS + (9001 - number) * MS)
        found.add(exchange)
    by_broker = [[one.route[1] for one in of] for of in found.by_broker()]
    assert by_broker == [["10.0.0.9", "10.0.0.1"], ["10.0.0.1"], ["10.0.0.7"]]
