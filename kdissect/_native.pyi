"""The compiled part, as the type check sees it: all that `native/src` exports, and nothing else.

tests/native/test_stub.py holds it to the module. What each does is said there and in the Python piece that it
is the native counterpart of.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal, Self, final

from kdissect.cli.formats.json_lines.line_parts import Second
from kdissect.decoders.as_json.body_text import FieldText, NameOfId
from kdissect.decoders.decoded import Decoded
from kdissect.decoders.generated.native_plan import StructRow
from kdissect.decoders.generated.summary import Summarizer, Summary
from kdissect.decoders.generated.validate import Validation
from kdissect.decoders.records.records_fields import RecordsField
from kdissect.decoders.trees.frame_text import Meanings, MessageRows
from kdissect.engine.flows import Flow
from kdissect.engine.records.compiled_records import (
    BatchQuestions,
    ExchangeQuestions,
    HeldField,
    NameQuestions,
)
from kdissect.engine.records.compiled_tables import Buffers
from kdissect.engine.records.record_sets import RecordSet
from kdissect.excerpt.excerpt_reader import CopiedRow, CopiedState
from kdissect.model.frame import FrameRow
from kdissect.model.packets.packet import PlacedPacket, PlainPacket, StepBack
from kdissect.model.packets.segment import PlainSegment
from kdissect.model.record_batch import Record
from kdissect.net.streams.reassembly import StreamState
from kdissect.rules.judging.body_kind import BodyPair
from kdissect.rules.judging.judged_connection import JudgedConnection
from kdissect.rules.judging.unmarked_rows import CountTimes, LentRow, PlanRow, TakenBack
from kdissect.rules.run_coverage.rule_coverage import Exercise
from kdissect.rules.views.connection_view import AtRest
from kdissect.session.beginning import First, ToldOfClient
from kdissect.session.conversation import ConversationState
from kdissect.session.events import Event, Events
from kdissect.session.exchange import Exchange
from kdissect.session.framing import FramingState
from kdissect.session.handover import Ends, HeldState, SideSummary
from kdissect.session.info import ConnectionInfo
from kdissect.sketches.distribution import DistributionRow
from kdissect.stats.by_group.group_links import ClientKey
from kdissect.stats.by_group.position_table import Partition, State
from kdissect.stats.traffic import TallyRow
from kdissect.stats.watermarks import PartitionKey

INTERFACE: int
RECENT: tuple[int, int]  # bytes, segments
TALK: tuple[int, int, int]  # requests an acks=0 one is held for, answered ids kept, kinds of requests

# Bytes of a file

@final
class Sha256:
    def __new__(cls) -> Self: ...
    def update(self, data: bytes) -> None: ...
    def hexdigest(self) -> str: ...

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
    def places(self) -> list[PlacedPacket]: ...
    # Raises IndexError.
    def cut(self, start: int, stop: int) -> Places: ...
    def joined(self, others: Places) -> Places: ...

@final
class PacketRuns:
    def __new__(cls, data: bytes, first_ref: int, places: Places) -> Self: ...
    def __len__(self) -> int: ...
    # These raise IndexError.
    def packet(self, at: int) -> PlainPacket: ...
    def reference(self, at: int) -> int: ...
    # With its time; None where it takes a closer look.
    def segment(self, at: int) -> tuple[PlainSegment, int] | None: ...
    # Blocks of a pcapng file with the packets of some times; packets, bytes, first and last time.
    # None where Python has to write them.
    def blocks(
        self, spans: Sequence[tuple[int, int]], interface_of: Callable[[int], int]
    ) -> tuple[bytes, int, int, int, int] | None: ...

# Blocks, as `PacketRuns` takes them, each from a packet on up to another.
def interleaved(stretches: list[tuple[bytes, int, Places, int, int]]) -> PacketRuns: ...

# Places, the position behind them, and how many bytes what stands there needs: 0 where it is odd.
def records(
    data: bytes, position: int, is_little: bool, header: int, unit: int, link_type: int, limit: int
) -> tuple[Places, int, int]: ...

# `interfaces`: nanoseconds of a unit of time, link type.
def blocks(
    data: bytes, position: int, is_little: bool, interfaces: list[tuple[int, int]], most: int
) -> tuple[Places, int, int]: ...

# Connections

@final
class Counts:
    connections: int
    frame_bytes: int
    pending_bytes: int
    pending_requests: int
    def __new__(cls) -> Self: ...

@final
class Engine:
    # `limits`: frame_size, frame_bytes, pending_bytes, pending_requests, connection_pending_bytes,
    # connection_pending_requests.
    def __new__(
        cls,
        counts: Counts,
        limits: tuple[int, int, int, int, int, int],
        kind_of: Callable[[int, int], tuple[bytes, bytes, bool, bool, bool, bool]],
        exchange_of: Callable[
            [
                ConnectionInfo,
                int,
                int,
                int,
                int,
                str | None,
                FrameRow,
                int,
                FrameRow | None,
                int,
                tuple[int | None, int | None, int | None],
                tuple[bytes, bytes | None] | None,
            ],
            Exchange,
        ],
        count: Callable[[list[tuple[ConnectionInfo, int, int]]], None],
        met: Callable[[ConnectionInfo, int, int], None],
        line: Callable[[ConnectionInfo, bytes], None],
        over: Callable[[ConnectionInfo, int, int, bool, int], None],
        first_of: Callable[[bytes], First | None],
        # `number_of_news` and `read_news` of `session.identities`.
        news: tuple[
            Callable[[ConnectionInfo, int, int, bytes, bytes], int | None], Callable[[Exchange, int], None]
        ],
    ) -> Self: ...

@final
class Held:
    def __new__(cls, engine: Engine, info: ConnectionInfo) -> Self: ...
    @property
    def is_lent(self) -> bool: ...
    # These raise ValueError if the connection is not here, `lend` if it is.
    @property
    def last_time_ns(self) -> int: ...
    @property
    def taken(self) -> int: ...
    @property
    def is_over(self) -> bool: ...
    # Time of the last packet, who ended it first, and both directions; None where the end is for Python.
    def summary(self) -> tuple[int, tuple[int, bool, int] | None, tuple[SideSummary, SideSummary]] | None: ...
    def lend(self, state: HeldState, can_end: bool) -> None: ...
    def take_back(
        self,
    ) -> tuple[
        tuple[
            int,
            int,
            tuple[StreamState, StreamState],
            tuple[FramingState | None, FramingState | None],
            ConversationState,
            bytes | None,
        ],
        Ends,
    ]: ...
    # False where it is not for the engine, and nothing was changed.
    def feed(
        self, direction: int, segment: PlainSegment, reference: int, time_ns: int, events: list[Event]
    ) -> bool: ...

@final
class HeldFlows:
    def __new__(cls) -> Self: ...
    def __len__(self) -> int: ...
    def set(self, flow: bytes, held: Held) -> None: ...
    def drop(self, flow: bytes) -> None: ...
    # Keys of connections in the table that may be over, and that Python must look at, in the table's order.
    def may_be_over(
        self, table: dict[bytes, Flow], time_ns: int, idle_ns: int, logged_idle_ns: int, linger_ns: int
    ) -> list[bytes]: ...
    # What connections delivered that are silent since a time.
    def forget_delivered(self, since_ns: int) -> None: ...
    # Free no memory of these connections, and forget what they delivered.
    def keep_memory(self) -> None: ...
    def clear(self) -> None: ...

@final
class PassedBy:
    def __new__(cls) -> Self: ...
    def __len__(self) -> int: ...
    def add(self, flow: bytes) -> None: ...
    def clear(self) -> None: ...

# Flows, the most connections, how many there are, what takes flow, sequence number, window, IP
# identification and time of each SYN, what connections share, and what makes Python know of one that began.
HeldSyns = tuple[
    dict[bytes, Flow],
    int,
    Counts,
    Callable[[bytes, int, int, int, int], None],
    Engine,
    Callable[[bytes, bytes, ToldOfClient, int | None, int, bytes | None], Held] | None,
]

@final
class InOrder:
    # `lend` gives the name of a file's capture set, up to which time its packets may be taken, and the thing.
    def __new__(
        cls,
        packets: PacketRuns,
        latest_ns: int | None,
        events: list[Event],
        others: PassedBy | None,
        unusual: Callable[[int], int],
        lend: Callable[[int], tuple[str, int, tuple[HeldFlows, HeldSyns | None]] | None],
    ) -> Self: ...
    @property
    def index(self) -> int: ...
    @property
    def latest_ns(self) -> int | None: ...
    # Take no more packets; a block of the packet taken last may be left, but of these files.
    def end(self, without: Sequence[int]) -> None: ...
    def __iter__(self) -> Iterator[Events]: ...
    def __next__(self) -> Events: ...

# Exchanges that packets completed: each becomes one when it is asked for, once.
@final
class ExchangeBlock:
    def __len__(self) -> int: ...
    def __iter__(self) -> BlockIterator: ...
    # Raises IndexError.
    def __getitem__(self, key: int, /) -> Exchange: ...
    # Of the packet that completed the exchange asked for last.
    @property
    def index(self) -> int: ...
    # Latest time of all packets up to the one that completed an exchange, its reference, how many exchanges
    # it completed before. Raises IndexError.
    def place(self, at: int) -> tuple[int, int, int]: ...
    # Leave out what packets of a file behind that one completed: the block ends there, and `take_rest` gives
    # what others completed behind it, once the block is over.
    def cut(self, file: int) -> None: ...
    def take_rest(self) -> ExchangeBlock | None: ...
    # The capture sets of the exchanges, each with where its runs begin and end.
    def runs_by_set(
        self, set_of: Callable[[ConnectionInfo], str]
    ) -> list[tuple[str, list[tuple[int, int]]]]: ...
    # When responses came by connection, of the exchanges from one on: first and last ns of those without
    # `gap` ns between them, and the time from the request to the first of them. Up to the first exchange
    # whose response was waited for as long: gives its number as well, or how many there are.
    def response_times(
        self, start: int, gap: int
    ) -> tuple[list[tuple[ConnectionInfo, list[tuple[int, int, int]]]], int]: ...
    # There are no exchanges from one on, until another is said.
    def stop_at(self, stop: int) -> None: ...

@final
class BlockIterator:
    def __iter__(self) -> Self: ...
    def __next__(self) -> Exchange: ...

# Columns of the log of exchanges, in the order in which rows were taken (`engine.exchange_log.log_columns`).

@final
class LoggedRows:
    def __new__(
        cls,
        connection_of: Callable[[ConnectionInfo], int | None],
        client_of: Callable[[str | None], int],
        readers_of: Callable[[int, int], tuple[Summarizer, Summarizer] | None],
        facts_of: Callable[[Summary, Summary | None], tuple[int, int, int]],
        can_read_again: Callable[[int], bool],
        put: Callable[[bytes], int] | None,
    ) -> Self: ...
    # How many there are.
    @property
    def rows(self) -> int: ...
    # From one on; the first that is Python's, or how many there are.
    def take_block(self, block: ExchangeBlock, start: int) -> int: ...
    # By name; there are none then.
    def take(self) -> list[tuple[str, bytes]]: ...

# Excerpts

@final
class PlanRuns:
    def __new__(cls, write: Callable[[bytes], int], most: int) -> Self: ...
    # These raise what `write` does, `add` ValueError for what is no packed plan.
    def add(self, plan: bytes) -> None: ...
    # File, and where plans of it begin and end.
    def finish(self) -> list[tuple[int, int, int]]: ...

@final
class MergedPlans:
    def __new__(
        cls,
        read: Callable[[int, int], bytes],
        stretches: list[tuple[int, int, int]],
        taken: bytes,
        most_waiting: int,
    ) -> Self: ...
    # Raises what `read` does.
    def take(self, reference: int) -> list[bytes]: ...

@final
class FrameChoice:
    # `choose` gives a number of a connection, NOT_TAKEN or DONE of `find_frames`.
    def __new__(cls, runs: PlanRuns, choose: Callable[[Exchange], int], is_by_kind: bool) -> Self: ...
    # Raises what `choose` and the runs do.
    def take(self, block: ExchangeBlock) -> None: ...
    # How many of the connection's exchanges were taken.
    def close(self, info: ConnectionInfo) -> int: ...

@final
class CopiedFlows:
    def __new__(cls) -> Self: ...
    def __len__(self) -> int: ...
    # `lend` raises ValueError for a connection that is here, the others for one that is not.
    def lend(self, flow: bytes, state: CopiedState) -> None: ...
    # With the number of packets that were taken.
    def take_back(self, flow: bytes) -> tuple[CopiedRow, int]: ...
    def last_time_ns(self, flow: bytes) -> int: ...

@final
class Copier:
    def __new__(
        cls,
        plans: MergedPlans,
        write: Callable[[bytes], object],
        interface_of: Callable[[int], int],
        name_of: Callable[[int], bytes],
    ) -> Self: ...

@final
class CopyInOrder:
    # `lend` as for `InOrder`.
    def __new__(
        cls,
        packets: PacketRuns,
        copier: Copier,
        unusual: Callable[[int], int],
        lend: Callable[[int], tuple[str, int, CopiedFlows] | None],
    ) -> Self: ...
    @property
    def index(self) -> int: ...
    def __iter__(self) -> Iterator[list[Event]]: ...
    def __next__(self) -> list[Event]: ...

# Bodies and records

@final
class Layout:
    # Raises ValueError for rows that do not fit together.
    def __new__(cls, flexible: bool, rows: list[StructRow]) -> Self: ...

@final
class LoggedBody:
    # `structs`: of each struct the numbers of its fields by names in lower case, plain fields first. Then the
    # number of its records field, and of that of acquired records.
    def __new__(
        cls, layout: Layout, structs: list[tuple[dict[str, int], int | None, int | None]]
    ) -> Self: ...

@final
class LinePackets:
    # Lines of a request log to packets. `kind_of`: the bytes after the correlation id in a request header
    # without client id, and in a response header, encoders of both bodies, and of a response in version 0.
    def __new__(
        cls,
        ends_of: Callable[[str], tuple[bytes, int, bytes, int]],
        kind_of: Callable[[int, int], tuple[bytes, bytes, LoggedBody, LoggedBody, LoggedBody | None] | None],
    ) -> Self: ...
    # Packets with their places, bytes of packets without comments, forwarded requests, lines, and where the
    # next line begins.
    def take(
        self, data: bytes, start: int, number: int
    ) -> tuple[bytes, list[PlacedPacket], int, int, int, int]: ...

@final
class Summaries:
    def __new__(cls, layout: Layout, make: type[Summary], odd: Summarizer, is_listed: bool) -> Self: ...
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
class CanonicalBody:
    # `classes`: of each struct the class of its values.
    def __new__(
        cls,
        layout: Layout,
        classes: list[type],
        version: int,
        new: Callable[..., Any],
        decoded: type[Decoded],
        records_field: type[RecordsField],
    ) -> Self: ...
    def decode(self, data: bytes, offset: int) -> Decoded | None: ...

@final
class Guards:
    # Rows as in `rules.judging.body_guards`. Raises ValueError for those of other layouts.
    def __new__(
        cls,
        request: tuple[Layout, list[tuple[int, int, str, list[int], list[bytes], int]]],
        response: tuple[Layout, list[tuple[int, int, str, list[int], list[bytes], int]]],
        late: list[tuple[str, list[int], int]],
        terms: list[tuple[int, int, int, bool, bool]],
        bits: tuple[int, int],
    ) -> Self: ...
    def marks(
        self,
        request: bytes | None,
        request_at: int,
        response: bytes | None,
        response_at: int,
        latency_ns: int,
    ) -> int: ...

@final
class Protobuf:
    # `messages` are the fields by number, by the name of their message.
    def __new__(
        cls,
        messages: Mapping[str, Mapping[int, tuple[str, str, bool]]],
        most_nested: int,
        float_value: Callable[[float], object],
    ) -> Self: ...
    # None for bytes that do not fit.
    def read(self, name: str, data: bytes, start: int, end: int) -> dict[str, Any] | None: ...

@final
class BodyText:
    def __new__(cls, layout: Layout, batches: BatchText, foreign: bytes) -> Self: ...
    # Raises what `nest` does beside ValueError.
    def text(self, data: bytes, offset: int, nest: tuple[NameOfId, FieldText] | None) -> bytes | None: ...

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
        is_public: Callable[[str | None, str | None], bool],
    ) -> Self: ...
    # Start, end and depth. `payload`: the path of indices, each of a field with whether it is a tag, or of an
    # element; start, end and depth. Raises what `name` and `payload` do.
    def text(
        self,
        data: bytes,
        place: tuple[int, int, int],
        name: Callable[[bytes], str | None],
        payload: Callable[[list[tuple[int, bool | None]], int, int, int], bytes | None],
    ) -> bytes | None: ...

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
class RecordChoice:
    # Whether Python looks at the exchanges of an API; whether one is taken, the same for those of one
    # connection, API, version and client id: None where all are.
    def __new__(
        cls, is_watched: Callable[[int], bool], takes: Callable[[Exchange], object] | None
    ) -> Self: ...
    # A connection is over.
    def close(self, info: ConnectionInfo) -> None: ...

@final
class HeldRecords:
    def __new__(
        cls,
        writer: RecordColumns | RecordLines,
        exchanges: ExchangeQuestions,
        names: NameQuestions,
        batches: BatchQuestions,
        # Style of JSON, whether texts become cells, `_found` and `_note` of
        # `kdissect.engine.records.compiled_values.CompiledValues`.
        values: tuple[str, bool, Callable[..., Any], Callable[..., None]] | None,
    ) -> Self: ...
    # TAKEN, ENOUGH or LOOK of native/src/records/held_records.rs.
    def take(self, exchange: Exchange) -> int: ...
    # From one on; the next one and TAKEN or ENOUGH, LOOK where that one is Python's. Raises what `choice`
    # does.
    def take_block(self, block: ExchangeBlock, start: int, choice: RecordChoice) -> tuple[int, int]: ...
    # Whether there is enough. `records` is given back where Python has to read it.
    def add(
        self,
        records: RecordSet,
        exchange: Exchange,
        is_response: bool,
        records_field: RecordsField,
        base: int | None,
    ) -> bool: ...
    # True: the writer is full; None: that was all; else what Python has to read.
    def decode(self) -> Literal[True] | RecordSet | HeldField | None: ...

@final
class RecordColumns:
    # The forms of keys and values, None for bytes.
    def __new__(cls, key_form: str | None, value_form: str | None, with_schemas: bool) -> Self: ...
    @property
    def rows(self) -> int: ...
    # Names with their buffers; rows; headers in all rows.
    def take(self) -> tuple[list[tuple[str, Buffers]], int, int]: ...

@final
class AvroProgram:
    # Nodes of `kdissect.serdes.avro_program`.
    def __new__(cls, nodes: list[tuple[str, list[int], list[str]]]) -> Self: ...
    # JSON in a style of native/src/json_values.rs; None if Python reads the value.
    def text(self, data: bytes, style: str) -> str | None: ...

@final
class RecordLines:
    count: int  # rows so far, those that others write between too
    # Raises ValueError for a style or a form that there is not.
    def __new__(
        cls,
        style: str,
        columns: list[str],
        key_form: str,
        value_form: str,
        second_of: Callable[[int], str],
        printables: Callable[[int], bytes],
    ) -> Self: ...
    def take(self) -> bytes: ...

@final
class ExchangeTables:
    # `asked`: of `kdissect.stages.rows.compiled_rows` `_fields_of`, `_connection_of`, `_kind_of` and
    # `_facts_of`; a name of a topic id, its text, the name of an input, `rest_fits`, how often names changed,
    # the name of an error code. `wants`:
    # exchanges, topic_partitions, batches; whether to look at batches.
    def __new__(
        cls,
        asked: tuple[
            Callable[[Exchange], tuple[Any, ...] | None],
            Callable[[ConnectionInfo], tuple[str | None, ...]],
            Callable[[int, int], tuple[Any, ...]],
            Callable[[Exchange, Summary, Summary | None], tuple[Any, ...]],
            Callable[[Exchange, bytes], tuple[str | None, bool]],
            Callable[[bytes], str],
            Callable[[int], str],
            Callable[[bytes, int, int, bool], bool],
            Callable[[], int],
            Callable[[int], str],
        ],
        wants: tuple[bool, bool, bool, bool],
        told: ToldNames | None,
    ) -> Self: ...
    # False, and nothing is added, of an exchange that is unusual.
    def add(self, exchange: Exchange, order: bytes) -> bool: ...
    # From one on, until there are so many rows of a table; the first that is Python's, or how many there are.
    def add_block(
        self, block: ExchangeBlock, start: int, number_of: Callable[[int], int], most: int
    ) -> int: ...
    def rows(self, table: str) -> int: ...
    # Names with their buffers.
    def take(self, table: str) -> list[tuple[str, Buffers]]: ...

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

# Produces and Fetches, counted

_MemberRow = tuple[
    Layout, tuple[str, str, str], Layout, PartitionRows | None, tuple[PartitionRows, PartitionRows] | None
]
WayOf = Callable[[int, int], tuple[PartitionRows, PartitionRows] | _MemberRow | ToldNames | Layout | bool]
_Listed = list[tuple[str | bytes, list[tuple[int, int, int, int]]]]
# Connection, group, offsets that it commits, when it does.
_GoesBack = Callable[[ConnectionInfo, str, _Listed, int], bool]
NumbersOf = Callable[[ConnectionInfo, str | None], tuple[int, int] | None]
# Topic and partition; attributes, last offset delta, producer id and epoch, base sequence, count.
BatchHeader = tuple[tuple[str | bytes, int], int, int, int, int, int, int]
_Place = tuple[PartitionRows, bytes, int]  # how a body is read, the frame, where the body begins

@final
class PartitionRows:
    # `lists` are a `decoders.listed_partitions.PartitionLists`; numbers of a partition, and of the body.
    # Raises ValueError for those of another message.
    def __new__(
        cls, layout: Layout, lists: tuple[str, str, str, str], values: list[str], facts: list[str]
    ) -> Self: ...
    # None where a body is Python's. Facts and how many topics; whether an error code is set that is none of a
    # row's numbers, a row's first number is not 0, a row has records.
    def facts(self, frame: bytes, offset: int) -> tuple[list[int | None], int, bool, bool, bool] | None: ...
    # Partitions, each with three numbers, 0 for those that nobody asked for.
    def topics(
        self, frame: bytes, offset: int
    ) -> list[tuple[str | bytes, list[tuple[int, int, int, int]]]] | None: ...
    # Facts, and of each batch the header.
    def batches(self, frame: bytes, offset: int) -> tuple[list[int | None], list[BatchHeader]] | None: ...

@final
class ToldNames:
    # `place_of` gives of a connection what tells its broker.
    def __new__(cls, place_of: Callable[[ConnectionInfo], tuple[str, str]]) -> Self: ...
    # The connection, API key and version, both frames with where their bodies begin.
    def note(
        self,
        info: ConnectionInfo,
        kind: tuple[int, int],
        request: tuple[bytes, int],
        response: tuple[bytes, int],
    ) -> None: ...
    def clear(self) -> None: ...
    def __len__(self) -> int: ...

@final
class TopicSums:
    # What tells the bins of a distribution.
    def __new__(cls, multiplier: float) -> Self: ...
    # Clients and brokers by number; what it did, in bits (native/src/transfers/mod.rs).
    def count(
        self, user: int, broker: int, writes: bool, request: _Place, response: _Place | None
    ) -> int: ...
    # From one on; the next one, and what was done with the one before (native/src/transfers/block.rs).
    def count_block(
        self,
        block: ExchangeBlock,
        start: int,
        way_of: WayOf,
        numbers_of: NumbersOf,
        take_again: Callable[[ConnectionInfo, int, bytes], bool],
        link: Callable[[ConnectionInfo, str | None, str], object],
    ) -> tuple[int, int]: ...
    # The broker, and the name or the id.
    def new_topics(self) -> list[tuple[int, str | bytes]]: ...
    # Topic and codec.
    def new_codecs(self) -> list[tuple[int, int]]: ...
    # By client, role, topic requests, batches, records, bytes, unconfirmed, refused; topics and partitions;
    # errors of those sums; codecs of topics; of topics control batches, the others, their bytes and records.
    def take(
        self,
    ) -> tuple[
        list[tuple[tuple[int, int, int], tuple[int, int, int, int, int, int, int, int]]],
        list[tuple[int, int]],
        list[tuple[int, int, int]],
        list[tuple[int, int, int]],
        list[tuple[int, int, int, DistributionRow | None, DistributionRow | None]],
    ]: ...

@final
class Refetches:
    def __new__(cls) -> Self: ...
    def see(
        self,
        info: ConnectionInfo,
        client_id: str | None,
        times: tuple[int, int, int],
        asked: list[tuple[str | bytes, int, int]],
        answered: list[tuple[str | bytes, int, bytes]],
    ) -> None: ...
    # `StuckAt` of `stats.by_group.refetches`.
    def stuck(
        self,
    ) -> list[
        tuple[ConnectionInfo, str | None, str | bytes, int, int | None, int, int, int, int, bool, bytes]
    ]: ...
    # `LastFetch` of `stats.by_group.refetches`.
    def leave(
        self, info: ConnectionInfo
    ) -> tuple[str | None, str | bytes, int, int | None, int, int, int] | None: ...

@final
class FetchPositions:
    def __new__(cls, refetches: Refetches | None) -> Self: ...
    @property
    def has_commits(self) -> bool: ...
    def learn(
        self,
        client: int,
        broker: int,
        of: tuple[ConnectionInfo, str | None, tuple[int, int, int]],
        request: _Place,
        response: _Place | None,
    ) -> int: ...
    def learn_block(
        self,
        block: ExchangeBlock,
        start: int,
        way_of: WayOf,
        numbers_of: NumbersOf,
        logs: GroupLogs,
        goes_back: _GoesBack | None,
    ) -> tuple[int, int]: ...
    def new_topics(self) -> list[tuple[int, str | bytes]]: ...
    # Positions go into `table`. Group, topic, partition and offset of commits; groups, each with the broker.
    # Topic, partition and offset of ends; clients, each with the time of its last Fetch.
    def take(
        self, table: PositionTable, clients: list[ClientKey], topics: list[str]
    ) -> tuple[
        list[tuple[int, int, int, int]],
        list[tuple[int, str | bytes]],
        list[tuple[int, int, int]],
        list[tuple[int, int]],
    ]: ...

@final
class PositionTable:
    # `stats.by_group.position_table.PositionTable`.
    def __new__(cls, most: int) -> Self: ...
    def __len__(self) -> int: ...
    def learn(
        self,
        client: ClientKey,
        partition: Partition,
        asked: tuple[int, int] | None,
        behind: int | None,
        high_watermark: int | None,
        is_lost: bool,
    ) -> None: ...
    def put(self, client: ClientKey, partition: Partition, state: State) -> None: ...
    def get(self, client: ClientKey, partition: Partition) -> State | None: ...
    def items(self) -> list[tuple[tuple[ClientKey, Partition], State]]: ...

_Sum = tuple[int, int, int]
_Three = tuple[DistributionRow | None, DistributionRow | None, DistributionRow | None]

@final
class Delays:
    # As `stats.by_delay.delay_state.DelayState`. BATCH_QUESTIONS without the last one. `number_of` returns
    # the number of a topic that a broker names, None for one that does not fit; `client_of` the client of
    # a connection.
    def __new__(
        cls,
        batches_kept: int,
        readers_kept: int,
        multiplier: float,
        contents: tuple[Any, ...],
        number_of: Callable[[int, str | bytes], int | None],
        client_of: Callable[[int], int],
    ) -> Self: ...
    @property
    def met(self) -> int: ...
    @property
    def forgotten(self) -> int: ...
    @property
    def unplaced(self) -> int: ...
    @property
    def left(self) -> int: ...
    @property
    def now(self) -> int: ...
    def count_block(
        self,
        block: ExchangeBlock,
        start: int,
        way_of: WayOf,
        numbers_of: NumbersOf,
        link: Callable[[ConnectionInfo, str | None, str], object],
    ) -> tuple[int, int]: ...
    def forget_names(self) -> None: ...
    def meet(self, client: int) -> None: ...
    def produced(
        self,
        sender: int,
        place: tuple[int, int],
        offset: int,
        kinds: tuple[bool, bool],
        times: tuple[int, int],
        runs: Sequence[tuple[int | None, int]],
    ) -> None: ...
    def fetched(
        self,
        sender: int,
        kinds: tuple[bool, bool, bool],
        times: tuple[int, int, int],
        offsets: list[tuple[int, int, int]],
        answered: list[tuple[int, int, int, int, Sequence[tuple[int, int, int, int]]]],
    ) -> None: ...
    def committed(
        self, client: int, place: tuple[int, int], offset: int, time: int, counts: bool
    ) -> None: ...
    def logged(self, place: tuple[int, int], offset: int) -> None: ...
    def lost(self, client: int, place: tuple[int, int]) -> None: ...
    # Client, topic, partition; unmatched, aborted, again; delay, age, committed; stages; lag and its time.
    def readers(
        self,
    ) -> list[
        tuple[
            tuple[int, int, int],
            tuple[int, int, int],
            _Three,
            tuple[_Sum, _Sum, _Sum, _Sum],
            tuple[int | None, int | None],
        ]
    ]: ...
    def clocks(self) -> list[tuple[int, int, int, int, int, int, int | None]]: ...
    def take_clock(self, sender: int) -> tuple[int, int, int, int, int, int, int | None] | None: ...

EvidenceRow = tuple[int, int, int, tuple[int, int], tuple[int, int] | None, int, int]
# Its number and its producer's; epoch and losses; the last batch's sequence and delta; the least offset that
# the next one can be given; times of answers.
SequenceRow = tuple[int, int, int, int, tuple[int, int], int, list[tuple[int, int] | None]]
# Its number, the next epoch, whether it has ids, whether its partitions are known.
SessionRow = tuple[int, int, bool | None, bool]
# Its number; its generation, and the answer that told it; whether it was told to join again; session timeout;
# when it was last heard of.
MemberRow = tuple[int, int | None, tuple[int, int] | None, bool, int, int]
_Due = list[tuple[int, int]]  # connections, each with the ordinal that is next
_DueOf = Callable[[int], int | None]  # of a connection; None where its exchanges are Python's

@final
class Sequences:
    # Client and connection by number; what of a connection was lost or damaged; the sequences of a
    # connection's producer in a partition.
    def __new__(
        cls,
        numbers_of: Callable[[ConnectionInfo, str | None], tuple[int, int]],
        losses_of: Callable[[int], int],
        sequence_of: Callable[[int, int, str | bytes, int], SequenceRow | None],
    ) -> Self: ...
    def __len__(self) -> int: ...
    # Producers with batches and records; their clients, and how often; sequences with the least next offset
    # and the last batches: sequence, delta, exchange, whether that was answered.
    def take(
        self,
    ) -> tuple[
        list[tuple[int, int, int]],
        list[tuple[int, int, int]],
        list[tuple[int, int, list[tuple[int, int, EvidenceRow, bool]]]],
    ]: ...

@final
class Sessions:
    # The first versions with leader epochs and with topic ids; a connection by number, a session of it by its
    # id; high watermark, log start and leader epoch of a partition in a session.
    def __new__(
        cls,
        since: tuple[int, int],
        number_of: Callable[[ConnectionInfo], int],
        session_of: Callable[[int, int], SessionRow | None],
        offsets_of: Callable[[int, str | bytes, int], tuple[int, int, int] | None],
    ) -> Self: ...
    def __len__(self) -> int: ...
    # Sessions with fetches, empty ones, next epoch, the last one; partitions of sessions, with both offsets
    # and who told them; fetches without a session.
    def take(
        self,
    ) -> tuple[
        list[tuple[int, int, int, int, EvidenceRow]],
        list[tuple[int, tuple[str | bytes, int], tuple[int, int], EvidenceRow]],
        int,
    ]: ...

@final
class StoredBatches:
    # How many are kept; the id of a connection, and what its broker is called; the id of a topic by its name
    # on a connection, or the name by its id.
    def __new__(
        cls,
        most: int,
        known_as: Callable[[ConnectionInfo], tuple[str, str]],
        other_name: Callable[[ConnectionInfo, str | bytes], str | bytes | None],
    ) -> Self: ...
    def __len__(self) -> int: ...
    # A batch that a broker took: its place, its checksum, the header behind that, its Produce (`Evidence`).
    def note(
        self, place: tuple[str, str | bytes, int, int], crc: int, header: bytes, evidence: tuple[Any, ...]
    ) -> None: ...
    # The same of a place, and whether it was sent once only.
    def find(
        self, place: tuple[str, str | bytes, int, int]
    ) -> tuple[int, bytes, tuple[Any, ...], bool] | None: ...
    # All of them with their places, for `restore`.
    def rows(self) -> list[tuple[Any, ...]]: ...
    def restore(self, rows: Sequence[tuple[Any, ...]]) -> None: ...

@final
class LentMembers:
    # A connection by number; the number of a connection's group, and its member.
    def __new__(
        cls,
        number_of: Callable[[ConnectionInfo], int],
        member_of: Callable[[int, str, str], tuple[int | None, MemberRow | None]],
    ) -> Self: ...
    def __len__(self) -> int: ...
    # Connections that were answered; groups; members, with when they were last heard of. In the order of use.
    def take(self) -> tuple[list[int], list[int], list[tuple[int, int]]]: ...

# The numbers of a group, of who named it and by which API, of a member with its last heartbeat.
LogRow = tuple[int, int, tuple[int, int] | None, int]

@final
class GroupLogs:
    # A client by number, None where its requests are Python's; what there is of client, API, group, member.
    def __new__(
        cls,
        members: LentMembers,
        go_on: Callable[
            [ConnectionInfo, tuple[int, int], tuple[bytes, bytes], EvidenceRow, str | None], bool
        ],
        deliver: Callable[
            [ConnectionInfo, tuple[int, int], tuple[bytes, bytes], EvidenceRow, str | None], bool
        ],
        client_of: Callable[[ConnectionInfo, str | None], int | None],
        log_of: Callable[[int, int, str, str], LogRow | None],
    ) -> Self: ...
    def __len__(self) -> int: ...
    # Groups; who named them, and how often; members with heartbeats, gaps, the last one and its connection.
    def take(
        self,
    ) -> tuple[list[int], list[tuple[int, int]], list[tuple[int, int, list[int], int, ConnectionInfo]]]: ...

@final
class FetchPolls:
    # The first version with sessions.
    def __new__(cls, sessions_from: int, sessions: Sessions) -> Self: ...
    # `asked`: how exchanges are counted; fetcher and connection; what is due.
    def count_block(
        self, block: ExchangeBlock, start: int, asked: tuple[WayOf, NumbersOf, _DueOf]
    ) -> tuple[int, int]: ...
    # Then the fetchers that asked last on connections; fetchers with requests, empty ones, those empty early.
    def take(self) -> tuple[_Due, list[tuple[int, int]], list[tuple[int, int, int, int]]]: ...

@final
class ProducedBatches:
    def __new__(cls, sequences: Sequences) -> Self: ...
    # `asked`: how exchanges are counted; client and connection; what is due.
    def count_block(
        self, block: ExchangeBlock, start: int, asked: tuple[WayOf, NumbersOf, _DueOf]
    ) -> tuple[int, int]: ...
    # A connection and an ordinal; whether that was due, and went by.
    def pass_by(self, connection: int, ordinal: int, due_of: _DueOf) -> bool: ...
    # Then clients with batches without an id; topics as connections name them; how far partitions were
    # written without an id: topic, partition, the offset behind the last one, when its response came;
    # connections with Produces of a request log.
    def take(
        self,
    ) -> tuple[
        _Due,
        list[tuple[int, int]],
        list[tuple[int, str | bytes]],
        list[tuple[int, int, int, int]],
        list[int],
    ]: ...

# Rows that rules and histories have nothing to say of

# Numbers of `rules.views`, as tests/native/test_unmarked_rows.py has them.
JUDGED: list[int]
_Contents = tuple[
    Callable[[], tuple[tuple[int, int, int], tuple[int, int]]],
    Callable[[], int],
    Callable[[], Callable[[bytes], bytes]],
    Callable[[], Callable[[bytes, int, bool, bool], bytes]],
    Callable[[int, bytes, int], bytes | None],
]  # limits, gzip, lz4, zstd, what decompresses all else, of `compiled_records.BatchQuestions`

_Latencies = list[tuple[tuple[int, int], DistributionRow]]  # by API key and version
_Slots = list[tuple[int, int]]  # times of slots, and exchanges

@final
class UnmarkedRows:
    # `asked` are methods of `rules.judging.unmarked_rows`, `marks` name and id of the metadata log, `topics`
    # those whose records have formats, what tells such a one by its id, and how often names changed.
    def __new__(
        cls,
        asked: tuple[
            Callable[[ConnectionInfo], LentRow | bool],
            Callable[[list[JudgedConnection]], list[bool]],
            Callable[[list[tuple[JudgedConnection, Exchange]], list[TakenBack]], None],
            Callable[[int, int], PlanRow | None],
            Callable[[int, int, int], tuple[list[str], bool]],
            Callable[[Exercise, int, int, bool, int], tuple[BodyPair, int, bool] | None],
            Callable[[list[tuple[BodyPair, int, int]], _Latencies, _Slots], int],
            Callable[[Exchange, int, bool, bool, bool], int | None],
            Callable[
                [ConnectionInfo, tuple[int, int], tuple[bytes, bytes], EvidenceRow, str | None, int],
                tuple[LentRow, int] | None,
            ],
            Callable[[JudgedConnection, int, int, int], tuple[int, CountTimes] | None],
            type[AtRest],
            Callable[[Exchange, int], AtRest],
        ],
        marks: tuple[bytes, bytes],
        topics: tuple[list[bytes], Callable[[ConnectionInfo, bytes], bool], Callable[[], int]],
        contents: _Contents,
        multiplier: float,
    ) -> Self: ...
    # From one on, with `RecentExchanges.turns`; the first that is Python's, or how many there are, and the
    # turn and how many spoke in it. Connections stay lent.
    def take(self, block: ExchangeBlock, start: int, turns: tuple[int, int, int]) -> tuple[int, int, int]: ...
    # Keep little of connections that spoke in no turn from this one on; the last turns of some, -1 of those
    # that are not lent.
    def rest(self, infos: list[ConnectionInfo], turn: int) -> list[int]: ...
    def give_back(self, info: ConnectionInfo) -> None: ...
    # Of a connection that is over.
    def forget(self, info: ConnectionInfo) -> None: ...
    def give_back_all(self) -> None: ...
    # Have everything counted that passed.
    def settle(self) -> None: ...

# Statistics

@final
class Watermarks:
    # Of so many partitions at most.
    def __new__(cls, most: int) -> Self: ...
    def at(self, key: PartitionKey, time_ns: int) -> int | None: ...
    def learn(self, key: PartitionKey, time_ns: int, offset: int) -> None: ...

@final
class KindCounts:
    # Asked about the first exchange of a connection, API, version and client id.
    def __new__(cls, number_of: Callable[[ConnectionInfo, int, int, str | None], int]) -> Self: ...
    # From one on; the first that is Python's, or how many there are.
    def count(self, block: ExchangeBlock, start: int) -> int: ...
    # Numbers with their exchanges, the one that was counted last at the end.
    def take(self) -> list[tuple[int, int]]: ...
    def forget(self, info: ConnectionInfo) -> None: ...
    def forget_all(self) -> None: ...

@final
class TrafficCounter:
    # `by`: kind, client id, state, errors, day, topics, groups that requests name; each way by itself.
    def __new__(
        cls,
        by: Sequence[tuple[bool, bool, bool, bool, bool, bool, bool]],
        kind_of: Callable[
            [int, int],
            tuple[
                bool,
                Layout,
                Layout | None,
                tuple[Summarizer, Summarizer] | None,
                bytes,
                tuple[bool, PartitionRows] | None,
                bool,
            ]
            | None,
        ],
        # A number for each way.
        place_of: Callable[[ConnectionInfo], tuple[str, Sequence[int]] | None],
        # By a way: numbers, and topics whose bytes of records are wanted: whether it is an id.
        tallies_of: Callable[[Exchange, int], tuple[list[int], list[tuple[bool, bytes]]] | None],
        changes_of: Callable[[], int],
        # Whether there is a response, and a time of the broker; error codes.
        meet: Callable[[int, bool, bool, list[int]], None],
        watermarks: Watermarks,
        bins: float | Sequence[int],
        leaves_errors: bool,
        widths: Sequence[int],
        most: int,
        has_latencies: bool,
        takes: Callable[[Exchange], bool] | None,
        # Connections and client ids that have a throttle time in a response.
        throttles: Callable[[ConnectionInfo, str | None], object] | None,
    ) -> Self: ...
    # The first exchange that is Python's, or how many there are.
    def count(self, block: ExchangeBlock, start: int) -> int: ...
    # What a tally counted, and its bytes of records by topic.
    def take_tally(self, number: int) -> tuple[TallyRow | None, list[int]]: ...
    # A width; numbers of its intervals with their counts, and with their response times.
    def take_series(
        self,
    ) -> tuple[int, list[tuple[int, list[int]]], list[tuple[int, DistributionRow]]]: ...
    # A connection is over.
    def close(self, info: ConnectionInfo, /) -> None: ...

# Lines of the list

@final
class LineFiller:
    def __new__(
        cls,
        exchange: type[Exchange],
        fields_of: Callable[[Exchange], tuple[Any, ...] | None],
        texts_of: Callable[[ConnectionInfo], tuple[bytes, ...]],
        template_of: Callable[[Exchange], LineTemplate | None],
        second_of: Callable[[int], Second],
        facts_of: Callable[[Exchange, Summary, Summary | None], tuple[tuple[bytes, ...], bool]],
        line_of: Callable[[Exchange, int], bytes],
    ) -> Self: ...
    @property
    def number(self) -> int: ...  # of the exchange before
    def skip(self) -> None: ...
    def line(self, exchange: Exchange) -> bytes: ...
    # How many bytes are held now.
    def hold(self, events: Events) -> int: ...
    def take(self) -> bytes: ...
    # From one on, in a batch of packets; the first that is Python's, or how many there are, and the bytes
    # that are held now.
    def hold_rows(self, block: ExchangeBlock, start: int, batch: int) -> tuple[int, int]: ...
    # Keys and lengths, as `kdissect.cli.jobs.line_merge` has them, and the lines.
    def take_rows(self) -> tuple[bytes, bytes]: ...

@final
class LineMerge:
    number: int  # of the exchange before
    def __new__(cls, processes: int) -> Self: ...
    def add(self, process: int, rows: bytes, lines: bytes) -> None: ...
    # With keys before this one, at most so many; how many they are.
    def take(self, until: bytes, most: int) -> tuple[bytes, int]: ...

# Text, or a value: its name, its index, its width, and -1 for left, 1 for right, 0 for not filled up.
LinePart = bytes | tuple[str, int, int, int]

@final
class LineTemplate:
    # Raises ValueError for a value that there is not.
    def __new__(
        cls,
        parts: list[LinePart],
        is_stripped: bool,
        low: int,
        stop: int,
        ask: Summarizer,
        answer: Summarizer | None,
    ) -> Self: ...
