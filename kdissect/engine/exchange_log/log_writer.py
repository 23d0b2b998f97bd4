"""Packs exchanges into columns, for an `ExchangeLog` that may be in another process."""

from __future__ import annotations

from collections.abc import Callable
from zlib import crc32

from kdissect.capture.resume import ResumePoint
from kdissect.engine.exchange_log import log_columns as columns
from kdissect.engine.exchange_log.log_columns import Anomalies, Batch, Interned, new_columns
from kdissect.engine.exchange_rows import has_anomalies, union
from kdissect.model.frame import Frame
from kdissect.session.exchange import Exchange, ExchangeKind
from kdissect.session.info import ConnectionInfo

Keep = Callable[[Exchange, Frame], int | None]
"""Puts a frame where it can be read again; gives its block, None where it stands in a file anyway."""

_STATE_BITS = {state: bit for bit, state in enumerate(columns.STATES)}
_MAX_UINT32 = (1 << 32) - 1
_Signature = tuple[object, ...]


def keep_nothing(_exchange: Exchange, _frame: Frame) -> None:
    """All frames stand in files that can be read again."""


class LogWriter:
    """`add` exchanges, then `take` what there is of them so far. `keep` is asked about every frame."""

    def __init__(self, keep: Keep = keep_nothing) -> None:
        self._keep = keep
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
        self._points: list[tuple[int, ResumePoint]] = []

    def __len__(self) -> int:
        return self._rows

    @property
    def waiting(self) -> int:
        """Exchanges that were added since the last `take`."""
        return len(self._columns["flags"])

    def add(self, exchange: Exchange) -> int:
        """Take an exchange; gives its row."""
        row = self._rows
        self._rows = row + 1
        put = self._columns
        asked, answered = exchange.request_summary(), exchange.response_summary()
        put["connection"].append(self.connection(exchange.connection))
        put["ordinal"].append(min(exchange.ordinal, _MAX_UINT32))
        key, version, correlation = exchange.api_key, exchange.api_version, exchange.correlation_id
        put["api_key"].append(0 if key is None else key)
        put["api_version"].append(0 if version is None else version)
        put["correlation_id"].append(0 if correlation is None else correlation)
        put["client_id"].append(self._client_ids.number(exchange.client_id))
        put["errors"].append(self._errors.number(answered.errors))
        put["topics"].append(self._topics.number(_bounded(union(asked.topics, answered.topics))))
        put["topic_ids"].append(self._topic_ids.number(_bounded(union(asked.topic_ids, answered.topic_ids))))
        flags = _flags(exchange) | self._frames(exchange, row)
        if has_anomalies(exchange):
            flags |= columns.IS_ODD
            self._note_anomalies(exchange, row)
        put["flags"].append(flags)
        return row

    def connection(self, info: ConnectionInfo) -> int:
        """The number of a connection, whether it has exchanges or not; changes of it are told."""
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
        """A connection is over: its info is final."""
        number = self.connection(info)
        self._connections[number] = info
        self._signatures.pop(number, None)

    def point(self, file: int, point: ResumePoint) -> None:
        """Reading of a file can begin here."""
        self._points.append((file, point))

    def take(self, names: dict[bytes, str] | None = None, start_ns: int = 0) -> Batch:
        """What was added since the last time. `names` of topic ids, `start_ns` time of the first packet."""
        batch = Batch(
            {name: column.tobytes() for name, column in self._columns.items()},
            list(self._connections.items()),
            self._client_ids.take(),
            self._errors.take(),
            self._topics.take(),
            self._topic_ids.take(),
            self._anomalies,
            self._captured,
            self._points,
            names or {},
            start_ns,
        )
        self._columns = new_columns()
        self._connections, self._anomalies, self._captured, self._points = {}, {}, {}, []
        return batch

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
        block = self._keep(exchange, frame)
        put[f"{side}_time"].append(frame.time_ns)
        put[f"{side}_end_time"].append(frame.end_time_ns)
        put[f"{side}_size"].append(frame.size)
        put[f"{side}_first_ref"].append(frame.first_ref)
        put[f"{side}_last_ref"].append(frame.last_ref)
        put[f"{side}_body"].append(body)
        put[f"{side}_mark"].append(crc32(frame.data[: columns.MARK_BYTES]) if block is None else block)
        has, cut, kept = _FRAME_FLAGS[side]
        return has | (cut if frame.is_cut else 0) | (0 if block is None else kept)

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
    """What is shown of an open connection beside its exchanges."""
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
