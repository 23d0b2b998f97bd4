"""Requests of a client to a scripted cluster, in the order of their arrival, and the responses."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kdissect.conform.statement_results import Place
from kdissect.decoders.records.batches import split_batches
from kdissect.model.frame import RequestHeader
from kdissect.schema.protocol_messages import api_by_name

PRODUCE, FETCH, LIST_OFFSETS, METADATA, FIND_COORDINATOR = 0, 1, 2, 3, 10
_RECORDS_AT = 61  # of a batch of magic 2 (spec/001 "5.3.1 Record Batch")


class Asked:
    """A request, and the response to it.

    Times are seconds of one monotonic clock. `body` is None if it does not decode. `replied_at` is None until
    the response is sent, and without a response.
    """

    __slots__ = ("at", "body", "header", "node", "number", "place", "replied_at", "reply")

    def __init__(
        self, number: int, node: int, place: Place, header: RequestHeader, body: Any, at: float
    ) -> None:
        self.number = number
        self.node = node
        self.place = place
        self.header = header
        self.body = body
        self.at = at
        self.reply: Any = None
        """The body of the response as values by field."""
        self.replied_at: float | None = None

    @property
    def key(self) -> int:
        """The API key."""
        return self.header.api_key

    @property
    def version(self) -> int:
        """The API version."""
        return self.header.api_version

    @property
    def connection(self) -> tuple[int, int]:
        """Ports of the client and of the node."""
        return self.place[:2]

    def get(self, name: str, default: Any = None) -> Any:
        """Return a field of the body, the default if the version does not have it."""
        return getattr(self.body, name, default)


class ProducedBatch:
    """A batch of a Produce request. `records` are its bytes after the header, equal if it is sent again."""

    __slots__ = ("count", "epoch", "partition", "producer_id", "records", "sequence")

    def __init__(self, partition: tuple[Any, int], data: bytes) -> None:
        found = split_batches(data, 0, len(data)).batches
        self.partition = partition
        self.records = data[_RECORDS_AT:]
        self.producer_id = found[0].producer_id if found else -1
        self.epoch = found[0].producer_epoch if found else -1
        self.sequence = found[0].base_sequence if found else -1
        self.count = found[0].count or 0 if found else 0

    @property
    def identity(self) -> tuple[Any, int, int, int]:
        """Partition, producer id, epoch and sequence."""
        return self.partition, self.producer_id, self.epoch, self.sequence


def produced(asked: Asked) -> list[ProducedBatch]:
    """Return the batches of a Produce request, one for each partition."""
    return [
        ProducedBatch((topic_of(topic), part.index), bytes(part.records))
        for topic in asked.get("topic_data", ())
        for part in topic.partition_data
        if part.records
    ]


def repeats_records(asked: Iterable[Asked]) -> bool:
    """Return whether several batches have equal records."""
    seen: dict[bytes, tuple[Any, int, int, int]] = {}
    for one in asked:
        for each in produced(one):
            identity = each.identity
            known = seen.setdefault(each.records, identity)
            if known is not identity and (known != identity or each.producer_id < 0):
                return True
    return False


def fetched(asked: Asked) -> dict[tuple[Any, int], int]:
    """Return the offset of each partition of a Fetch request."""
    return {
        (topic_of(topic), part.partition): part.fetch_offset
        for topic in asked.get("topics", ())
        for part in topic.partitions
    }


def topic_of(row: Any) -> Any:
    """Return the id or the name of a topic in a request."""
    for name in ("topic_id", "name", "topic"):
        found = getattr(row, name, None)
        if found:
            return found
    return None


def key_of(name: str) -> int:
    """Return the key of an API. Raises KeyError."""
    found = api_by_name(name)
    if found is None:
        raise KeyError(name)
    return found.key
