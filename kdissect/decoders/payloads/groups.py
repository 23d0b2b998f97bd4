"""Data that members of a group exchange through the coordinator, which does not read it.

The group's protocol type says which format it is: `consumer`, `connect`, `sr` (Schema Registry). Messages
that do not repeat the type (SyncGroup before version 5, older JoinGroup responses) are recognised by bytes
that fit exactly.
"""

from kdissect.decoders.payloads.payload import Found, Layout, Plain, fits
from kdissect.decoders.payloads.scope import Scope
from kdissect.decoders.payloads.text import json_text
from kdissect.decoders.payloads.versioned import VERSION_SIZE, is_exactly, versioned
from kdissect.schema import protocol_messages

CONSUMER, CONNECT, SCHEMA_REGISTRY = "consumer", "connect", "sr"
STICKY, COOPERATIVE_STICKY, STREAMS = "sticky", "cooperative-sticky", "stream"  # names of assignors
_PROTOCOL = ("name", "protocol_name", "protocol_data", "protocol")
_COOPERATIVE_SIZE = 4  # one int32 (CooperativeStickyAssignor), too short for the other layouts with any topic
_NO_TOPIC = 8  # an empty sticky layout: count and generation, both int32


def metadata(data: bytes, start: int, end: int, scope: Scope) -> Found | None:
    """Return the metadata of a member that joins."""
    names = "ConsumerProtocolSubscription", "ConnectProtocolMetadata", "SchemaRegistryMetadata"
    return _of_group(names, data, start, end, scope)


def assignment(data: bytes, start: int, end: int, scope: Scope) -> Found | None:
    """Return the leader's assignment for a member."""
    names = "ConsumerProtocolAssignment", "ConnectProtocolAssignment", "SchemaRegistryAssignment"
    return _of_group(names, data, start, end, scope)


def _of_group(names: tuple[str, str, str], data: bytes, start: int, end: int, scope: Scope) -> Found | None:
    consumer, connect, schema_registry = names
    kind = scope.find("protocol_type") or _guess(names, data, start, end, scope)
    if kind == CONSUMER:
        return versioned(consumer, data, start, end)
    if kind == CONNECT:
        return versioned(connect, data, start, end, tolerant=True)
    if kind == SCHEMA_REGISTRY:
        return json_text(schema_registry, data, start, end)
    return None


def _guess(names: tuple[str, str, str], data: bytes, start: int, end: int, scope: Scope) -> str | None:
    if scope.message.startswith("ConsumerGroup"):  # a classic member in a group with the new protocol
        return CONSUMER
    for kind, name in ((CONSUMER, names[0]), (CONNECT, names[1])):
        if is_exactly(name, data, start, end):
            return kind
    return None


def connect_assignment(data: bytes, start: int, end: int, scope: Scope) -> Found | None:
    """Return the assignment a Connect worker holds, within its metadata."""
    return versioned("ConnectProtocolAssignment", data, start, end, tolerant=True)


def subscription_user_data(data: bytes, start: int, end: int, scope: Scope) -> Found | None:
    """Return the user data of an assignor in a subscription. Only Apache Kafka's assignors are known."""
    name = scope.find(*_PROTOCOL)
    if name == STREAMS:
        return _streams("SubscriptionInfoData", data, start, end)
    if name in (STICKY, COOPERATIVE_STICKY):
        return _sticky(name, data, start, end)
    return None


def assignment_user_data(data: bytes, start: int, end: int, scope: Scope) -> Found | None:
    """Return the assignor's user data in an assignment, which Kafka Streams and librdkafka's sticky assignors
    have.

    SyncGroup does not name the protocol before version 5: bytes that fit exactly are accepted then.
    """
    name = scope.find(*_PROTOCOL)
    if name == STREAMS:
        return _streams("AssignmentInfo", data, start, end)
    if name in (STICKY, COOPERATIVE_STICKY):
        return _sticky(name, data, start, end)
    if name is not None:
        return None
    found = _streams("AssignmentInfo", data, start, end)
    if isinstance(found, Layout) and fits(found.message, found.version, data, found.offset, end):
        return found
    return _sticky(STICKY, data, start, end) if end - start > _NO_TOPIC else None


def _streams(name: str, data: bytes, start: int, end: int) -> Found:
    """Kafka Streams: the first int32 is the version, and the layout's first field too.

    Later versions have another layout than the last one known: the result is the version only.
    """
    message = protocol_messages.payload(name)
    version = int.from_bytes(data[start : min(start + 4, end)], signed=True)
    if end - start < 4 or version not in message.versions:
        return Plain(name, {"version": version})
    return Layout(message, version, start, version)


def _sticky(name: str, data: bytes, start: int, end: int) -> Found | None:
    """Return the sticky assignors write no version: try the newer layout, then the older, as StickyAssignor
    does.

    librdkafka writes the sticky layout under `cooperative-sticky` too, Java one int32. kafka-python 3
    nevertheless writes the version before it, as an int16.
    """
    if name == COOPERATIVE_STICKY and end - start == _COOPERATIVE_SIZE:
        return Layout(protocol_messages.payload("CooperativeStickyAssignorUserData"), 0, start)
    message = protocol_messages.payload("StickyAssignorUserData")
    for version in (1, 0):
        if fits(message, version, data, start, end):
            return Layout(message, version, start)
    if is_exactly(message.name, data, start, end):
        version = data[start + 1]
        return Layout(message, version, start + VERSION_SIZE, version)
    return None
