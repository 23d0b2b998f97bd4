"""Consumers that ask for many bytes at once, and when their records come."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.causes.consumer_talks import Consumer
from tests.causes.diagnosing import ids
from tests.causes.talks import what_is_wrong


def test_records_come_when_the_wait_is_over(tmp_path: Path) -> None:
    consumer = Consumer("alerts")
    for at in range(4):
        consumer.fetch({0: (at, at + 1)}, min_bytes=1_000_000, wait=1)
    (first,) = what_is_wrong(tmp_path, consumer).causes
    assert (first.id, first.certainty, first.times) == ("records-held-back", "likely", 4)
    assert "asks 10.0.0.2:9092 for at least 1.0 MB at once, and for a wait of 1.00 s" in first.sentence
    assert "4 of its 4 Fetches with records" in first.sentence


@pytest.mark.parametrize(
    ("records", "min_bytes", "wait"),
    [(0, 1_000_000, 1), (1, 50, 1), (1, 1_000_000, 0.5), (1, 1, 0.4)],
    ids=["no records", "enough bytes", "at once", "one byte"],
)
def test_fetches_that_are_answered_otherwise(
    tmp_path: Path, records: int, min_bytes: int, wait: float
) -> None:
    consumer = Consumer("alerts")
    for at in range(4):
        consumer.fetch({0: (at, at + records)}, records=records, min_bytes=min_bytes, wait=wait)
    assert "records-held-back" not in ids(what_is_wrong(tmp_path, consumer))
