"""Exchanges straight to JSON lines, without a dict in between and without orjson.

The same text as `ListedRows.row` through orjson, held equal by a test. It exists because it is the path of
large captures, and of small ones (importing orjson imports dataclasses, inspect, uuid and json: 30 ms).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kdissect.cli.formats.json_lines.line_filler import OF_BODIES, OF_CONNECTION, FilledLines, learns
from kdissect.cli.formats.json_lines.line_parts import (
    anomalies,
    compact_json,
    ends_of,
    error_names,
    keep,
    number_or_null,
    text_or_null,
)
from kdissect.decoders.generated.summary import Summary
from kdissect.engine.exchange_rows import (
    TopicsOf,
    closed_row,
    has_anomalies,
    listed_summaries,
    more_of,
    union,
    wire_topics,
)
from kdissect.model.frame import Frame
from kdissect.model.packets.packet import FILE_SHIFT
from kdissect.schema.protocol_messages import api_name
from kdissect.session.exchange import Exchange
from kdissect.session.info import ConnectionInfo

if TYPE_CHECKING:
    from kdissect._native import LinePart


class FastLines(FilledLines):
    """Lines of JSON."""

    def __init__(self, files: Sequence[str], topics_of: TopicsOf = wire_topics) -> None:
        super().__init__(files)
        self._topics_of = topics_of
        # Text between the ends of a connection and the correlation id, by API, version and client id: many
        # connections send equal requests.
        self._heads: dict[tuple[int | None, int | None, str | None], str] = {}
        # Those of errors and topics without ids, by all that makes them.
        self._facts: dict[tuple[object, ...], bytes] = {}

    def head(self) -> bytes:
        """Nothing."""
        return b""

    def tail(self) -> bytes:
        """Nothing: every line went out at once."""
        return b""

    def line_of(self, exchange: Exchange, number: int) -> bytes:
        """Return the exchange of this number as a line of JSON."""
        texts = self._texts
        asked, answered = listed_summaries(exchange)
        latency = exchange.latency_ns
        noted = anomalies(exchange) if has_anomalies(exchange) else "[]"
        close = "null" if exchange.close is None else compact_json(closed_row(exchange))
        connection = exchange.connection
        before = (
            f'{{"number":{number},"connection":"{connection.id}","exchange":{exchange.ordinal},'
            f'"kind":{text_or_null(exchange.kind)}{ends_of(connection)}'
            f"{self._head(exchange)}{number_or_null(exchange.correlation_id)},"
            f'"state":{text_or_null(exchange.state)},'
            f'"request":{texts.frame(exchange.request)},"response":{texts.frame(exchange.response)},'
            f'"latency_ns":{number_or_null(latency)},'
        )
        facts = self._facts_of(exchange, asked, answered, learns(exchange, asked, answered))
        behind = f'"closed":{close},"anomalies":{noted}}}\n'
        return before.encode("utf-8", "replace") + facts + behind.encode("utf-8", "replace")

    def parts_of(self, exchange: Exchange) -> tuple[list[LinePart], bool]:
        """Return the line of a paired exchange, or of one to which no response belongs."""
        request, is_silent = exchange.request, exchange.response is None
        assert request is not None
        frame_head = self._texts.frame_head(request.first_ref >> FILE_SHIFT).encode("utf-8", "replace")
        state = b'"no_response_expected"' if is_silent else b'"complete"'
        head = self._head(exchange).encode("utf-8", "replace")
        parts: list[LinePart] = [
            b'{"number":', _value("number"),
            b',"connection":"', (OF_CONNECTION, 0, 0, 0),
            b'","exchange":', _value("exchange"),
            b',"kind":"kafka"', (OF_CONNECTION, 1, 0, 0),
            head, _value("correlation_id"),
            b',"state":', state, b',"request":', *_frame("request", frame_head, request),
        ]  # fmt: skip
        if is_silent:
            parts += [b',"response":null,"latency_ns":null,']
        else:
            parts += [b',"response":', *_frame("response", frame_head, request)]
            parts += [b',"latency_ns":', _value("latency_ns"), b","]
        parts += [(OF_BODIES, 0, 0, 0), b'"closed":null,"anomalies":[]}\n']
        return parts, False

    def connection_texts(self, connection: ConnectionInfo) -> tuple[bytes, ...]:
        """Return the id and ends."""
        return connection.id.encode(), ends_of(connection).encode("utf-8", "replace")

    def body_texts(
        self, exchange: Exchange, asked: Summary, answered: Summary, is_learning: bool
    ) -> tuple[bytes, ...]:
        """Return all as one text."""
        facts = None if is_learning else self._facts.get(_facts_key(asked, answered))
        return (facts or self._facts_of(exchange, asked, answered, is_learning),)

    # The parts

    def _facts_of(self, exchange: Exchange, asked: Summary, answered: Summary, is_learning: bool) -> bytes:
        """Return the bodies' part of a line."""
        more = more_of(asked, answered)
        topics = union(asked.topics, answered.topics)
        ids = union(asked.topic_ids, answered.topic_ids)
        if is_learning:
            topics = self._topics_of(exchange, asked, answered)
        text = (
            f'"errors":{error_names(answered.errors) if answered.errors else "[]"},'
            f'"topics":{self._texts.names(topics)},"topic_ids":{self._texts.ids(ids)},'
            f'"group":{self._texts.names(more.groups)},"throttle":{number_or_null(more.throttle_ms)},'
            f'"rack":{text_or_null(more.rack)},'
        )
        facts = text.encode("utf-8", "replace")
        if not is_learning:
            keep(self._facts, _facts_key(asked, answered), facts)
        return facts

    def _head(self, exchange: Exchange) -> str:
        key, version, client_id = kind = exchange.api_key, exchange.api_version, exchange.client_id
        found = self._heads.get(kind)
        if found is None:
            name = None if key is None else api_name(key)
            found = (
                f',"client_id":{text_or_null(client_id)},'
                f'"api_key":{number_or_null(key)},"api":{text_or_null(name)},'
                f'"api_version":{number_or_null(version)},"correlation_id":'
            )
            keep(self._heads, kind, found)
        return found


def _facts_key(asked: Summary, answered: Summary) -> tuple[object, ...]:
    return asked.topics, answered.topics, answered.errors, *more_of(asked, answered)


def _value(name: str) -> LinePart:
    return name, 0, 0, 0


def _frame(side: str, frame_head: bytes, request: Frame) -> list[LinePart]:
    return [
        frame_head, _value(f"{side}.packets.first"),
        b',"last":', _value(f"{side}.packets.last"),
        b'},"time":"', _value(f"{side}.time"),
        b'","time_ns":', _value(f"{side}.time_ns"),
        b',"end_time_ns":', _value(f"{side}.end_time_ns"),
        b',"bytes":', b"null" if request.logged is not None else _value(f"{side}.bytes"), b"}",
    ]  # fmt: skip
