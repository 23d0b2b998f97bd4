"""One incident for each problem: what opens one, what counts in it, and what is left out."""

from pathlib import Path

import pytest

from kdissect.recorder.condition import parse_condition
from kdissect.recorder.folder import Folder
from kdissect.recorder.incident import Incident
from kdissect.recorder.incidents import Incidents
from kdissect.recorder.settings import RecorderSettings
from kdissect.recorder.symptom import CAUSE, MARK, Symptom

S = 1_000_000_000
NOW = 1_700_000_000 * S
SLOW = Symptom(
    CAUSE, "slow-broker", "delays", "A broker answers slowly", "It is slow.", ("broker b:1",), NOW, NOW, 1
)


class Recorder:
    """Incidents of a folder, with a clock."""

    def __init__(self, path: Path, **settings: float) -> None:
        self.folder = Folder(str(path))
        self.folder.open()
        self.said: list[str] = []
        self.settings = RecorderSettings(str(path), [parse_condition("cause")], **settings)  # type: ignore[arg-type]
        self.incidents = Incidents(self.folder, self.settings, self.said.append)

    def see(self, at_s: float, symptom: Symptom = SLOW, since_s: float | None = None) -> None:
        until = NOW + int(at_s * S)
        since = until if since_s is None else NOW + int(since_s * S)
        self.incidents.see([symptom._replace(since_ns=since, until_ns=until)], until)

    def write(self, at_s: float) -> Incident:
        """Complete the incident that has ended by now, without packets."""
        incident = self.incidents.due(NOW + int(at_s * S))
        assert incident is not None
        self.folder.incident_path(incident.id).mkdir()
        self.incidents.complete(incident)
        self.folder.store(incident)
        return incident

    def counts(self) -> tuple[int, int]:
        return len(self.incidents.open), len(self.incidents.written)


@pytest.fixture
def recorder(tmp_path: Path) -> Recorder:
    return Recorder(tmp_path)


def test_an_incident_begins_before_its_problem_and_ends_after_it(recorder: Recorder) -> None:
    recorder.see(100, since_s=90)
    (incident,) = recorder.incidents.open
    assert incident.spans == [[NOW + (90 - 300) * S, NOW + (100 + 60) * S]]
    assert recorder.incidents.due(NOW + 159 * S) is None
    assert recorder.incidents.due(NOW + 160 * S) is incident


def test_repeated_symptoms_count_and_extend_it_within_a_bound(recorder: Recorder) -> None:
    for second in range(0, 1_000, 5):
        recorder.see(second, since_s=0)
    (incident,) = recorder.incidents.open
    assert (incident.seen, len(incident.problems)) == (200, 1)
    assert incident.end_ns == NOW + 4 * 60 * S
    recorder.see(995, since_s=0)  # seen already
    assert incident.seen == 200


def test_another_problem_belongs_to_the_incident_that_is_open(recorder: Recorder) -> None:
    recorder.see(0)
    recorder.see(10, SLOW._replace(name="login-refused", parties=("client c",)))
    (incident,) = recorder.incidents.open
    assert [problem.symptom.name for problem in incident.problems] == ["slow-broker", "login-refused"]


def test_a_problem_that_lasts_counts_in_its_incident(recorder: Recorder) -> None:
    recorder.see(0)
    recorder.write(60)
    for second in range(100, 5_000, 100):
        recorder.see(second, since_s=0)
    assert recorder.counts() == (0, 1)
    assert recorder.folder.incidents()[0].seen == 50


def test_after_the_cool_down_there_is_a_new_incident(recorder: Recorder) -> None:
    recorder.see(0)
    recorder.write(60)
    recorder.see(600, since_s=0)
    assert recorder.counts() == (0, 1)
    recorder.see(1_201, since_s=0)  # the analysis still has the first occurrences
    assert recorder.counts() == (1, 1)


@pytest.mark.parametrize(
    ("parties", "is_new"), [(("broker b:2",), True), (("broker b:2", "broker b:1"), False)]
)
def test_equal_causes_of_others_are_another_problem(
    recorder: Recorder, parties: tuple[str, ...], is_new: bool
) -> None:
    recorder.see(0)
    recorder.write(60)
    recorder.see(100, SLOW._replace(parties=parties))
    assert recorder.counts() == (int(is_new), 1)


def test_another_cause_that_began_within_an_incident_belongs_to_it(recorder: Recorder) -> None:
    recorder.see(0)
    recorder.write(60)
    other = SLOW._replace(name="stalled-broker", parties=("client c",))
    recorder.see(100, other, since_s=30)
    assert recorder.counts() == (0, 1)
    recorder.see(100, other._replace(name="login-refused"), since_s=90)
    assert recorder.counts() == (1, 1)


def test_evidence_that_is_older_than_the_packets_before_opens_nothing(recorder: Recorder) -> None:
    recorder.incidents.see([SLOW], NOW + 301 * S)
    assert recorder.counts() == (0, 0)


def test_each_mark_is_a_moment(recorder: Recorder) -> None:
    mark = Symptom(MARK, "mark", "", "mark", "here", (), NOW, NOW, 1)
    recorder.see(0, mark)
    recorder.write(60)
    recorder.see(61, mark)
    assert recorder.counts() == (1, 1)


def test_too_many_are_counted_once_for_each_problem(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path, max_incidents=1)
    recorder.see(0)
    recorder.write(60)
    for second in (100, 110, 120):
        recorder.see(second, SLOW._replace(parties=("broker b:2",)))
    recorder.see(130, SLOW._replace(parties=("broker b:3",)))
    assert recorder.counts() == (0, 1)
    assert recorder.incidents.skipped == 2
    assert len([line for line in recorder.said if "counted only" in line]) == 1


def test_a_later_process_goes_on_with_the_open_incident(tmp_path: Path) -> None:
    first = Recorder(tmp_path)
    first.see(0)
    first.see(10, since_s=0)
    first.folder.close()
    second = Recorder(tmp_path)
    assert [one.row() for one in second.incidents.open] == [one.row() for one in first.incidents.open]
    second.see(20, since_s=0)
    assert second.counts() == (1, 0)
    written = second.write(80)
    second.folder.close()
    third = Recorder(tmp_path)
    assert [one.row() for one in third.incidents.written] == [written.row()]
    assert third.counts() == (0, 1)


def test_a_clock_that_is_set_splits_the_time_of_an_open_incident(recorder: Recorder) -> None:
    recorder.see(0)
    (incident,) = recorder.incidents.open
    recorder.incidents.step(NOW + 20 * S, -3_600 * S)
    assert incident.spans == [[NOW - 300 * S, NOW + 20 * S], [NOW - 3_580 * S, NOW - 3_540 * S]]
    assert recorder.incidents.due(NOW - 3_541 * S) is None
    assert recorder.incidents.due(NOW - 3_540 * S) is incident
