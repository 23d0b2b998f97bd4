"""Records of the recorded corpus are those its drivers wrote down.

Topics, partitions, offsets, keys, values ...
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kdissect.api import Dissection
from kdissect.decoders.records.reader import read_records
from kdissect.engine.records.record_sets import record_sets
from tests.support.console import CAPTURES

Fact = tuple[Any, ...]
# What is encrypted is opaque here.
TRUTHS = [path for path in sorted(CAPTURES.glob("*.truth.json")) if "_tls" not in path.name]


def capture_of(truth: Path) -> Path | None:
    stem = truth.name.removesuffix(".truth.json")
    return next((path for path in CAPTURES.glob(f"{stem}.pcap*")), None)


def seen(path: Path) -> tuple[set[Fact], set[Fact]]:
    """Return what was produced, without offsets, and what was fetched.

    Topic, partition, key, value, headers[, offset].
    """
    produced, fetched = set(), set()
    dissection = Dissection(str(path))
    for exchange in dissection:
        for records in record_sets(exchange):
            section = records.records_field
            topic = section.topic
            if topic is None and section.topic_id is not None:
                topic = dissection.topics.name(exchange.connection, section.topic_id)
            for batch in records.found.batches:
                for record in read_records(batch).records:
                    fact = (topic, section.partition, record.key, record.value, record.headers)
                    if records.direction == "produce":
                        produced.add(fact)
                    else:
                        fetched.add((*fact, record.offset))
    return produced, fetched


def told(records: list[dict[str, Any]], with_offset: bool) -> Iterator[Fact]:
    for record in records:
        if "partition" not in record or record.get("offset", -1) < 0:
            continue  # old clients, and those that wait for no answer, do not tell
        headers = tuple((key, content(value)) for key, value in record.get("headers") or ())
        fact = (
            record["topic"],
            record["partition"],
            content(record["key"]),
            content(record["value"]),
            headers,
        )
        yield (*fact, record["offset"]) if with_offset else fact


def content(value: Any) -> bytes | None:
    if isinstance(value, dict):
        return bytes.fromhex(value["hex"])
    return None if value is None else value.encode()


@pytest.mark.sampled(16)
@pytest.mark.parametrize("truth", TRUTHS, ids=lambda truth: truth.name.partition(".")[0])
def test_every_record_of_the_truth_is_in_the_capture(truth: Path) -> None:
    records = json.loads(truth.read_text()).get("records") or {}
    path = capture_of(truth)
    if path is None or not any(records.values()):
        pytest.skip("this capture has no records")
    assert missing(path, records) == ([], [])


def missing(path: Path, records: dict[str, list[dict[str, Any]]]) -> tuple[list[Fact], list[Fact]]:
    """Return facts of the truth that were not seen: sent, and read."""
    simplify = next((each for client, each in SIMPLER.items() if client in path.name), tuple)
    produced, fetched = ({simplify(fact) for fact in facts} for facts in seen(path))
    sent = [fact for fact in told(records.get("sent", []), False) if simplify(fact) not in produced]
    read = [fact for fact in told(records.get("read", []), True) if simplify(fact) not in fetched]
    return sent, read


def without_headers(fact: Fact) -> Fact:
    return (*fact[:4], *fact[5:])


def without_null_headers(fact: Fact) -> Fact:
    headers = tuple((key, value or b"") for key, value in fact[4])
    return (*fact[:4], headers, *fact[5:])


# What the interfaces of clients do not tell: delivery reports of librdkafka have no headers, segmentio's
# reader gives null for an empty value of a header.
SIMPLER = {"_rdkafka_": without_headers, "_segmentio_": without_null_headers}
