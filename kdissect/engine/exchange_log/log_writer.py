"""Packs exchanges into columns, for an `ExchangeLog` that may be in another process."""

from __future__ import annotations

from collections.abc import Callable

from kdissect.capture.resume import ResumePoint
from kdissect.decoders.bodies import request_summarizer, response_summarizer
from kdissect.decoders.generated.summary import NO_SUMMARY, Summarizer, Summary
from kdissect.decoders.records.checksum import crc32c
from kdissect.engine.exchange_log import log_columns as columns
from kdissect.engine.exchange_log.log_columns import Anomalies, Batch, Interned, new_columns
from kdissect.engine.exchange_log.logged_frames import spooled
from kdissect.engine.exchange_rows import has_anomalies, union
from kdissect.model.frame import Frame
from kdissect.model.native import is_compiled, native
from kdissect.model.packets.packet import FILE_SHIFT
from kdissect.session.exchange import Exchange, ExchangeKind, State
from kdissect.session.info import ConnectionInfo

_STATE_BITS = {state: bit for bit, state in enumerate(columns.STATES)} | {
    State.INCOMPLETE: columns.IS_INCOMPLETE
}
_MAX_UINT32 = (1 << 32) - 1
_Signature = tuple[object, ...]


class LogWriter:
    """`add` exchanges, then `take` what there is of them so far.

    `put` stores a frame and returns a number by which it is found. It is used for frames of files that cannot
    be read again, which `can_read_again` decides by file index. Exchanges of APIs that `are_added` are left
    to `add` by `take_block`, for who looks at each of them.
    """

    def __init__(
        self,
        put: Callable[[bytes], int] | None = None,
        can_read_again: Callable[[int], bool] = bool,
        are_added: Callable[[int], bool] = lambda _api_key: False,
    ) -> None:
        self._put = put
        self._can_read_again = can_read_again
        self._are_added = are_added
        self._columns = new_columns()
        self._rows = 0
        self._numbers: dict[str, int] = {}
        self._connections: dict[int, ConnectionInfo] = {}
        self._signatures: dict[int, _Signature] = {}
        self._client_ids = Interned(None, columns.MORE)
        self._errors = Interned((), (-1,))
        self._topics = Interned((), (columns.MORE,))
        self._topic_ids = Interned((), (bytes(16),))
        self._anomalies: dict[int, Anomalies] = {}
        self._odd = 0
        self._captured: dict[int, tuple[int, int]] = {}
        self._delays: dict[int, int] = {}
        self._delayed = 0
        self._points: list[tuple[int, ResumePoint]] = []
        self._compiled: native.LoggedRows | None = None
        if is_compiled:
            self._compiled = native.LoggedRows(
                self._plain_connection, self._client_ids.number, self._readers_of, self._facts,
                can_read_again, put,
            )  # fmt: skip

    def __len__(self) -> int:
        return self._rows

    @property
    def waiting(self) -> int:
        """Exchanges that were added since the last `take`."""
        return len(self._columns["flags"]) + (0 if self._compiled is None else self._compiled.rows)

    def add(self, exchange: Exchange) -> int:
        """Take an exchange and return its row."""
        self._settle()
        row = self._rows
        self._rows = row + 1
        put = self._columns
        put["connection"].append(self.connection(exchange.connection))
        put["ordinal"].append(min(exchange.ordinal, _MAX_UINT32))
        key, version, correlation = exchange.api_key, exchange.api_version, exchange.correlation_id
        put["api_key"].append(0 if key is None else key)
        put["api_version"].append(0 if version is None else version)
        put["correlation_id"].append(0 if correlation is None else correlation)
        put["client_id"].append(self._client_ids.number(exchange.client_id))
        facts = self._facts(exchange.request_summary(), exchange.response_summary())
        put["errors"].append(facts[0])
        put["topics"].append(facts[1])
        put["topic_ids"].append(facts[2])
        rtt_ns = exchange.rtt_ns
        put["rtt"].append(columns.NOT_KNOWN if rtt_ns is None else rtt_ns)
        flags = _flags(exchange) | self._frames(exchange, row) | self._note_delay(exchange, row)
        if has_anomalies(exchange):
            flags |= columns.IS_ODD
            self._note_anomalies(exchange, row)
        put["flags"].append(flags)
        return row

    def take_block(self, block: native.ExchangeBlock, start: int) -> int:
        """Take exchanges of a block from one on, and return the number of the next one for `add`.

        Compiled only.
        """
        if self._compiled is None:
            return start
        at = self._compiled.take_block(block, start)
        self._rows += at - start
        return at

    def connection(self, info: ConnectionInfo) -> int:
        """Return the number of a connection, with or without exchanges, and note its changes for the next
        batch.
        """
        number = self._numbers.get(info.id)
        if number is None:
            number = self._numbers[info.id] = len(self._numbers)
        if number not in self._connections:
            signature = _signature(info)
            if self._signatures.get(number) != signature:
                self._signatures[number] = signature
                self._connections[number] = info
        return number

    def close(self, info: ConnectionInfo) -> None:
        """End a connection: its info is final."""
        number = self.connection(info)
        self._connections[number] = info
        self._signatures.pop(number, None)

    def point(self, file: int, point: ResumePoint) -> None:
        """Note a point where reading of a file can begin."""
        self._points.append((file, point))

    def take(self, names: dict[bytes, str] | None = None, start_ns: int = 0) -> Batch:
        """Return the additions since the last call.

        `names` of topic ids, `start_ns` time of the first packet.
        """
        self._settle()
        batch = Batch(
            {name: column.tobytes() for name, column in self._columns.items()},
            list(self._connections.items()),
            self._client_ids.take(),
            self._errors.take(),
            self._topics.take(),
            self._topic_ids.take(),
            self._anomalies,
            self._captured,
            self._delays,
            self._points,
            names or {},
            start_ns,
        )
        self._columns = new_columns()
        self._connections, self._anomalies, self._points = {}, {}, []
        self._captured, self._delays = {}, {}
        return batch

    def _settle(self) -> None:
        """Rows of blocks stand before what comes next."""
        if self._compiled is not None and self._compiled.rows:
            for name, data in self._compiled.take():
                self._columns[name].frombytes(data)

    def _plain_connection(self, info: ConnectionInfo) -> int | None:
        """Return its number, where its frames stand in packets as they are."""
        return self.connection(info) if info.tls is None else None

    def _readers_of(self, api_key: int, api_version: int) -> tuple[Summarizer, Summarizer] | None:
        """Return the readers of both bodies; None for exchanges that `add` takes."""
        if self._are_added(api_key):
            return None
        return request_summarizer(api_key, api_version), response_summarizer(api_key, api_version)

    def _facts(self, asked: Summary, answered: Summary | None) -> tuple[int, int, int]:
        """Return numbers of errors, topics and topic ids."""
        answered = NO_SUMMARY if answered is None else answered
        return (
            self._errors.number(answered.errors),
            self._topics.number(_bounded(union(asked.topics, answered.topics))),
            self._topic_ids.number(_bounded(union(asked.topic_ids, answered.topic_ids))),
        )

    def _kept(self, exchange: Exchange, frame: Frame) -> int | None:
        """Return the number by which a frame is found that cannot be read again; None for one that can."""
        if self._put is None:
            return None
        can_read_again = self._can_read_again(frame.first_ref >> FILE_SHIFT)
        return None if can_read_again and exchange.connection.tls is None else self._put(spooled(frame))

    def _frames(self, exchange: Exchange, row: int) -> int:
        request, response = exchange.request, exchange.response
        flags = self._frame(exchange, "request", request, exchange.request_body_offset)
        flags |= self._frame(exchange, "response", response, exchange.response_body_offset)
        if flags & (columns.REQUEST_CUT | columns.RESPONSE_CUT):
            self._captured[row] = (
                len(request.data) if request is not None else 0,
                len(response.data) if response is not None else 0,
            )
        return flags

    def _frame(self, exchange: Exchange, side: str, frame: Frame | None, body: int) -> int:
        put = self._columns
        if frame is None:
            for name in ("time", "end_time", "size", "first_ref", "last_ref", "body", "mark"):
                put[f"{side}_{name}"].append(0)
            return 0
        block = self._kept(exchange, frame)
        put[f"{side}_time"].append(frame.time_ns)
        put[f"{side}_end_time"].append(frame.end_time_ns)
        put[f"{side}_size"].append(frame.size)
        put[f"{side}_first_ref"].append(frame.first_ref)
        put[f"{side}_last_ref"].append(frame.last_ref)
        put[f"{side}_body"].append(body)
        put[f"{side}_mark"].append(crc32c(frame.data[: columns.MARK_BYTES]) if block is None else block)
        has, cut, kept = _FRAME_FLAGS[side]
        return has | (cut if frame.is_cut else 0) | (0 if block is None else kept)

    def _note_delay(self, exchange: Exchange, row: int) -> int:
        delay_ns = exchange.delay_ns if exchange.delays else 0
        if not delay_ns:
            return 0
        self._delayed += 1
        if self._delayed <= columns.MAX_DELAYED:
            self._delays[row] = delay_ns
        return columns.IS_DELAYED

    def _note_anomalies(self, exchange: Exchange, row: int) -> None:
        self._odd += 1
        if self._odd > columns.MAX_ODD:
            return
        request, response = exchange.request, exchange.response
        self._anomalies[row] = (
            exchange.anomalies or (),
            (request.anomalies or ()) if request is not None else (),
            (response.anomalies or ()) if response is not None else (),
        )


_FRAME_FLAGS = {
    "request": (columns.HAS_REQUEST, columns.REQUEST_CUT, columns.REQUEST_KEPT),
    "response": (columns.HAS_RESPONSE, columns.RESPONSE_CUT, columns.RESPONSE_KEPT),
}


def _flags(exchange: Exchange) -> int:
    flags = _STATE_BITS[exchange.state]
    if exchange.kind is ExchangeKind.SASL_TOKEN:
        flags |= columns.IS_TOKEN
    if exchange.close is not None:
        flags |= columns.HAS_CLOSE
    if exchange.api_key is None:
        flags |= columns.NO_KEY
    if exchange.api_version is None:
        flags |= columns.NO_VERSION
    if exchange.correlation_id is None:
        flags |= columns.NO_CORRELATION
    return flags


def _signature(info: ConnectionInfo) -> _Signature:
    """Return the values that a list shows of an open connection besides its exchanges."""
    return (
        info.kind,
        info.client_id,
        info.software_name,
        info.software_version,
        info.mechanism,
        info.principal,
    )


def _bounded(values: tuple[object, ...]) -> tuple[object, ...]:
    return values[: columns.MAX_VALUE_ITEMS]
