"""Offsets in the log of produced records: those of the responses, whoever reads them."""

import json
from pathlib import Path
from typing import Any

import pytest

from kdissect.cli import main
from kdissect.decoders.encoder import encode_request, encode_response
from tests.stats.truth import capture
from tests.support.messages.batches import batch_bytes, message_bytes, record_bytes
from tests.support.messages.traffic import Conversation
from tests.support.packets.pcaps import write_pcap

Rows = list[dict[str, Any]]
Answer = tuple[int, int, int]  # partition, error code, base offset
PRODUCE = 0
TOPIC_ID = bytes(range(16))


def rows_of(capfd: pytest.CaptureFixture[str], *arguments: object) -> Rows:
    assert main(["records", *map(str, arguments), "--format", "jsonl"]) == 0
    return [json.loads(line) for line in capfd.readouterr().out.splitlines()]


def sent(count: int, base_offset: int = 0, **options: Any) -> bytes:
    records = b"".join(record_bytes(offset_delta=number, value=b"v") for number in range(count))
    return batch_bytes(records, count, base_offset=base_offset, **options)


def produced(
    folder: Path, version: int, batches: dict[int, bytes], answers: list[Answer] | None, cut: int = 0
) -> str:
    """Return a capture of one Produce of these batches by partition; None: it is not answered."""
    topic: dict[str, Any] = {"topic_id": TOPIC_ID} if version >= 13 else {"name": "t"}
    sent_rows = [{"index": number, "records": records} for number, records in batches.items()]
    asked = {"acks": -1, "timeout_ms": 1, "topic_data": [topic | {"partition_data": sent_rows}]}
    talk = Conversation().handshake().client(encode_request(PRODUCE, version, 1, "c", asked))
    if answers is not None:
        told = [
            {"index": number, "error_code": error, "base_offset": base, "log_append_time_ms": -1}
            for number, error, base in answers
        ]
        body = {"responses": [topic | {"partition_responses": told}]}
        answer = encode_response(PRODUCE, version, 1, body)
        talk.broker(answer[: len(answer) - cut])
    return write_pcap(folder / "produce.pcap", talk.packets)


def offsets(rows: Rows) -> list[tuple[int, int | None, int]]:
    return [(row["partition"], row["offset"], row["raw_offset"]) for row in rows]


@pytest.mark.parametrize("version", [3, 9, 12, 13])
def test_offsets_of_the_response(version: int, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    batches = {0: sent(2), 3: sent(1, base_offset=5), 7: sent(1), 9: sent(1)}
    answers = [(3, 0, 100), (0, 0, 21), (7, 5, 40), (8, 0, 60)]  # another order, a refusal, another partition
    found = rows_of(capfd, produced(tmp_path, version, batches, answers), "--port", 9092)
    assert offsets(found) == [(0, 21, 0), (0, 22, 1), (3, 100, 5), (7, None, 0), (9, None, 0)]


@pytest.mark.parametrize("answers", [None, [(0, 0, -1)], [(0, 5, 7)], []])
def test_without_an_assigned_offset_none_is_invented(
    answers: list[Answer] | None, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = produced(tmp_path, 9, {0: sent(2)}, answers)
    assert offsets(rows_of(capfd, path, "--port", 9092)) == [(0, None, 0), (0, None, 1)]


def test_several_batches_and_messages_follow_each_other(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = produced(tmp_path, 3, {0: sent(2) + sent(3)}, [(0, 0, 10)])
    found = offsets(rows_of(capfd, path, "--port", 9092))
    assert found == [(0, 10, 0), (0, 11, 1), (0, 12, 0), (0, 13, 1), (0, 14, 2)]
    messages = message_bytes(b"a", offset=7) + message_bytes(b"b", offset=7)
    path = produced(tmp_path, 2, {0: messages}, [(0, 0, 10)])
    assert offsets(rows_of(capfd, path, "--port", 9092)) == [(0, 10, 7), (0, 11, 7)]


@pytest.mark.parametrize(
    "name", ["kafka44_rdkafka_produce", "kafka44_java_transactions", "kafka44_java_groups"]
)
def test_produced_and_fetched_records_have_the_same_offsets(
    name: str, capfd: pytest.CaptureFixture[str]
) -> None:
    """What consumers fetched at an offset is what producers sent to it."""
    by_direction: dict[str, dict[tuple[str, int, int], str]] = {"produce": {}, "fetch": {}}
    for row in rows_of(capfd, capture(name)):
        if row["offset"] is not None and row["control"] is None:
            by_direction[row["direction"]][row["topic"], row["partition"], row["offset"]] = row["value"]
    sent_rows, read_rows = by_direction["produce"], by_direction["fetch"]
    common = sent_rows.keys() & read_rows.keys()
    assert len(common) >= 10
    assert [sent_rows[place] for place in common] == [read_rows[place] for place in common]


def test_who_sent_a_record(capfd: pytest.CaptureFixture[str]) -> None:
    rows = rows_of(capfd, capture("kafka44_java_sasl"))
    assert {row["principal"] for row in rows if row["direction"] == "produce"} - {None}
    assert {row["software"] for row in rows} >= {"apache-kafka-java 4.4.0"}
