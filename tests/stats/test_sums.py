"""Sums are equal to the list: what statistics count is what `inspect` lists, in each capture."""

from collections import Counter
from typing import Any

import pytest

from kdissect.engine.exchange_rows import ExchangeRows
from kdissect.history.exchange_view import ExchangeView
from tests.stats.truth import CORPUS, EVERY, listed_once, told_once

SIZE_FIELD = 4  # before each frame (spec/000)
FETCH = 1
BEATS = (12, 68, 76, 88)  # Heartbeat and those of newer groups
USES = ("requests", "batches", "records", "bytes", "unconfirmed", "refused", "uncounted", "acquired")


def total(rows: list[dict[str, Any]], field: str) -> int:
    return sum(row[field] or 0 for row in rows)


@pytest.mark.sampled(16)
@pytest.mark.parametrize("name", EVERY, scope="module")
def test_stats(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    found = listed_once(name)
    rows = ExchangeRows([name])
    errors: Counter[str] = Counter()
    for exchange in found:
        errors.update(set(rows.row(exchange)["errors"]))
    facts = told_once(capfd, "stats", name)
    assert facts["total"]["exchanges"] == total(facts["rows"], "exchanges") == len(found)
    for field in ("failed", "request_bytes", "response_bytes", "unclear", "empty_early"):
        assert facts["total"][field] == total(facts["rows"], field), field
    by_api = Counter(dict.fromkeys(errors, 0))
    for row in facts["rows"]:
        by_api.update(row["errors"])
    assert Counter(facts["total"]["errors"]) == by_api == errors
    frames = [frame for exchange in found for frame in (exchange.request, exchange.response) if frame]
    size = sum(frame.size + SIZE_FIELD for frame in frames)
    assert facts["total"]["request_bytes"] + facts["total"]["response_bytes"] == size


@pytest.mark.sampled(16)
@pytest.mark.parametrize("name", CORPUS, scope="module")
def test_topics(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    for topic in told_once(capfd, "topics", name)["topics"]:
        readers = [row for row in topic["readers"] if row["role"] != "follow"]
        for field in USES:
            assert (topic["written"][field] or 0) == total(topic["writers"], field), field
            assert (topic["read"][field] or 0) == total(readers, field), field


@pytest.mark.sampled(16)
@pytest.mark.parametrize("name", CORPUS, scope="module")
def test_groups(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    beats: Counter[str] = Counter()
    for exchange in listed_once(name):
        request = ExchangeView(exchange).request if exchange.api_key in BEATS else None
        if request is not None:
            beats[str(request.group_id)] += 1
    groups = told_once(capfd, "groups", name)["groups"]
    # A group that was converted stands there once for each kind, with all its members.
    found = {row["group"]: total(row["members"], "heartbeats") for row in groups if row["group"]}
    assert {group: count for group, count in found.items() if count} == {g: n for g, n in beats.items() if g}
    for row in groups:
        assert row["rebalance_count"] >= len(row["rebalances"])
        if row["lag"] is not None:
            assert row["lag"] == total(row["partitions"], "lag")
        failed: Counter[str] = Counter()
        for one in row["failures"]:
            failed[one["error"]] += one["count"]
            assert one["first"] <= one["last"]
        for error, count in row["errors"].items():
            assert failed[error] >= count, error


@pytest.mark.sampled(16)
@pytest.mark.parametrize("name", CORPUS, scope="module")
def test_racks(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    plain = told_once(capfd, "stats", name)["total"]
    facts = told_once(capfd, "stats", name, "--by", "client_rack,broker_rack")
    assert facts["total"] == plain
    for field in ("exchanges", "failed", "request_bytes", "response_bytes"):
        assert total(facts["rows"], field) == plain[field], field
    keys = [(row["client_rack"], row["broker_rack"]) for row in facts["rows"]]
    assert len(keys) == len(set(keys))
    for row in facts["racks"]["told_elsewhere"]:
        assert 0 <= row["followed"] + row["ignored"] <= row["told"]


@pytest.mark.sampled(16)
@pytest.mark.parametrize("name", CORPUS, scope="module")
def test_fetches_and_positions(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    fetches = sum(
        exchange.api_key == FETCH and exchange.request is not None for exchange in listed_once(name)
    )
    assert total(told_once(capfd, "fetch-sessions", name)["clients"], "requests") == fetches
    facts = told_once(capfd, "offsets", name)
    for row in facts["positions"]:
        assert row["cause"] is None or row["cause_time_ns"] <= row["time_ns"], "a cause later than its effect"
        assert row["before"] != row["after"]
    for row in facts["held"]:
        assert row["last_stable_offset"] < row["high_watermark"]
        assert row["held_ns"] >= 0
    for row in facts["gaps"]:
        assert row["from"] <= row["to"]


@pytest.mark.sampled(16)
@pytest.mark.parametrize("name", CORPUS, scope="module")
def test_logins(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    facts = told_once(capfd, "logins", name)
    assert total(facts["who"], "count") == sum(sum(row["outcomes"].values()) for row in facts["who"])
    assert total(facts["who"], "count") >= len(facts["logins"])
