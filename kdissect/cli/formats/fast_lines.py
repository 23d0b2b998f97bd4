"""Exchanges straight to JSON lines, without a dict in between and without orjson.

The same text as `ExchangeRows.row` through orjson, held equal by a test. It exists because it is the path
of large captures (a line costs a quarter of dict and orjson) and of small ones (importing orjson imports
dataclasses, inspect, uuid and json: 30 ms).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kdissect.cli.formats.line_filler import fields_of, known_texts
from kdissect.cli.formats.line_parts import (
    NO_SECOND,
    LineTexts,
    Second,
    anomalies,
    compact_json,
    ends_of,
    error_names,
    keep,
    number_or_null,
    text_or_null,
    texts_of,
)
from kdissect.decoders.bodies import request_summarizer, response_summarizer
from kdissect.decoders.generated.summary import NO_SUMMARY, Summarizer, Summary
from kdissect.engine.exchange_rows import TopicsOf, closed_row, has_anomalies, union, wire_topics
from kdissect.history.topic_names import DESCRIBE_CLUSTER
from kdissect.model.frame import Frame
from kdissect.model.native import is_compiled, native
from kdissect.model.packets.packet import FILE_SHIFT
from kdissect.schema.metadata_topic import METADATA_TOPIC
from kdissect.schema.protocol_messages import api_name
from kdissect.session.exchange import Exchange, ExchangeKind, State

_KAFKA, _COMPLETE = ExchangeKind.KAFKA, State.COMPLETE
_PACKETS = 1 << 30  # of a file; lines of those behind are made the slow way. Larger integers compare slower.
_PLACE = "%b"
_FRAME_REST = '%d,"last":%d},"time":"%b%bZ","time_ns":%b,"end_time_ns":%b,"bytes":%d}'
_NO_FILE = 0, 0, b""


class LineKind:
    """What exchanges of one API and version with one client id have in common, whatever their connection:
    many connections ask the same.

    `head` stands between the ends of the connection and the correlation id. `template` is the line of one
    that was paired, all of whose packets are in one file; empty where lines are made one by one.
    """

    __slots__ = ("answer", "ask", "head", "template")

    def __init__(self, head: str, template: bytes, ask: Summarizer, answer: Summarizer) -> None:
        self.head = head
        self.template = template
        self.ask, self.answer = ask, answer


class FastLines:
    """Numbers exchanges and writes each as one line.

    `files` are the inputs' names by file index, and may still grow. The exchanges are those of an analyzer,
    with the bytes of their frames. `filler` makes the lines where it is compiled, but for those of unusual
    exchanges.
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
        self._kinds: dict[tuple[int | None, int | None, str | None], LineKind] = {}
        # Those of errors and topics without ids, by topics of request and response, and errors.
        self._facts: dict[tuple[tuple[str, ...], tuple[str, ...], tuple[int, ...]], bytes] = {}
        # The file of the frames before: the reference in front of its first packet's, how many are taken, and
        # the text in front of a packet's number.
        self._file: tuple[int, int, bytes] = _NO_FILE
        # Requests and responses stay in one second for long.
        self._asked_second = self._answered_second = NO_SECOND

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
        # Hot, once an exchange: a request and a response without anomalies fill a template.
        request, response = exchange.request, exchange.response
        connection = exchange.connection
        kind = self._kinds.get((exchange.api_key, exchange.api_version, exchange.client_id)) or self._kind(
            exchange
        )
        template = kind.template
        correlation_id = exchange.correlation_id
        if (
            request is None or response is None or correlation_id is None
            or exchange.state is not _COMPLETE or exchange.kind is not _KAFKA
            or exchange.close or exchange.anomalies or request.anomalies or response.anomalies
            or not template
        ):  # fmt: skip
            return self._unusual_line(number, kind, exchange)
        data, answer = request.data, response.data
        size, answer_size = request.size, response.size
        low, stop, place = self._file
        first, last = request.first_ref - low, request.last_ref - low
        answer_first, answer_last = response.first_ref - low, response.last_ref - low
        if not 0 < first <= last < stop or not 0 < answer_first <= answer_last < stop:
            if not self._enter(request, response):
                return self._unusual_line(number, kind, exchange)
            low, _, place = self._file
            first, last = request.first_ref - low, request.last_ref - low
            answer_first, answer_last = response.first_ref - low, response.last_ref - low
        time_ns, end_time_ns = request.time_ns, request.end_time_ns
        start, stop, second = self._asked_second
        if not start <= time_ns < stop:
            _, _, second = self._asked_second = self._texts.second(time_ns)
        answer_ns, answer_end_ns = response.time_ns, response.end_time_ns
        start, stop, answer_second = self._answered_second
        if not start <= answer_ns < stop:
            _, _, answer_second = self._answered_second = self._texts.second(answer_ns)
        if len(data) != size or len(answer) != answer_size or not second or not answer_second:
            return self._unusual_line(number, kind, exchange)
        asked = exchange.request_summary_cache or kind.ask(data, exchange.request_body_offset)
        answered = kind.answer(answer, exchange.response_body_offset)
        facts = self._facts.get((asked.topics, answered.topics, answered.errors))
        if facts is None or asked.topic_ids or answered.topic_ids:
            facts = self._facts_of(exchange, asked, answered)
        digits, answer_digits = b"%d" % time_ns, b"%d" % answer_ns
        name, ends = connection.line_texts or texts_of(connection)
        return template % (
            number, name, exchange.ordinal, ends, correlation_id,
            place, first, last, second, digits[-9:], digits,
            digits if end_time_ns == time_ns else b"%d" % end_time_ns, size + 4,
            place, answer_first, answer_last, answer_second, answer_digits[-9:], answer_digits,
            answer_digits if answer_end_ns == answer_ns else b"%d" % answer_end_ns, answer_size + 4,
            answer_ns - end_time_ns, facts,
        )  # fmt: skip

    # What a compiled line asks for

    def template_of(self, exchange: Exchange) -> native.LineTemplate | None:
        """The template that the exchange fills, None where there is none."""
        kind = self._kinds.get((exchange.api_key, exchange.api_version, exchange.client_id)) or self._kind(
            exchange
        )
        request, response = exchange.request, exchange.response
        if request is None or not kind.template or not self._enter(request, response or request):
            return None
        low, stop, place = self._file
        text = _template(kind.head, place.decode("utf-8", "replace").replace("%", "%%"), response is None)
        return native.LineTemplate(text, low, stop, kind.ask, None if response is None else kind.answer)

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

    def _unusual_line(self, number: int, kind: LineKind, exchange: Exchange) -> bytes:
        """An exchange without an answer, cut, in two files, with anomalies ..."""
        texts = self._texts
        asked, answered = exchange.request_summary(), exchange.response_summary()
        latency = exchange.latency_ns
        noted = anomalies(exchange) if has_anomalies(exchange) else "[]"
        close = "null" if exchange.close is None else compact_json(closed_row(exchange))
        connection = exchange.connection
        before = (
            f'{{"number":{number},"connection":"{connection.id}","exchange":{exchange.ordinal},'
            f'"kind":{text_or_null(exchange.kind)}{ends_of(connection)}'
            f"{kind.head}{number_or_null(exchange.correlation_id)},"
            f'"state":{text_or_null(exchange.state)},'
            f'"request":{texts.frame(exchange.request)},"response":{texts.frame(exchange.response)},'
            f'"latency_ns":{number_or_null(latency)},'
        )
        facts = self._facts_of(exchange, asked, answered)
        behind = f'"closed":{close},"anomalies":{noted}}}\n'
        return before.encode("utf-8", "replace") + facts + behind.encode("utf-8", "replace")

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

    def _kind(self, exchange: Exchange) -> LineKind:
        key, version, client_id = exchange.api_key, exchange.api_version, exchange.client_id
        name = None if key is None else api_name(key)
        head = (
            f',"client_id":{text_or_null(client_id)},'
            f'"api_key":{number_or_null(key)},"api":{text_or_null(name)},'
            f'"api_version":{number_or_null(version)},"correlation_id":'
        )
        # What DescribeCluster names goes into every line behind it (`_facts_of`).
        template = b"" if key == DESCRIBE_CLUSTER else _template(head)
        kind = LineKind(head, template, *_summarizers(key, version))
        keep(self._kinds, (key, version, client_id), kind)
        return kind

    def _enter(self, request: Frame, response: Frame) -> bool:
        """Go to the file of two frames, if they are in one."""
        file = request.first_ref >> FILE_SHIFT
        low = file << FILE_SHIFT
        refs = request.first_ref, request.last_ref, response.first_ref, response.last_ref
        if not low < min(refs) <= max(refs) < low + _PACKETS:
            return False
        self._file = low, _PACKETS, self._texts.place(file).encode("utf-8", "replace")
        return True


def _template(head: str, place: str = _PLACE, is_silent: bool = False) -> bytes:
    """The line of a paired exchange, or of one to which no response belongs."""
    frame = place + _FRAME_REST
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
