"""Requests that nobody answers: until the capture ends, and where bytes of the broker are missing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.causes.diagnosing import ids
from tests.causes.talks import Talk, what_is_wrong
from tests.support.messages.traffic import CLIENT

_HEARTBEAT: tuple[int, int, dict[str, Any]] = (
    12, 0, {"group_id": "g", "generation_id": 1, "member_id": "m"},
)  # fmt: skip
_NEW_HEARTBEAT: tuple[int, int, dict[str, Any]] = (
    68, 0,
    {
        "group_id": "g", "member_id": "m", "member_epoch": 1, "rebalance_timeout_ms": -1,
        "instance_id": None, "rack_id": None, "subscribed_topic_names": None, "server_assignor": None,
        "topic_partitions": None,
    },
)  # fmt: skip


def _fetch(max_wait_ms: int) -> tuple[int, int, dict[str, Any]]:
    return 1, 4, {"replica_id": -1, "max_wait_ms": max_wait_ms, "min_bytes": 1, "topics": []}


@pytest.mark.parametrize(
    "request_", [_HEARTBEAT, _NEW_HEARTBEAT, _fetch(500)], ids=["classic", "new", "fetch"]
)
def test_a_request_that_waits_until_the_end_is_reported(
    tmp_path: Path, request_: tuple[int, int, dict[str, Any]]
) -> None:
    frozen = Talk("frozen").heartbeats(3)
    frozen.ask(*request_)
    found = what_is_wrong(tmp_path, frozen, Talk("other", 40001).heartbeats(30))
    assert ids(found) == ["requests-unanswered"]
    assert "until the capture ended (up to 2" in found.causes[0].sentence


@pytest.mark.parametrize(("max_wait_ms", "seconds"), [(500, 4), (60_000, 30)])
def test_a_fetch_may_wait_as_long_as_it_says(tmp_path: Path, max_wait_ms: int, seconds: int) -> None:
    waits = Talk("waits").heartbeats(3)
    waits.ask(*_fetch(max_wait_ms))
    found = what_is_wrong(tmp_path, waits, Talk("other", 40001).heartbeats(3 + seconds))
    assert ids(found) == []


def test_nothing_is_said_of_answers_that_may_be_among_missing_bytes(tmp_path: Path) -> None:
    talk = Talk().heartbeats(200)
    for _ in range(5):
        talk.beat()
        talk.talk.lose(1, bytes(10))  # the answer
    talk.wait(20)
    talk.talk.packet(CLIENT).fin(CLIENT)
    assert ids(what_is_wrong(tmp_path, talk)) == ["capture-too-poor"]


def test_a_clock_that_goes_forward_lets_nobody_wait(tmp_path: Path) -> None:
    talk = Talk().heartbeats(3)
    talk.ask(*_fetch(500))
    talk.wait(7200)
    assert ids(what_is_wrong(tmp_path, talk.heartbeats(3), Talk("other", 40001).heartbeats(3))) == []
