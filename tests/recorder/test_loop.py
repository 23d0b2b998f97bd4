"""The loop of a recorder: a clock that is set, evaluations that fail, conditions that are taken back."""

import gc
from pathlib import Path

import pytest

from kdissect.api import Dissection
from kdissect.capture.files import open_captures
from kdissect.causes.evidence.gathering import Gathering
from kdissect.recorder import flight_recorder
from kdissect.recorder.condition import parse_condition
from kdissect.recorder.flight_recorder import FlightRecorder
from kdissect.recorder.folder import Folder
from kdissect.recorder.reading import Reading
from kdissect.recorder.settings import RecorderSettings
from kdissect.recorder.symptom import CAUSE, Symptom
from kdissect.recorder.watch import Watch
from kdissect.rules.judge import Judge
from tests.support.console import CHECKOUT

REFUSED = CHECKOUT / "captures" / "faults" / "recorded" / "login-refused-1.pcapng.gz"

S = 1_000_000_000
NOW = 1_700_000_000 * S
SLOW = Symptom(CAUSE, "slow-broker", "delays", "Slow", "It is slow.", ("broker b:1",), NOW, NOW, 1)


class Clocked:
    """A feed whose clock is set by hand."""

    is_remote = False
    is_stopped = False

    def __init__(self) -> None:
        self.now_ns = NOW


@pytest.fixture
def recorder(tmp_path: Path) -> FlightRecorder:
    folder = Folder(str(tmp_path))
    folder.open()
    said: list[str] = []
    found = FlightRecorder(RecorderSettings(str(tmp_path), [parse_condition("cause")]), folder, said.append)
    found.feed = Clocked()  # type: ignore[assignment]
    return found


def test_a_cause_counts_if_two_evaluations_have_it(recorder: FlightRecorder) -> None:
    recorder._judge([SLOW], is_last=False)
    assert recorder.incidents.open == []
    recorder._judge([], is_last=False)  # taken back
    recorder._judge([SLOW._replace(until_ns=NOW + S)], is_last=False)
    assert recorder.incidents.open == []
    recorder._judge([SLOW._replace(until_ns=NOW + 2 * S)], is_last=False)
    assert [one.problems[0].symptom.condition for one in recorder.incidents.open] == ["cause"]


def test_the_last_evaluation_needs_no_other(recorder: FlightRecorder) -> None:
    recorder._judge([SLOW._replace(is_firm=False)], is_last=True)
    assert recorder.incidents.open == []
    recorder._judge([SLOW], is_last=True)
    assert len(recorder.incidents.open) == 1


def test_a_clock_that_is_set_does_not_delay_the_end(
    recorder: FlightRecorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran_ns = [0]
    monkeypatch.setattr(flight_recorder.time, "monotonic_ns", lambda: ran_ns[0])
    feed = recorder.feed
    assert feed is not None
    recorder._clock_offset_ns = NOW
    recorder._judge([SLOW], is_last=True)
    (incident,) = recorder.incidents.open
    ran_ns[0], feed.now_ns = 10 * S, NOW + 10 * S  # type: ignore[misc]
    recorder._look_at_clock()
    assert len(incident.spans) == 1
    ran_ns[0], feed.now_ns = 20 * S, NOW - 3_580 * S  # type: ignore[misc]
    recorder._look_at_clock()
    assert incident.spans[1:] == [[NOW - 3_580 * S, NOW - 3_540 * S]]
    assert incident.spans[0][1] == NOW + 20 * S


def test_a_failed_evaluation_is_reported_once(recorder: FlightRecorder) -> None:
    class Failed:
        def poll(self, _seconds: float) -> bool:
            return True

        def end(self) -> None:
            return None

    said: list[str] = []
    recorder._say = said.append
    for _ in range(3):
        recorder._take_evaluation(Failed())  # type: ignore[arg-type]
    assert len(said) == 1


@pytest.mark.parametrize(("is_running", "evaluated_s", "evaluations"), [(True, 0.0, 0), (False, 100.0, 1)])
def test_evaluations_come_between_the_steps_of_an_incident(
    recorder: FlightRecorder, monkeypatch: pytest.MonkeyPatch, is_running: bool, evaluated_s: float,
    evaluations: int,
) -> None:  # fmt: skip
    """Both have an analysis in memory. The time since the evaluation before matters no more."""

    class Job:
        def __init__(self) -> None:
            self.is_running = is_running

    made: list[None] = []
    recorder._watch = Watch(open_captures([]), Reading(), recorder._settings.conditions)
    recorder._writing = Job()  # type: ignore[assignment]
    monkeypatch.setattr(recorder, "_evaluate", lambda: made.append(None))
    recorder._evaluated_s = evaluated_s
    recorder._look_at_evaluation(101.0)
    assert len(made) == evaluations


def test_an_evaluation_that_was_delayed_counts_what_ended_meanwhile(recorder: FlightRecorder) -> None:
    old = SLOW._replace(until_ns=NOW - 320 * S)  # --before is 300 s
    recorder._judge([old], is_last=True)
    assert recorder.incidents.open == []
    recorder._evaluations_s[0] -= 30.0
    recorder._judge([old], is_last=True)
    assert len(recorder.incidents.open) == 1


def test_an_analysis_that_is_over_frees_its_memory() -> None:
    def analyse() -> None:
        conditions = [parse_condition("cause"), parse_condition("PRD")]
        watch = Watch(open_captures([str(REFUSED)]), Reading(), conditions)
        watch.run()
        watch.release()

    def alive() -> set[int]:
        return {id(one) for one in gc.get_objects() if isinstance(one, Gathering | Judge | Dissection)}

    gc.collect()
    before = alive()
    analyse()
    gc.collect()
    assert alive() <= before
