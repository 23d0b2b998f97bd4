"""Keys and values of Kafka's own logs within the trees of record batches (`records.spans`)."""

from collections.abc import Callable

from kdissect.decoders.node import Node
from kdissect.decoders.payloads.nesting import nest
from kdissect.decoders.payloads.payload import Found
from kdissect.decoders.payloads.records import Bytes, find_record, record_log
from kdissect.decoders.payloads.scope import Scope
from kdissect.decoders.records.varint import varint
from kdissect.decoders.values import Value, present
from kdissect.model.record_batch import CONTROL

TopicName = Callable[[bytes], str | None]
_BATCH, _RECORD = "record batch", "record"  # types of nodes, as `records.spans` names them
_DECOMPRESSED = "decompressed"


def nest_record_payloads(root: Node, data: bytes, topic_name: TopicName) -> None:
    """Put trees of keys and values below the records of a message's tree. Raises nothing.

    `topic_name` names topic ids. Records inside of compressed batches stay bytes: their bytes are not in
    `data`, and Kafka writes its own logs uncompressed.
    """
    _walk(root, data, topic_name, None)


def _walk(node: Node, data: bytes, topic_name: TopicName, topic: str | None) -> None:
    if node.type == _DECOMPRESSED:
        return
    if node.type == _BATCH:
        _batch(node, data, topic)
        return
    if isinstance(node.value, Value):
        topic = _topic_of(node.value, topic_name) or topic
    for child in node.children:
        _walk(child, data, topic_name, topic)


def _topic_of(value: Value, topic_name: TopicName) -> str | None:
    for field, _, item in present(value):
        if field.entity == "topicName" and isinstance(item, str):
            return item
        if field.entity == "topicId" and isinstance(item, bytes):
            return topic_name(item)
    return None


def _batch(node: Node, data: bytes, topic: str | None) -> None:
    attributes = next((child.value for child in node.children if child.name == "attributes"), 0)
    is_control = bool(attributes & CONTROL)
    if record_log(topic, is_control) is None:
        return
    for record in node.children:
        if record.type == _RECORD and record.error is None:
            parts = {child.name: child for child in record.children if child.name in ("key", "value")}
            key, value = (_content(parts[name], data) if name in parts else None for name in ("key", "value"))
            found = find_record(topic, key, value, is_control)
            _nest(parts.get("key"), key, found.key)
            _nest(parts.get("value"), value, found.value)


def _content(node: Node, data: bytes) -> Bytes | None:
    """The bytes behind the length; None for null."""
    length, begin = varint(data, node.start, node.end)
    return None if length < 0 else (data, begin, node.end)


def _nest(node: Node | None, content: Bytes | None, found: Found | None) -> None:
    if node is None or content is None or found is None:
        return
    data, start, end = content
    length = Node("length", "varint", node.start)
    length.end = start
    tree = found.dissect(data, start, end)
    node.children = [length, tree]
    if tree.end < end:
        rest = Node("rest", "bytes", tree.end)
        rest.end = end
        rest.value = data[tree.end : end]
        node.children.append(rest)
    nest(tree, data, Scope())
