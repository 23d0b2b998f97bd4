"""Members that join their group again and again and begin at the same offset."""

from __future__ import annotations

from pathlib import Path

import pytest

from kdissect.model.cause import Diagnosis
from tests.causes.consumer_talks import Consumer
from tests.causes.diagnosing import ids
from tests.causes.talks import what_is_wrong


def _diagnosis(
    folder: Path,
    starts: int = 4,
    *,
    offset: int = 40,
    reads: bool = True,
    commits: bool = False,
    joins: bool = True,
    apart_s: int = 6,
) -> Diagnosis:
    """Return the diagnosis of a consumer that comes to its group so often, on another connection each time.

    Without `joins` it stays, and asks for its offset.
    """
    found: list[Consumer] = []
    for at in range(1, starts + 1):
        if joins or not found:
            found.append(Consumer("invoices", port=40000 + at, begins=apart_s * at).join(0, generation=at))
        consumer = found[-1].committed(offset + at if commits else offset, 0)
        begin = max(offset, 0)
        if reads:
            consumer.fetch({0: (begin, begin + 3)}, records=3)
        if commits:
            consumer.commit({0: offset + at + 1})
        consumer.alive().wait(1)
        if joins:
            consumer.leave()
    return what_is_wrong(folder, *found)


@pytest.mark.parametrize(("offset", "place"), [(40, "partition 0 from offset 40"), (-1, "partition 0")])
def test_a_record_that_the_program_does_not_pass(tmp_path: Path, offset: int, place: str) -> None:
    found = [one for one in _diagnosis(tmp_path, offset=offset).causes if one.id == "offset-not-passed"]
    assert [one.certainty for one in found] == ["likely"]
    assert f"({place}), 3 times" in found[0].sentence
    assert "'g'" in found[0].sentence


def test_one_more_start_is_a_rebalance(tmp_path: Path) -> None:
    assert "offset-not-passed" not in ids(_diagnosis(tmp_path, 2))


def test_starts_with_no_time_to_commit(tmp_path: Path) -> None:
    assert "offset-not-passed" not in ids(_diagnosis(tmp_path, apart_s=4))


def test_nothing_is_there_to_read(tmp_path: Path) -> None:
    assert "offset-not-passed" not in ids(_diagnosis(tmp_path, reads=False))


def test_it_commits_in_between(tmp_path: Path) -> None:
    assert "offset-not-passed" not in ids(_diagnosis(tmp_path, commits=True))


def test_a_member_that_comes_back_late_to_its_polls(tmp_path: Path) -> None:
    """On the same connection: it left because it did not poll, and reads the same records again."""
    consumer = Consumer("invoices")
    for at in range(1, 5):
        consumer.join(0, generation=at).committed(-1, 0).fetch({0: (0, 3)}, records=3).alive().wait(6)
        consumer.leave()
    (first,) = what_is_wrong(tmp_path, consumer).causes
    assert first.id == "slow-poll"
    assert "read topic 'orders' at the same place (partition 0) 3 times" in first.sentence


def test_a_member_that_stays_and_asks_for_its_offset(tmp_path: Path) -> None:
    found = [one for one in _diagnosis(tmp_path, joins=False).causes if "joined group" in one.sentence]
    assert found == []
