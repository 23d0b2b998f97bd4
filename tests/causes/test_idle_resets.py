"""Connections that a load balancer forgets while they are silent, and resets that are something else."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tests.causes.diagnosing import ids
from tests.causes.talks import Talk, what_is_wrong

_CLIENT, _BROKER = 0, 1


def _dropped(number: int, silent: float, side: int = _BROKER) -> Talk:
    """A connection that works, is silent, and is reset at the next request."""
    talk = Talk("shop", 40000 + number).heartbeats(2).wait(silent).beat().wait(0.01)
    talk.talk.rst(side)
    return talk


def _later(number: int, silent: float, start: float, side: int = _BROKER) -> Talk:
    """The same on a connection that begins later."""
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
