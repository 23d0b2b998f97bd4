"""Rebalances that are not over when the capture ends: whom they wait for."""

from __future__ import annotations

from pathlib import Path

from tests.causes.consumer_talks import Consumer
from tests.causes.diagnosing import ids
from tests.causes.talks import what_is_wrong


def test_the_coordinator_held_the_member_that_it_answered_last(tmp_path: Path) -> None:
    consumer = Consumer("orders").join(wait=30)
    (first,) = what_is_wrong(tmp_path, consumer).causes
    assert first.id == "endless-rebalances"
    assert "rebalancing for 30.00 s" in first.sentence
    assert "answered JoinGroup only" in first.sentence
    assert "'orders'" not in first.sentence


def test_a_member_that_does_not_send_its_assignments(tmp_path: Path) -> None:
    consumer, other = Consumer("orders").join(wait=1), Consumer("another", port=40001, begins=1)
    other.heartbeats(10)
    first = what_is_wrong(tmp_path, consumer, other).causes[0]
    assert first.id == "endless-rebalances"
    assert "it waits for 'orders'" in first.sentence


def test_a_new_group_waits_a_moment(tmp_path: Path) -> None:
    assert ids(what_is_wrong(tmp_path, Consumer("orders").join(wait=3))) == []
