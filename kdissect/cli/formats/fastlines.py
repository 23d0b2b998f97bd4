"""Exchanges straight to JSON lines, without a dict in between and without orjson.

The same text as `ExchangeRows.row` through orjson, held equal by a test. It exists because it is the path
of large captures (a line costs half of dict and orjson) and of small ones (importing orjson imports
dataclasses, inspect, uuid and json: 30 ms).
"""

from collections.abc import Iterable, Sequence
from typing import Any

from kdissect.engine.rows import TopicsOf, anomaly_row, closed_row, topic_id_text, union, wire_topics
from kdissect.engine.times import SECOND_NS, rfc3339
from kdissect.history.topics import DESCRIBE_CLUSTER
from kdissect.model.frame import Frame
from kdissect.model.packet import FILE_SHIFT, NUMBER_MASK
from kdissect.schema.errors import error_name
from kdissect.schema.metadata_topic import METADATA_TOPIC
from kdissect.schema.registry import api_name
from kdissect.session.exchange import Exchange, ExchangeKind, State
from kdissect.session.info import ConnectionInfo

try:
    from _json import (
        encode_basestring as quote,  # what the json package uses, without importing json and its regexes
    )
except ImportError:  # not CPython
    from json.encoder import encode_basestring as quote

# Texts that repeat on every line are made once. A hostile peer can send new ones for ever: the caches
# start over when full.
_CACHE_ENTRIES = 4096
# Between them, in 2001 and 2286, times in nanoseconds have ten digits of seconds and nine behind them.
_TEN_DIGITS, _ELEVEN_DIGITS = 10**18, 10**19
# Formatting a StrEnum costs a call into Python each time; these two values are nearly all there is.
_KAFKA, _TOKEN, _COMPLETE = '"kind":"kafka"', '"kind":"sasl_token"', '"complete"'
KAFKA, COMPLETE = ExchangeKind.KAFKA, State.COMPLETE


class FastLines:
    """Numbers exchanges and writes each as one line.

    `files` are the inputs' names by file index, and may still grow.
    """

    def __init__(self, files: Sequence[str], topics_of: TopicsOf = wire_topics) -> None:
        self._files = files
        self._topics_of = topics_of
        self._number = 0
        self._ends: dict[ConnectionInfo, str] = {}  # its ends are known before its first exchange
        self._places: dict[int, str] = {}
        self._seconds: dict[str, str] = {}
        self._apis: dict[tuple[int | None, int | None], str] = {}
        self._strings: dict[str | None, str] = {None: "null"}
        self._lists: dict[tuple[str, ...], str] = {(): "[]"}
        self._ids: dict[tuple[bytes, ...], str] = {(): "[]"}

    def head(self) -> bytes:
        """Nothing."""
        return b""

    def tail(self) -> bytes:
        """Nothing: every line went out at once."""
        return b""

    def skip(self) -> None:
        """Leave out an exchange: those behind it keep the numbers they have in the whole capture."""
        self._number += 1

    def line(self, exchange: Exchange) -> bytes:
        """The exchange as a line of JSON."""
        # Hot, once an exchange: one f-string, caches looked up in place.
        self._number = number = self._number + 1
        connection = exchange.connection
        request, response = exchange.request, exchange.response
        asked = exchange.request_summary_cache or exchange.request_summary()
        answered = exchange.response_summary()
        _, topics, ids, _, _, _ = asked
        codes, answered_topics, answered_ids, _, _, _ = answered
        ends = self._ends.get(connection) or self._end_texts(connection)
        api = self._apis.get((exchange.api_key, exchange.api_version)) or self._api_text(exchange)
        client_id = self._strings.get(exchange.client_id) or self._string(exchange.client_id)
        if answered_topics and answered_topics != topics:
            topics = union(topics, answered_topics)
        if answered_ids and answered_ids != ids:
            ids = union(ids, answered_ids)
        if ids or exchange.api_key == DESCRIBE_CLUSTER or METADATA_TOPIC in topics:
            topics = self._topics_of(exchange, asked, answered)
        latency: int | str = "null"
        if request is not None and response is not None:
            latency = response.time_ns - request.end_time_ns
        correlation_id: int | str | None = exchange.correlation_id
        if correlation_id is None:
            correlation_id = "null"
        errors = self._error_names(codes) if codes else "[]"
        closed = "null" if exchange.close is None else compact_json(closed_row(exchange))
        odd = "[]"
        if exchange.anomalies or (request and request.anomalies) or (response and response.anomalies):
            odd = compact_json([anomaly_row(anomaly) for anomaly in exchange.all_anomalies()])
        return (
            f'{{"number":{number},"connection":"{connection.id}","exchange":{exchange.ordinal},'
            f'{_KAFKA if exchange.kind is KAFKA else _TOKEN},{ends},"client_id":{client_id},{api},'
            f'"correlation_id":{correlation_id},'
            f'"state":{_COMPLETE if exchange.state is COMPLETE else quote(exchange.state)},'
            f'"request":{self._frame(request)},"response":{self._frame(response)},'
            f'"latency_ns":{latency},"errors":{errors},'
            f'"topics":{self._lists.get(topics) or self._list(topics)},'
            f'"topic_ids":{self._ids.get(ids) or self._id_list(ids)},"closed":{closed},"anomalies":{odd}}}\n'
        ).encode("utf-8", "replace")

    def _frame(self, frame: Frame | None) -> str:
        # Hot, twice an exchange: whole, in one packet, some time after 2001.
        if frame is None:
            return "null"
        first, time_ns, size = frame.first_ref, frame.time_ns, frame.size
        file = self._places.get(first >> FILE_SHIFT) or self._place(first >> FILE_SHIFT)
        digits = str(time_ns)
        if (
            first != frame.last_ref
            or time_ns != frame.end_time_ns
            or len(frame.data) != size
            or not _TEN_DIGITS <= time_ns < _ELEVEN_DIGITS
        ):
            return self._unusual_frame(frame, file)
        second = self._seconds.get(digits[:10]) or self._second(time_ns)
        number = first & NUMBER_MASK
        return (
            f'{file}{number},"last":{number}}},"time":"{second}.{digits[10:]}Z",'
            f'"time_ns":{digits},"end_time_ns":{digits},"bytes":{size + 4}}}'
        )

    def _unusual_frame(self, frame: Frame, file: str) -> str:
        first, time_ns = frame.first_ref, frame.time_ns
        number = last = str(first & NUMBER_MASK)
        if frame.last_ref != first:
            last = self._last(first, frame.last_ref)
        digits = str(time_ns)
        if time_ns < SECOND_NS:  # too few digits to cut: a clock that started at 0
            time = rfc3339(time_ns)
        else:
            time = f"{self._seconds.get(digits[:-9]) or self._second(time_ns)}.{digits[-9:]}Z"
        end = digits if frame.end_time_ns == time_ns else frame.end_time_ns
        captured = "" if len(frame.data) == frame.size else f',"captured":{len(frame.data) + 4}'
        return (
            f'{file}{number},"last":{last}}},"time":"{time}",'
            f'"time_ns":{digits},"end_time_ns":{end},"bytes":{frame.size + 4}{captured}}}'
        )

    def _place(self, file: int) -> str:
        return _keep(self._places, file, f'{{"packets":{{"file":{quote(self._files[file])},"first":')

    def _last(self, first: int, last: int) -> str:
        number = str(last & NUMBER_MASK)
        if last >> FILE_SHIFT == first >> FILE_SHIFT:
            return number
        return f'{number},"last_file":{quote(self._files[last >> FILE_SHIFT])}'

    def _second(self, time_ns: int) -> str:
        return _keep(self._seconds, str(time_ns)[:-9], rfc3339(time_ns).partition(".")[0])

    def _end_texts(self, connection: ConnectionInfo) -> str:
        text = (
            f'"capture_set":{quote(connection.capture_set)},'
            f'"client":{quote(connection.client_text)},"broker":{quote(connection.broker_text)}'
        )
        return _keep(self._ends, connection, text)

    def _api_text(self, exchange: Exchange) -> str:
        key, version = exchange.api_key, exchange.api_version
        name = None if key is None else api_name(key)
        text = f'"api_key":{_null(key)},"api":{_quote_or_null(name)},"api_version":{_null(version)}'
        return _keep(self._apis, (key, version), text)

    def _string(self, text: str | None) -> str:
        return _keep(self._strings, text, _quote_or_null(text))

    def _list(self, texts: tuple[str, ...]) -> str:
        return _keep(self._lists, texts, f"[{','.join(map(quote, texts))}]")

    def _id_list(self, ids: tuple[bytes, ...]) -> str:
        return _keep(self._ids, ids, f"[{','.join(quote(topic_id_text(raw)) for raw in ids)}]")

    def _error_names(self, codes: Iterable[int]) -> str:
        return f"[{','.join(quote(error_name(code)) for code in codes)}]"


def compact_json(value: Any) -> str:
    """Dicts, lists, strings and integers as JSON: the rare parts of a line."""
    if isinstance(value, dict):
        return "{" + ",".join(f"{quote(key)}:{compact_json(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(compact_json, value)) + "]"
    return _quote_or_null(value) if value is None or isinstance(value, str) else str(value)


def _keep(cache: dict[Any, str], key: object, text: str) -> str:
    if len(cache) > _CACHE_ENTRIES:
        cache.clear()
    cache[key] = text
    return text


def _null(number: int | None) -> str:
    return "null" if number is None else str(number)


def _quote_or_null(text: str | None) -> str:
    return "null" if text is None else quote(text)
