"""Keys and values within the trees of record batches (`records.spans`): of Kafka's own logs, by schemas."""

from collections.abc import Callable, Iterator
from typing import Any

from kdissect.decoders.generated.values import Value, present
from kdissect.decoders.payloads.internal_records import Bytes, find_record, record_log
from kdissect.decoders.payloads.nesting import nest
from kdissect.decoders.payloads.payload import Found
from kdissect.decoders.payloads.scope import Scope
from kdissect.decoders.records.varint import varint
from kdissect.decoders.trees.masking import conceal_misread, may_be_misread
from kdissect.decoders.trees.node import Decompressed, Node
from kdissect.model.record_batch import CONTROL, Header, Record

TopicName = Callable[[bytes], str | None]
PartValue = Callable[[str | None, Record, bool], tuple[str, Any] | None]
"""The schema of the value (False) or key (True) of a topic's record, and its content, or None."""
# Types of nodes, as `records.spans` names them.
_BATCH, _RECORD, _MESSAGE = "record batch", "record", "message"
_INT32, _INT32_SIZE = "int32", 4  # the length of a message's parts (spec/001 "5.3.3 Old Message Format")


def nest_record_payloads(
    root: Node, data: bytes, topic_name: TopicName, part_value: PartValue | None = None
) -> None:
    """Put trees of keys and values below the records of a message's tree, also of compressed records.

    `topic_name` names topic ids, `part_value` decodes values that are not Kafka's own. Raises nothing.
    """
    _walk(root, data, topic_name, None, part_value)


def _walk(
    node: Node, data: bytes, topic_name: TopicName, topic: str | None, part_value: PartValue | None
) -> None:
    if node.type in (_BATCH, _MESSAGE):
        _batch(node, data, topic, part_value)
        return
    if isinstance(node.value, Value):
        topic = _topic_of(node.value, topic_name) or topic
    for child in node.children:
        _walk(child, data, topic_name, topic, part_value)


def _topic_of(value: Value, topic_name: TopicName) -> str | None:
    for field, _, item in present(value):
        if field.entity == "topicName" and isinstance(item, str):
            return item
        if field.entity == "topicId" and isinstance(item, bytes):
            return topic_name(item)
    return None


def _batch(node: Node, data: bytes, topic: str | None, part_value: PartValue | None) -> None:
    attributes = next((child.value for child in node.children if child.name == "attributes"), 0)
    is_control = node.type != _MESSAGE and bool(attributes & CONTROL)
    if record_log(topic, is_control) is None:
        if part_value is not None:
            for record, buffer in _records_of(node, data):
                _nest_values(record, buffer, topic, part_value)
        return
    for record, buffer in _records_of(node, data):
        parts = {child.name: child for child in record.children if child.name in ("key", "value")}
        kind = _INT32 if record.type == _MESSAGE else "varint"
        key, value = (
            _content(parts[name], buffer, kind) if name in parts else None for name in ("key", "value")
        )
        found = find_record(topic, key, value, is_control)
        _nest(parts.get("key"), key, found.key, kind)
        _nest(parts.get("value"), value, found.value, kind)


def _nest_values(node: Node, data: bytes, topic: str | None, part_value: PartValue) -> None:
    """Put decoded values below the key and the value of a record."""
    kind = _INT32 if node.type == _MESSAGE else "varint"
    places = {child.name: (child, _content(child, data, kind)) for child in node.children if _is_part(child)}
    contents = {
        name: None if place is None else data[place[1] : place[2]] for name, (_, place) in places.items()
    }
    headers: list[Header] = []
    for name, content in contents.items():
        if name.startswith("headers[") and name.endswith(".key") and content is not None:
            headers.append((content.decode("utf-8", "replace"), contents.get(f"{name[:-4]}.value")))
    record = Record(0, 0, contents.get("key"), contents.get("value"), tuple(headers))
    for is_key, name in enumerate(("value", "key")):
        part, place = places.get(name, (None, None))
        found = None if place is None else part_value(topic, record, bool(is_key))
        if part is None or place is None or found is None:
            continue
        length = Node("length", kind, part.start)
        length.end = place[1]
        decoded = Node("decoded", found[0], place[1])
        decoded.end, decoded.value = place[2], found[1]
        part.children = [length, decoded]


def _is_part(node: Node) -> bool:
    return node.name in ("key", "value") or node.name.startswith("headers[")


def _records_of(node: Node, data: bytes) -> Iterator[tuple[Node, bytes]]:
    """Yield the records of a batch that fit, or the message itself, with the buffer they count in."""
    inside = [child for child in node.walk() if isinstance(child, Decompressed)]
    if not inside and node.type == _MESSAGE:
        yield node, data
        return
    places = [(child.children, child.content) for child in inside] or [(node.children, data)]
    for children, buffer in places:
        for record in children:
            if record.type == _MESSAGE or (record.type == _RECORD and record.error is None):
                yield record, buffer


def _content(node: Node, data: bytes, kind: str) -> Bytes | None:
    """Return the bytes behind the length, which is of a `kind`; None for null."""
    if kind == _INT32:
        begin = node.start + _INT32_SIZE
        length = int.from_bytes(data[node.start : begin], signed=True)
    else:
        length, begin = varint(data, node.start, node.end)
    return None if length < 0 else (data, begin, node.end)


def _nest(node: Node | None, content: Bytes | None, found: Found | None, kind: str) -> None:
    if node is None or content is None or found is None:
        return
    data, start, end = content
    length = Node("length", kind, node.start)
    length.end = start
    tree = found.dissect(data, start, end, nest)
    node.children = [length, tree]
    if tree.end < end:
        rest = Node("rest", "bytes", tree.end)
        rest.end = end
        rest.value = data[tree.end : end]
        node.children.append(rest)
    nest(tree, data, Scope())
    if node.is_secret and may_be_misread(node):
        conceal_misread(node)
