"""Records fields to rows by the compiled hot path: many fields at a time, without an object for each record.

Callbacks from the native engine to Python, and the handling of fields that it leaves to Python.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from operator import attrgetter
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar, cast

from kdissect.decoders.body_schemas import body_message
from kdissect.decoders.compression.codec import decompress_within, growth, usual_growth
from kdissect.decoders.generated.native_plan import native_layout
from kdissect.decoders.records.batches import split_batches
from kdissect.decoders.records.records_fields import RecordsField, has_pieces
from kdissect.engine.records.acquired import SHARE_FETCH
from kdissect.engine.records.assigned_offsets import AssignedOffsets
from kdissect.engine.records.record_rows import TopicNames, record_topic
from kdissect.engine.records.record_sets import RecordSet, direction_of, records_side
from kdissect.engine.transfer_rows import PRODUCE, transfer_rows
from kdissect.model.errors import DecodeError
from kdissect.model.frame import Frame
from kdissect.model.native import native
from kdissect.schema.all_fields import has_records
from kdissect.schema.logs import log
from kdissect.session.exchange import Exchange
from kdissect.session.info import ConnectionInfo

if TYPE_CHECKING:
    from kdissect.engine.records.compiled_values import CompiledValues

HeldField = tuple[Exchange, Frame, str | None, bytes | None, int, int, int]
"""A records field: topic, its id, partition, where it begins and ends in the frame."""
# Results of `take_exchange`: no work is left, there is enough to `close`, or the caller must find the fields
# and `add` them.
TAKEN, ENOUGH, LOOK = range(3)

Way = tuple[bool, str, "native.Layout | None"]
"""The side that has records (True: the response), their direction, the layout; None for what Python reads."""
WayOfRows = tuple[Way, "native.PartitionRows | None"]
"""The same, and what reads the response to records that a producer sends."""
ExchangeRow = tuple[ConnectionInfo, int, str | None, Frame | None, int, Frame | None, int]
"""Connection, ordinal, client id, request, response, and where the body begins in each."""


class ExchangeQuestions(NamedTuple):
    """Callbacks about objects, called once for each."""

    kind: Callable[[Exchange], tuple[int | None, int | None]]
    """API and version."""
    exchange: Callable[[Exchange], ExchangeRow]
    frame: Callable[[Frame], tuple[bytes, int, int]]
    """Its bytes, its first packet's reference and time."""
    connection: Callable[[ConnectionInfo], tuple[str, str, str, str | None, str | None]]
    """Its id, its client, its broker, its principal, its software."""


class NameQuestions(NamedTuple):
    """Callbacks that are called once for each kind of body, topic id, file or topic."""

    way: Callable[[int, int], WayOfRows | None]
    name: Callable[[Exchange, Frame, bytes], str | None]
    """The name of a topic id."""
    file: Callable[[int], str]
    topic: Callable[[str], tuple[bool, bool]]
    """Whether records of a topic (empty: without a name) are wanted, and whether they are Kafka's own."""


class BatchQuestions(NamedTuple):
    """Callbacks about compressed or cut batches."""

    limits: Callable[[], tuple[tuple[int, int, int], tuple[int, int]]]
    """`growth` and `usual_growth`."""
    gzip: Callable[[], int]
    """Returns from how many bytes on a member is Python's, which has a faster library."""
    lz4: Callable[[], Callable[[bytes], bytes]]
    """Returns the library's function for frames whose content is bounded by their length."""
    zstd: Callable[[], Callable[[bytes, int, bool, bool], bytes]]
    """Returns the library's function for frames that contain their size, or are small. No other caller may
    use the decompressor: sharing it between threads corrupts its output.
    """
    decompress: Callable[[int, bytes, int], bytes | None]
    """The records of a batch; None if they exceed the byte limit, or if the codec does not write such
    data.
    """
    rest_fits: Callable[[bytes, int, int, bool], bool]
    """Whether bytes after the batches of a field are the beginning of one that may be cut."""


_EXCHANGES = ExchangeQuestions(
    attrgetter("api_key", "api_version"),
    attrgetter(
        "connection", "ordinal", "client_id", "request", "request_body_offset", "response",
        "response_body_offset",
    ),
    attrgetter("data", "first_ref", "time_ns"),
    attrgetter("id", "client_text", "broker_text", "principal", "software"),
)  # fmt: skip

_Made = TypeVar("_Made")


class CompiledRecords(Generic[_Made]):
    """Holds records fields, and decodes them into rows of a `writer`.

    `take` returns the rows that the writer has by now (True: `close` is over), `by_rows` what Python makes of
    a field that is left to it. `note` gets anomalies that are found there. `file_name` returns the name of an
    input by its number, `wants` whether the records of a topic, by its name, are needed. `values` decodes
    keys and values by schemas.
    """

    def __init__(
        self,
        writer: native.RecordColumns | native.RecordLines,
        file_name: Callable[[int], str],
        take: Callable[[bool], Iterator[_Made]],
        by_rows: Callable[[RecordSet], Iterator[_Made]],
        note: Callable[[Exception, Exchange], None],
        topic_name: TopicNames | None = None,
        wants: Callable[[str], bool] | None = None,
        values: CompiledValues | None = None,
    ) -> None:
        def name(exchange: Exchange, frame: Frame, topic_id: bytes) -> str | None:
            field = RecordsField(None, topic_id, None, None, 0, 0)
            return record_topic(RecordSet(exchange, frame is exchange.response, frame, field), topic_name)

        def topic(topic: str) -> tuple[bool, bool]:
            return wants is None or wants(topic), log(topic) is not None

        names = NameQuestions(way, name, file_name, topic)
        self._held = native.HeldRecords(
            writer, _EXCHANGES, names, BATCH_QUESTIONS, None if values is None else values.asked
        )
        self.take_exchange = self._held.take
        """Hold what an exchange has: TAKEN, ENOUGH or LOOK."""
        self.take_block = self._held.take_block
        """Hold what the chosen exchanges of a block have, from one on: the next one, with TAKEN, or ENOUGH
        before it, or LOOK if it is for `take_exchange`, if it is chosen.
        """
        self._assigned = AssignedOffsets()
        self._take = take
        self._by_rows = by_rows
        self._note = note

    def add(self, records: RecordSet, given: RecordsField | None = None) -> bool:
        """Store one field, and return whether there is enough to `close`. Columns have the values of `given`,
        if there is one.
        """
        base = None if records.is_response else self._assigned.base(records)
        field = given or records.records_field
        return self._held.add(records, records.exchange, records.is_response, field, base)

    def close(self) -> Iterator[_Made]:
        """Decode the stored fields."""
        while (stopped := self._held.decode()) is not None:
            yield from self._take(False)
            if stopped is True:
                continue
            records = _record_set(stopped)
            try:
                yield from self._by_rows(records)
            except Exception as error:
                self._note(error, records.exchange)
        yield from self._take(True)


def _record_set(found: RecordSet | HeldField) -> RecordSet:
    """Return a field that has to be read the other way."""
    if isinstance(found, RecordSet):
        return found
    exchange, frame, topic, topic_id, partition, start, end = found
    records_field = RecordsField(topic, topic_id, partition, None, start, end)
    return RecordSet(exchange, frame is exchange.response, frame, records_field)


def way(api_key: int, api_version: int) -> WayOfRows | None:
    """Return `way_to_batches`, except that Python reads records whose acquisition depends on the body, and
    records of a Produce whose response it reads.
    """
    transfers = transfer_rows(api_key, api_version) if api_key == PRODUCE else None
    needs_slow_path = api_key == SHARE_FETCH or (api_key == PRODUCE and transfers is None)
    found = way_to_batches(api_key, api_version, needs_slow_path)
    return None if found is None else (found, None if transfers is None else transfers.response)


def way_to_batches(api_key: int, api_version: int, needs_slow_path: bool = False) -> Way | None:
    """Return the way to the records of an API in a version; None for one without.

    Python reads records in pieces.
    """
    is_response = records_side(api_key)
    if is_response is None:
        return None
    try:
        message = body_message(api_key, api_version, is_response)
    except DecodeError:
        return None
    if not has_records(message):
        return None
    layout = None if needs_slow_path or has_pieces(message) else native_layout(message, api_version)[0]
    return is_response, direction_of(api_key), layout


def _limits() -> tuple[tuple[int, int, int], tuple[int, int]]:
    return growth(), usual_growth()


def _gzip() -> int:
    from kdissect.decoders.compression.gzip import faster_from  # start-up: few captures have all codecs

    return faster_from()


def _lz4() -> Callable[[bytes], bytes]:
    from lz4.frame import decompress  # start-up: the same

    return cast("Callable[[bytes], bytes]", decompress)


def _zstd() -> Callable[[bytes, int, bool, bool], bytes]:
    from zstandard import ZstdDecompressor  # start-up: the same

    return ZstdDecompressor().decompress


def _decompress(codec: int, data: bytes, most: int) -> bytes | None:
    try:
        return decompress_within(codec, data, most)
    except DecodeError:
        return None


def rest_fits(data: bytes, start: int, end: int, may_be_cut: bool) -> bool:
    """Return whether bytes after the batches of a field are the beginning of a batch that may be cut."""
    found = split_batches(data, start, end, may_be_cut=may_be_cut)
    return not found.batches and not found.faults


BATCH_QUESTIONS = BatchQuestions(_limits, _gzip, _lz4, _zstd, _decompress, rest_fits)
