"""Batches and records as nodes with their bytes, in the tree of a message, also inside compressed batches.

Below a node of type `decompressed` the bytes are counted in what the batch decompresses to.
"""

from itertools import pairwise

from kdissect.decoders.as_json.jsonable import text_or_bytes
from kdissect.decoders.compression.codec import codec_name, decompress
from kdissect.decoders.records.batch_layout import CURRENT_MAGIC, HEADER_V0, HEADER_V1, HEADER_V2
from kdissect.decoders.records.batches import split_batches
from kdissect.decoders.records.reader import decompressed
from kdissect.decoders.records.varint import MAX_VARINT, MAX_VARLONG, record_bounds, varint
from kdissect.decoders.trees.node import Decompressed, Node
from kdissect.model.errors import DecodeError
from kdissect.model.record_batch import (
    CONTROL,
    DELETE_HORIZON,
    LOG_APPEND_TIME,
    TRANSACTIONAL,
    RecordBatch,
    RecordFault,
)
from kdissect.model.wording import plural
from kdissect.schema.types import Primitive

# A tree uses some hundred times the memory of its bytes, and a person does not read more.
MAX_RECORDS = 5000
MAX_TEXT = 400  # longer text is represented as bytes, which the tree cuts

# Names and types as spec/001 "5.3.1 Record Batch" and "5.3.3 Old Message Format" have them, with widths.
_BATCH = (
    ("base_offset", "int64", 8), ("batch_length", "int32", 4), ("partition_leader_epoch", "int32", 4),
    ("magic", "int8", 1), ("crc", "uint32", 4), ("attributes", "int16", 2), ("last_offset_delta", "int32", 4),
    ("base_timestamp", "int64", 8), ("max_timestamp", "int64", 8), ("producer_id", "int64", 8),
    ("producer_epoch", "int16", 2), ("base_sequence", "int32", 4), ("record_count", "int32", 4),
)  # fmt: skip
_MESSAGE = (
    ("offset", "int64", 8), ("message_size", "int32", 4), ("crc", "uint32", 4), ("magic", "int8", 1),
    ("attributes", "int8", 1), ("timestamp", "int64", 8),
)  # fmt: skip
_FLAGS = (
    (LOG_APPEND_TIME, "log append time"),
    (TRANSACTIONAL, "transactional"),
    (CONTROL, "control"),
    (DELETE_HORIZON, "delete horizon"),
)


_CONTENTS = frozenset({"key", "value", "rest", "more records", "nested message"})


def nest_records(root: Node, data: bytes, may_be_cut: bool, may_hold_secrets: bool = False) -> None:
    """Replace the contents of a tree's records fields by batches. Raises nothing.

    `may_hold_secrets`: keys, values and what could not be read are marked as secret.
    """
    for node in list(root.walk()):
        if node.field is None or node.field.type is not Primitive.RECORDS or not node.children:
            continue
        content = node.children[-1]
        if content.name == "content" and content.end > content.start:
            nodes = batch_nodes(data, content.start, content.end, may_be_cut)
            node.children[-1:] = nodes
            if may_hold_secrets:
                _conceal(nodes)


def _conceal(nodes: list[Node]) -> None:
    for node in nodes:
        is_closed = node.name == "records" and not node.children  # an unknown codec
        is_content = node.name in _CONTENTS or node.name.startswith("headers[")
        if is_closed or is_content or node.type == "nested message":
            node.is_secret = True
        _conceal(node.children)


def batch_nodes(data: bytes, start: int, end: int, may_be_cut: bool, *, inside: bool = False) -> list[Node]:
    """Return the batches in `data[start:end]` and the bytes between them, which together fill it.

    `inside` a compressed message there are messages, which are not opened if they are compressed too.
    """
    nodes: list[Node] = []
    found = split_batches(data, start, end, may_be_cut=may_be_cut)
    at = start
    for batch in found.batches[:MAX_RECORDS]:
        if batch.start > at:
            nodes.append(_rest(data, at, batch.start, found.faults))
        nodes.append((_inner if inside else _batch)(batch, f"[{len(nodes)}]"))
        at = batch.end
    nodes = _apart(nodes)
    at = nodes[-1].end if nodes else start
    if at < end:
        nodes.append(_rest(data, at, end, found.faults))
    return nodes


def _apart(nodes: list[Node]) -> list[Node]:
    """Return nodes that do not overlap: a batch whose length reaches over the next one ends where that
    begins.
    """
    for first, second in pairwise(nodes):
        if first.end > second.start:
            first.end = second.start
            first.children.clear()
    return nodes


def _rest(data: bytes, start: int, end: int, faults: list[RecordFault]) -> Node:
    node = _leaf("rest", "bytes", start, end, data[start:end])
    for fault in faults:
        if start <= fault.offset < end:
            node.error = DecodeError(fault.path, fault.offset, fault.why)
    return node


def _leaf(name: str, kind: str, start: int, end: int, value: object) -> Node:
    node = Node(name, kind, start)
    node.end = end
    node.value = value
    return node


def _batch(batch: RecordBatch, name: str) -> Node:
    is_current = batch.magic == CURRENT_MAGIC
    node = Node(name, "record batch" if is_current else "message", batch.start)
    node.end = batch.end
    header = HEADER_V2 if is_current else HEADER_V1 if batch.magic else HEADER_V0
    at = batch.start
    fields = _BATCH if is_current else _MESSAGE
    for (field, kind, width), value in zip(fields, header.unpack_from(batch.data, at), strict=False):
        node.children.append(_leaf(field, kind, at, at + width, value))
        at += width
    _explain(node, batch)
    node.children += _record_nodes(batch) if is_current else _message_parts(batch)
    node.error = next((child.error for child in node.children if child.error), None)
    return node


def _explain(node: Node, batch: RecordBatch) -> None:
    """Say what the attributes mean, and which checksum the bytes give."""
    for child in node.children:
        if child.name == "attributes":
            flags = [text for bit, text in _FLAGS if batch.attributes & bit]
            child.type += f" ({', '.join([codec_name(batch.codec), *flags])})"
        elif child.name == "crc" and not batch.crc_is_right:
            child.error = DecodeError("crc", child.start, f"the bytes give {batch.computed_crc}")


def _record_nodes(batch: RecordBatch) -> list[Node]:
    start, end = batch.records_start, batch.end
    if not batch.codec:
        return _records(batch.data, start, end)
    node = _leaf("records", codec_name(batch.codec), start, end, None)
    faults: list[RecordFault] = []
    content = decompressed(batch, faults)
    if content is None:
        node.error = DecodeError("records", faults[0].offset, faults[0].why)
        node.value = batch.data[start:end]
    else:
        node.children.append(_decompressed(content, _records(content, 0, len(content))))
        node.error = node.children[0].error
    return [node]


def _decompressed(content: bytes, children: list[Node]) -> Node:
    node = Decompressed("records", content)
    node.children = children
    node.error = next((child.error for child in children if child.error), None)
    return node


def _records(data: bytes, start: int, end: int) -> list[Node]:
    nodes: list[Node] = []
    at = start
    while at < end and len(nodes) < MAX_RECORDS:
        try:
            begin, stop = record_bounds(data, at, end)
        except ValueError as error:
            nodes.append(_leaf("rest", "bytes", at, end, data[at:end]))
            nodes[-1].error = DecodeError(f"records[{len(nodes) - 1}].length", at, str(error))
            return nodes
        nodes.append(_record(data, at, begin, stop, f"records[{len(nodes)}]"))
        at = stop
    if at < end:
        nodes.append(_leaf("more records", "bytes", at, end, data[at:end]))
    return nodes


def _record(data: bytes, start: int, begin: int, stop: int, name: str) -> Node:
    node = _leaf(name, "record", start, stop, None)
    pull = _Parts(data, begin, stop, node)
    node.children.append(_leaf("length", "varint", start, begin, stop - begin))
    try:
        pull.octet("attributes")
        pull.number("timestamp_delta", MAX_VARLONG)
        pull.number("offset_delta")
        pull.content("key", nullable=True)
        pull.content("value", nullable=True)
        for index in range(pull.number("header_count")):
            pull.content(f"headers[{index}].key", nullable=False)
            pull.content(f"headers[{index}].value", nullable=True)
        if pull.at != stop:
            raise ValueError(f"{plural(stop - pull.at, 'byte is', 'bytes are')} left over in the record")
    except ValueError as error:
        node.error = DecodeError(name, pull.at, str(error))
        if pull.at < stop:
            node.children.append(_leaf("rest", "bytes", pull.at, stop, data[pull.at : stop]))
    return node


class _Parts:
    """A cursor that adds a node for everything it pulls. `at` stays where something does not fit."""

    def __init__(self, data: bytes, at: int, stop: int, node: Node) -> None:
        self._data = data
        self._stop = stop
        self._node = node
        self.at = at

    def _add(self, name: str, kind: str, end: int, value: object) -> None:
        self._node.children.append(_leaf(name, kind, self.at, end, value))
        self.at = end

    def octet(self, name: str) -> None:
        if self.at >= self._stop:
            raise ValueError("the record is empty")
        self._add(name, "int8", self.at + 1, self._data[self.at])

    def number(self, name: str, most: int = MAX_VARINT) -> int:
        value, end = varint(self._data, self.at, self._stop, most)
        self._add(name, "varlong" if most == MAX_VARLONG else "varint", end, value)
        return value

    def content(self, name: str, nullable: bool) -> None:
        length, begin = varint(self._data, self.at, self._stop)
        if length < (-1 if nullable else 0):
            raise ValueError(f"{name}: length {length} is not allowed")
        end = begin + max(length, 0)
        if end > self._stop:
            raise ValueError(f"{name}: {plural(length, 'byte runs', 'bytes run')} past the end of the record")
        if length < 0:
            self._add(name, "null", end, None)
        else:
            self._add(name, "bytes", end, shown(self._data[begin:end]))


def shown(content: bytes) -> str | bytes:
    """Short text as text, all else as bytes."""
    return text_or_bytes(content) if len(content) <= MAX_TEXT else content


def _message_parts(batch: RecordBatch) -> list[Node]:
    """Return the key and value of a message with magic 0 or 1.

    The value of a compressed one contains messages.
    """
    nodes: list[Node] = []
    at = batch.records_start
    for name in ("key", "value"):
        length = int.from_bytes(batch.data[at : at + 4], signed=True)
        end = at + 4 + max(length, 0)
        if length < -1 or end > batch.end:
            nodes.append(_leaf("rest", "bytes", at, batch.end, batch.data[at : batch.end]))
            nodes[-1].error = DecodeError(
                name, at, f"length {length}, {plural(batch.end - at - 4, 'byte follows', 'bytes follow')}"
            )
            return nodes
        content = batch.data[at + 4 : end]
        kind, value = ("null", None) if length < 0 else ("bytes", shown(content))
        nodes.append(_leaf(name, kind, at, end, value))
        at = end
    if at < batch.end:
        nodes.append(_leaf("rest", "bytes", at, batch.end, batch.data[at : batch.end]))
    if batch.codec:
        _open_wrapper(nodes[1], batch, bytes(batch.data[nodes[1].start + 4 : nodes[1].end]))
    return nodes


def _open_wrapper(node: Node, batch: RecordBatch, content: bytes) -> None:
    try:
        inner = decompress(batch.codec, content, magic=batch.magic)
    except DecodeError as error:
        node.error = DecodeError("value", node.start + 4 + error.offset, f"{error.path}: {error.why}")
        return
    children = batch_nodes(inner, 0, len(inner), may_be_cut=False, inside=True)
    node.value = None
    node.type = codec_name(batch.codec)
    node.children = [_decompressed(inner, children)]


def _inner(message: RecordBatch, name: str) -> Node:
    """Return a message inside another one. If it is compressed itself, it is not opened: Kafka refuses it."""
    if message.codec:
        content = message.data[message.start : message.end]
        return _leaf(name, "nested message", message.start, message.end, content)
    return _batch(message, name)
