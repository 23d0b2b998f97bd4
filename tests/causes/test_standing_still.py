"""Members that hold a partition, work on others, and stand still on this one."""

from __future__ import annotations

from pathlib import Path

import pytest

from kdissect.model.cause import Diagnosis
from tests.causes.consumer_talks import Consumer, Writer
from tests.causes.diagnosing import ids
from tests.causes.talks import what_is_wrong

_STOPS_AT = 5  # seconds


def _diagnosis(
    folder: Path,
    seconds: int,
    *,
    named: bool = False,
    commits: bool = False,
    writes: int = 1,
    leaves: bool = False,
) -> Diagnosis:
    """Return the diagnosis of a consumer of two partitions, into which a record a second comes.

    From a time on it no longer fetches partition 1, unless `named`, and no longer commits there, unless
    `commits`; `writes` records come into it a second.
    """
    consumer, writer = Consumer("cache").join(0, 1), Writer("feed", port=40001)
    for at in range(1, seconds + 1):
        is_still = at > _STOPS_AT
        read = {0: (at - 1, at)}
        done = {0: at}
        writer.write(0, at - 1)
        writer.write(1, at - 1 if not is_still else _STOPS_AT + (at - _STOPS_AT - 1) * writes, writes)
        if not is_still or named:
            read[1] = at - 1, at
        if not is_still or commits:
            done[1] = min(at, _STOPS_AT) if not commits else at
        consumer.fetch(read).commit(done).alive().wait(1)  # type: ignore[attr-defined]
        writer.wait(1)
    if leaves:
        consumer.leave()
    return what_is_wrong(folder, consumer, writer)


@pytest.mark.parametrize("leaves", [False, True])
def test_a_partition_that_is_no_longer_fetched(tmp_path: Path, leaves: bool) -> None:
    (first,) = _diagnosis(tmp_path, 18, leaves=leaves).causes
    assert (first.id, first.certainty) == ("stuck-consumer", "likely")
    assert "'cache'" in first.sentence
    assert "stands still on orders-1: for 13.0" in first.sentence
    assert "13 records came" in first.sentence


def test_nothing_comes_into_it(tmp_path: Path) -> None:
    assert ids(_diagnosis(tmp_path, 18, writes=0)) == []


def test_it_works_on_what_it_fetched_before(tmp_path: Path) -> None:
    assert ids(_diagnosis(tmp_path, 18, commits=True)) == []


def test_less_than_two_intervals_of_commits(tmp_path: Path) -> None:
    assert ids(_diagnosis(tmp_path, 14)) == []


def _unworked(folder: Path, records: int, *, commits: bool = False, idle: bool = False) -> Diagnosis:
    """Return the diagnosis of a consumer that fetches records of partition 1, and does not commit there."""
    consumer = Consumer("indexer").join(0, 1)
    for at in range(1, 18):
        ends = {
            0: (at - 1, at),
            1: (5 + (at - 6) * records, 5 + (at - 5) * records) if at > 5 else (at - 1, at),
        }
        consumer.fetch(ends, records=records)
        done = {} if idle and at > 5 else {0: at}
        if at <= 5 or commits:
            done[1] = min(at, 5) if not commits or at <= 5 else 5 + (at - 5) * records
        consumer.commit(done or {0: 5}).alive().wait(1)  # type: ignore[attr-defined]
    return what_is_wrong(folder, consumer)


def test_a_partition_whose_records_are_fetched_and_never_committed(tmp_path: Path) -> None:
    (first,) = _unworked(tmp_path, 5).causes
    assert first.id == "stuck-consumer"
    assert "stands still on orders-1: for 12.0" in first.sentence
    assert "it fetched 60 records beyond the committed offset" in first.sentence


def test_commits_go_on_there(tmp_path: Path) -> None:
    assert ids(_unworked(tmp_path, 5, commits=True)) == []


def test_no_partition_is_committed(tmp_path: Path) -> None:
    """It may commit seldom."""
    assert "stands still on" not in "".join(one.sentence for one in _unworked(tmp_path, 5, idle=True).causes)


def test_few_records(tmp_path: Path) -> None:
    assert ids(_unworked(tmp_path, 4)) == []


def test_a_partition_without_fetches_and_commits_is_reported_once(tmp_path: Path) -> None:
    """It fetched 60 records there, committed one of them, and then reads the other partition only."""
    consumer, writer = Consumer("cache").join(0, 1), Writer("feed", port=40001)
    writer.write(1, 0, 60)
    consumer.fetch({1: (0, 60)}, records=60).commit({1: 1})
    for at in range(1, 19):
        writer.write(0, at - 1)
        writer.write(1, 59 + at)
        consumer.fetch({0: (at - 1, at)}).commit({0: at}).alive().wait(1)  # type: ignore[attr-defined]
        writer.wait(1)
    found = what_is_wrong(tmp_path, consumer, writer)
    assert ids(found).count("stuck-consumer") == 1
    assert "neither fetched nor committed" in found.causes[0].sentence
