"""Topics and records that a client deletes: causes that follow name the client."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kdissect.causes.evidence.body_errors import body_errors
from kdissect.causes.evidence.deletions import Deletion, Deletions
from kdissect.history import api_keys as apis
from kdissect.history.exchange_view import ExchangeView
from kdissect.history.topics.topic_names import TopicNames
from tests.causes.talks import Talk, what_is_wrong
from tests.history.talk import Talk as Views


def deleted(
    key: int, version: int, asked: dict[str, Any], answer: dict[str, Any]
) -> tuple[Deletion | None, Deletion | None]:
    """Return the deletion of topic `t`, and of its records, after one request."""
    found = Deletions(TopicNames())
    view = ExchangeView(Views().ask(key, version, asked, {"throttle_time_ms": 0, **answer}))
    found.add(view)
    topic, records = (found.of(of, view.info.scope, "t") for of in (apis.DELETE_TOPICS, apis.DELETE_RECORDS))
    return topic, records


@pytest.mark.parametrize("error", [0, 29])
def test_a_topic_is_deleted_unless_the_broker_refuses(error: int) -> None:
    rows = [{"name": "t", "error_code": error}]
    topic, records = deleted(20, 4, {"topic_names": ["t"], "timeout_ms": 1}, {"responses": rows})
    assert (topic and topic.client.client_id) == (None if error else "client")
    assert records is None


@pytest.mark.parametrize("errors", [(0, 0), (6, 0), (6, 6)])
def test_records_are_deleted_where_one_partition_is_not_refused(errors: tuple[int, ...]) -> None:
    asked = [{"partition_index": at, "offset": -1} for at in range(2)]
    rows = [
        {"partition_index": at, "low_watermark": 0, "error_code": error} for at, error in enumerate(errors)
    ]
    topic, records = deleted(
        21, 1,
        {"topics": [{"name": "t", "partitions": asked}], "timeout_ms": 1},
        {"topics": [{"name": "t", "partitions": rows}]},
    )  # fmt: skip
    assert topic is None
    assert (records is None) == all(errors)


def _deletes_records(talk: Talk) -> Talk:
    asked = {"name": "t", "partitions": [{"partition_index": 0, "offset": -1}]}
    row = {"partition_index": 0, "low_watermark": 9, "error_code": 0}
    talk.ask(21, 1, {"topics": [asked], "timeout_ms": 1})
    return talk.answer(21, 1, {"throttle_time_ms": 0, "topics": [{"name": "t", "partitions": [row]}]})


def _out_of_range(talk: Talk) -> Talk:
    asked = {"partition": 0, "fetch_offset": 3, "partition_max_bytes": 1}
    talk.ask(
        1, 3,
        {
            "replica_id": -1, "max_wait_ms": 500, "min_bytes": 1, "max_bytes": 1,
            "topics": [{"topic": "t", "partitions": [asked]}],
        },
    )  # fmt: skip
    row = {"partition_index": 0, "error_code": 1, "high_watermark": -1, "records": None}
    return talk.answer(1, 3, {"throttle_time_ms": 0, "responses": [{"topic": "t", "partitions": [row]}]})


@pytest.mark.parametrize("is_before", [True, False])
def test_offsets_out_of_range_name_who_deleted_the_records_before(tmp_path: Path, is_before: bool) -> None:
    deleting = _deletes_records(Talk("gdpr", 40001).wait(0 if is_before else 5))
    found = what_is_wrong(tmp_path, deleting, _out_of_range(Talk("reader").wait(2)))
    assert found.causes[0].id == "offset-reset"
    named = "Client 'gdpr' at 10.0.0.1 deleted records of 't' (DeleteRecords)." in found.causes[0].sentence
    assert named == is_before


def test_an_error_of_a_transaction_has_its_id() -> None:
    partition = {"partition_index": 0, "partition_error_code": 90}
    results = [
        {"transactional_id": name, "topic_results": [{"name": "t", "results_by_partition": [partition]}]}
        for name in ("a", "b")
    ]
    answer = {
        "throttle_time_ms": 0, "error_code": 0, "results_by_transaction": results,
        "results_by_topic_v3_and_below": [],
    }  # fmt: skip
    asked = {"transactions": [], "v3_and_below_transactional_id": "", "v3_and_below_producer_id": 0,
             "v3_and_below_producer_epoch": 0, "v3_and_below_topics": []}  # fmt: skip
    view = ExchangeView(Views().ask(24, 4, asked, answer))
    assert [(one.code, one.topic, one.txn) for one in body_errors(view.response)] == [
        (90, "t", "a"),
        (90, "t", "b"),
    ]
