"""The records fields of an exchange with their batches, and what is wrong in them."""

from collections.abc import Iterable, Iterator
from functools import cache
from typing import NamedTuple

from kdissect.decoders.body_schemas import body_message
from kdissect.decoders.records.batch_layout import ATTRIBUTES_AT, CURRENT_MAGIC, HEADER_V2, OVERHEAD
from kdissect.decoders.records.batches import BatchList, batch_of, split_batches
from kdissect.decoders.records.checksum import crc32c
from kdissect.decoders.records.records_fields import RecordsField, finder_of
from kdissect.decoders.records.search import find_batch
from kdissect.decoders.records.tally import COPIED
from kdissect.decoders.trees.node import Node
from kdissect.decoders.trees.tree_decoder import dissect
from kdissect.model.anomaly import Anomaly
from kdissect.model.errors import DecodeError
from kdissect.model.frame import Frame
from kdissect.model.record_batch import RecordBatch, RecordFault
from kdissect.schema.all_fields import has_records
from kdissect.schema.protocol_messages import api_name, request_message, response_message
from kdissect.session.exchange import Exchange

_new = tuple.__new__  # saves the call of a NamedTuple's own constructor, once a field


class FieldBatches(NamedTuple):
    """A records field and its batches."""

    records_field: RecordsField
    found: BatchList


class LoneBatch:
    """The one batch in the one records field of an exchange, as nearly all fields have it: of magic 2, of the
    field's length, its checksum right. `header` are the numbers of its header (`layout.HEADER_V2`).
    """

    __slots__ = ("data", "header", "records_field")

    def __init__(self, data: bytes, records_field: RecordsField, header: tuple[int, ...]) -> None:
        self.data = data
        self.records_field = records_field
        self.header = header

    def listed(self) -> tuple[FieldBatches, ...]:
        """Return the same as `record_batches` gives."""
        return (FieldBatches(self.records_field, BatchList([self.batch()], [], 0)),)

    def batch(self) -> RecordBatch:
        """Return the batch with its header by names."""
        _, _, _, _, start, end, _ = self.records_field
        return batch_of(self.data, start, end, self.header, self.header[4])


class PieceEnd(NamedTuple):
    """The bytes a piece of a snapshot ends with that are no whole batch.

    `is_aligned`: whether the first of them is the first of a batch.
    """

    content: bytes
    is_aligned: bool


BEGINNING = PieceEnd(b"", True)
UNKNOWN = PieceEnd(b"", False)


class RecordSet:
    """One records field: its place, its frame, its batches.

    `direction` is that of the records: `produce` to the broker, else the name of the API they were fetched
    by.
    """

    __slots__ = ("_before", "_found", "end", "exchange", "frame", "is_response", "records_field")

    def __init__(
        self, exchange: Exchange, is_response: bool, frame: Frame, records_field: RecordsField
    ) -> None:
        self.exchange = exchange
        self.is_response = is_response
        self.frame = frame
        self.records_field = records_field
        self.end = min(records_field.end, len(frame.data))
        """Where the records end in the frame, as far as it was captured."""
        self._found: BatchList | None = None
        self._before = _before(records_field)

    @property
    def is_whole(self) -> bool:
        """Whether all bytes of the field were captured."""
        return self.end == self.records_field.end

    def lead(self, before: PieceEnd) -> None:
        """Say what the pieces before left, if this is a piece of a snapshot."""
        self._before = before
        self._found = None

    def piece_end(self) -> PieceEnd:
        """Return the bytes after a snapshot piece's last whole batch."""
        found = self.found
        if found.faults:
            return UNKNOWN
        content = self._before.content + self.frame.data[self.records_field.start : self.end]
        if not self._before.is_aligned and not found.batches:
            return PieceEnd(content, False)
        return PieceEnd(content[len(content) - found.cut :], True)

    @property
    def found(self) -> BatchList:
        """The batches, cut when first asked for."""
        if self._found is None:
            self._found = _split(self.frame.data, self.records_field, self.is_response, self._before)
        return self._found

    @property
    def may_be_cut(self) -> bool:
        """Whether the last batch may be incomplete.

        In responses, and where the frame was captured in part.
        """
        return _may_be_cut(self.frame.data, self.records_field, self.is_response)

    @property
    def direction(self) -> str:
        """`produce`, `fetch`, `share_fetch` or `fetch_snapshot`."""
        return direction_of(self.exchange.api_key)

    def path(self) -> str:
        """Return the records field's path in its message."""
        exchange = self.exchange
        assert exchange.api_key is not None
        assert exchange.api_version is not None
        offset = exchange.response_body_offset if self.is_response else exchange.request_body_offset
        key, version, start = exchange.api_key, exchange.api_version, self.records_field.start
        return _records_path(self.frame.data, offset, key, version, self.is_response, start)

    def anomalies(self, faults: Iterable[tuple[int, RecordFault]]) -> list[Anomaly]:
        """Return the anomalies of the field, and `faults` of the records, with the index of their batch."""
        found = [self._told(fault) for fault in self.found.faults]
        kinds = [fault.kind for fault in self.found.faults]
        for index, fault in faults:
            found.append(f"batches[{index}].{self._told(fault)}")
            kinds.append(fault.kind)
        if not found:
            return []
        path, frame = self.path(), self.frame
        return [
            Anomaly(kind, f"{path}.{text}", frame.first_ref, frame.time_ns)
            for kind, text in zip(kinds, found, strict=True)
        ]

    def _told(self, fault: RecordFault) -> str:
        """Return a fault with the place of its byte: in the frame, or in the snapshot of which this is a
        piece.
        """
        before = len(self._before.content)
        if not before or fault.inside:
            return str(fault)
        start = (self.records_field.position or 0) - before
        return f"{fault._replace(offset=start + fault.offset)} of the snapshot"


def _records_path(
    data: bytes, offset: int, api_key: int, api_version: int, is_response: bool, start: int
) -> str:
    """`FetchResponse.responses[0].partitions[1].records` for the records that start at `start`.

    Costs a tree of the body, so it is for faults only. Raises nothing.
    """
    try:
        node = dissect(body_message(api_key, api_version, is_response), api_version, data, offset)
    except DecodeError:
        return "records"
    path = node.name
    while True:
        child = _around(node, start)
        if child is None or child.field is None:
            return path
        path += child.name if child.name.startswith("[") else f".{child.name}"
        node = child


def _around(node: Node, place: int) -> Node | None:
    for child in node.children:
        if child.start <= place < child.end or (child.start < place == child.end and not child.children):
            return child
    return None


def record_sets(exchange: Exchange) -> Iterator[RecordSet]:
    """Yield the records fields of request and response that are not null. Raises nothing.

    An exchange of a request log has none: its records are not known.
    """
    found = _records_fields_of_exchange(exchange)
    if found is not None:
        is_response, frame, records_fields = found
        for records_field in records_fields:
            yield RecordSet(exchange, is_response, frame, records_field)


def record_batches(exchange: Exchange) -> tuple[FieldBatches, ...]:
    """Return the records fields with their batches, split once for all calls. Raises nothing."""
    known: tuple[FieldBatches, ...] | LoneBatch | None = exchange.batches_cache
    if known is None:
        # Without a way back to the exchange: a cycle would keep its frames until the garbage is collected.
        known = exchange.batches_cache = _cut_batches(exchange)
    if type(known) is LoneBatch:
        return known.listed()
    return known  # type: ignore[return-value]  # nothing else is kept there


def lone_batch(exchange: Exchange) -> LoneBatch | None:
    """Return the batch of an exchange whose bodies are decoded and plain, if it has exactly one.

    The result is cached. Raises nothing.
    """
    known = exchange.batches_cache
    if known is None:
        known = None if exchange.connection.logged is not None else _lone(exchange)
        if known is None:
            known = _cut_batches(exchange)
        exchange.batches_cache = known
    return known if type(known) is LoneBatch else None


def _lone(exchange: Exchange) -> LoneBatch | None:
    # Hot, once an exchange with records.
    asked, answered = exchange.bodies_cache or (None, None)
    if asked is not None and asked.records_fields is not None:
        records_fields, frame = asked.records_fields, exchange.request
    elif answered is not None and answered.records_fields is not None:
        records_fields, frame = answered.records_fields, exchange.response
    else:
        return None
    if frame is None or len(records_fields) != 1:
        return None
    _, _, _, position, start, end, _ = records_field = records_fields[0]
    if position or end - start < HEADER_V2.size:
        return None
    data = frame.data
    header = HEADER_V2.unpack_from(data, start)
    if header[3] != CURRENT_MAGIC or header[1] != end - start - OVERHEAD:
        return None
    content = data if end - start < COPIED else memoryview(data)
    if header[4] != crc32c(content[start + ATTRIBUTES_AT : end]):
        return None
    return LoneBatch(data, records_field, header)


def _cut_batches(exchange: Exchange) -> tuple[FieldBatches, ...]:
    bodies = exchange.bodies_cache
    if bodies is not None and exchange.connection.logged is None:
        asked, answered = bodies
        if asked is not None and asked.records_fields is not None and exchange.request is not None:
            return field_batches(exchange.request.data, asked.records_fields, is_response=False)
        if answered is not None and answered.records_fields is not None and exchange.response is not None:
            return field_batches(exchange.response.data, answered.records_fields, is_response=True)
    found = _records_fields_of_exchange(exchange)
    if found is None:
        return ()
    is_response, frame, records_fields = found
    return field_batches(frame.data, records_fields, is_response=is_response)


def field_batches(
    data: bytes, records_fields: Iterable[RecordsField], *, is_response: bool
) -> tuple[FieldBatches, ...]:
    """Return the batches of a body's records fields in `data`. Raises nothing."""
    size = len(data)
    made = []
    for records_field in records_fields:
        _, _, _, position, start, end, _ = records_field
        if position or end > size:
            found = _split(data, records_field, is_response, _before(records_field))
        else:  # nearly always
            found = split_batches(data, start, end, may_be_cut=is_response)
        made.append(_new(FieldBatches, (records_field, found)))
    return tuple(made)


def _records_fields_of_exchange(exchange: Exchange) -> tuple[bool, Frame, list[RecordsField]] | None:
    """Return the side that has records (True: the response), its frame, the records fields in it that are not
    null.

    Those that were not captured at all are left out; None where there cannot be any.
    """
    key, version = exchange.api_key, exchange.api_version
    is_response = None if key is None else records_side(key)
    if key is None or version is None or is_response is None or exchange.connection.logged is not None:
        return None
    frame = exchange.response if is_response else exchange.request
    if frame is None:
        return None
    offset = exchange.response_body_offset if is_response else exchange.request_body_offset
    finder = finder_of(key, version, is_response)
    found = finder(frame.data, offset) if finder else []
    if found and found[-1].start > len(frame.data):  # they stand one behind the other
        found = [records_field for records_field in found if records_field.start <= len(frame.data)]
    return is_response, frame, found


def _may_be_cut(data: bytes, records_field: RecordsField, is_response: bool) -> bool:
    return is_response or records_field.end > len(data)


def _before(records_field: RecordsField) -> PieceEnd:
    """Return the bytes before a field, unless a caller knows them: a piece of a snapshot begins anywhere
    (KIP-630).
    """
    return UNKNOWN if records_field.position else BEGINNING


def _split(data: bytes, records_field: RecordsField, is_response: bool, before: PieceEnd) -> BatchList:
    start, end = records_field.start, min(records_field.end, len(data))
    may_be_cut = _may_be_cut(data, records_field, is_response)
    if before.content:
        data = before.content + data[start:end]
        start, end = 0, len(data)
    if not before.is_aligned:  # the first whole batch is where a checksum is right
        found = find_batch(data, start, end)
        start = end if found is None else found
    return split_batches(data, start, end, may_be_cut=may_be_cut)


@cache
def records_side(api_key: int) -> bool | None:
    """Return whether the records of an API stand in the response (True) or the request (False); None without
    any.
    """
    for is_response, message in ((False, request_message(api_key)), (True, response_message(api_key))):
        if message is not None and has_records(message):
            return is_response
    return None


@cache
def direction_of(api_key: int | None) -> str:
    """Return the name of an API in snake_case, as rows have it: `share_fetch`."""
    name = "" if api_key is None else api_name(api_key) or ""
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name).lstrip("_")
