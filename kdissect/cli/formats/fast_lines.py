"""Exchanges straight to JSON lines, without a dict in between and without orjson.

The same text as `ExchangeRows.row` through orjson, held equal by a test. Python writes each line from its
parts; the compiled part fills a template for exchanges that were paired and have nothing special. It exists
because it is the path of large captures, and of small ones (importing orjson imports dataclasses, inspect,
uuid and json: 30 ms).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kdissect.cli.formats.line_filler import fields_of, known_texts
from kdissect.cli.formats.line_parts import (
    LineTexts,
    Second,
    anomalies,
    compact_json,
    ends_of,
    error_names,
    keep,
    number_or_null,
    text_or_null,
)
from kdissect.decoders.bodies import request_summarizer, response_summarizer
from kdissect.decoders.generated.summary import NO_SUMMARY, Summary
from kdissect.engine.exchange_rows import TopicsOf, closed_row, has_anomalies, union, wire_topics
from kdissect.history.topic_names import DESCRIBE_CLUSTER
from kdissect.model.native import is_compiled, native
from kdissect.model.packets.packet import FILE_SHIFT
from kdissect.schema.metadata_topic import METADATA_TOPIC
from kdissect.schema.protocol_messages import api_name
from kdissect.session.exchange import Exchange

_PACKETS = 1 << 30  # of a file; lines of those behind are made the slow way. Larger integers compare slower.
_FRAME_REST = '%d,"last":%d},"time":"%b%bZ","time_ns":%b,"end_time_ns":%b,"bytes":%d}'


class FastLines:
    """Numbers exchanges and writes each as one line.

    `files` are the inputs' names by file index, and may still grow. The exchanges are those of an analyzer,
    with the bytes of their frames. `filler` makes the lines where it is compiled, but for those of exchanges
    that take the slow path.
    """

    def __init__(self, files: Sequence[str], topics_of: TopicsOf = wire_topics) -> None:
        self._number = 0
        self.filler: native.LineFiller | None = None
        if is_compiled:
            self.filler = native.LineFiller(
                Exchange, fields_of, known_texts,
                self.template_of, self.second_of, self.facts_of, self.line_of,
            )  # fmt: skip
        self._topics_of = topics_of
        self._texts = LineTexts(files)
        # What stands between the ends of a connection and the correlation id, by API, version and client id:
        # many connections ask the same.
        self._heads: dict[tuple[int | None, int | None, str | None], str] = {}
        # Those of errors and topics without ids, by topics of request and response, and errors.
        self._facts: dict[tuple[tuple[str, ...], tuple[str, ...], tuple[int, ...]], bytes] = {}

    def head(self) -> bytes:
        """Nothing."""
        return b""

    def tail(self) -> bytes:
        """Nothing: every line went out at once."""
        return b""

    @property
    def number(self) -> int:
        """That of the exchange before."""
        return self._number if self.filler is None else self.filler.number

    def skip(self) -> None:
        """Leave out an exchange: those behind it keep the numbers they have in the whole capture."""
        if self.filler is not None:
            self.filler.skip()
        else:
            self._number += 1

    def line(self, exchange: Exchange) -> bytes:
        """The exchange as a line of JSON."""
        if self.filler is not None:
            return self.filler.line(exchange)
        self._number += 1
        return self.line_of(exchange, self._number)

    def line_of(self, exchange: Exchange, number: int) -> bytes:
        """The exchange of this number as a line of JSON."""
        texts = self._texts
        asked, answered = exchange.request_summary(), exchange.response_summary()
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
        facts = self._facts_of(exchange, asked, answered)
        behind = f'"closed":{close},"anomalies":{noted}}}\n'
        return before.encode("utf-8", "replace") + facts + behind.encode("utf-8", "replace")

    # What a compiled line asks for

    def template_of(self, exchange: Exchange) -> native.LineTemplate | None:
        """The template that the exchange fills, None where there is none."""
        key, version = exchange.api_key, exchange.api_version
        request, response = exchange.request, exchange.response
        # What DescribeCluster names goes into every line behind it (`_facts_of`).
        if request is None or key == DESCRIBE_CLUSTER:
            return None
        low = request.first_ref >> FILE_SHIFT << FILE_SHIFT
        refs = [ref for frame in (request, response or request) for ref in (frame.first_ref, frame.last_ref)]
        if not low < min(refs) <= max(refs) < low + _PACKETS:
            return None  # they are not in one file
        text = _template(self._head(exchange), self._texts.place(low >> FILE_SHIFT), response is None)
        ask, answer = _summarizers(key, version)
        return native.LineTemplate(text, low, _PACKETS, ask, None if response is None else answer)

    def second_of(self, time_ns: int) -> Second:
        """The second of a time (`LineTexts.second`)."""
        return self._texts.second(time_ns)

    def facts_of(self, exchange: Exchange, asked: Summary, answered: Summary | None) -> tuple[bytes, bool]:
        """Errors, topics and their ids, and whether they are the same for the same summaries."""
        answered = answered or NO_SUMMARY  # where there is no response
        key = asked.topics, answered.topics, answered.errors
        facts = self._facts.get(key)
        has_ids = bool(asked.topic_ids or answered.topic_ids)
        if facts is None or has_ids:
            facts = self._facts_of(exchange, asked, answered)
        return facts, not has_ids and key in self._facts

    # The parts

    def _facts_of(self, exchange: Exchange, asked: Summary, answered: Summary) -> bytes:
        """Errors, topics and their ids."""
        topics = union(asked.topics, answered.topics)
        ids = union(asked.topic_ids, answered.topic_ids)
        names_ids = bool(ids) or exchange.api_key == DESCRIBE_CLUSTER or METADATA_TOPIC in topics
        if names_ids:
            topics = self._topics_of(exchange, asked, answered)  # which learns from it, thus every time
        text = (
            f'"errors":{error_names(answered.errors) if answered.errors else "[]"},'
            f'"topics":{self._texts.names(topics)},"topic_ids":{self._texts.ids(ids)},'
        )
        facts = text.encode("utf-8", "replace")
        if not names_ids:
            keep(self._facts, (asked.topics, answered.topics, answered.errors), facts)
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


def _template(head: str, place: str, is_silent: bool) -> bytes:
    """The line of a paired exchange, or of one to which no response belongs."""
    frame = place.replace("%", "%%") + _FRAME_REST
    frames = f'"complete","request":{frame},"response":{frame},"latency_ns":%d'
    if is_silent:
        frames = f'"no_response_expected","request":{frame},"response":null,"latency_ns":null'
    text = (
        '{"number":%d,"connection":"%b","exchange":%d,"kind":"kafka"%b'
        f'{head.replace("%", "%%")}%d,"state":{frames},%b"closed":null,"anomalies":[]}}\n'
    )
    return text.encode("utf-8", "replace")


def _summarizers(key: int | None, version: int | None) -> Any:
    if key is None or version is None:
        return _nothing_known, _nothing_known
    return request_summarizer(key, version), response_summarizer(key, version)


def _nothing_known(data: bytes, offset: int) -> Summary:
    return NO_SUMMARY
