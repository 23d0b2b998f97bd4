"""What `why` puts first for trouble that users reported in public: rebuilt captures of `public_reports`."""

from __future__ import annotations

from pathlib import Path

import pytest

from kdissect.model.cause import Severity
from tests.causes.public_reports import (
    REPORTS,
    Report,
    a_member_does_not_rejoin,
    again,
    beside,
    produce,
    producer_id_unknown,
    session_timeout_out_of_bounds,
)
from tests.causes.talks import Talk, what_is_wrong


@pytest.mark.parametrize("report", REPORTS, ids=lambda report: report.talks.__name__)
def test_the_cause_of_the_report_comes_first(report: Report, tmp_path: Path) -> None:
    found = what_is_wrong(tmp_path, *report.talks())
    first = found.causes[0]
    assert first.id == report.cause
    assert [word for word in report.words if word not in first.sentence] == []


def test_a_session_that_is_not_allowed_stops_its_client(tmp_path: Path) -> None:
    (cause,) = what_is_wrong(tmp_path, *session_timeout_out_of_bounds()).causes
    assert cause.title == "A broker refuses the session timeout of a member"
    assert cause.severity is Severity.STOPS
    assert "group.min.session.timeout.ms" in cause.help


def test_a_member_that_does_not_rejoin_lives(tmp_path: Path) -> None:
    """Another member of its group is silent after a minute."""
    silent = Talk("silent", 40009)
    beat = {"group_id": "payments", "generation_id": 5, "member_id": "m-9", "group_instance_id": None}
    again(silent, (12, 3, beat), {"throttle_time_ms": 0, "error_code": 0}, 60, 1)
    found = what_is_wrong(tmp_path, *a_member_does_not_rejoin(), silent)
    crashed = [cause.sentence for cause in found.causes if cause.id == "member-crashed"]
    assert crashed
    assert not [sentence for sentence in crashed if "'old'" in sentence]


@pytest.mark.parametrize(
    ("refused", "expected"),
    [
        ([1, 2], [("producer-forgotten", [])]),  # the second follows one that was refused for the same reason
        ([2], [("sequence-gap", [])]),
        ([2, 3], [("sequence-gap", [])]),
        ([1, 3], [("producer-forgotten", ["sequence-gap"])]),
    ],
)
def test_batches_that_follow_are_no_gap(
    refused: list[int], expected: list[tuple[str, list[str]]], tmp_path: Path
) -> None:
    talk = Talk("billing")
    again(talk, *produce(0, 0), 1, 1)
    for sequence in refused:
        again(talk, *produce(45, sequence), 1, 1)
    found = what_is_wrong(tmp_path, talk, beside())
    assert [(one.id, [effect.id for effect in one.effects]) for one in found.causes] == expected


def test_the_broker_that_refuses_is_named(tmp_path: Path) -> None:
    (cause,) = what_is_wrong(tmp_path, *producer_id_unknown()).causes
    assert cause.sentence.startswith("10.0.0.2:9092 refused batches of client 'streams'")
