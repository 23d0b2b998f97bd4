"""Assignments and subscriptions inside JoinGroup and SyncGroup (the consumer's protocol)."""

import struct
from collections.abc import Callable
from functools import lru_cache, wraps
from typing import Any, TypeVar

from kdissect.decoders.generated.compiled import decoder
from kdissect.model.errors import DecodeError
from kdissect.schema import protocol_messages

CONSUMER = "consumer"  # the protocol type whose bytes these are (ConsumerProtocol.PROTOCOL_TYPE)
_VERSION = struct.Struct(
    ">h"
)  # before the body (org.apache.kafka.clients.consumer.internals.ConsumerProtocol)
_CONNECTOR = -1  # the task that stands for the connector itself (ConnectProtocol.CONNECTOR_TASK)

Assigned = frozenset[tuple[str, int]]
Read = TypeVar("Read")
# Members send and get the same again and again, and several readers decode it.
_KEPT, _BYTES_KEPT = 256, 1024


def _of_same(read: Callable[[bytes], Read]) -> Callable[[bytes], Read]:
    """Cache the results for the last short bytes."""
    known = lru_cache(maxsize=_KEPT)(read)

    @wraps(read)
    def of(data: bytes) -> Read:
        return known(data) if len(data) <= _BYTES_KEPT else read(data)

    return of


@_of_same
def assigned_partitions(assignment: bytes) -> Assigned | None:
    """Return topics and partitions of an assignment: none for empty bytes, None for bytes of another form."""
    if not assignment:
        return frozenset()
    body = _decode("ConsumerProtocolAssignment", assignment)
    return None if body is None else _pairs(body.assigned_partitions)


def connect_tasks(assignment: bytes) -> frozenset[str] | None:
    """Return connectors and tasks of a Connect worker: `NAME` and `NAME/TASK`; None for bytes of another
    form.
    """
    body = _decode("ConnectProtocolAssignment", assignment) if assignment else None
    if body is None:
        return None
    return frozenset(
        str(row.connector) if task == _CONNECTOR else f"{row.connector}/{task}"
        for row in body.assignment or ()
        for task in row.tasks or ()
    )


@_of_same
def subscribed_topics(metadata: bytes) -> tuple[str, ...] | None:
    """Return topics of a subscription; None for bytes of another form."""
    body = _decode("ConsumerProtocolSubscription", metadata)
    return None if body is None else tuple(map(str, body.topics or ()))


def _pairs(topics: Any) -> Assigned:
    return frozenset(
        (str(row.topic), partition) for row in topics or () for partition in row.partitions or ()
    )


def _decode(name: str, data: bytes) -> Any:
    """Ignore bytes after the body, and decode newer versions as the newest known one (ConsumerProtocol)."""
    if len(data) < _VERSION.size:
        return None
    (version,) = _VERSION.unpack_from(data)
    message = protocol_messages.payload(name)
    version = min(version, message.versions.last)
    if version < 0:
        return None
    try:
        return decoder(message, version)(data, _VERSION.size)[0]
    except DecodeError:
        return None
