"""Full collections wait for a pause in typing; and the application leaves the collector as it found it."""

import gc
from collections.abc import Iterator
from pathlib import Path

import pytest

from kdissect.tui.app import IDLE_S, MUST, WORTH_IT, Garbage
from tests.tui.driving import Driven, drive

CAPTURE = Path("captures/kafka44_java_transactions.pcapng")


class Machine:
    """A clock, and how much garbage there is."""

    now = 100.0
    waiting = 0
    collected = 0


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Iterator[Machine]:
    found = Machine()

    def collect() -> int:
        found.collected += 1
        return 0

    monkeypatch.setattr("kdissect.tui.app.gc.get_count", lambda: (0, 0, found.waiting))
    monkeypatch.setattr("kdissect.tui.app.gc.collect", collect)
    monkeypatch.setattr(Garbage, "clock", staticmethod(lambda: found.now))
    yield found


def test_nothing_is_collected_between_keys(machine: Machine) -> None:
    subject = Garbage()
    machine.waiting = WORTH_IT
    subject.key_pressed()
    machine.now += IDLE_S - 0.1
    assert not subject.look()
    machine.now += 0.2
    assert subject.look()
    assert machine.collected == 1


def test_little_garbage_is_left_alone_and_much_does_not_wait(machine: Machine) -> None:
    subject = Garbage()
    machine.waiting = WORTH_IT - 1
    assert not subject.look()
    subject.key_pressed()
    machine.waiting = MUST
    assert subject.look()


def test_the_application_has_python_start_no_full_collection_and_puts_it_back() -> None:
    before = gc.get_threshold()

    async def play(driven: Driven) -> None:
        assert gc.get_threshold()[:2] == before[:2]
        assert gc.get_threshold()[2] > 1_000_000
        await driven.press("down")
        garbage_of = driven.app._garbage
        assert garbage_of._last_key > 0, "keys are not heard of"

    drive(play, CAPTURE)
    assert gc.get_threshold() == before
    assert gc.get_freeze_count() == 0
