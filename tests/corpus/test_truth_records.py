"""Records on the wire are those the clients say they sent and read: keys, values, headers, times, offsets."""

import base64
from collections.abc import Iterable
from typing import Any, NamedTuple

import orjson
import pytest

from captures.record.corpus import Capture, captures
from tests.support.console import run

WITH_RECORDS = [each for each in captures() if any((each.truth.get("records") or {}).values())]

# Its delivery reports, which the truth of what was sent is made of, do not hand the headers back.
NO_HEADERS = "librdkafka"


class Seen(NamedTuple):
    """A record as client and wire both know it.

    Not the client id: a driver's processes add to the one they were given.
    """

    topic: str
    partition: int
    offset: int | None
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]


def told(entry: dict[str, Any], with_offset: bool) -> Seen:
    return Seen(
        entry["topic"],
        entry["partition"],
        entry["offset"] if with_offset else None,
        plain(entry.get("key")),
        plain(entry.get("value")),
        tuple((name, plain(value)) for name, value in entry.get("headers") or ()),
    )


def without_headers(records: Iterable[Seen]) -> set[Seen]:
    return {record._replace(headers=()) for record in records}


def plain(value: Any) -> bytes | None:
    """The truth has bytes as text, and as hex where they are none."""
    if value is None:
        return None
    return bytes.fromhex(value["hex"]) if isinstance(value, dict) else str(value).encode()


def rows(capture: Capture, command: str, *options: str) -> list[dict[str, Any]]:
    ran = run(command, capture.path, "--format", "jsonl", *options)
    assert (ran.code, ran.err) == (0, "")
    return [orjson.loads(line) for line in ran.out.splitlines()]


def on_the_wire(capture: Capture, directions: tuple[str, ...], with_offset: bool) -> Iterable[Seen]:
    for row in rows(capture, "records", "--key-format", "base64", "--value-format", "base64"):
        if row["direction"] not in directions or row["control"] is not None:
            continue
        yield Seen(
            row["topic"],
            row["partition"],
            row["offset"] if with_offset else None,
            decoded(row["key"]),
            decoded(row["value"]),
            tuple((header["key"], decoded(header["value"])) for header in row["headers"]),
        )


def decoded(value: str | None) -> bytes | None:
    return None if value is None else base64.b64decode(value)


@pytest.mark.parametrize("capture", WITH_RECORDS, ids=lambda capture: capture.path.name)
def test_every_record_read_was_fetched(capture: Capture) -> None:
    read = {told(entry, with_offset=True) for entry in capture.truth["records"]["read"]}
    fetched = set(on_the_wire(capture, ("fetch", "share_fetch"), with_offset=True))
    assert not read - fetched


@pytest.mark.parametrize("capture", WITH_RECORDS, ids=lambda capture: capture.path.name)
def test_every_record_sent_was_produced(capture: Capture) -> None:
    sent = {told(entry, with_offset=False) for entry in capture.truth["records"]["sent"]}
    produced = set(on_the_wire(capture, ("produce",), with_offset=False))
    if any(NO_HEADERS in each["name"] for each in capture.truth["clients"]):
        sent, produced = without_headers(sent), without_headers(produced)
    assert not sent - produced
    topics = {seen.topic for seen in sent}
    unheard = {seen for seen in produced if seen.topic in topics} - sent
    assert not unheard or capture.truth["errors"] or capture.truth["transactions"], "more than was sent"


def test_times_are_those_of_the_records() -> None:
    capture = next(each for each in WITH_RECORDS if each.path.name == "kafka44_java_produce.pcapng")
    read = {(each["topic"], each["offset"]): each["timestamp"] for each in capture.truth["records"]["read"]}
    rows_read = [row for row in rows(capture, "records") if row["direction"] == "fetch"]
    assert rows_read
    for row in rows_read:
        assert row["timestamp_ms"] == read[row["topic"], row["offset"]]
