"""Fields of exchanges that filters can name: those of the row schema, and some beside them for daily use."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, NamedTuple

from kdissect.engine.bodies import body_of
from kdissect.engine.rows import EXCHANGE_FIELDS, has_anomalies, topic_id_text, union
from kdissect.model.anomaly import AnomalyKind
from kdissect.model.frame import Frame
from kdissect.model.packet import ref_file, ref_number
from kdissect.model.stream import CloseKind
from kdissect.query.addresses import ADDRESS
from kdissect.query.batch_fields import batch_fields
from kdissect.query.binding import Binding
from kdissect.query.kinds import NUMBER, STRUCTURE, TEXT, Kind
from kdissect.query.moments import TIME_NS
from kdissect.query.named import API, ERROR, Choice, members
from kdissect.query.sources import Cost, RowSource
from kdissect.query.units import LATENCY, NANOSECONDS, SIZE
from kdissect.session.exchange import Exchange, ExchangeKind, State

NUMBER_FIELD = "number"
Get = Callable[[Exchange], Any]


class RowEntry(NamedTuple):
    """One name, its documentation, and where its values come from.

    `alias_of` names the field that it is another name of. `header` is the field's name for readers that can
    leave out exchanges by themselves (`query.pushdown`); empty where they cannot.
    """

    source: RowSource
    doc: str
    alias_of: str = ""
    header: str = ""

    @property
    def name(self) -> str:
        """As filters write it."""
        return self.source.name

    @property
    def kind(self) -> Kind:
        """What its values are."""
        return self.source.kinds[0]


# Names for daily use of fields of the row schema.
ALIASES = {
    "latency": "latency_ns",
    "version": "api_version",
    "topic": "topics",
    "topic_id": "topic_ids",
    "error": "errors",
    "anomaly": "anomalies.kind",
}
_KINDS = members(AnomalyKind)
# What an anomaly can be only once bodies are decoded: that is done for filters that name one of these.
_OF_BODIES = (AnomalyKind.MALFORMED_BODY, AnomalyKind.TRAILING_BYTES, AnomalyKind.MALFORMED_PAYLOAD)


@cache
def row_fields() -> dict[str, RowEntry]:
    """Every field by name."""
    docs = {field.name: field.doc for field in EXCHANGE_FIELDS}
    found: dict[str, RowEntry] = {}
    for source, header in (*_plain(), *_frames("request"), *_frames("response")):
        doc = (docs.get(source.name) or _DOCS[source.name]).removeprefix("with --bodies: ")
        found[source.name] = RowEntry(source, doc, header=header)
    for source, doc in batch_fields():
        found[source.name] = RowEntry(source, doc)
    for alias, name in ALIASES.items():
        entry = found[name]
        found[alias] = RowEntry(_renamed(alias, entry.source), entry.doc, name, entry.header)
    return found


def _renamed(alias: str, source: RowSource) -> RowSource:
    # a bare number of nanoseconds is what latency_ns is for: by its short name a span of time has a unit
    return source.named(alias, LATENCY if source.kinds[0] is NANOSECONDS else source.kinds[0])


_DOCS = {
    "time": "time of the request's first byte, of the response's where there is no request",
    "client.ip": "address of the client",
    "client.port": "port of the client",
    "broker.ip": "address of the broker",
    "broker.port": "port of the broker",
    "host": "client or broker: true if one of them is meant",
    "software": "name and version that the client gave in ApiVersions, once it did",
    "principal": "user the client authenticated as, once it did and where the mechanism shows it",
    "mechanism": "SASL mechanism of the connection, once it is chosen",
}


def _of(get: Get) -> Callable[[Binding], Get]:
    return lambda _: get


def _field(name: str, kind: Kind, get: Get, header: str = "") -> tuple[RowSource, str]:
    return RowSource(name, kind, _of(get)), header


def _plain() -> Sequence[tuple[RowSource, str]]:
    return (
        (RowSource(NUMBER_FIELD, NUMBER, _counter), ""),
        _field("connection", TEXT, lambda e: e.connection.id, "connection"),
        _field("exchange", NUMBER, lambda e: e.ordinal, "exchange"),
        _field("kind", members(ExchangeKind), lambda e: e.kind, "kind"),
        _field("capture_set", TEXT, lambda e: e.connection.capture_set, "capture_set"),
        _field("client", ADDRESS, lambda e: e.connection.client),
        _field("client.ip", ADDRESS, lambda e: e.connection.client.host),
        _field("client.port", NUMBER, lambda e: e.connection.client.port, "client.port"),
        _field("broker", ADDRESS, lambda e: e.connection.broker),
        _field("broker.ip", ADDRESS, lambda e: e.connection.broker.host),
        _field("broker.port", NUMBER, lambda e: e.connection.broker.port, "broker.port"),
        (RowSource("host", ADDRESS, _of(_ends), is_many=True), ""),
        _field("client_id", TEXT, lambda e: e.client_id, "client_id"),
        _field("software", TEXT, _software),
        _field("principal", TEXT, lambda e: e.connection.principal),
        _field("mechanism", TEXT, lambda e: e.connection.mechanism),
        _field("api_key", NUMBER, lambda e: e.api_key, "api_key"),
        _field("api", API, lambda e: e.api_key, "api_key"),
        _field("api_version", NUMBER, lambda e: e.api_version, "api_version"),
        _field("correlation_id", NUMBER, lambda e: e.correlation_id, "correlation_id"),
        _field("state", members(State), lambda e: e.state, "state"),
        _field("time", TIME_NS, _time, "time"),
        _field("latency_ns", NANOSECONDS, lambda e: e.latency_ns, "latency_ns"),
        (RowSource("errors", ERROR, _of(_errors), True, Cost.SUMMARY, _has_errors), ""),
        (RowSource("topics", TEXT, _topics, True, Cost.SUMMARY), ""),
        (RowSource("topic_ids", TEXT, _of(_topic_ids), True, Cost.SUMMARY), ""),
        _field("closed", STRUCTURE, lambda e: e.close),
        _field("closed.by", Choice({n: n for n in ("client", "broker")}, False, False), _closed_by),
        _field("closed.how", members(CloseKind), lambda e: e.close.how if e.close else None),
        _field("closed.after_ns", NANOSECONDS, _closed_after),
        (RowSource("anomalies", STRUCTURE, _of(_anomalies), is_many=True), ""),
        (RowSource("anomalies.kind", _KINDS, _of(_kinds), is_many=True, refine=_refined), ""),
        (RowSource("anomalies.detail", TEXT, _of(_details), is_many=True), ""),
    )


def _frames(side: str) -> Sequence[tuple[RowSource, str]]:
    def of(name: str, kind: Kind, get: Callable[[Frame], Any], header: str = "") -> tuple[RowSource, str]:
        return _field(f"{side}{name}", kind, _guarded(side, get), header)

    return (
        of("", STRUCTURE, lambda frame: frame),
        of(".packets", STRUCTURE, lambda frame: frame),
        (RowSource(f"{side}.packets.file", TEXT, _file_getter(side, first=True)), ""),
        of(".packets.first", NUMBER, lambda frame: ref_number(frame.first_ref)),
        of(".packets.last", NUMBER, lambda frame: ref_number(frame.last_ref)),
        (RowSource(f"{side}.packets.last_file", TEXT, _file_getter(side, first=False)), ""),
        of(".time", TIME_NS, lambda frame: frame.time_ns, f"{side}.time_ns"),
        of(".time_ns", TIME_NS, lambda frame: frame.time_ns, f"{side}.time_ns"),
        of(".end_time_ns", TIME_NS, lambda frame: frame.end_time_ns, f"{side}.end_time_ns"),
        of(".bytes", SIZE, lambda frame: frame.size + 4, f"{side}.bytes"),
        of(".captured", SIZE, lambda frame: len(frame.data) + 4 if frame.is_cut else None),
        (RowSource(f"{side}.body", STRUCTURE, _whole(side, 0), cost=Cost.WHOLE_BODY), ""),
        (RowSource(f"{side}.error", TEXT, _whole(side, 1), cost=Cost.WHOLE_BODY), ""),
    )


def _guarded(side: str, get: Callable[[Frame], Any]) -> Get:
    """The value of one side's frame, None where there is none."""
    if side == "request":
        return lambda e: None if e.request is None else get(e.request)
    return lambda e: None if e.response is None else get(e.response)


def _file_getter(side: str, first: bool) -> Callable[[Binding], Get]:
    def make(binding: Binding) -> Get:
        names = binding.context.file_names

        def file(frame: Frame) -> str | None:
            begins, ends = ref_file(frame.first_ref), ref_file(frame.last_ref)
            index = begins if first else ends
            return names[index] if index < len(names) and (first or begins != ends) else None

        return _guarded(side, file)

    return make


def _whole(side: str, part: int) -> Callable[[Binding], Get]:
    return _of(lambda e: body_of(e, side, show_secrets=False)[part])


def _counter(_: Binding) -> Get:
    """Numbers the exchanges it is asked about: once each, all of them, in order (`Predicate.needs_all`)."""
    count = 0

    def number(_: Exchange) -> int:
        nonlocal count
        count += 1
        return count

    return number


def _ends(e: Exchange) -> Sequence[Any]:
    return e.connection.client, e.connection.broker


def _software(e: Exchange) -> str | None:
    info = e.connection
    return " ".join(part for part in (info.software_name, info.software_version) if part) or None


def _time(e: Exchange) -> int | None:
    frame = e.request or e.response
    return None if frame is None else frame.time_ns


def _errors(e: Exchange) -> Sequence[int]:
    """Error codes of the response; NONE alone where it has none."""
    if e.response is None:
        return ()
    return e.response_summary().errors or (0,)


def _has_errors(e: Exchange) -> bool:
    return bool(e.response_summary().errors)


def _topics(binding: Binding) -> Get:
    topics_of = binding.context.topics_of
    return lambda e: topics_of(e, e.request_summary(), e.response_summary())


def _topic_ids(e: Exchange) -> Sequence[str]:
    found = union(e.request_summary().topic_ids, e.response_summary().topic_ids)
    return tuple(map(topic_id_text, found))


def _closed_by(e: Exchange) -> str | None:
    return e.close.by if e.close else None


def _closed_after(e: Exchange) -> int | None:
    if e.close is None:
        return None
    return e.close.time_ns - (e.request.end_time_ns if e.request is not None else e.close.time_ns)


def _anomalies(e: Exchange) -> Sequence[Any]:
    return e.all_anomalies() if has_anomalies(e) else ()


def _kinds(e: Exchange) -> Sequence[str]:
    return [str(anomaly.kind) for anomaly in _anomalies(e)]


def _details(e: Exchange) -> Sequence[str]:
    return [anomaly.detail for anomaly in _anomalies(e)]


def _refined(kinds: tuple[str, ...]) -> RowSource | None:
    if not any(kind in _OF_BODIES for kind in kinds):
        return None
    return RowSource("anomalies.kind", _KINDS, _of(_deep_kinds), is_many=True, cost=Cost.WHOLE_BODY)


def _deep_kinds(e: Exchange) -> Sequence[str]:
    asked, answered = (body_of(e, side, show_secrets=False).anomalies for side in ("request", "response"))
    return [str(anomaly.kind) for anomaly in (*_anomalies(e), *asked, *answered)]
