"""Fields of exchanges that filters can name: fields of the row schema, and further ones for daily use."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any, NamedTuple

from kdissect.engine.exchange_rows import EXCHANGE_FIELDS
from kdissect.model.frame import Frame
from kdissect.model.packets.packet import ref_number
from kdissect.model.packets.process import Process
from kdissect.model.packets.stream import CloseKind
from kdissect.model.record_batch import CODEC_NAMES, NO_PRODUCER_ID, NO_SEQUENCE, NO_TIMESTAMP, RecordBatch
from kdissect.query.binding import Binding
from kdissect.query.fields import row_values as values
from kdissect.query.fields.field_sources import Cost, Many, RowSource
from kdissect.query.fields.named import API, ERROR, Choice, members
from kdissect.query.values.addresses import ADDRESS
from kdissect.query.values.points_in_time import TIME_MS, TIME_NS
from kdissect.query.values.units import LATENCY, NANOSECONDS, SIZE
from kdissect.query.values.value_kinds import FLAG, HEX, NUMBER, STRUCTURE, TEXT, ValueKind
from kdissect.session.exchange import ExchangeKind, State

NUMBER_FIELD = "number"
CLUSTER_FIELD = "cluster"
# The same in all exchanges of one connection, API, version and client id that are paired without anomalies.
KIND_FIELDS = frozenset(
    {
        "connection", "capture_set", "client", "client.ip", "client.port", "client.proxied", "broker",
        "broker.ip", "broker.port", "host", "client_id", "api", "api_key", "api_version", "version", "kind",
    }
)  # fmt: skip
_CODEC = Choice(dict(enumerate(CODEC_NAMES)), False, True)
_Get = Callable[[RecordBatch], Any]

# Names and meanings are equal to the rows of `kdissect segments`.
_FIELDS: tuple[tuple[str, ValueKind, str, _Get], ...] = (
    (
        "",
        STRUCTURE,
        "the record batches in request (Produce) or response (Fetch ...)",
        lambda b: b,
    ),
    (".bytes", SIZE, "size of a batch with its offset and length", lambda b: b.size),
    (".base_offset", NUMBER, "offset of a batch's first record", lambda b: b.base_offset),
    (".count", NUMBER, "records that a batch says it has", lambda b: b.count),
    (".magic", NUMBER, "format of a batch: 0, 1 or 2", lambda b: b.magic),
    (".codec", _CODEC, "compression of a batch: `none`, `gzip`, `snappy`, `lz4`, `zstd`", lambda b: b.codec),
    (
        ".max_timestamp_ms",
        TIME_MS,
        "largest timestamp in a batch. Null for none",
        lambda b: None if b.max_timestamp == NO_TIMESTAMP else b.max_timestamp,
    ),
    (
        ".producer_id",
        NUMBER,
        "id of an idempotent producer. Null without one",
        lambda b: None if b.producer_id == NO_PRODUCER_ID else b.producer_id,
    ),
    (
        ".producer_epoch",
        NUMBER,
        "its epoch",
        lambda b: None if b.producer_id == NO_PRODUCER_ID else b.producer_epoch,
    ),
    (
        ".base_sequence",
        NUMBER,
        "sequence number of a batch's first record. Null without one",
        lambda b: None if b.base_sequence == NO_SEQUENCE else b.base_sequence,
    ),
    (".transactional", FLAG, "whether a batch belongs to a transaction", lambda b: b.is_transactional),
    (".control", FLAG, "whether a batch holds control records", lambda b: b.is_control),
    (".crc_ok", FLAG, "whether the checksum of a batch is right", lambda b: b.crc_is_right),
)


class RowEntry(NamedTuple):
    """One name, its documentation, and the source of its values.

    `alias_of` names the field that it is another name of. `header` is the field's name for readers that can
    leave out exchanges themselves (`query.predicate`), empty if they cannot.
    """

    source: RowSource
    doc: str
    alias_of: str = ""
    header: str = ""

    @property
    def kind(self) -> ValueKind:
        """The kind of its values."""
        (kind,) = self.source.kinds
        return kind


# Names for daily use, for fields of the row schema.
_ALIASES = {
    "latency": "latency_ns",
    "rtt": "rtt_ns",
    "delay": "delay_ns",
    "version": "api_version",
    "topic": "topics",
    "topic_id": "topic_ids",
    "error": "errors",
    "anomaly": "anomalies.kind",
    "batch.max_timestamp": "batch.max_timestamp_ms",
    "client_proxied": "client.proxied",
    **{name: f"processes.{name}" for name in Process._fields},
}


@cache
def row_fields() -> dict[str, RowEntry]:
    """Return every field by name."""
    docs = {field.name: field.doc for field in EXCHANGE_FIELDS}
    found: dict[str, RowEntry] = {}
    for source, header in (*_plain(), *_frames("request"), *_frames("response")):
        doc = (docs.get(source.name) or _DOCS[source.name]).removeprefix("with --bodies: ")
        found[source.name] = RowEntry(source, doc, header=header)
    for source, doc in batch_fields():
        found[source.name] = RowEntry(source, doc)
    for alias, name in _ALIASES.items():
        entry = found[name]
        found[alias] = RowEntry(_renamed(alias, entry.source), entry.doc, name, entry.header)
    return found


def _renamed(alias: str, source: RowSource) -> RowSource:
    # latency_ns takes a bare number of nanoseconds. Under its short name a span of time has a unit.
    return source.named(alias, LATENCY if source.kinds[0] is NANOSECONDS else source.kinds[0])


# Times that the broker's request log has, and what they are of.
_PHASES = {
    "queue": "time until a thread of the broker took the request",
    "local": "time in which the broker worked on the request itself",
    "remote": "time in which the broker waited for followers, group members or new records",
    "throttle": "time for which the broker throttled the client",
    "response_queue": "time until a thread of the broker took the response",
    "send": "time to send the response",
}
_OF_LOG = "; only of a request log"

_DOCS = {
    **{f"broker.{name}": f"{what}{_OF_LOG}" for name, what in _PHASES.items()},
    "listener": f"the connection's listener name{_OF_LOG}",
    "security_protocol": f"security protocol of the listener: `SASL_SSL` ...{_OF_LOG}",
    **{
        f"{role}.{name}": f"{what} at the {role}'s end, where the capture says it"
        for role in ("client", "broker")
        for name, what in values.PROCESS_PARTS.items()
    },
    **{
        f"{side}.hex": f"bytes of the {side} on the wire with the 4-byte size prefix, as far as they were "
        "captured. Secrets are blanked. Null for a request log"
        for side in ("request", "response")
    },
    "time": "time of the request's first byte, of the response's if there is no request",
    "client.ip": "address of the client",
    "client.port": "port of the client",
    "client.proxied": "the client that a proxy connected for, by its PROXY protocol header",
    "broker.ip": "address of the broker",
    "broker.port": "port of the broker",
    "host": "client or broker: true if one of them is meant",
    CLUSTER_FIELD: "id of the broker's cluster, once a response or another broker's Metadata named it",
    "software": "name and version that the client gave in ApiVersions, once it did",
    "rtt_ns": "round trip between client and broker, by the shortest acknowledgments up to then",
    "delay_ns": "how long retransmissions held the exchange up, as far as the capture shows it",
    "principal": "user the client authenticated as, once it did and where the mechanism shows it",
    "mechanism": "SASL mechanism of the connection, once it is chosen",
}


def _field(name: str, kind: ValueKind, get: values.Get, header: str = "") -> tuple[RowSource, str]:
    return RowSource(name, kind, values.plain(get)), header


def _plain() -> Sequence[tuple[RowSource, str]]:
    return (
        (RowSource(NUMBER_FIELD, NUMBER, values.number), ""),
        _field("connection", TEXT, lambda e: e.connection.id, "connection"),
        _field("exchange", NUMBER, lambda e: e.ordinal, "exchange"),
        _field("kind", members(ExchangeKind), lambda e: e.kind, "kind"),
        _field("capture_set", TEXT, lambda e: e.connection.capture_set, "capture_set"),
        _field("client", ADDRESS, lambda e: e.connection.client),
        _field("client.ip", ADDRESS, lambda e: e.connection.client.host),
        _field("client.port", NUMBER, lambda e: e.connection.client.port, "client.port"),
        _field("client.proxied", ADDRESS, lambda e: e.connection.proxied),
        _field("broker", ADDRESS, lambda e: e.connection.broker),
        _field("broker.ip", ADDRESS, lambda e: e.connection.broker.host),
        _field("broker.port", NUMBER, lambda e: e.connection.broker.port, "broker.port"),
        (RowSource("host", ADDRESS, values.plain(values.ends), is_many=True), ""),
        *_processes(),
        _field(CLUSTER_FIELD, TEXT, values.cluster),
        _field("client_id", TEXT, lambda e: e.client_id, "client_id"),
        _field("software", TEXT, values.software),
        _field("principal", TEXT, lambda e: e.connection.principal),
        _field("mechanism", TEXT, lambda e: e.connection.mechanism),
        _field("api_key", NUMBER, lambda e: e.api_key, "api_key"),
        _field("api", API, lambda e: e.api_key, "api_key"),
        _field("api_version", NUMBER, lambda e: e.api_version, "api_version"),
        _field("correlation_id", NUMBER, lambda e: e.correlation_id, "correlation_id"),
        _field("state", members(State), lambda e: e.state, "state"),
        _field("time", TIME_NS, values.time, "time"),
        _field("latency_ns", NANOSECONDS, lambda e: e.latency_ns, "latency_ns"),
        _field("rtt_ns", NANOSECONDS, lambda e: e.rtt_ns),
        _field("delay_ns", NANOSECONDS, lambda e: e.delay_ns),
        *(_field(f"broker.{name}", LATENCY, values.logged(f"{name}_ns")) for name in _PHASES),
        _field("listener", TEXT, values.logged("listener")),
        _field("security_protocol", TEXT, values.logged("security_protocol")),
        (RowSource("errors", ERROR, values.plain(values.errors), True, Cost.SUMMARY, values.has_errors), ""),
        (RowSource("topics", TEXT, values.topics, True, Cost.SUMMARY), ""),
        (RowSource("topic_ids", TEXT, values.plain(values.topic_ids), True, Cost.SUMMARY), ""),
        _field("closed", STRUCTURE, lambda e: e.close),
        _field("closed.by", Choice({n: n for n in ("client", "broker")}, False, False), values.closed_by),
        _field("closed.how", members(CloseKind), lambda e: e.close.how if e.close else None),
        _field("closed.after_ns", NANOSECONDS, values.closed_after),
        (RowSource("anomalies", STRUCTURE, values.plain(values.anomalies), is_many=True), ""),
        (
            RowSource(
                "anomalies.kind",
                values.ANOMALY_KINDS,
                values.plain(values.kinds),
                is_many=True,
                refine=values.refined,
            ),
            "",
        ),
        (RowSource("anomalies.detail", TEXT, values.plain(values.details), is_many=True), ""),
    )


def _processes() -> Iterator[tuple[RowSource, str]]:
    """Yield the processes that hold the ends: for either end, and for one."""
    yield RowSource("processes", STRUCTURE, values.plain(values.processes), is_many=True), ""
    end = Choice({n: n for n in ("client", "broker")}, False, False)
    yield RowSource("processes.end", end, values.plain(values.known_ends), is_many=True), ""
    for prefix, role in (("processes", None), ("client", "client"), ("broker", "broker")):
        for part in Process._fields:
            kind = NUMBER if part == "pid" else TEXT
            get = values.part_of_processes(part, role)
            yield RowSource(f"{prefix}.{part}", kind, values.plain(get), is_many=True), ""


def _frames(side: str) -> Sequence[tuple[RowSource, str]]:
    def of(
        name: str, kind: ValueKind, get: Callable[[Frame], Any], header: str = ""
    ) -> tuple[RowSource, str]:
        return _field(f"{side}{name}", kind, values.guarded(side, get), header)

    return (
        of("", STRUCTURE, lambda frame: frame),
        of(".packets", STRUCTURE, lambda frame: frame),
        (RowSource(f"{side}.packets.file", TEXT, values.file_getter(side, first=True)), ""),
        of(".packets.first", NUMBER, lambda frame: ref_number(frame.first_ref)),
        of(".packets.last", NUMBER, lambda frame: ref_number(frame.last_ref)),
        (RowSource(f"{side}.packets.last_file", TEXT, values.file_getter(side, first=False)), ""),
        of(".time", TIME_NS, lambda frame: frame.time_ns, f"{side}.time_ns"),
        of(".time_ns", TIME_NS, lambda frame: frame.time_ns, f"{side}.time_ns"),
        of(".end_time_ns", TIME_NS, lambda frame: frame.end_time_ns, f"{side}.end_time_ns"),
        of(".bytes", SIZE, lambda frame: frame.bytes_on_wire, f"{side}.bytes"),
        of(
            ".captured",
            SIZE,
            lambda frame: len(frame.data) + 4 if frame.is_cut and frame.logged is None else None,
        ),
        (RowSource(f"{side}.hex", HEX, values.frame_bytes(side), cost=Cost.WHOLE_BODY), ""),
        (RowSource(f"{side}.body", STRUCTURE, values.whole(side, 0), cost=Cost.WHOLE_BODY), ""),
        (RowSource(f"{side}.error", TEXT, values.whole(side, 1), cost=Cost.WHOLE_BODY), ""),
    )


# Fields of the record batches in an exchange.
def batch_fields() -> Sequence[tuple[RowSource, str]]:
    """Return each field with its documentation."""
    return [
        (RowSource(f"batch{name}", kind, _getter(get), is_many=True, cost=Cost.WHOLE_BODY), doc)
        for name, kind, doc, get in _FIELDS
    ]


def batch_parts() -> Iterator[tuple[str, Callable[[RecordBatch], Any]]]:
    """Yield name and getter for each part of a batch, the values as JSON has them."""
    for name, kind, _, get in _FIELDS:
        if name:
            yield name[1:], _named(get) if kind is _CODEC else get


def _named(get: _Get) -> _Get:
    return lambda batch: _CODEC.text(get(batch))


def _getter(get: _Get) -> Callable[[Binding], Many]:
    def make(binding: Binding) -> Many:
        batches = binding.batches
        return lambda exchange: [get(batch) for batch in batches(exchange)]

    return make
