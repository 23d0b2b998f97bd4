"""Exchanges with their bodies to JSON lines: bodies put into the lines of `fastlines`.

The same text as `ExchangeRows.row` through orjson, held equal by a test. It exists because it is the path of
large captures: the header part of a line is text that is mostly known, and the native engine converts bodies
to text. Without it they are dicts for orjson.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache

import orjson

from kdissect.cli.formats.json_lines.fast_lines import FastLines
from kdissect.cli.formats.jsonl import json_bytes
from kdissect.decoders.as_json.body_text import body_text
from kdissect.decoders.body_schemas import CACHE_SIZE
from kdissect.decoders.records.batches import split_batches
from kdissect.engine.exchange_rows import Nest, Row, TopicsOf, add_bodies, anomaly_row
from kdissect.engine.records.nested_records import batch_values
from kdissect.engine.records.record_sets import records_side
from kdissect.model.anomaly import Anomaly
from kdissect.model.native import native
from kdissect.model.record_batch import RecordFault
from kdissect.model.run_budget import run_budget
from kdissect.report.printable import inert_json
from kdissect.schema.logs import METADATA_TOPIC, may_be_metadata_topic
from kdissect.session.exchange import Exchange, ExchangeKind
from kdissect.session.info import ConnectionInfo

# Where the frames of a line end. No text on a line can hold these: quotes in it are escaped.
_REQUEST_END, _RESPONSE_END = b'},"response":', b'},"latency_ns":'
_END = b"]}\n"  # of the anomalies, and of the line
Texts = tuple[bytes | None, bytes | None]
NameOf = Callable[[ConnectionInfo, bytes], str | None]
"""The name of a topic id on a connection. May raise ValueError: the caller then takes the general path."""


class BodyLines:
    """Numbers exchanges and writes each as one line, with `body` and `error` in its frames.

    `nest` puts the records into bodies in the general way, and `name_of` returns names of topics for the fast
    way. Without them records are only counted.
    """

    def __init__(
        self,
        files: Sequence[str],
        topics_of: TopicsOf,
        show_secrets: bool,
        nest: Nest | None = None,
        name_of: NameOf | None = None,
    ) -> None:
        lines = FastLines(files, topics_of)
        self._line = lines.line
        self.skip = lines.skip
        self.head = lines.head
        self.tail = lines.tail
        self._texts_of = BodyTexts(name_of, show_secrets).texts
        self._nest = nest
        self._show_secrets = show_secrets

    def line(self, exchange: Exchange) -> bytes:
        """Return the exchange as a line of JSON."""
        line = self._line(exchange)
        texts = self._texts_of(exchange)
        if texts is None:
            return self._unusual(line, exchange)
        asked, answered = texts
        if asked is None or answered is None:
            return _spliced(line, *(None if text is None else _quick(text) for text in texts))
        # Hot, nearly every exchange.
        at = line.index(_REQUEST_END)
        end = line.index(_RESPONSE_END, at)
        return b'%b,"body":%b,"error":null%b,"body":%b,"error":null%b' % (
            line[:at],
            asked,
            line[at:end],
            answered,
            line[end:],
        )

    def _unusual(self, line: bytes, exchange: Exchange) -> bytes:
        """Return the line with bodies as `engine.bodies` and `engine.nested_records` make them."""
        row: Row = {
            "request": None if exchange.request is None else {},
            "response": None if exchange.response is None else {},
        }
        anomalies = add_bodies(row, exchange, self._show_secrets)
        if self._nest is not None:
            anomalies += self._nest(row, exchange)
        asked, answered = (
            None if row[side] is None else b",%b" % json_bytes(row[side])[1:-1]
            for side in ("request", "response")
        )
        return _with_anomalies(_spliced(line, asked, answered), anomalies)


def _quick(text: bytes) -> bytes:
    return b',"body":%b,"error":null' % text


def _spliced(line: bytes, asked: bytes | None, answered: bytes | None) -> bytes:
    """Return a line with additions to its frames, if it has frames."""
    if asked is None:
        end = line.index(_RESPONSE_END)
        return b"".join((line[:end], answered or b"", line[end:]))
    at = line.index(_REQUEST_END)
    if answered is None:
        return b"".join((line[:at], asked, line[at:]))
    end = line.index(_RESPONSE_END, at)
    return b"".join((line[:at], asked, line[at:end], answered, line[end:]))


def _with_anomalies(line: bytes, anomalies: list[Anomaly]) -> bytes:
    if not anomalies:
        return line
    head = line[: -len(_END)]
    more = json_bytes([anomaly_row(anomaly) for anomaly in anomalies])[1:-1]
    return b"".join((head, b"" if head.endswith(b"[") else b",", more, _END))


# Both bodies of exchanges as JSON text from the native engine. Other bodies come from `engine.bodies`.
_KAFKA = ExchangeKind.KAFKA


class BodyTexts:
    """The bodies of exchanges as orjson writes them.

    `name_of` returns names of topics. Without it records are only counted.
    """

    def __init__(self, name_of: NameOf | None, show_secrets: bool) -> None:
        self._name_of = name_of
        self._show_secrets = show_secrets
        self._records = None if name_of is None else (self._name, self._slow_path)
        self._exchange: Exchange | None = None  # whose bodies are being written

    def texts(self, exchange: Exchange) -> Texts | None:
        """Return the text of request and response, None for a frame that is not there. Raises nothing.

        None where one of them must be looked at by `bodies`.
        """
        key, version = exchange.api_key, exchange.api_version
        if key is None or version is None or exchange.kind is not _KAFKA or exchange.is_near_secrets:
            return None
        if exchange.connection.logged is not None:
            return None
        programs = _programs(key, version)
        if programs is None:
            return None
        request, response = exchange.request, exchange.response
        self._exchange = exchange
        asked = answered = None
        if request is not None:
            data = request.data
            if len(data) != request.size:
                return None
            asked = programs[0].text(data, exchange.request_body_offset, self._records)
            if asked is None:
                return None
        if response is not None:
            data = response.data
            if len(data) != response.size:
                return None
            answered = programs[1].text(data, exchange.response_body_offset, self._records)
            if answered is None:
                return None
        return asked, answered

    def _name(self, topic_id: bytes) -> str | None:
        """Return the topic of an id on the connection of the current exchange. Raises ValueError as above."""
        assert self._exchange is not None
        assert self._name_of is not None
        found = self._name_of(self._exchange.connection, topic_id)
        # In a Fetch of the metadata log, records of an unknown topic may contain secrets.
        if found is None and self._exchange.is_of_metadata and may_be_metadata_topic(topic_id):
            return METADATA_TOPIC
        return found

    def _slow_path(self, data: bytes, start: int, end: int, topic: str | None) -> bytes:
        """Return a records field with batches that the compiled reader leaves.

        Raises ValueError for a wrong one.
        """
        assert self._exchange is not None
        assert self._exchange.api_key is not None
        found = split_batches(data, start, end, may_be_cut=bool(records_side(self._exchange.api_key)))
        faults: list[tuple[int, RecordFault]] = []
        budget = run_budget()
        left = budget.left()
        batches = batch_values(found.batches, topic, faults, self._show_secrets)
        if faults or found.faults:
            budget.give_back(left)
            raise ValueError
        document = {"bytes": end - start, "batches": batches}
        try:
            text = orjson.dumps(document | {"cut": found.cut} if found.cut else document)
        except TypeError as error:  # an integer over 64 bits: `bodies` writes the whole body in another way
            raise ValueError from error
        return text if text.isascii() else inert_json(text.decode()).encode()


@lru_cache(maxsize=CACHE_SIZE)
def _programs(key: int, version: int) -> "tuple[native.BodyText, native.BodyText] | None":
    """Return the programs of both bodies, or None if one is missing."""
    request = body_text(key, version, is_response=False)
    response = body_text(key, version, is_response=True)
    return None if request is None or response is None else (request, response)
