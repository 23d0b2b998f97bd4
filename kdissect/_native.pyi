"""The compiled part, as the type check sees it: all that `native/src` exports, and nothing else.

tests/native/test_stub.py holds it to the module. What each does is said there and in the Python piece that it
is the native counterpart of.
"""

from collections.abc import Callable, Iterator
from typing import Any, Literal, Protocol, Self, final

from kdissect.decoders.as_json.body_text import Nest
from kdissect.decoders.decoded import Decoded
from kdissect.decoders.generated.native_plan import StructRow
from kdissect.decoders.generated.summary import Summarizer, Summary
from kdissect.decoders.generated.validate import Validation
from kdissect.decoders.records.records_fields import RecordsField
from kdissect.decoders.tree_text import Meanings, MessageRows
from kdissect.engine.analyzer import Analyzer, Due
from kdissect.engine.flows import Flow, HalfOpen
from kdissect.engine.records.compiled_tables import Buffers, HeldField, Help
from kdissect.engine.records.record_sets import RecordSet
from kdissect.model.anomaly import Anomaly
from kdissect.model.limits import Limits
from kdissect.model.packets.packet import PlacedPacket, StepBack
from kdissect.model.packets.segment import PlainSegment
from kdissect.model.record_batch import Record
from kdissect.net.recent import Delivered
from kdissect.net.tcp import Lane
from kdissect.session.events import Event
from kdissect.session.exchange import Exchange
from kdissect.session.info import ConnectionInfo
from kdissect.session.phases import Phase

INTERFACE: int
RECENT: tuple[int, int]  # bytes, segments

# Packets of a block

@final
class Places:
    def __new__(cls, rows: list[PlacedPacket]) -> Self: ...
    def __len__(self) -> int: ...
    def times(self) -> list[int]: ...
    def span(self) -> tuple[int, int] | None: ...
    # Of each step: index of the packet, its time, nanoseconds back.
    def steps_back(self, latest: int | None, least_ns: int) -> tuple[int | None, list[StepBack]]: ...
    def captured(self) -> int: ...
    # Raises IndexError.
    def place(self, at: int) -> PlacedPacket: ...
    # With its time; None where it takes a closer look.
    def segment(self, data: bytes, at: int) -> tuple[PlainSegment, int] | None: ...
    def places(self) -> list[PlacedPacket]: ...
    # Raises IndexError.
    def cut(self, start: int, stop: int) -> Places: ...
    def joined(self, others: Places) -> Places: ...

# Places, the position behind them, and how many bytes what stands there needs: 0 where it is odd.
def records(
    data: bytes, position: int, is_little: bool, header: int, unit: int, link_type: int, limit: int
) -> tuple[Places, int, int]: ...

# `interfaces`: nanoseconds of a unit of time, link type.
def blocks(
    data: bytes, position: int, is_little: bool, interfaces: list[tuple[int, int]], most: int
) -> tuple[Places, int, int]: ...

@final
class InOrder:
    def __new__(
        cls,
        data: bytes,
        first_ref: int,
        places: Places,
        at: int,
        lanes: Lanes,
        due: Due,
        events: list[Event],
        others: PassedBy | None,
        syns: tuple[dict[bytes, Flow], type[HalfOpen], int] | None,
        unusual: Callable[[int], None],
        analyzer: Analyzer,
    ) -> Self: ...
    def __iter__(self) -> Iterator[list[Event]]: ...
    def __next__(self) -> list[Event]: ...

# Connections and streams

@final
class Lanes:
    def __new__(cls) -> Self: ...
    def __len__(self) -> int: ...
    def set(self, flow: bytes, lane: Lane | None) -> None: ...
    def drop(self, flow: bytes) -> None: ...
    def clear(self) -> None: ...

@final
class PassedBy:
    def __new__(cls) -> Self: ...
    def __len__(self) -> int: ...
    def add(self, flow: bytes) -> None: ...
    def clear(self) -> None: ...

class StreamState:
    next_seq: int
    offset: int
    packets: int
    recent: _Recent
    start_seq: int
    syn_id: int
    syn_time_ns: int
    trim_at: int
    def __new__(cls, *_given: object, **_named: object) -> Self: ...
    def remember(self) -> None: ...
    def trim(self) -> None: ...

class _Recent(Protocol):  # what `collections.deque` and the compiled ring have
    @property
    def maxlen(self) -> int | None: ...
    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[Delivered]: ...
    def __getitem__(self, at: int, /) -> Delivered: ...
    def append(self, row: Delivered, /) -> None: ...
    def popleft(self) -> Delivered: ...
    def clear(self) -> None: ...

class TcpState:
    last_time_ns: int
    troubled: bool
    def __new__(cls, *_given: object, **_named: object) -> Self: ...
    def feed(self, direction: int, segment: PlainSegment, reference: int, time_ns: int) -> None: ...

# Frames and exchanges

class StoreState:
    frame_bytes: int
    limits: Limits
    parked_bytes: int
    pending_bytes: int
    pending_requests: int
    def __new__(cls, *_args: object) -> Self: ...

@final
class Frame:
    __slots__: list[str]  # no slots: the names of those in Python
    anomalies: list[Anomaly] | None
    def __new__(
        cls, data: bytes, size: int, first_ref: int, last_ref: int, time_ns: int, end_time_ns: int
    ) -> Self: ...
    @property
    def data(self) -> bytes: ...
    @property
    def size(self) -> int: ...
    @property
    def first_ref(self) -> int: ...
    @property
    def last_ref(self) -> int: ...
    @property
    def time_ns(self) -> int: ...
    @property
    def end_time_ns(self) -> int: ...
    @property
    def bytes_on_wire(self) -> int: ...
    @property
    def is_cut(self) -> bool: ...
    def note(self, anomaly: Anomaly) -> None: ...
    def shortened(self, kept: int) -> Frame: ...
    def __reduce__(
        self,
    ) -> tuple[type[Frame], tuple[bytes, int, int, int, int, int], list[Anomaly] | None]: ...
    def __setstate__(self, anomalies: list[Anomaly] | None) -> None: ...

class ReaderState:
    _again: bytes
    _counted: int
    _doubt: int
    _first_ref: int
    _first_time: int
    _holed: bool
    _size: int
    _stop: int
    _store: StoreState | None
    _stub: bytes
    _take: Callable[[Frame, bool], bool]
    last_ref: int
    last_time_ns: int
    mode: int
    parts: list[bytes]
    room: int
    def __new__(cls, *_args: object) -> Self: ...
    def data(self, payload: bytes, reference: int, time_ns: int) -> None: ...

class DialogueState:
    _client_id: str | None
    _client_id_bytes: bytes
    _client_id_length: int
    _events: list[Event]
    _info: ConnectionInfo
    _next: int
    _pairing: PairingState | None
    _phase: Phase
    _tokens: tuple[Exchange, ...]
    def __new__(cls, *_args: object) -> Self: ...
    def request(self, frame: Frame, doubtful: bool) -> bool: ...
    def response(self, frame: Frame, doubtful: bool) -> bool: ...

class PairingState:
    _answered: list[int]
    _bytes: int
    _holding: int
    _pending: dict[int, Exchange]
    _shadows: int
    _silent: list[Exchange] | None
    _store: StoreState | None
    last_correlation_id: int | None
    def __new__(cls, *_args: object) -> Self: ...

# Bodies and records

@final
class Layout:
    # Raises ValueError for rows that do not fit together.
    def __new__(cls, flexible: bool, rows: list[StructRow]) -> Self: ...

@final
class Summaries:
    def __new__(cls, layout: Layout, make: type[Summary], odd: Summarizer) -> Self: ...
    def __len__(self) -> int: ...
    def summarize(self, data: bytes, offset: int) -> Summary: ...

@final
class Validators:
    def __new__(
        cls,
        layout: Layout,
        make: type[Validation],
        clean: Validation,
        count: Callable[[bytes, int, int, bool], int],
        may_be_cut: bool,
    ) -> Self: ...
    def validate(self, data: bytes, offset: int) -> Validation | None: ...

@final
class PlainBody:
    # `specs`: of each struct the class of its values, and of each field `plain_values`. Raises ValueError for
    # those of another message.
    def __new__(
        cls,
        layout: Layout,
        specs: list[tuple[type, list[frozenset[int] | frozenset[bytes] | bool | None]]],
        version: int,
        new: Callable[..., Any],
        decoded: type[Decoded],
        records_field: type[RecordsField],
    ) -> Self: ...
    def decode(self, data: bytes, offset: int) -> Decoded | None: ...

@final
class BodyText:
    def __new__(cls, layout: Layout, batches: BatchText, foreign: bytes) -> Self: ...
    # Raises what `nest` does beside ValueError.
    def text(self, data: bytes, offset: int, nest: Nest | None) -> bytes | None: ...

@final
class TreeText:
    # Raises ValueError for rows that do not fit the layouts.
    def __new__(
        cls,
        root: bytes,
        header: MessageRows,
        body: MessageRows,
        meanings: list[Meanings],
        has_tags: bool,
        foreign: bytes,
        margin: bytes,
    ) -> Self: ...
    # Raises what `name` does.
    def text(self, data: bytes, name: Callable[[bytes], str | None]) -> bytes | None: ...

@final
class BatchText:
    def __new__(
        cls,
        inflate: Callable[[int, bytes], bytes | None],
        own_topics: list[bytes],
        most_bytes: int,
        most_records: int,
    ) -> Self: ...

@final
class HeldRecords:
    # `help` as in Rust; the forms of keys and values, None for bytes.
    def __new__(cls, help: Help, key_form: str | None, value_form: str | None) -> Self: ...  # noqa: A002
    @property
    def rows(self) -> int: ...
    # TAKEN, ENOUGH or LOOK of native/src/records/held.rs.
    def take(self, exchange: Exchange) -> int: ...
    # Whether there is enough.
    def add(self, records: RecordSet) -> bool: ...
    # True: `columns` are due; None: that was all; else what Python has to read.
    def decode(self) -> Literal[True] | RecordSet | HeldField | None: ...
    # Names with their buffers; rows; headers in all rows.
    def columns(self) -> tuple[list[tuple[str, Buffers]], int, int]: ...

# The records that fill `data[start:end]`; None where they do not fit, or are not `count`.
def record_objects(
    record_class: type[Record],
    new: Callable[..., object],
    data: bytes,
    start: int,
    end: int,
    count: int,
    base: tuple[int, int],
    append_time: int | None,
) -> list[Record] | None: ...

# The latest timestamp delta of records, None for odd ones.
def latest_delta(
    wanted: int | None, last_delta: int, data: bytes, at: int, end: int, dense: bool
) -> int | None: ...

# Lines of the list

class LineFiller:
    number: int
    def __new__(cls, *_arguments: object, **_named: object) -> Self: ...
    def fill_for(
        self, class_: type[Exchange], fields_of: Callable[[Exchange], tuple[Any, ...] | None]
    ) -> None: ...
    def skip(self) -> None: ...
    def line(self, exchange: Exchange) -> bytes: ...
    # How many bytes are held now.
    def hold(self, events: list[Event]) -> int: ...
    def take(self) -> bytes: ...

@final
class LineTemplate:
    # Raises ValueError for a text with more places than there are values.
    def __new__(
        cls, text: bytes, low: int, stop: int, ask: Summarizer, answer: Summarizer | None
    ) -> Self: ...
