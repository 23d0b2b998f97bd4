"""Mutators of values that many APIs have, and of versions."""

import random
from collections.abc import Iterator
from typing import Any

from kdissect.decoders.encoder import encode, encode_request, encode_response
from kdissect.decoders.generated.values import Value, items
from kdissect.decoders.trees.node import Node
from kdissect.schema.enums import enumeration
from kdissect.schema.releases import history
from tests.mutation.corpus import API_VERSIONS, Side, prefix, recordings
from tests.mutation.families.bytes_of_bodies import pick
from tests.mutation.families.bytes_of_headers import bodies
from tests.mutation.mutators import (
    MANY,
    Edit,
    Mutant,
    changed,
    edits,
    mutator,
    other_value,
    sides,
    splices,
    spread,
)
from tests.support.messages.traffic import BROKER, CLIENT

MANY_TOPICS = (
    "Produce",
    "Fetch",
    "ListOffsets",
    "OffsetCommit",
    "DeleteRecords",
    "TxnOffsetCommit",
    "AddPartitionsToTxn",
)
NUMBERS = ("index", "partition", "partition_index")


# Enumerated fields that have rules of their own: PRD001, ADM012, FET009.
OWNED = ("acks", "election_type", "acknowledge_types")


def values(value: Any) -> Iterator[Value]:
    """Yield a struct and all structs below it."""
    yield value
    for _, item in items(value):
        for element in item if isinstance(item, list) else (item,):
            if isinstance(element, Value):
                yield from values(element)


def having(value: Any, *names: str) -> list[tuple[Any, str]]:
    """Return structs of a body that have one of these fields, with its name."""
    return [(of, name) for of in values(value) for name, _ in items(of) if name in names]


# any field


@splices("unknown-enum-value", "BDY017", "a value outside its enumeration is newer than the schema, and told")
def _enum(body: Side, rng: random.Random) -> bytes | None:
    def is_closed(node: Node) -> bool:
        if node.field is None or node.field.enum is None or node.type not in ("int8", "int16"):
            return False
        known = enumeration(node.field.enum)
        return known is not None and not known.is_open and node.field.name not in OWNED

    node = pick(body, rng, is_closed, tags=True)
    return (
        None
        if node is None
        else body.spliced(node.start, node.end, b"\0" * (node.end - node.start - 1) + b"\x63")
    )


# Where -1 stands for no partition or all of them it is legal; these number partitions of topics.
@edits(
    "negative-partition", "BDY021", "partitions are numbered from 0",
    ("Produce", "Fetch", "ListOffsets", "OffsetCommit", "DeleteRecords"),
)  # fmt: skip
def _negative_partition(value: Any, _: Any) -> bool:
    found = having(value, *NUMBERS)
    for of, name in found[:1]:
        setattr(of, name, -1)
    return bool(found)


@edits(
    "negative-partition-answered", "BDY021", "partitions are numbered from 0",
    ("Produce", "Fetch", "ListOffsets", "Metadata", "OffsetCommit", "OffsetFetch"), BROKER,
)  # fmt: skip
def _negative_answer(value: Any, _: Any) -> bool:
    return _negative_partition(value, _)


@edits("partition-twice", "BDY022", "a partition stands once in a request", MANY_TOPICS)
def _twice(value: Any, _: Any) -> bool:
    for of in values(value):
        for name, item in items(of):
            if name in ("partitions", "partition_data") and isinstance(item, list) and item:
                item.append(item[0])
                return True
    return False


@edits(
    "negative-timeout", "BDY024", "a timeout is not negative",
    ("Produce", "Fetch", "JoinGroup", "CreateTopics", "DeleteTopics", "DeleteRecords", "CreatePartitions",
     "ElectLeaders", "ShareFetch"),
    limit=MANY,
)  # fmt: skip
def _timeout(value: Any, _: Any) -> bool:
    found = [name for name, _ in items(value) if name in ("timeout_ms", "max_wait_ms", "session_timeout_ms")]
    for name in found[:1]:
        setattr(value, name, -5)
    return bool(found)


@edits(
    "message-without-error", "BDY025", "error_message is null beside error code 0",
    ("FindCoordinator", "CreateTopics", "DeleteTopics", "CreatePartitions", "CreateAcls", "DescribeConfigs",
     "AlterConfigs", "IncrementalAlterConfigs", "ConsumerGroupHeartbeat", "ShareGroupHeartbeat"),
    BROKER, limit=MANY,
)  # fmt: skip
def _message(value: Any, _: Any) -> bool:
    found = [of for of, _ in having(value, "error_message") if getattr(of, "error_code", 1) == 0]
    for of in found[:1]:
        of.error_message = "ok"  # type: ignore[attr-defined]
    return bool(found)


@edits("replica-id-below-2", "BDY027", "replica_id is -2 or more", ("Fetch", "ListOffsets"))
def _replica(value: Any, _: Any) -> bool:
    if not having(value, "replica_id") or not hasattr(value, "replica_id"):
        return False
    value.replica_id = -3
    return True


BELOW_ASKED = {
    "current_leader_epoch": ("Fetch", "ListOffsets"),
    "generation_id": ("JoinGroup", "SyncGroup", "Heartbeat"),
    "generation_id_or_member_epoch": ("OffsetCommit",),
    "member_epoch": ("ConsumerGroupHeartbeat", "StreamsGroupHeartbeat"),
    "producer_epoch": ("InitProducerId", "EndTxn"),
}


def _below(name: str) -> Edit:
    def edit(value: Any, _: Any) -> bool:
        found = having(value, name)
        for of, _name in found[:1]:
            setattr(of, name, -7)
        return bool(found)

    return edit


for _name, _apis in BELOW_ASKED.items():
    edits(f"{_name.replace('_', '-')}-asked-below-all", "BDY029", f"{_name} is -2 or more", _apis)(
        _below(_name)
    )


# versions


def translated(body: Side, version: int) -> tuple[bytes, bytes] | None:
    """Request and response of a body's exchange in another version; None where a value has no place there."""
    exchange = body.scene.exchange
    asked, answered = (
        (body.value(), other_value(body)) if body.side == CLIENT else (other_value(body), body.value())
    )
    if asked is None or answered is None or exchange.correlation_id is None:
        return None
    try:
        request = encode_request(body.api.key, version, exchange.correlation_id, exchange.client_id, asked)
        response = encode_response(body.api.key, version, exchange.correlation_id, answered)
    except ValueError:
        return None
    return request[4:], response[4:]


@mutator("answer-in-other-version", "VER012", "a response is in the version of its request", MANY)
def _other_version(rng: random.Random) -> Iterator[Mutant]:
    for body in bodies(rng, BROKER):
        versions = range(body.message.versions.first, body.message.versions.last + 1)
        for version in rng.sample(versions, len(versions)):
            both = translated(body, version)
            if both is None or body.api.key == API_VERSIONS or len(both[1]) < 64:
                continue  # a short body fits several versions by chance
            fitting = [v for v in versions if _fits_behind_header(body, both[1], v)]
            shifted = any(body.fits(both[1], None, shift) for shift in (-1, 1))
            if version != body.version and fitting == [version] and not shifted:
                yield changed(body, both[1], f"as v{version}")
                break


@mutator("request-in-other-version", "VER018", "a request is in the version that its header names", MANY)
def _asked_in_other_version(rng: random.Random) -> Iterator[Mutant]:
    """Yield mutants in which the header is right, and the body is one of another version."""
    for body in bodies(rng, CLIENT):
        versions = range(body.message.versions.first, body.message.versions.last + 1)
        for version in rng.sample(versions, len(versions)):
            if translated(body, version) is None or version == body.version:
                continue
            content = body.data[: body.offset] + encode(body.message, version, body.value())
            # A short body fits several versions by chance, and another header may explain it as well.
            shifted = any(body.fits(content, None, shift) for shift in (-1, 1))
            if len(content) - body.offset >= 32 and not body.fits(content) and not shifted:
                yield changed(body, content, f"as v{version}")
                break


def _fits_behind_header(body: Side, content: bytes, version: int) -> bool:
    """Return whether a response is one of a version, its header included."""
    tags = body.message.is_flexible(version) and body.api.key != API_VERSIONS
    if tags and content[4] != 0:
        return False
    return body.fits(content, version, 4 + tags - body.offset)


def _in_version(body: Side, version: int) -> Mutant | None:
    both = translated(body, version)
    if both is None:
        return None
    talk = body.scene.talk().replace(body.scene.target, CLIENT, both[0])
    return Mutant(body.scene, talk.replace(body.scene.target, BROKER, both[1]), body.scene.target, CLIENT)


@mutator("dropped-version", "VER016", "versions that Kafka dropped are told", MANY)
def _dropped(rng: random.Random) -> Iterator[Mutant]:
    for body in bodies(rng, CLIENT):
        known = history(body.api.key)
        gone = [v for v in range(body.version) if known is not None and v in known.gone]
        if known is not None and body.version not in known.gone and gone:
            mutant = _in_version(body, rng.choice(gone))
            if mutant is not None:
                yield mutant


@mutator("unstable-version", "VER011", "versions behind a switch are told", 6)
def _unstable(rng: random.Random) -> Iterator[Mutant]:
    for body in bodies(rng, CLIENT):
        known = history(body.api.key)
        for version in range(known.unstable.first, known.unstable.last + 1) if known is not None else ():
            mutant = _in_version(body, version) if version != body.version else None
            if mutant is not None:
                yield mutant


def _in_flight(body: Side) -> bool:
    """Return whether an earlier request of the scene waits when the exchange's is sent."""
    lines = body.scene.talk().lines
    before = lines[: lines.index(next(x for x in lines if x.exchange == body.scene.target))]
    return any(
        not any(b.exchange == a.exchange and b.side == BROKER for b in before)
        for a in before
        if a.side == CLIENT
    )


@mutator("refused-by-close", "VER014", "versions that brokers dropped are refused with a close")
def _refused(rng: random.Random) -> Iterator[Mutant]:
    """Yield mutants in which the broker closes after a request in an old version, on a connection without
    ApiVersions.
    """
    for body in spread([b for b in sides() if b.side == CLIENT], rng):
        known = history(body.api.key)
        keys = {exchange.api_key for exchange in body.scene.exchanges[: body.scene.target]}
        if (
            known is None
            or body.version not in known.gone
            or body.api.key in (4, 5, 6, 7)
            or API_VERSIONS in keys
        ):
            continue
        if _in_flight(body) or not getattr(body.value(), "acks", 1):
            continue
        talk = body.scene.talk()
        talk.cut_behind(talk.line(body.scene.target, CLIENT)).closer = BROKER
        yield Mutant(body.scene, talk, body.scene.target, CLIENT)


# ApiVersions


@edits("api-twice", "VER007", "each API is advertised once", ("ApiVersions",), BROKER)
def _api_twice(value: Any, _: Any) -> bool:
    value.api_keys.append(value.api_keys[0])
    return True


@edits(
    "range-upside-down",
    "VER007",
    "min_version is at most max_version, and none negative",
    ("ApiVersions",),
    BROKER,
)
def _inverted(value: Any, _: Any) -> bool:
    row = value.api_keys[-1]
    row.min_version, row.max_version = row.max_version + 1, row.min_version
    return True


@edits(
    "range-negative",
    "VER007",
    "min_version is at most max_version, and none negative",
    ("ApiVersions",),
    BROKER,
)
def _negative_range(value: Any, _: Any) -> bool:
    value.api_keys[-1].min_version = -1
    return True


@edits("api-versions-not-listed", "VER008", "ApiVersions lists itself", ("ApiVersions",), BROKER)
def _not_itself(value: Any, _: Any) -> bool:
    value.api_keys = [row for row in value.api_keys if row.api_key != API_VERSIONS]
    return True


@edits(
    "software-name",
    "VER009",
    "names of software are letters, digits, dots and dashes",
    ("ApiVersions",),
    versions=(3, 4, 5),
)
def _software(value: Any, _: Any) -> bool:
    value.client_software_name = "my client"
    return True


@edits(
    "software-version",
    "VER009",
    "names of software are letters, digits, dots and dashes",
    ("ApiVersions",),
    versions=(3, 4, 5),
)
def _software_version(value: Any, _: Any) -> bool:
    value.client_software_version = "-1.0"
    return True


@edits(
    "advertised-above-known", "VER015", "versions newer than the schema are told", ("ApiVersions",), BROKER
)
def _newer(value: Any, _: Any) -> bool:
    value.api_keys[0].max_version = 99
    return True


@edits(
    "error-35-in-version",
    "VER005",
    "error 35 to ApiVersions comes in version 0",
    ("ApiVersions",),
    BROKER,
    range(1, 6),
)
def _error_35(value: Any, _: Any) -> bool:
    value.error_code = 35
    return True


@splices("error-35-in-no-version", "VER004", "error 35 to ApiVersions comes in version 0", BROKER, 12)
def _fallback(body: Side, rng: random.Random) -> bytes | None:
    if body.api.key != API_VERSIONS or body.version == 0:
        return None
    return body.data[: body.offset] + (35).to_bytes(2) + body.data[body.offset + 2 : -1]


@mutator("fallback-without-itself", "VER005", "error 35 names the range of ApiVersions", 12)
def _empty_fallback(rng: random.Random) -> Iterator[Mutant]:
    for scene, content in _fallbacks(rng):
        # count 1, ApiVersions 0-n -> the entry of another API
        if content[6:12] == (1).to_bytes(4) + API_VERSIONS.to_bytes(2):
            other = content[:10] + (3).to_bytes(2) + content[12:]
            yield Mutant(scene, scene.talk().replace(scene.target, BROKER, other), scene.target, BROKER)


@mutator("fallback-ignored", "VER006", "after error 35 a client asks in a listed version", 12)
def _ignored(rng: random.Random) -> Iterator[Mutant]:
    """Yield mutants in which the broker's refusal lists a range in which the client's second question does
    not lie.
    """
    for scene, content in _fallbacks(rng):
        if content[6:12] == (1).to_bytes(4) + API_VERSIONS.to_bytes(2):
            other = content[:12] + (90).to_bytes(2) + (91).to_bytes(2)
            yield Mutant(scene, scene.talk().replace(scene.target, BROKER, other), scene.target + 1, CLIENT)


def _fallbacks(rng: random.Random) -> Iterator[tuple[Any, bytes]]:
    """ApiVersions exchanges that were refused, with the answer."""
    for recording in rng.sample(recordings(), len(recordings())):
        for index, exchange in enumerate(recording.exchanges[:2]):
            if exchange.api_key == API_VERSIONS and exchange.response is not None:
                content = exchange.response.data
                if content[4:6] == (35).to_bytes(2) and len(recording.exchanges) > index + 1:
                    yield prefix(recording, index), content
