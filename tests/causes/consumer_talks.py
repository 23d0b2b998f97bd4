"""Small captures of consumers in a group, and of the producer that writes for them."""

from __future__ import annotations

import struct
from collections.abc import Mapping

from tests.causes.talks import Talk
from tests.support.messages.batches import batch_bytes, record_bytes

PRODUCE, FETCH, LIST_OFFSETS, COMMIT, OFFSET_FETCH = 0, 1, 2, 8, 9
JOIN, HEARTBEAT, LEAVE, SYNC = 11, 12, 13, 14
RECORD = batch_bytes(record_bytes(value=b"paid"))


def _subscription(topic: str) -> bytes:
    return struct.pack(">hih", 0, 1, len(topic)) + topic.encode() + struct.pack(">i", -1)


def _assignment(topic: str, partitions: list[int]) -> bytes:
    numbers = struct.pack(f">i{len(partitions)}i", len(partitions), *partitions)
    return struct.pack(">hih", 0, 1, len(topic)) + topic.encode() + numbers + struct.pack(">i", -1)


class Consumer(Talk):
    """A member of group `g` that reads topic `orders`, on one connection."""

    generation = 0
    member = ""

    def join(
        self,
        *partitions: int,
        generation: int = 1,
        topic: str = "orders",
        wait: float = 0,
        leads: Mapping[str, str] | None = None,
        led_by: str = "",
    ) -> Consumer:
        """Join the group, `wait` seconds after the request, and take partitions.

        `leads`: the topics of the other members, by their client ids. `led_by`: the client id of the leader.
        """
        self.generation, self.member = generation, f"{self.client_id}-{generation}"
        topics = {} if led_by else {self.client_id: topic, **(leads or {})}
        protocols = [{"name": "range", "metadata": _subscription(topic)}]
        self.ask(
            JOIN, 2,
            {
                "group_id": "g", "session_timeout_ms": 30_000, "rebalance_timeout_ms": 60_000,
                "member_id": "", "protocol_type": "consumer", "protocols": protocols,
            },
        ).wait(wait)  # fmt: skip
        self.answer(
            JOIN, 2,
            {
                "throttle_time_ms": 0, "error_code": 0, "generation_id": generation, "protocol_name": "range",
                "leader": f"{led_by or self.client_id}-{generation}", "member_id": self.member,
                "members": [
                    {"member_id": f"{name}-{generation}", "metadata": _subscription(named)}
                    for name, named in topics.items()
                ],
            },
        )  # fmt: skip
        return self.sync(*partitions) if partitions else self

    def sync(self, *partitions: int) -> Consumer:
        """Take partitions."""
        given = _assignment("orders", list(partitions))
        who = {"group_id": "g", "generation_id": self.generation, "member_id": self.member}
        self.ask(SYNC, 1, {**who, "assignments": []})
        self.answer(SYNC, 1, {"throttle_time_ms": 0, "error_code": 0, "assignment": given})
        return self

    def alive(self) -> Consumer:
        """Send a heartbeat."""
        self.ask(
            HEARTBEAT, 0, {"group_id": "g", "generation_id": self.generation, "member_id": self.member}
        ).answer(HEARTBEAT, 0, {"error_code": 0})
        return self

    def leave(self) -> Consumer:
        """Leave the group."""
        self.ask(LEAVE, 0, {"group_id": "g", "member_id": self.member}).answer(LEAVE, 0, {"error_code": 0})
        return self

    def committed(self, offset: int, *partitions: int) -> Consumer:
        """Ask for committed offsets, which are all `offset`."""
        self.ask(
            OFFSET_FETCH, 1,
            {"group_id": "g", "topics": [{"name": "orders", "partition_indexes": list(partitions)}]},
        )  # fmt: skip
        rows = [
            {"partition_index": at, "committed_offset": offset, "metadata": "", "error_code": 0}
            for at in partitions
        ]
        self.answer(OFFSET_FETCH, 1, {"topics": [{"name": "orders", "partitions": rows}]})
        return self

    def latest(self, offset: int, *partitions: int) -> Consumer:
        """Ask for the ends of partitions, which are all at `offset`."""
        asked = [{"partition_index": at, "timestamp": -1} for at in partitions]
        self.ask(LIST_OFFSETS, 1, {"replica_id": -1, "topics": [{"name": "orders", "partitions": asked}]})
        rows = [
            {"partition_index": at, "error_code": 0, "timestamp": -1, "offset": offset} for at in partitions
        ]
        self.answer(LIST_OFFSETS, 1, {"topics": [{"name": "orders", "partitions": rows}]})
        return self

    def fetch(
        self, ends: Mapping[int, tuple[int, int]], *, records: int = 1, min_bytes: int = 1, wait: float = 0
    ) -> Consumer:
        """Fetch partitions by number, each from an offset up to an end: `records` records come of each whose
        end is beyond the offset, `wait` seconds after the request.
        """
        asked = [
            {"partition": at, "fetch_offset": offset, "log_start_offset": -1, "partition_max_bytes": 1 << 20}
            for at, (offset, _) in ends.items()
        ]
        self.ask(
            FETCH, 4,
            {
                "replica_id": -1, "max_wait_ms": 500 if min_bytes == 1 else 1000, "min_bytes": min_bytes,
                "max_bytes": 1 << 20, "isolation_level": 0,
                "topics": [{"topic": "orders", "partitions": asked}],
            },
        ).wait(wait)  # fmt: skip
        rows = [
            {
                "partition_index": at, "error_code": 0, "high_watermark": end, "last_stable_offset": end,
                "aborted_transactions": None, "records": _records(offset, min(records, end - offset)),
            }
            for at, (offset, end) in ends.items()
        ]  # fmt: skip
        self.answer(FETCH, 4, {"throttle_time_ms": 0, "responses": [{"topic": "orders", "partitions": rows}]})
        return self

    def commit(self, offsets: Mapping[int, int]) -> Consumer:
        """Commit offsets by partition."""
        rows = [
            {"partition_index": at, "committed_offset": offset, "committed_metadata": ""}
            for at, offset in offsets.items()
        ]
        self.ask(
            COMMIT, 2,
            {
                "group_id": "g", "generation_id_or_member_epoch": self.generation, "member_id": self.member,
                "retention_time_ms": -1, "topics": [{"name": "orders", "partitions": rows}],
            },
        )  # fmt: skip
        results = [{"partition_index": at, "error_code": 0} for at in offsets]
        self.answer(COMMIT, 2, {"topics": [{"name": "orders", "partitions": results}]})
        return self


class Writer(Talk):
    """A producer without a producer id that writes to topic `orders`."""

    def write(self, partition: int, offset: int, times: int = 1) -> Writer:
        """Write records one by one, the first one at an offset."""
        for at in range(times):
            data = [{"index": partition, "records": RECORD}]
            self.ask(
                PRODUCE, 3,
                {
                    "transactional_id": None, "acks": -1, "timeout_ms": 1000,
                    "topic_data": [{"name": "orders", "partition_data": data}],
                },
            )  # fmt: skip
            row = {"index": partition, "error_code": 0, "base_offset": offset + at, "log_append_time_ms": -1}
            responses = [{"name": "orders", "partition_responses": [row]}]
            self.answer(PRODUCE, 3, {"responses": responses, "throttle_time_ms": 0})
        return self


def _records(offset: int, count: int) -> bytes:
    """Return batches of one record each."""
    return b"".join(batch_bytes(record_bytes(value=b"paid"), base_offset=offset + at) for at in range(count))
