"""Lines of exchanges from templates, with the native engine.

A template is the line of one kind of exchange, with placeholders for the values of a single one. The compiled
part (`native.LineFiller`) fills it for exchanges that were paired and have nothing special. Python makes
templates, what connections and bodies bring to a line, and the lines of all other exchanges.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from kdissect.cli.formats.json_lines.line_parts import LineTexts
from kdissect.decoders.bodies import request_summarizer, response_summarizer
from kdissect.decoders.generated.summary import NO_SUMMARY, Summary
from kdissect.engine.exchange_rows import union
from kdissect.history.topics.topic_names import DESCRIBE_CLUSTER
from kdissect.model.native import is_compiled, native
from kdissect.model.packets.packet import NUMBER_MASK
from kdissect.schema.logs import METADATA_TOPIC
from kdissect.session.exchange import Exchange, ExchangeKind, State
from kdissect.session.info import ConnectionInfo

if TYPE_CHECKING:
    from kdissect._native import LinePart

_PACKETS = 1 << 30  # of a file. Lines of later packets take the slow path. Larger integers compare slower.
_KAFKA, _COMPLETE, _SILENT = ExchangeKind.KAFKA, State.COMPLETE, State.NO_RESPONSE_EXPECTED

# Values that a template leaves open (`native/src/template.rs`): by names of `EXCHANGE_FIELDS`, and these.
CLOCK = "request.clock"
"""A request's time of day, in microseconds."""
DURATION = "latency"
"""A response time as people read it."""
OF_CONNECTION, OF_BODIES = "of connection", "of bodies"
"""Texts that `connection_texts` and `body_texts` give, by their number."""


# Connections that have their texts: with a hundred thousand open ones those would be 500 bytes of each.
TEXTS_KEPT = 2048
_with_texts: deque[ConnectionInfo] = deque(maxlen=TEXTS_KEPT)


class FilledLines:
    """Numbers exchanges and writes each as one line.

    `files` are the inputs' names by file index, and may still grow. The exchanges come from an analyzer, with
    the bytes of their frames. `filler` creates the lines if it exists, except for exchanges that take the
    slow path.
    """

    def __init__(self, files: Sequence[str], has_templates: bool = True) -> None:
        self._number = 0
        self._texts = LineTexts(files)
        self._owner = object()  # of the texts of connections. Another process has another one
        self.filler: native.LineFiller | None = None
        if is_compiled and has_templates:
            self.filler = native.LineFiller(
                Exchange, _fields_of, self.texts_of,
                self.template_of, self._texts.second, self.facts_of, self.line_of,
            )  # fmt: skip

    @property
    def number(self) -> int:
        """That of the exchange before."""
        return self._number if self.filler is None else self.filler.number

    def skip(self) -> None:
        """Leave out an exchange: later ones keep their numbers in the whole capture."""
        if self.filler is not None:
            self.filler.skip()
        else:
            self._number += 1

    def line(self, exchange: Exchange) -> bytes:
        """Return the exchange as a line."""
        if self.filler is not None:
            return self.filler.line(exchange)
        self._number += 1
        return self.line_of(exchange, self._number)

    # Parts of a line that subclasses define

    def line_of(self, exchange: Exchange, number: int) -> bytes:
        """Return the exchange of this number as a line."""
        raise NotImplementedError

    def parts_of(self, exchange: Exchange) -> tuple[list[LinePart], bool] | None:
        """Return parts of such exchanges' lines, and whether trailing blanks are removed; None for no
        template.
        """
        raise NotImplementedError

    def connection_texts(self, connection: ConnectionInfo) -> tuple[bytes, ...]:
        """Return the connection's parts of a line; empty before the columns are known."""
        raise NotImplementedError

    def body_texts(
        self, exchange: Exchange, asked: Summary, answered: Summary, is_learning: bool
    ) -> tuple[bytes, ...]:
        """Return errors, topics and their ids; `is_learning` is the result of `learns`."""
        raise NotImplementedError

    # Callbacks of a native line

    def template_of(self, exchange: Exchange) -> native.LineTemplate | None:
        """Return the template that the exchange fills, or None."""
        key, version = exchange.api_key, exchange.api_version
        request, response = exchange.request, exchange.response
        # Names in DescribeCluster go into every later line (`learns`).
        if request is None or key == DESCRIBE_CLUSTER:
            return None
        low = request.first_ref & ~NUMBER_MASK
        refs = [ref for frame in (request, response or request) for ref in (frame.first_ref, frame.last_ref)]
        if not low < min(refs) <= max(refs) < low + _PACKETS:
            return None  # they are not in one file
        found = self.parts_of(exchange)
        if found is None:
            return None
        ask, answer = _summarizers(key, version)
        return native.LineTemplate(*found, low, _PACKETS, ask, None if response is None else answer)

    def facts_of(
        self, exchange: Exchange, asked: Summary, answered: Summary | None
    ) -> tuple[tuple[bytes, ...], bool]:
        """Return errors, topics and their ids, and whether they are the same for the same summaries."""
        answered = answered or NO_SUMMARY  # if there is no response
        is_learning = learns(exchange, asked, answered)
        return self.body_texts(exchange, asked, answered, is_learning), not is_learning

    def texts_of(self, connection: ConnectionInfo) -> tuple[bytes, ...]:
        """Return texts of a connection, which caches them until thousands of further connections
        have theirs.
        """
        kept = connection.line_texts
        if kept is not None and kept[0] is self._owner:
            return kept[1]
        texts = self.connection_texts(connection)
        if texts:
            connection.line_texts = self._owner, texts
            if len(_with_texts) == TEXTS_KEPT:
                _with_texts[0].forget_ends()
            _with_texts.append(connection)
        return texts


def learns(exchange: Exchange, asked: Summary, answered: Summary) -> bool:
    """Return whether the exchange needs or may contain names of topic ids, and is read each time
    (`topic_names`).
    """
    return (
        bool(asked.topic_ids or answered.topic_ids)
        or exchange.api_key == DESCRIBE_CLUSTER
        or METADATA_TOPIC in union(asked.topics, answered.topics)
    )


def _fields_of(exchange: Exchange) -> tuple[Any, ...] | None:
    """Return the fields of an exchange that the native filler needs; None for an exchange that cannot fill a
    template.

    Reading slots one by one costs Python a tenth of the cost elsewhere.
    """
    # Hot, once an exchange.
    request, response, state = exchange.request, exchange.response, exchange.state
    if (
        request is None
        or request.anomalies or exchange.anomalies or exchange.close
        or exchange.kind is not _KAFKA
    ):  # fmt: skip
        return None
    if response is None:
        return None if state is not _SILENT else (
            exchange.connection, exchange.client_id,
            exchange.api_key, exchange.api_version, exchange.ordinal, exchange.correlation_id,
            request.data, exchange.request_body_offset, request.size,
            request.first_ref, request.last_ref, request.time_ns, request.end_time_ns,
        )  # fmt: skip
    if state is not _COMPLETE or response.anomalies:
        return None
    return (
        exchange.connection, exchange.client_id,
        exchange.api_key, exchange.api_version, exchange.ordinal, exchange.correlation_id,
        request.data, exchange.request_body_offset, request.size,
        request.first_ref, request.last_ref, request.time_ns, request.end_time_ns,
        response.data, exchange.response_body_offset, response.size,
        response.first_ref, response.last_ref, response.time_ns, response.end_time_ns,
    )  # fmt: skip


def _summarizers(key: int | None, version: int | None) -> Any:
    if key is None or version is None:
        return _nothing_known, _nothing_known
    return request_summarizer(key, version, True), response_summarizer(key, version, True)


def _nothing_known(data: bytes, offset: int) -> Summary:
    return NO_SUMMARY
