"""Mutators of bytes: any body of any API and version, changed at a piece that the schema names."""

import random
from collections.abc import Callable, Iterator
from typing import Any

from kdissect.decoders.cursor import encode_uvarint
from kdissect.decoders.encoder import encode
from kdissect.decoders.generated.struct_layout import Layout
from kdissect.decoders.generated.values import items
from kdissect.decoders.trees.node import Node
from kdissect.schema.types import Array, Field, Message, Struct
from tests.mutation.corpus import Side, side_of
from tests.mutation.mutators import MANY, Mutant, changed, mutator, sides, splices, spread
from tests.support.messages.traffic import BROKER, CLIENT

ODD = b"\xde\xad\xbe\xef\x5a"  # bytes that fit nothing
VENDOR_TAG = 9001  # far from every tag that Kafka uses
API_VERSIONS = 18


def pieces(node: Node) -> Iterator[Node]:
    """Yield the pieces of a body, but not those inside a tag: the tag's size would have to change
    with them.
    """
    yield node
    if node.type != "tag":
        for child in node.children:
            yield from pieces(child)


def pick(body: Side, rng: random.Random, fits: Callable[[Node], bool], tags: bool = False) -> Node | None:
    """Return a piece of the body; with `tags` one inside a tag too."""
    found = [node for node in (body.tree.walk() if tags else pieces(body.tree)) if fits(node)]
    return rng.choice(found) if found else None


def parent_of(root: Node, child: Node) -> Node:
    """Return the node around another."""
    return next(node for node in root.walk() if child in node.children)


def is_length(node: Node) -> bool:
    """Return whether a node is the length of a string or bytes field, or the count of an array."""
    return node.field is None and node.name in ("length", "count") and node.type in ("int16", "int32")


def is_compact_length(node: Node) -> bool:
    """Return the same in flexible versions; tag sections have counts too."""
    return node.field is None and node.name in ("length", "count") and node.type == "uvarint"


# ends


@splices("trailing-bytes", "FRM006", "a frame ends where its body ends")
def _trailing(body: Side, rng: random.Random) -> bytes:
    return body.data + ODD[: rng.choice((3, 4, 5))]


@splices("body-cut", "BDY001", "a body holds every field of its version")
def _cut(body: Side, rng: random.Random) -> bytes | None:
    """End the frame inside a field of fixed width, or right before it."""
    return _cut_in(body, rng, [node for node in body.tree.children if _is_fixed(node)])


@splices("array-cut", "BDY002", "a count is at most what the bytes that are left can hold")
def _array_cut(body: Side, rng: random.Random) -> bytes | None:
    """End the frame after the count of an array that is not empty."""
    arrays = [node for node in body.tree.children if node.type.startswith("[]") and len(node.children) > 1]
    if not arrays:
        return None
    content = body.data[: rng.choice(arrays).children[0].end]
    return content if _is_misfit(body, content) else None


def _is_fixed(node: Node) -> bool:
    return node.field is not None and node.type in ("int16", "int32", "int64", "uuid")


def _cut_in(body: Side, rng: random.Random, fields: list[Node]) -> bytes | None:
    if not fields or body.data[body.offset :] == bytes(len(body.data) - body.offset):
        return None
    node = fields[-1]
    content = body.data[: rng.randrange(node.start, node.end)]
    return content if _is_misfit(body, content) else None


def _is_misfit(body: Side, content: bytes) -> bool:
    """Return whether bytes are the body of no version at all: else another statement is broken than was
    meant.
    """
    first, last = body.message.versions.first, body.message.versions.last
    return not any(
        body.fits(content, version, shift) for shift in (-1, 0, 1) for version in range(first, last + 1)
    )


# lengths


def _sized(body: Side, rng: random.Random, length: int, nullable: bool | None = None) -> bytes | None:
    """Return a classic length replaced by another; `nullable` picks fields that may or may not be null."""
    layout = Layout(body.message, body.version)
    root = body.tree

    def fits(node: Node) -> bool:
        if not is_length(node):
            return False
        field = parent_of(root, node).field
        return field is not None and (nullable is None or layout.is_nullable(field) is nullable)

    node = pick(body, rng, fits)
    if node is None:
        return None
    content = body.spliced(node.start, node.end, length.to_bytes(node.end - node.start, signed=True))
    return content if _is_misfit(body, content) else None


@splices("negative-length", "BDY004", "a length is -1 (null), 0 or more")
def _negative(body: Side, rng: random.Random) -> bytes | None:
    return _sized(body, rng, -rng.choice((2, 3, 100)))


@splices("huge-length", "BDY002", "a length or count is at most the bytes that are left")
def _huge(body: Side, rng: random.Random) -> bytes | None:
    return _sized(body, rng, 0x7FFF - rng.randrange(100))


@splices("huge-compact-length", "BDY002", "a length or count is at most the bytes that are left")
def _huge_compact(body: Side, rng: random.Random) -> bytes | None:
    root = body.tree
    node = pick(body, rng, lambda node: is_compact_length(node) and parent_of(root, node).type != "tags")
    if node is None:
        return None
    content = body.spliced(node.start, node.end, encode_uvarint(0x7FFFFFFF - rng.randrange(1000)))
    return content if _is_misfit(body, content) else None


@splices(
    "null-not-allowed", "BDY003", "null stands only in fields that are nullable in the version", limit=64
)
def _null(body: Side, rng: random.Random) -> bytes | None:
    layout = Layout(body.message, body.version)
    plain = [
        node
        for node in pieces(body.tree)
        if node.field is not None
        and node.children
        and node.children[0].name in ("length", "count")
        and not node.name.startswith("[")
        and not layout.is_nullable(node.field)
    ]
    if not plain:
        return None
    node = rng.choice(plain)
    length = node.children[0]
    null = b"\0" if length.type == "uvarint" else b"\xff" * (length.end - length.start)
    content = body.spliced(node.start, node.end, null)
    return content if _is_misfit(body, content) else None


# varints


@splices("varint-beyond-32-bits", "BDY005", "an unsigned varint has at most 5 bytes and 32 bits")
def _wide_varint(body: Side, rng: random.Random) -> bytes | None:
    node = pick(body, rng, is_compact_length)
    wide = rng.choice((b"\xff\xff\xff\xff\xff\x01", b"\x80\x80\x80\x80\x80\x00"))
    return None if node is None else body.spliced(node.start, node.end, wide)


@splices("long-varint", "BDY007", "a varint takes as few bytes as it can")
def _long_varint(body: Side, rng: random.Random) -> bytes | None:
    node = pick(body, rng, lambda node: is_compact_length(node) and node.end - node.start == 1)
    if node is None:
        return None
    return body.spliced(node.start, node.end, bytes((body.data[node.start] | 0x80, 0)))


# tags


def _with_tags(body: Side, rng: random.Random, *tags: tuple[int, bytes]) -> bytes | None:
    """Return tags added to an empty tag section."""
    node = pick(body, rng, lambda node: node.type == "tags" and node.value == 0)
    if node is None:
        return None
    put = encode_uvarint(len(tags))
    for tag, content in tags:
        put += encode_uvarint(tag) + encode_uvarint(len(content)) + content
    return body.spliced(node.start, node.end, put)


@splices("unknown-tag", "BDY010", "a tag the schema does not know is legal, and told")
def _unknown_tag(body: Side, rng: random.Random) -> bytes | None:
    return _with_tags(body, rng, (VENDOR_TAG, ODD))


@splices("tags-descending", "BDY008", "tags stand in ascending order")
def _descending(body: Side, rng: random.Random) -> bytes | None:
    return _with_tags(body, rng, (VENDOR_TAG + 1, b""), (VENDOR_TAG, ODD))


@splices("tag-twice", "BDY009", "a tag stands once in a section")
def _twice(body: Side, rng: random.Random) -> bytes | None:
    return _with_tags(body, rng, (VENDOR_TAG, ODD), (VENDOR_TAG, ODD))


def tagged_fields(body: Side) -> list[tuple[Node, Field]]:
    """Empty tag sections of a body, with fields that the message has there in the version."""
    layout = Layout(body.message, body.version)
    found = []
    for node in pieces(body.tree):
        of = _struct_of(body, node)
        section = node.children[-1] if node.children else None
        if of is not None and section is not None and section.type == "tags" and section.value == 0:
            found += [(section, field) for field in layout.tagged_fields(of)]
    return found


def _struct_of(body: Side, node: Node) -> Struct | None:
    """Return the struct of a node."""
    if node.field is None:
        return body.message.root if node.type == body.message.root.name else None
    kind = node.field.type
    if isinstance(kind, Array) and node.name.startswith("["):
        kind = kind.element
    return kind if isinstance(kind, Struct) else None


@mutator("tag-size-too-large", "BDY006", "a tagged field takes exactly the bytes its size says", MANY)
def _tag_size(rng: random.Random) -> Iterator[Mutant]:
    for body in spread(sides(), rng):
        fields = [(section, field) for section, field in tagged_fields(body) if _default(body, field)]
        if fields:
            section, field = rng.choice(fields)
            put = b"\x01" + encode_uvarint(field.tag or 0)
            held = _default(body, field) + b"\0"
            content = body.spliced(section.start, section.end, put + encode_uvarint(len(held)) + held)
            if not body.fits(content):
                yield changed(body, content, f"tag {field.tag}")


def _default(body: Side, field: Field) -> bytes:
    """Return a tagged field with its default, as bytes; empty where it has none or is of no plain type."""
    is_null = field.default is None
    if isinstance(field.type, Struct | Array) or (is_null and body.version not in field.nullable):
        return b""
    of = body.message
    single = Message(of.name, of.kind, of.api_key, of.versions, of.flexible, Struct("Single", (field,)))
    whole = encode(single, body.version, {field.name: field.default})
    return whole[3:]  # behind the count of tags, the tag and its size


@mutator("tagged-default", "BDY012", "a tagged field that holds its default need not be sent", MANY)
def _tagged_default(rng: random.Random) -> Iterator[Mutant]:
    for body in spread(sides(), rng):
        for section, field in tagged_fields(body)[:1]:
            held = _default(body, field)
            if held:
                put = b"\x01" + encode_uvarint(field.tag or 0) + encode_uvarint(len(held)) + held
                yield changed(body, body.spliced(section.start, section.end, put), f"tag {field.tag}")


@mutator("tag-of-other-version", "BDY011", "a tagged field is sent in versions that have it", MANY)
def _other_version(rng: random.Random) -> Iterator[Mutant]:
    for body in spread(sides(), rng):
        root = body.tree
        section = root.children[-1] if root.children else None
        if section is None or section.type != "tags" or section.value != 0:
            continue
        for field in body.message.root.fields:
            if field.tag is not None and body.version not in field.versions:
                put = b"\x01" + encode_uvarint(field.tag) + encode_uvarint(len(ODD)) + ODD
                yield changed(body, body.spliced(section.start, section.end, put), f"tag {field.tag}")


# values that fit


@splices("not-utf8", "BDY013", "a string is valid UTF-8")
def _not_utf8(body: Side, rng: random.Random) -> bytes | None:
    node = pick(body, rng, lambda node: node.name == "content" and node.type == "string" and bool(node.value))
    return None if node is None else body.spliced(node.start, node.start + 1, b"\xff")


@splices("string-beyond-int16", "BDY014", "a string is at most 32767 bytes long, compact or not")
def _long_string(body: Side, rng: random.Random) -> bytes | None:
    root = body.tree
    node = pick(body, rng, lambda node: node.name == "content" and node.type == "string" and bool(node.value))
    if node is None:
        return None
    length = parent_of(root, node).children[0]
    text = b"a" * (0x7FFF + 1 + rng.randrange(9))
    compact = length.type == "uvarint"
    return body.spliced(length.start, node.end, encode_uvarint(len(text) + 1) + text) if compact else None


@splices("boolean-2", "BDY015", "a boolean is 0 or 1")
def _boolean(body: Side, rng: random.Random) -> bytes | None:
    node = pick(body, rng, lambda node: node.field is not None and node.type == "bool", tags=True)
    return None if node is None else body.spliced(node.start, node.end, bytes((rng.randrange(2, 256),)))


@splices("struct-marker-2", "BDY016", "the marker before a nullable struct is -1 or 1")
def _marker(body: Side, rng: random.Random) -> bytes | None:
    node = pick(body, rng, lambda node: node.name == "marker" and node.value == 1)
    return None if node is None else body.spliced(node.start, node.end, b"\x02")


@splices(
    "unknown-error-code", "BDY018", "an error code is one of org.apache.kafka.common.protocol.Errors", BROKER
)
def _error_code(body: Side, rng: random.Random) -> bytes | None:
    node = pick(body, rng, lambda node: node.field is not None and node.field.is_error)
    if node is None:
        return None
    return body.spliced(node.start, node.end, rng.randrange(900, 30000).to_bytes(2))


@splices("impossible-error-code", "BDY031", "no error code is below -1", BROKER)
def _impossible_code(body: Side, rng: random.Random) -> bytes | None:
    node = pick(body, rng, lambda node: node.field is not None and node.field.is_error)
    if node is None:
        return None
    return body.spliced(node.start, node.end, (-rng.randrange(900, 30000)).to_bytes(2, signed=True))


@splices("negative-throttle", "BDY023", "throttle_time_ms is 0 or more", BROKER)
def _throttle(body: Side, rng: random.Random) -> bytes | None:
    node = pick(body, rng, lambda node: node.name == "throttle_time_ms")
    if node is None:
        return None
    return body.spliced(node.start, node.end, (-rng.randrange(1, 9999)).to_bytes(4, signed=True))


BY_ID = {
    "Produce": 13,
    "Fetch": 13,
    "OffsetCommit": 10,
    "OffsetFetch": 10,
    "ShareFetch": 0,
    "ShareAcknowledge": 0,
}


UNKNOWN_TOPIC_ID = 100  # org.apache.kafka.common.protocol.Errors


@mutator("zero-topic-id", "BDY019", "a request that names topics by id alone names no zero id", MANY)
def _zero_id(rng: random.Random) -> Iterator[Mutant]:
    """Yield mutants in which the broker refuses the topic."""
    for body in spread([b for b in sides() if b.side == CLIENT and _is_by_id(b)], rng):
        answer, node = side_of(body.scene, BROKER), pick(body, rng, lambda node: node.name == "topic_id")
        value = None if answer is None else answer.value()
        if answer is None or node is None or not _refuse(value, body.data[node.start : node.end]):
            continue
        target = body.scene.target
        talk = body.talk(body.spliced(node.start, node.end, bytes(16)))
        yield Mutant(body.scene, talk.replace(target, BROKER, answer.encoded(value)), target, CLIENT)


def _is_by_id(body: Side) -> bool:
    return body.version >= BY_ID.get(body.api.name, body.version + 1)


def _refuse(value: Any, topic_id: bytes) -> bool:
    """Answer for the zero id in place of another one, with an error for each partition."""
    rows = []
    for _, item in items(value):
        for topic in item if isinstance(item, list) else ():
            if getattr(topic, "topic_id", None) == topic_id:
                topic.topic_id = bytes(16)
                rows += (
                    getattr(topic, "partition_responses", None) or getattr(topic, "partitions", None) or ()
                )
    for row in rows:
        row.error_code = UNKNOWN_TOPIC_ID
    return bool(rows)


OF_CLIENTS = (
    *BY_ID,
    "Metadata",
    "DeleteTopics",
    "CreateTopics",
    "ConsumerGroupHeartbeat",
    "DescribeTopicPartitions",
)


@splices("reserved-topic-id", "BDY020", "the id of __cluster_metadata stands for no other topic")
def _reserved_id(body: Side, rng: random.Random) -> bytes | None:
    if body.api.name == "Fetch" or body.api.name not in OF_CLIENTS:
        return None
    node = pick(body, rng, lambda node: node.name == "topic_id")
    return None if node is None else body.spliced(node.start, node.end, bytes(15) + b"\x01")
