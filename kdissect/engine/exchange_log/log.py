"""An append-only index of exchanges: columns of the values that a list shows. Bodies are read again on
demand.

`extend` takes what a `LogWriter` packed, here or in another process. Rows count from 0 in the order of
completion; `row + 1` is the number that `kdissect inspect` gives. `exchange(row)` makes an `Exchange` whose
frames are fetched from `store` when their bytes are looked at.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Sequence
from typing import TYPE_CHECKING

from kdissect.capture.resume import ResumePoint
from kdissect.decoders.generated.summary import Summary
from kdissect.engine.exchange_log import log_columns as columns
from kdissect.engine.exchange_log.log_columns import STATE_MASK, STATES, Anomalies, Batch, new_columns
from kdissect.engine.exchange_log.logged_frames import FrameStore, LoggedFrame, Want
from kdissect.engine.exchange_rows import topic_id_text
from kdissect.schema.logs import METADATA_TOPIC, METADATA_TOPIC_ID
from kdissect.session.exchange import FIRST_ORPHAN_ORDINAL, Exchange, ExchangeKind, State
from kdissect.session.info import ConnectionInfo

if TYPE_CHECKING:
    from kdissect.engine.records.record_sets import RecordSet
    from kdissect.serdes.schemas import Schemas

# Exchanges whose findings are remembered, some 100 bytes each. A capture with more is broken throughout.
MAX_FOUND = 500_000
_NO_ANOMALIES: Anomalies = ((), (), ())


class ExchangeLog:
    """Rows of exchanges. Columns are attributes of their own (`log.columns["api_key"][row]`) or by method.

    `troubled`, `found` and `marked` hold one byte a row, 1 where the row has an error, a finding, a mark:
    `find` goes to the next of them.
    """

    def __init__(self, store: FrameStore | None = None) -> None:
        self.store = store
        self.columns = new_columns()
        self.connections: list[ConnectionInfo] = []
        self.points: dict[int, tuple[array[int], list[ResumePoint]]] = {}
        """By file: packets before a point, and the points."""
        # The one name that is known beforehand: what its records hold is masked by it.
        self.topic_names: dict[bytes, str] = {METADATA_TOPIC_ID: METADATA_TOPIC}
        self.schemas: Schemas | None = None
        """The decoder of record keys and values."""
        self.start_ns = 0
        """Time of the capture's first packet."""
        self.troubled = bytearray()
        self.found = bytearray()
        self.marked = bytearray()
        self._client_ids: list[str | None] = []
        self._errors: list[tuple[int, ...]] = []
        self._topics: list[tuple[str, ...]] = []
        self._topic_ids: list[tuple[bytes, ...]] = []
        self._anomalies: dict[int, Anomalies] = {}
        self._captured: dict[int, tuple[int, int]] = {}
        self._delays: dict[int, int] = {}
        self._rows_of: list[array[int]] = []
        self._orphans_of: dict[int, dict[int, int]] = {}
        self._by_id: dict[str, int] = {}
        self._codes: dict[int, tuple[str, ...]] = {}
        self._early_codes: list[tuple[str, int, str]] = []

    def __len__(self) -> int:
        return len(self.troubled)

    # filling

    def extend(self, batch: Batch) -> None:
        """Take the next exchanges."""
        first = len(self)
        for name, data in batch.columns.items():
            self.columns[name].frombytes(data)
        self._client_ids += batch.client_ids
        self._errors += batch.errors
        self._topics += batch.topics
        self._topic_ids += batch.topic_ids
        self._anomalies.update(batch.anomalies)
        self._captured.update(batch.captured)
        self._delays.update(batch.delays)
        self.topic_names.update(batch.names)
        self.start_ns = batch.start_ns or self.start_ns
        for number, info in batch.connections:
            self._connect(number, info)
        for file, point in batch.points:
            packets, points = self.points.setdefault(file, (array("Q"), []))
            packets.append(point.packets)
            points.append(point)
        self._index(first, len(self.columns["flags"]))
        early, self._early_codes = self._early_codes, []
        for connection, ordinal, code in early:
            self.add_code(connection, ordinal, code)

    def add_code(self, connection: str, ordinal: int, code: str) -> None:
        """Take the code of a finding about an exchange, whose row may be still to come."""
        row = self.row_of(connection, ordinal)
        if row is not None:
            self._find(row, code)
        elif len(self._early_codes) < MAX_FOUND:
            self._early_codes.append((connection, ordinal, code))

    def _find(self, row: int, code: str) -> None:
        known = self._codes.get(row, ())
        if code in known or (not known and len(self._codes) >= MAX_FOUND):
            return
        self._codes[row] = (*known, code)
        self.found[row] = 1

    def _connect(self, number: int, info: ConnectionInfo) -> None:
        if number < len(self.connections):
            self.connections[number] = info
            return
        self.connections.append(info)
        self._by_id[info.id] = number
        self._rows_of.append(array("I"))

    def _index(self, first: int, end: int) -> None:
        # Hot, once a row, on the thread that answers keys.
        fresh = bytes(end - first)
        self.found += fresh
        self.marked += fresh
        flags, errors = self.columns["flags"], self.columns["errors"]
        rows = range(first, end)
        self.troubled += bytes(
            [
                bool(
                    errors[row]
                    or flags[row] & columns.IS_INCOMPLETE
                    or flags[row] & STATE_MASK in _WITHOUT_ANSWER
                )
                for row in rows
            ]
        )
        numbers, ordinals = self.columns["connection"], self.columns["ordinal"]
        for row in rows:
            ordinal = ordinals[row]
            own = self._rows_of[numbers[row]]
            if len(own) == ordinal:
                own.append(row)
            else:
                self._place(row, ordinal, own)

    def _place(self, row: int, ordinal: int, rows: array[int]) -> None:
        """Place an exchange that completes out of order, or an orphan."""
        if ordinal >= FIRST_ORPHAN_ORDINAL:
            self._orphans_of.setdefault(self.columns["connection"][row], {})[ordinal] = row
            return
        while len(rows) <= ordinal:
            rows.append(_NOWHERE)
        rows[ordinal] = row

    # one row

    def exchange(self, row: int) -> Exchange:
        """Return an exchange, whose frames read their bytes on access."""
        return LoggedExchange(self, row)

    def connection(self, row: int) -> ConnectionInfo:
        """Return the connection of an exchange, as far as it is known by now."""
        return self.connections[self.columns["connection"][row]]

    def api_key(self, row: int) -> int | None:
        """Return API key; None where the wire does not show it."""
        return None if self.columns["flags"][row] & columns.NO_KEY else self.columns["api_key"][row]

    def api_version(self, row: int) -> int | None:
        """Return API version."""
        return None if self.columns["flags"][row] & columns.NO_VERSION else self.columns["api_version"][row]

    def correlation_id(self, row: int) -> int | None:
        """Return the correlation id."""
        if self.columns["flags"][row] & columns.NO_CORRELATION:
            return None
        return self.columns["correlation_id"][row]

    def client_id(self, row: int) -> str | None:
        """Return the client id of the request header."""
        return self._client_ids[self.columns["client_id"][row]]

    def is_token(self, row: int) -> bool:
        """Return whether the frames are bare SASL tokens."""
        return bool(self.columns["flags"][row] & columns.IS_TOKEN)

    def has_side(self, row: int, side: str) -> bool:
        """Return whether the frame of a side was captured."""
        flag = columns.HAS_REQUEST if side == "request" else columns.HAS_RESPONSE
        return bool(self.columns["flags"][row] & flag)

    def state(self, row: int) -> State:
        """Return the state of the request."""
        flags = self.columns["flags"][row]
        return State.INCOMPLETE if flags & columns.IS_INCOMPLETE else STATES[flags & STATE_MASK]

    def is_odd(self, row: int) -> bool:
        """Return whether the exchange has anomalies."""
        return bool(self.columns["flags"][row] & columns.IS_ODD)

    def anomalies(self, row: int) -> Anomalies:
        """Return anomalies of the exchange, its request and its response; none if too many rows have some."""
        return self._anomalies.get(row, _NO_ANOMALIES)

    def errors(self, row: int) -> tuple[int, ...]:
        """Return error codes anywhere in the response, without 0."""
        return self._errors[self.columns["errors"][row]]

    def topics(self, row: int) -> tuple[str, ...]:
        """Return topics by name, including topics whose id has a known name by now."""
        topics = self._topics[self.columns["topics"][row]]
        ids = self._topic_ids[self.columns["topic_ids"][row]]
        if not ids or len(topics) >= len(ids):
            return topics
        named = [self.topic_names[number] for number in ids if number in self.topic_names]
        return tuple(dict.fromkeys((*topics, *named)))

    def topic_of_records(self, records: RecordSet) -> str | None:
        """Return the topic of a records field's id, if the name is known by now."""
        return self.topic_names.get(records.records_field.topic_id or b"")

    def topic_texts(self, row: int) -> tuple[str, ...]:
        """Return topics for people: names, or ids without a known name."""
        ids = self._topic_ids[self.columns["topic_ids"][row]]
        return self.topics(row) or tuple(topic_id_text(number) for number in ids)

    def summary(self, row: int) -> Summary:
        """Return the facts about both bodies that a list shows."""
        topics = self._topics[self.columns["topics"][row]]
        return Summary(self.errors(row), topics, self._topic_ids[self.columns["topic_ids"][row]], None, True)

    def time_ns(self, row: int) -> int:
        """Return the time of the request's first byte, or of the response's without a request."""
        side = "request" if self.columns["flags"][row] & columns.HAS_REQUEST else "response"
        return self.columns[f"{side}_time"][row]

    def latency_ns(self, row: int) -> int | None:
        """First byte of the response minus last byte of the request."""
        both = columns.HAS_REQUEST | columns.HAS_RESPONSE
        if self.columns["flags"][row] & both != both:
            return None
        return self.columns["response_time"][row] - self.columns["request_end_time"][row]

    def rtt_ns(self, row: int) -> int | None:
        """Round trip between client and broker, as `Exchange.rtt_ns`."""
        found = self.columns["rtt"][row]
        return None if found == columns.NOT_KNOWN else found

    def delay_ns(self, row: int) -> int | None:
        """Return how long retransmissions held the exchange up, as `Exchange.delay_ns`; None also where too
        many rows have some.
        """
        if self.columns["flags"][row] & columns.IS_DELAYED:
            return self._delays.get(row)
        return None if self.latency_ns(row) is None else 0

    def bytes_on_wire(self, row: int, side: str) -> int | None:
        """Return the size of a side's frame with its size prefix; None without one, or if unknown."""
        if self.connection(row).logged is not None:
            return None
        return self.columns[f"{side}_size"][row] + 4 if self.has_side(row, side) else None

    def codes(self, row: int) -> tuple[str, ...]:
        """Return codes of the findings about an exchange."""
        return self._codes.get(row, ())

    def frame(self, row: int, side: str) -> LoggedFrame | None:
        """Return a frame that reads its bytes when they are looked at."""
        return LoggedFrame(self.want(row, side), self.store) if self.has_side(row, side) else None

    def want(self, row: int, side: str) -> Want:
        """Return the facts that are needed to find a frame again."""
        get, flags = self.columns, self.columns["flags"][row]
        is_request = side == "request"
        size = get[f"{side}_size"][row]
        captured = self._captured.get(row)
        cut = columns.REQUEST_CUT if is_request else columns.RESPONSE_CUT
        kept = columns.REQUEST_KEPT if is_request else columns.RESPONSE_KEPT
        return Want(
            self.connection(row),
            is_request,
            get[f"{side}_first_ref"][row],
            get[f"{side}_last_ref"][row],
            get[f"{side}_time"][row],
            get[f"{side}_end_time"][row],
            size,
            captured[0 if is_request else 1] if captured is not None and flags & cut else size,
            get[f"{side}_mark"][row],
            bool(flags & kept),
        )

    # many rows

    def row_of(self, connection: str, ordinal: int) -> int | None:
        """Return the row of an exchange by its identity; None if it is not known (yet)."""
        number = self._by_id.get(connection)
        if number is None:
            return None
        if ordinal >= FIRST_ORPHAN_ORDINAL:
            return self._orphans_of.get(number, {}).get(ordinal)
        rows = self._rows_of[number]
        found = rows[ordinal] if 0 <= ordinal < len(rows) else _NOWHERE
        return None if found == _NOWHERE else found

    def connection_number(self, connection: str) -> int | None:
        """Return the index of a connection in `connections` by its id."""
        return self._by_id.get(connection)

    def rows_of(self, connection: str) -> list[int]:
        """Return rows of a connection's exchanges, in the order of its requests, with orphan responses after
        them.
        """
        number = self._by_id.get(connection)
        if number is None:
            return []
        orphans = sorted(self._orphans_of.get(number, {}).items())
        return [row for row in self._rows_of[number] if row != _NOWHERE] + [row for _, row in orphans]

    def row_at(self, time_ns: int) -> int:
        """Return the first row that began at a time or later, by the order of completion, or the last row."""
        by_time = bisect_left(range(len(self)), time_ns, key=self.time_ns)
        return max(0, min(by_time, len(self) - 1))

    def point_before(self, file: int, packet: int) -> ResumePoint | None:
        """Return where to begin reading a file to see a packet, and some before it that may carry parts of
        it.
        """
        packets, points = self.points.get(file, (array("Q"), []))
        at = bisect_left(packets, packet) - 2  # one further back: fragments, and segments out of order
        return points[at] if at >= 0 else None


_NOWHERE = (1 << 32) - 1
_WITHOUT_ANSWER = (STATES.index(State.UNANSWERED), STATES.index(State.ORPHAN_RESPONSE))


def find_flag(flags: bytearray, row: int, step: int) -> int | None:
    """Return the next row behind (`step` 1) or before (-1) a row whose byte is 1."""
    at = flags.find(1, row + 1) if step > 0 else flags.rfind(1, 0, max(row, 0))
    return None if at < 0 else at


def find_in(flags: bytearray, row: int, step: int, shown: Sequence[int] | None) -> int | None:
    """Return the same among some rows, ascending; None for all."""
    while True:
        found = find_flag(flags, row, step)
        if found is None or shown is None:
            return found
        at = bisect_left(shown, found)
        if at < len(shown) and shown[at] == found:
            return found
        row = found


class LoggedExchange(Exchange):
    """A row of a log as an exchange. Its summaries come from the log, for both sides together."""

    __slots__ = ("_log", "row")

    def __init__(self, log: ExchangeLog, row: int) -> None:
        get = log.columns
        super().__init__(log.connection(row), get["ordinal"][row])
        self._log = log
        self.row = row
        flags = get["flags"][row]
        if flags & columns.IS_TOKEN:
            self.kind = ExchangeKind.SASL_TOKEN
        self.api_key = log.api_key(row)
        self.api_version = log.api_version(row)
        self.correlation_id = log.correlation_id(row)
        self.client_id = log.client_id(row)
        self.state = log.state(row)
        self.request_body_offset = get["request_body"][row]
        self.response_body_offset = get["response_body"][row]
        self.request = log.frame(row, "request")
        self.response = log.frame(row, "response")
        if flags & columns.HAS_CLOSE:
            self.close = self.connection.close
        if flags & columns.IS_ODD:
            self._take_anomalies()

    def _take_anomalies(self) -> None:
        own, request, response = self._log.anomalies(self.row)
        self.anomalies = list(own) or None
        if self.request is not None:
            self.request.anomalies = list(request) or None
        if self.response is not None:
            self.response.anomalies = list(response) or None

    def request_summary(self, is_listed: bool = False) -> Summary:
        """Return the topics of both sides, or the frame's summary for a line of the list."""
        return super().request_summary(True) if is_listed else self._log.summary(self.row)

    def response_summary(self, is_listed: bool = False) -> Summary:
        """Return error codes and topics of both sides, or the frame's summary for a line of the list."""
        return super().response_summary(True) if is_listed else self._log.summary(self.row)

    @property
    def rtt_ns(self) -> int | None:
        """That of the log."""
        return self._log.rtt_ns(self.row)

    @property
    def delay_ns(self) -> int | None:
        """That of the log."""
        return self._log.delay_ns(self.row)

    def topics(self) -> tuple[str, ...]:
        """Return topics by name, including topics with ids."""
        return self._log.topics(self.row)

    def codes(self) -> tuple[str, ...]:
        """Return codes of the findings about it."""
        return self._log.codes(self.row)
