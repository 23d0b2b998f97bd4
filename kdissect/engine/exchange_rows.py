"""The one schema of output rows: names, types and meanings, for JSON, tables, Arrow and Spark."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from kdissect.decoders.generated.summary import Summary
from kdissect.engine.times import rfc3339
from kdissect.model.anomaly import Anomaly
from kdissect.model.frame import Frame
from kdissect.model.packets.packet import FILE_SHIFT, NUMBER_MASK
from kdissect.schema.error_codes import error_name
from kdissect.schema.protocol_messages import api_name
from kdissect.session.exchange import Exchange
from kdissect.session.info import ConnectionInfo

Row = dict[str, Any]
_URL_SAFE = bytes.maketrans(b"+/", b"-_")  # RFC 4648 section 5


class RowField(NamedTuple):
    """One field of a row: dotted name, type (`int64`, `string`, `list<string>` ...), meaning."""

    name: str
    type: str
    doc: str


PROXIED_FIELD = RowField(
    "client_proxied",
    "string",
    "address and port of the client that a proxy connected for. Only if its PROXY protocol header has it",
)
PROCESS_FIELDS = (
    RowField(
        "processes",
        "list<struct>",
        "who holds the ends of the connection. Only if the capture says it (docs/inputs.md)",
    ),
    RowField("processes.end", "string", "`client` or `broker`; null if the capture does not say which"),
    RowField("processes.process", "string", "name of the process, or the file that it runs"),
    RowField("processes.pid", "int64", "its id"),
    RowField("processes.pod", "string", "its pod"),
    RowField("processes.namespace", "string", "the pod's namespace"),
    RowField("processes.container", "string", "its container"),
)

EXCHANGE_FIELDS = (
    RowField(
        "number",
        "int64",
        "1-based number in the whole input, filtered or not, for presentation only",
    ),
    RowField("connection", "string", "identity of the connection: 16 hex digits"),
    RowField(
        "exchange",
        "int64",
        "ordinal of the request within its connection. Orphan responses from 1000000000 on",
    ),
    RowField("kind", "string", "`kafka`, or `sasl_token` for a raw frame after SaslHandshake v0"),
    RowField("capture_set", "string", "the set of files the connection was captured in"),
    RowField("client", "string", "address and port of the client"),
    RowField("broker", "string", "address and port of the broker"),
    PROXIED_FIELD,
    *PROCESS_FIELDS,
    RowField("client_id", "string", "client id of the request header. Null if there is none"),
    RowField(
        "api_key", "int16", "API key. Null for SASL tokens and orphan responses that could not be inferred"
    ),
    RowField("api", "string", "name of the API; null where the key is unknown"),
    RowField("api_version", "int16", "version of the API"),
    RowField("correlation_id", "int32", "correlation id of the headers"),
    RowField(
        "state",
        "string",
        "`complete`, `no_response_expected`, `unanswered`, `incomplete` or `orphan_response`",
    ),
    *(
        RowField(f"{side}{name}", type_, doc)
        for side in ("request", "response")
        for name, type_, doc in (
            ("", "struct", f"the {side} frame. Null if it was not captured"),
            (".packets", "struct", "the packets that carried the frame"),
            (".packets.file", "string", "capture file of the frame's first byte"),
            (
                ".packets.first",
                "int64",
                "packet with the frame's first byte, 1-based within its file. For a request log the line",
            ),
            (
                ".packets.last",
                "int64",
                "packet with its last byte, within the same file, or within `last_file`",
            ),
            (".packets.last_file", "string", "only where the frame ends in another file than it begins"),
            (".time", "string", "time of the first byte's packet, RFC 3339 with nanoseconds"),
            (".time_ns", "int64", "this time in nanoseconds since 1970 UTC"),
            (".end_time_ns", "int64", "time of the last byte's packet"),
            (".bytes", "int64", "size on the wire with the 4-byte size prefix. Null for a request log"),
            (
                ".captured",
                "int64",
                "only where bytes are missing: how many of `bytes` were captured before the first hole",
            ),
            (
                ".body",
                "struct",
                "with --bodies: the decoded body, as far as it goes. Null if there is no body",
            ),
            (".error", "string", "with --bodies: why the body is incomplete. Null otherwise"),
        )
    ),
    RowField("latency_ns", "int64", "first byte of the response minus last byte of the request"),
    RowField("errors", "list<string>", "names of the non-zero error codes anywhere in the response"),
    RowField(
        "topics",
        "list<string>",
        "topic names in request and response, also of topic ids if the capture contains their names",
    ),
    RowField("topic_ids", "list<string>", "topic ids in request and response"),
    RowField(
        "closed",
        "struct",
        "how the connection ended, for requests that waited then and answers that it cut. Null otherwise",
    ),
    RowField(
        "closed.by",
        "string",
        "who closed first: `client`, `broker`, or null if the capture does not show it",
    ),
    RowField("closed.how", "string", "`fin`, `rst`, `idle`, `reused` or `capture_end`"),
    RowField("closed.after_ns", "int64", "time between the request and that end"),
    RowField("anomalies", "list<struct>", "what is odd about the exchange"),
    RowField("anomalies.kind", "string", "kind of the anomaly"),
    RowField("anomalies.detail", "string", "one line for people"),
)


TopicsOf = Callable[[Exchange, Summary, Summary], tuple[str, ...]]
"""Topic names of an exchange, given the summaries of its request and its response."""

Nest = Callable[[Row, Exchange], list[Anomaly]]
"""Puts records into the bodies of a row, and returns what is wrong in them (`engine.nested_records`)."""


def wire_topics(exchange: Exchange, asked: Summary, answered: Summary) -> tuple[str, ...]:
    """Return the names that stand in the frames.

    `history.topics.topic_names` knows the names of topic ids, too.
    """
    return union(asked.topics, answered.topics)


class More(NamedTuple):
    """Facts about bodies that a line shows besides errors and topics."""

    groups: tuple[str, ...]
    throttle_ms: int | None
    rack: str | None


def more_of(asked: Summary, answered: Summary) -> More:
    """Return the facts that a line shows of bodies with these summaries."""
    return More(union(asked.groups, answered.groups), answered.throttle_ms, asked.rack)


def listed_summaries(exchange: Exchange) -> tuple[Summary, Summary]:
    """Return summaries of request and response with all that a line shows. Raises nothing."""
    return exchange.request_summary(True), exchange.response_summary(True)


class ExchangeRows:
    """Turns exchanges into rows. `files` are the inputs' names by file index, and may still grow.

    `nest` puts the records into the bodies.
    """

    def __init__(
        self,
        files: Sequence[str],
        bodies: bool = False,
        show_secrets: bool = False,
        topics_of: TopicsOf = wire_topics,
        nest: Nest | None = None,
    ) -> None:
        self._nest = nest
        self._files = files
        self._topics_of = topics_of
        self._bodies = bodies
        self._show_secrets = show_secrets
        self._number = 0

    def skip(self) -> None:
        """Leave out an exchange: later ones keep their numbers in the whole capture."""
        self._number += 1

    def row(self, exchange: Exchange) -> Row:
        """Return the next row."""
        self._number += 1
        return self.numbered(exchange, self._number)

    def numbered(self, exchange: Exchange, number: int) -> Row:
        """Return the row of this number."""
        connection = exchange.connection
        key = exchange.api_key
        request, response = exchange.request, exchange.response
        asked, answered = self.summaries(exchange)
        row: Row = {
            "number": number,
            "connection": connection.id,
            "exchange": exchange.ordinal,
            "kind": exchange.kind,
            **ends_row(connection),
            "client_id": exchange.client_id,
            "api_key": key,
            "api": None if key is None else api_name(key),
            "api_version": exchange.api_version,
            "correlation_id": exchange.correlation_id,
            "state": exchange.state,
            "request": None if request is None else self._frame(request),
            "response": None if response is None else self._frame(response),
            "latency_ns": None
            if request is None or response is None
            else response.time_ns - request.end_time_ns,
            **self.names(exchange, asked, answered),
            "closed": None if exchange.close is None else closed_row(exchange),
            "anomalies": [anomaly_row(a) for a in exchange.all_anomalies()]
            if has_anomalies(exchange)
            else [],
        }
        if self._bodies:
            row["anomalies"] += [
                anomaly_row(anomaly) for anomaly in add_bodies(row, exchange, self._show_secrets)
            ]
        if self._nest is not None:
            anomalies = self._nest(row, exchange)
            if anomalies:
                row["anomalies"] += [anomaly_row(a) for a in anomalies]
        return row

    def summaries(self, exchange: Exchange) -> tuple[Summary, Summary]:
        """Return the summaries of request and response."""
        return exchange.request_summary(), exchange.response_summary()

    def names(self, exchange: Exchange, asked: Summary, answered: Summary) -> Row:
        """Return errors, topics and topic ids, as part of a row."""
        has_ids = asked.topic_ids or answered.topic_ids
        return {
            "errors": [error_name(code) for code in answered.errors] if answered.errors else [],
            "topics": list(self._topics_of(exchange, asked, answered)),
            "topic_ids": [topic_id_text(raw) for raw in union(asked.topic_ids, answered.topic_ids)]
            if has_ids
            else [],
        }

    def _frame(self, frame: Frame) -> Row:
        first, last = frame.first_ref, frame.last_ref
        file = first >> FILE_SHIFT
        packets: Row = {"file": self._files[file], "first": first & NUMBER_MASK, "last": last & NUMBER_MASK}
        if last >> FILE_SHIFT != file:
            packets["last_file"] = self._files[last >> FILE_SHIFT]
        row: Row = {
            "packets": packets,
            "time": rfc3339(frame.time_ns),
            "time_ns": frame.time_ns,
            "end_time_ns": frame.end_time_ns,
            "bytes": frame.bytes_on_wire,
        }
        if len(frame.data) < frame.size and frame.logged is None:
            row["captured"] = len(frame.data) + 4
        return row


def add_bodies(row: Row, exchange: Exchange, show_secrets: bool) -> list[Anomaly]:
    """Add `body` and `error` to the frames of a row, and return their anomalies. Raises nothing."""
    from kdissect.engine.exchange_bodies import body_of  # the list of exchanges has no bodies

    anomalies: list[Anomaly] = []
    for side in ("request", "response"):
        if row[side] is not None:
            decoded = body_of(exchange, side, show_secrets)
            row[side]["body"] = decoded.body
            row[side]["error"] = decoded.error
            anomalies += decoded.anomalies
    return anomalies


def has_anomalies(exchange: Exchange) -> bool:
    """Return whether anything is odd about an exchange or its frames."""
    if exchange.anomalies:
        return True
    request, response = exchange.request, exchange.response
    return bool((request is not None and request.anomalies) or (response is not None and response.anomalies))


def topic_id_text(raw: bytes) -> str:
    """Return a topic id as Kafka prints it: base64url without padding
    (org.apache.kafka.common.Uuid.toString).
    """
    from binascii import b2a_base64  # a library to be loaded, and most lines have no ids

    return b2a_base64(raw, newline=False).translate(_URL_SAFE, b"=").decode()


def union(first: tuple[Any, ...], second: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the items of both, once each, in the order of appearance."""
    if not second or first == second:
        return first
    return tuple(dict.fromkeys(first + second))


def anomaly_row(anomaly: Anomaly) -> Row:
    """Return an anomaly as part of a row."""
    return {"kind": anomaly.kind, "detail": anomaly.detail}


def ends_row(info: ConnectionInfo) -> Row:
    """Capture set, client, broker, the client of a proxy and processes, as part of a row."""
    return {
        "capture_set": info.capture_set,
        "client": info.client_text,
        "broker": info.broker_text,
        **behind_ends_row(info),
    }


def behind_ends_row(info: ConnectionInfo) -> Row:
    """Return the proxy's client and the processes at both ends, as part of a row, if the capture
    names them.
    """
    row: Row = {}
    if info.proxied_text is not None:
        row[PROXIED_FIELD.name] = info.proxied_text
    if info.processes:
        row["processes"] = [{"end": end, **process._asdict()} for end, process in info.processes_of()]
    return row


def closed_row(exchange: Exchange) -> Row:
    """Return how the connection of an unanswered request ended; `exchange.close` is set."""
    close = exchange.close
    assert close is not None
    since = exchange.request.end_time_ns if exchange.request is not None else close.time_ns
    return {"by": close.by, "how": close.how, "after_ns": close.time_ns - since}
