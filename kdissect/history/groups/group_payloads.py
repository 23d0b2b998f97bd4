"""Assignments and subscriptions inside JoinGroup and SyncGroup (the consumer's protocol)."""

from __future__ import annotations

import struct
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeVar

from kdissect.decoders.generated.compiled import decoder
from kdissect.model.errors import DecodeError
from kdissect.schema import protocol_messages

if TYPE_CHECKING:
    from functools import _lru_cache_wrapper

CONSUMER = "consumer"  # the protocol type whose bytes these are (ConsumerProtocol.PROTOCOL_TYPE)
_VERSION = struct.Struct(
    ">h"
)  # before the body (org.apache.kafka.clients.consumer.internals.ConsumerProtocol)
_CONNECTOR = -1  # the task that stands for the connector itself (ConnectProtocol.CONNECTOR_TASK)

_KEPT, _KEPT_BYTES = 512, 2048  # members send the same bytes at each rebalance

R = TypeVar("R")
Assigned = frozenset[tuple[str, int]]


def assigned_partitions(assignment: bytes) -> Assigned | None:
    """Return topics and partitions of an assignment: none for empty bytes, None for bytes of another form."""
    return _of_small(_assigned, assignment) if assignment else frozenset()


@lru_cache(maxsize=_KEPT)
def _assigned(assignment: bytes) -> Assigned | None:
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


def subscribed_topics(metadata: bytes) -> tuple[str, ...] | None:
    """Return topics of a subscription; None for bytes of another form."""
    return _of_small(_subscribed, metadata)


@lru_cache(maxsize=_KEPT)
def _subscribed(metadata: bytes) -> tuple[str, ...] | None:
    body = _decode("ConsumerProtocolSubscription", metadata)
    return None if body is None else tuple(map(str, body.topics or ()))


def _of_small(read: _lru_cache_wrapper[R], data: bytes) -> R:
    """Return what `read` finds in bytes, which it remembers if they are few."""
    return read(data) if len(data) <= _KEPT_BYTES else read.__wrapped__(data)


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
