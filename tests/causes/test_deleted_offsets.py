"""Committed offsets that a tool deletes: found by those who ask for them afterwards."""

from __future__ import annotations

from typing import Any

import pytest

from kdissect.causes.evidence.deleted_offsets import DeletedOffsets, Missed
from kdissect.causes.evidence.rewinds import Rewinds
from kdissect.history.exchange_view import ExchangeView
from kdissect.history.topics.topic_names import TopicNames
from tests.causes.test_rewinds import commit
from tests.history.talk import Talk


def delete(group: str = "g", error: int = 0, row_error: int = 0, partition: int = 0) -> ExchangeView:
    """Of one partition (OffsetDelete v0)."""
    asked = {"group_id": group, "topics": [{"name": "t", "partitions": [{"partition_index": partition}]}]}
    rows = [{"partition_index": partition, "error_code": row_error}]
    topics = [] if error else [{"name": "t", "partitions": rows}]
    answer = {"error_code": error, "throttle_time_ms": 0, "topics": topics}
    return ExchangeView(Talk().ask(47, 0, asked, answer))


def delete_group(group: str = "g", error: int = 0) -> ExchangeView:
    """DeleteGroups v0."""
    answer = {"throttle_time_ms": 0, "results": [{"group_id": group, "error_code": error}]}
    return ExchangeView(Talk().ask(42, 0, {"groups_names": [group]}, answer))


def fetch(
    offset: int, version: int = 5, group: str = "g", error: int = 0, row_error: int = 0
) -> ExchangeView:
    """Of partition 0 (OffsetFetch)."""
    row = {
        "partition_index": 0, "committed_offset": offset, "committed_leader_epoch": -1, "metadata": "",
        "error_code": row_error,
    }  # fmt: skip
    topic: dict[str, Any] = {"name": "t", "partition_indexes": [0]}
    topics = [{"name": "t", "partitions": [row]}]
    if version < 8:
        asked: dict[str, Any] = {"group_id": group, "topics": [topic]}
        answer: dict[str, Any] = {"throttle_time_ms": 0, "topics": topics, "error_code": error}
    else:
        asked = {"groups": [{"group_id": group, "topics": [topic]}], "require_stable": False}
        answer = {
            "throttle_time_ms": 0, "groups": [{"group_id": group, "topics": topics, "error_code": error}]
        }  # fmt: skip
    return ExchangeView(Talk().ask(9, version, asked, answer))


def missed(*steps: ExchangeView) -> list[Missed]:
    rewinds = Rewinds(TopicNames())
    deleted = DeletedOffsets(TopicNames(), rewinds.committed)
    for each in steps:
        rewinds.add(each)
        deleted.add(each)
    return deleted.missed


@pytest.mark.parametrize("version", [5, 8])
@pytest.mark.parametrize(("gone", "api_key"), [(delete(), 47), (delete_group(), 42)])
def test_who_asks_finds_none(gone: ExchangeView, api_key: int, version: int) -> None:
    (one,) = missed(commit(Talk(), 5), gone, fetch(-1, version))
    assert (one.group, one.topic, one.partition, one.deletion.offset) == ("g", "t", 0, 5)
    assert one.deletion.api_key == api_key
    assert one.packets.what == f"OffsetFetch v{version}"


@pytest.mark.parametrize(
    "steps",
    [
        (commit(Talk(), 5), fetch(-1)),  # it had expired
        (delete(), fetch(-1)),  # nobody knows that there was one
        (commit(Talk(), 5), delete(error=69), fetch(-1)),
        (commit(Talk(), 5), delete(row_error=86), fetch(-1)),  # GROUP_SUBSCRIBED_TO_TOPIC
        (commit(Talk(), 5), delete(partition=1), fetch(-1)),
        (commit(Talk(), 5), delete(group="h"), fetch(-1)),
        (commit(Talk(), 5), delete_group(error=68), fetch(-1)),  # NON_EMPTY_GROUP
        (commit(Talk(), 5), delete_group("h"), fetch(-1)),
        (commit(Talk(), 5), delete(), fetch(5)),
        (commit(Talk(), 5), delete(), fetch(-1, error=15)),
        (commit(Talk(), 5), delete(), fetch(-1, row_error=3)),
        (commit(Talk(), 5), delete(), fetch(-1, group="h")),
        (commit(Talk(), 5), delete(), fetch(-1, 8, error=15)),
        (commit(Talk(), 5), delete(), commit(Talk(), 6), fetch(-1)),
        (commit(Talk(), -1), delete(), fetch(-1)),
    ],
)
def test_what_is_no_loss(steps: tuple[ExchangeView, ...]) -> None:
    assert missed(*steps) == []
