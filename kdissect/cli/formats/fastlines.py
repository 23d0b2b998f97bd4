"""Exchanges straight to JSON lines, without a dict in between and without orjson.

The same text as `ExchangeRows.row` through orjson, held equal by a test. It exists because it is the path
of large captures (a line costs half of dict and orjson) and of small ones (importing orjson imports
dataclasses, inspect, uuid and json: 30 ms).
"""

from collections.abc import Iterable, Sequence
from typing import Any

from kdissect.engine.rows import (
    TopicsOf,
    anomaly_row,
    closed_row,
    has_anomalies,
    topic_id_text,
    union,
    wire_topics,
)
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
_FRACTION = len("000000000Z")  # what follows the decimal point of a time
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
        # What requests of one kind on one connection have in common. Its ends are known before its first
        # exchange.
        self._kinds: dict[tuple[ConnectionInfo, int | None, int | None, str | None], str] = {}
        self._places: dict[int, str] = {}
        self._seconds: dict[str, str] = {}
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
        connection, client_id = exchange.connection, exchange.client_id
        request, response = exchange.request, exchange.response
        key, version = exchange.api_key, exchange.api_version
        asked = exchange.request_summary_cache or exchange.request_summary()
        answered = exchange.response_summary()
        _, topics, ids, _, _, _ = asked
        codes, answered_topics, answered_ids, _, _, _ = answered
        kind = self._kinds.get((connection, key, version, client_id)) or self._kind(exchange)
        if answered_topics and answered_topics != topics:
            topics = union(topics, answered_topics)
        if answered_ids and answered_ids != ids:
            ids = union(ids, answered_ids)
        if ids or key == DESCRIBE_CLUSTER or METADATA_TOPIC in topics:
            topics = self._topics_of(exchange, asked, answered)
        correlation_id: int | str = "null" if exchange.correlation_id is None else exchange.correlation_id
        latency: int | str = "null"
        odd = "[]"
        if request is None or response is None:
            if has_anomalies(exchange):
                odd = _anomalies(exchange)
        else:
            latency = response.time_ns - request.end_time_ns
            if exchange.anomalies or request.anomalies or response.anomalies:
                odd = _anomalies(exchange)
        return (
            f'{{"number":{number},"connection":"{connection.id}","exchange":{exchange.ordinal},'
            f"{_KAFKA if exchange.kind is KAFKA else _TOKEN}{kind}{correlation_id},"
            f'"state":{_COMPLETE if exchange.state is COMPLETE else quote(exchange.state)},'
            f'"request":{self._frame(request)},"response":{self._frame(response)},'
            f'"latency_ns":{latency},"errors":{self._error_names(codes) if codes else "[]"},'
            f'"topics":{self._lists.get(topics) or self._list(topics)},'
            f'"topic_ids":{self._ids.get(ids) or self._id_list(ids)},'
            f'"closed":{"null" if exchange.close is None else compact_json(closed_row(exchange))},'
            f'"anomalies":{odd}}}\n'
        ).encode("utf-8", "replace")

    def _frame(self, frame: Frame | None) -> str:
        # Hot, twice an exchange: whole, in one packet, in a second that was met before.
        if frame is None:
            return "null"
        first, time_ns, size = frame.first_ref, frame.time_ns, frame.size
        digits = str(time_ns)
        second, file = self._seconds.get(digits[:-9]), self._places.get(first >> FILE_SHIFT)
        if (
            second is None
            or file is None
            or first != frame.last_ref
            or time_ns != frame.end_time_ns
            or len(frame.data) != size
        ):
            return self._unusual_frame(frame, file or self._place(first >> FILE_SHIFT))
        number = first & NUMBER_MASK
        return (
            f'{file}{number},"last":{number}}},"time":"{second}{digits[-9:]}Z",'
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
            time = f"{self._seconds.get(digits[:-9]) or self._second(time_ns)}{digits[-9:]}Z"
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
        return _keep(self._seconds, str(time_ns)[:-9], rfc3339(time_ns)[:-_FRACTION])

    def _kind(self, exchange: Exchange) -> str:
        connection, key, version = exchange.connection, exchange.api_key, exchange.api_version
        name = None if key is None else api_name(key)
        text = (
            f',"capture_set":{quote(connection.capture_set)},'
            f'"client":{quote(connection.client_text)},"broker":{quote(connection.broker_text)},'
            f'"client_id":{_quote_or_null(exchange.client_id)},'
            f'"api_key":{_null(key)},"api":{_quote_or_null(name)},"api_version":{_null(version)},'
            f'"correlation_id":'
        )
        return _keep(self._kinds, (connection, key, version, exchange.client_id), text)

    def _list(self, texts: tuple[str, ...]) -> str:
        return _keep(self._lists, texts, f"[{','.join(map(quote, texts))}]")

    def _id_list(self, ids: tuple[bytes, ...]) -> str:
        return _keep(self._ids, ids, f"[{','.join(quote(topic_id_text(raw)) for raw in ids)}]")

    def _error_names(self, codes: Iterable[int]) -> str:
        return f"[{','.join(quote(error_name(code)) for code in codes)}]"


def _anomalies(exchange: Exchange) -> str:
    return compact_json([anomaly_row(anomaly) for anomaly in exchange.all_anomalies()])


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
