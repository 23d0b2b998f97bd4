"""Where in a frame secrets stand: by trees, payloads and record batches."""

from collections.abc import Iterator

from kdissect.decoders.frames import dissect_request, dissect_response
from kdissect.decoders.payloads.nesting import token_node
from kdissect.decoders.records.checksum import crc32c
from kdissect.decoders.trees.masking import secret_nodes
from kdissect.decoders.trees.node import Node
from kdissect.engine.payload_facts import payload_facts
from kdissect.engine.records.internal_forms import may_hold_secrets_of
from kdissect.engine.records.record_sets import RecordSet, record_sets
from kdissect.engine.secrets.patches import FILLER, Patch
from kdissect.model.frame import Frame
from kdissect.model.record_batch import RecordBatch
from kdissect.schema.logs import METADATA_TOPIC, METADATA_TOPIC_ID
from kdissect.session.exchange import Exchange, ExchangeKind

_PAYLOADS = frozenset({"payload", "frame"})  # types of nodes whose own fields are judged
_DECOMPRESSED = "decompressed"  # type of nodes whose offsets count elsewhere
_AFTER_ID = 4  # of a response of an unknown request: its header begins with the correlation id
_CRC_AT, _CRC_FROM = 17, 21  # in a batch of magic 2: spec/001 "5.3.1 Record Batch"
_CURRENT_MAGIC = 2


def secret_spans(exchange: Exchange, side: str, frame: Frame) -> Iterator[tuple[int, int]]:
    """Yield the bytes of secret values, and near secrets all that could not be decoded."""
    tree = frame_tree(exchange, side, frame)
    if tree is None:
        yield _AFTER_ID, len(frame.data)
    else:
        yield from _masks(tree, secret_nodes(tree))
        if exchange.is_near_secrets:
            yield from undecoded(tree, frame)


def record_patches(exchange: Exchange, frame: Frame) -> Iterator[Patch]:
    """Yield the patches for records that may contain secrets."""
    for records in record_sets(exchange):
        if records.frame is frame and may_hold_secrets_of(_topic(records)):
            yield from _records(records)


def frame_tree(exchange: Exchange, side: str, frame: Frame) -> Node | None:
    """Return the tree of a frame with its payloads; None for a response of an unknown API. Raises nothing."""
    key, version, facts = exchange.api_key, exchange.api_version, payload_facts(exchange, side)
    if exchange.kind is ExchangeKind.SASL_TOKEN:
        token = token_node(frame.data, facts)
        if frame.is_cut:
            token.children.clear()  # all of its bytes together have a meaning
        return token
    if side == "request":
        return dissect_request(frame.data, size_prefixed=False, facts=facts)
    if key is None or version is None:
        return None
    return dissect_response(frame.data, key, version, size_prefixed=False, facts=facts)


def _masks(node: Node, secret: frozenset[int]) -> Iterator[tuple[int, int]]:
    """Yield the bytes of secret values, without their lengths. Payloads report their own secrets."""
    if id(node) not in secret:
        for child in node.children:
            if child.type != _DECOMPRESSED:
                yield from _masks(child, secret)
    elif not node.children:
        yield node.start, node.end
    else:
        for child in node.children:
            if child.type in _PAYLOADS:
                yield from _masks(child, secret)
            elif child.name not in ("length", "marker"):
                yield child.start, child.end


def undecoded(tree: Node, frame: Frame) -> Iterator[tuple[int, int]]:
    """Yield the bytes that the tree does not reach because something before them did not fit."""
    if tree.end < len(frame.data):
        yield _last_sound(tree), len(frame.data)


def _last_sound(node: Node) -> int:
    """Return where the innermost piece that does not fit begins.

    An array with more elements than there can be is such a piece as a whole: what is read as its elements may
    be anything.
    """
    wrong = next((child for child in node.children if child.error), None)
    if wrong is None or (node.error is not None and wrong.error is not node.error):
        return node.start
    return _last_sound(wrong)


def _topic(records: RecordSet) -> str | None:
    """Return the name of the topic.

    Among topics named by id, only the metadata log's name is known beforehand.
    """
    records_field = records.records_field
    is_metadata = records_field.topic_id == METADATA_TOPIC_ID or records.exchange.is_of_metadata
    return METADATA_TOPIC if records_field.topic is None and is_metadata else records_field.topic


def _records(records: RecordSet) -> Iterator[Patch]:
    """Yield contents of batches that may hold secrets, and checksums that fit what is there then."""
    at = records.records_field.start
    for batch in records.found.batches:
        yield Patch(at, FILLER * max(batch.start - at, 0))
        content = Patch(batch.records_start, FILLER * (batch.end - batch.records_start))
        yield content
        if batch.magic == _CURRENT_MAGIC and batch.crc_is_right:
            yield _checksum(batch, content)
        at = batch.end
    yield Patch(at, FILLER * max(records.end - at, 0))


def _checksum(batch: RecordBatch, content: Patch) -> Patch:
    head = batch.data[batch.start + _CRC_FROM : content.start]
    return Patch(batch.start + _CRC_AT, crc32c(bytes(head) + content.data).to_bytes(4))
