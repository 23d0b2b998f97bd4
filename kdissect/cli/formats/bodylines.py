"""Exchanges with their bodies to JSON lines: bodies put into the lines of `fastlines`.

The same text as `ExchangeRows.row` through orjson, held equal by a test. It exists because it is the path of
large captures: the header part of a line is text that is mostly known, and the compiled hot path makes text
of bodies; without it they are dicts for orjson.
"""

from collections.abc import Sequence

from kdissect.cli.formats.body_texts import BodyTexts, NameOf
from kdissect.cli.formats.fastlines import FastLines
from kdissect.cli.formats.jsonl import json_bytes
from kdissect.engine.exchange_rows import Nest, Row, TopicsOf, add_bodies, anomaly_row
from kdissect.model.anomaly import Anomaly
from kdissect.session.exchange import Exchange

# Where the frames of a line end. No text on a line can hold these: quotes in it are escaped.
_REQUEST_END, _RESPONSE_END = b'},"response":', b'},"latency_ns":'
_END = b"]}\n"  # of the anomalies, and of the line


class BodyLines:
    """Numbers exchanges and writes each as one line, with `body` and `error` in its frames.

    `nest` puts the records into bodies in the general way, and `name_of` tells topics for the quick one;
    without them records are but counted.
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
        """The exchange as a line of JSON."""
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
        """The line with bodies as `engine.bodies` and `engine.nested_records` make them."""
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
    """A line with more in its frames, where there are any."""
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
