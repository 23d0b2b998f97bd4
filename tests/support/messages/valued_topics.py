"""Small captures of topics whose values have schemas: a producer, and readers from an offset on."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from tests.causes.talks import Talk
from tests.support.messages.batches import batch_bytes, record_bytes
from tests.support.packets.pcaps import write_pcap

PRODUCE, FETCH = 0, 1
SCHEMA = {
    "type": "record",
    "name": "Order",
    "fields": [{"name": "id", "type": "long"}, {"name": "name", "type": "string"}],
}
FITS = b"\0\0\0\0\1\2\2a"
CUT = b"\0\0\0\0\1\2\4a"
"""A value with the same id that ends before its schema does."""


def registry(folder: Path, *others: dict[str, object]) -> str:
    """Return a saved registry: id 1 is version 1 of `orders-value`."""
    first = {"id": 1, "subject": "orders-value", "version": 1, "schema": json.dumps(SCHEMA)}
    path = folder / "registry.json"
    path.write_text(json.dumps([first, *others]))
    return str(path)


def _batch(values: Sequence[bytes], base_offset: int = 0) -> bytes:
    records = [record_bytes(delta, 0, None, value) for delta, value in enumerate(values)]
    return batch_bytes(b"".join(records), len(values), base_offset=base_offset)


class Valued(Talk):
    """A client that writes and reads values of partition 0 of a topic."""

    def write(self, offset: int, values: Sequence[bytes], topic: str = "orders") -> Valued:
        """Write values in one batch, which the broker stores at an offset."""
        data = [{"index": 0, "records": _batch(values)}]
        asked = {"acks": -1, "timeout_ms": 1, "topic_data": [{"name": topic, "partition_data": data}]}
        self.ask(PRODUCE, 3, {"transactional_id": None, **asked})
        row = {"index": 0, "error_code": 0, "base_offset": offset, "log_append_time_ms": -1}
        responses = [{"name": topic, "partition_responses": [row]}]
        self.answer(PRODUCE, 3, {"responses": responses, "throttle_time_ms": 0}).wait(0.1)
        return self

    def read(
        self, offset: int, values: Sequence[bytes], topic: str = "orders", replica: int = -1, after: int = 0
    ) -> Valued:
        """Fetch from an offset, or so many `after` it, and receive values in one batch from the offset on."""
        asked = {
            "partition": 0, "fetch_offset": offset + after, "log_start_offset": -1,
            "partition_max_bytes": 1 << 20,
        }  # fmt: skip
        self.ask(
            FETCH, 4,
            {
                "replica_id": replica, "max_wait_ms": 500, "min_bytes": 1, "max_bytes": 1 << 20,
                "isolation_level": 0, "topics": [{"topic": topic, "partitions": [asked]}],
            },
        )  # fmt: skip
        end = offset + len(values)
        row = {
            "partition_index": 0, "error_code": 0, "high_watermark": end, "last_stable_offset": end,
            "aborted_transactions": None, "records": _batch(values, offset),
        }  # fmt: skip
        answer = {"throttle_time_ms": 0, "responses": [{"topic": topic, "partitions": [row]}]}
        self.answer(FETCH, 4, answer).wait(0.1)
        return self


def capture(path: Path, *talks: Talk) -> str:
    """Write the packets of all in their order of time."""
    packets = sorted((packet for talk in talks for packet in talk.talk.packets), key=lambda one: one.time_ns)
    return str(write_pcap(path, packets))


def poisoned(folder: Path, before: int = 100, after: int = 100, at_once: int = 50) -> str:
    """Return a capture in which `shop` writes one value that does not fit among others that do.

    `billing` receives it twice, on two connections, and no later one. `audit` goes on after it, and so does
    broker 2, which replicates.
    """
    values = [FITS] * before + [CUT] + [FITS] * after
    shop = Valued("shop", 40000)
    for offset in range(0, len(values), at_once):
        shop.write(offset, values[offset : offset + at_once])
    last = before // at_once * at_once
    with_pill, behind = values[last : last + at_once], values[last + at_once :]
    readers = [Valued("billing", 40001, begins=50), Valued("billing", 40002, begins=60)]
    for reader in readers:
        reader.read(last, with_pill)
    going_on = [(Valued("audit", 40003, begins=55), -1), (Valued("broker-2", 40004, begins=56), 2)]
    for reader, replica in going_on:
        reader.read(last, with_pill, replica=replica).read(last + at_once, behind, replica=replica)
        readers.append(reader)
    return capture(folder / "poisoned.pcap", shop, *readers)
