"""Pairs responses with requests by correlation id, from the headers alone if an id belongs to one request.

Rules:
- A broker answers the requests of one connection in their order (spec/000 "Network"). An answer out of order
  is still paired.
- A Produce request with acks=0 gets no response. It waits for a moment, because some servers answer it
  anyway. It waits until its id is used again, for the answer would have come before.
- Of several requests under one id the first is answered first. If a response does not fit it, and fits
  the next to the last byte, the answer to the first is not there.
- A request without an answer is reported when the connection ends, or when a later answer shows that its own
  was lost in a gap. If a later request was answered and no bytes were lost, the broker skipped it.
"""

from collections import deque
from itertools import islice, takewhile
from typing import NamedTuple

from kdissect.decoders.bodies import request_fits, response_fits
from kdissect.model.anomaly import AnomalyKind
from kdissect.model.frame import Frame, FrameRow, frame_of_row
from kdissect.model.wording import plural
from kdissect.net.store import Store
from kdissect.session.exchange import Exchange, State
from kdissect.session.info import ConnectionInfo

HEADER_KEPT = 64  # bytes of a request's frame that stay if the limit does not allow all
# An acks=0 request waits until this many requests followed it: a producer has no more in flight
# (max.in.flight.requests.per.connection is 5, org.apache.kafka.clients.producer.ProducerConfig).
NO_RESPONSE_HOLD = 5
# Answered correlation ids that are remembered, to distinguish a duplicate response from an orphan.
ANSWERED_KEPT = 64
# Requests in flight searched for one that is earlier than an answer's. They are in stream order, so the first
# is enough, except for a few that waited after another request with their id.
FIRST_LOOKED_AT = 8
# Requests dropped between two copies of their table: copying the 10,000 that wait costs each 40 steps.
MADE_ANEW_AFTER = 256


_UNREADABLE = (AnomalyKind.MALFORMED_HEADER, AnomalyKind.UNKNOWN_API, AnomalyKind.UNKNOWN_VERSION)
_NO_RESPONSE = State.NO_RESPONSE_EXPECTED
_NOTHING: list[Exchange] = []
_NO_MATCH: tuple[None, list[Exchange]] = None, _NOTHING


WaitingRow = tuple[int, int, int, int, str | None, FrameRow, int, bool, bytes | None]
"""A request that waits, without anomalies: ordinal, API key, version, correlation id, client id, frame,
offset of its body, whether it asks for no response, the comment of its request log line.
"""


class PairingState(NamedTuple):
    """State of a pairing for the native engine.

    Waiting requests in order, ordinals of requests without an expected response, answered ids, bytes of all
    waiting requests, the last correlation id.
    """

    waiting: list[WaitingRow]
    silent: list[int]
    answered: list[int]
    bytes: int
    last_correlation_id: int | None


class Losses(NamedTuple):
    """State of a pairing that the native engine does not need, most of it ordinals.

    The evicted requests, the ordinal up to which responses may have been lost in a gap, the last request that
    was answered before an earlier one, the ordinal up to which requests may have been answered under another
    id, and whether requests may have been lost.
    """

    given_up: int = 0
    lost_before: int = -1
    overtaker: int = -1
    misnamed_before: int = -1
    requests_are_lost: bool = False


class Pairing:
    """The requests of one connection that wait for their response, in stream order."""

    __slots__ = (
        "_answered", "_bytes", "_given_up", "_holding", "_lost_before", "_misnamed_before", "_overtaker",
        "_pending", "_shadowed", "_shadows", "_silent", "_store", "last_correlation_id",
        "requests_are_lost",
    )  # fmt: skip

    def __init__(self, store: Store | None = None) -> None:
        self._store = store or Store()
        self._shadows = 0  # requests in _shadowed
        # Members that most connections never have are created at their first use: a hundred thousand
        # connections may be open.
        self._silent: list[Exchange] | None = None  # acks=0 requests, in stream order
        self._pending: dict[int, Exchange] = {}
        # Further requests in flight under an id already in use.
        self._shadowed: dict[int, deque[Exchange]] | None = None
        self._answered: list[int] = []  # the last `ANSWERED_KEPT` ids are searched
        self._bytes = 0
        self._given_up = 0
        self._holding = 0  # acks=0 requests among the pending
        self._lost_before = -1  # these as in `Losses`
        self._overtaker = -1
        self._misnamed_before = -1
        self.last_correlation_id: int | None = None
        self.requests_are_lost = False  # maybe: then an answer can have an id that no request had

    def __len__(self) -> int:
        return len(self._pending)

    # the native engine

    @property
    def is_ordinary(self) -> bool:
        """Whether each request waits under an id of its own, without an anomaly to note."""
        return not self._shadows and all(map(_is_ordinary, self._pending.values()))

    def state(self) -> PairingState:
        """Return the state for the native engine. Call it only if `is_ordinary`."""
        pending = self._pending
        rows = [_row(exchange) for exchange in pending.values()]
        silent = [
            one.ordinal
            for one in self._silent or ()
            if one.state is _NO_RESPONSE and pending.get(one.correlation_id or 0) is one
        ]
        return PairingState(rows, silent, self._answered, self._bytes, self.last_correlation_id)

    @property
    def losses(self) -> Losses:
        """Return the state that the engine does not need."""
        return Losses(
            self._given_up, self._lost_before, self._overtaker, self._misnamed_before, self.requests_are_lost
        )

    def take_over(self, info: ConnectionInfo, state: PairingState, losses: Losses) -> None:
        """Go on from the native engine's position."""
        rows, silent, self._answered, self._bytes, self.last_correlation_id = state
        (
            self._given_up, self._lost_before, self._overtaker, self._misnamed_before, self.requests_are_lost,
        ) = losses  # fmt: skip
        by_ordinal: dict[int, Exchange] = {}
        for ordinal, key, version, correlation_id, client_id, row, body_offset, is_silent, comment in rows:
            frame = frame_of_row(row, comment)
            exchange = Exchange(info, ordinal, key, version, correlation_id, client_id, frame, body_offset)
            self._pending[correlation_id] = by_ordinal[ordinal] = exchange
            if is_silent:
                exchange.state = _NO_RESPONSE
        if silent:
            self._silent = [by_ordinal[ordinal] for ordinal in silent]
            self._holding = len(silent)

    def add(self, exchange: Exchange, frame: Frame, correlation_id: int) -> list[Exchange]:
        """Take a request. Return exchanges that will not wait any longer."""
        pending = self._pending
        released = self._give_up_silent(correlation_id)
        if correlation_id in pending:
            earlier = pending[correlation_id].ordinal
            detail = f"correlation id {correlation_id} is in flight already, as request {earlier}"
            exchange.note(AnomalyKind.REUSED_CORRELATION_ID, detail, frame)
            if self._shadowed is None:
                self._shadowed = {}
            self._shadowed.setdefault(correlation_id, deque()).append(exchange)
            self._shadows += 1
        else:
            pending[correlation_id] = exchange
        self.last_correlation_id = correlation_id
        limits, counts = self._store.limits, self._store.counts
        counts.pending_requests += 1
        counts.pending_bytes += len(frame.data)
        self._bytes = held = self._bytes + len(frame.data)
        if held > limits.connection_pending_bytes or counts.pending_bytes > limits.pending_bytes:
            self._shorten(exchange, frame)
        if exchange.state is _NO_RESPONSE:
            self._holding += 1
            if self._silent is None:
                self._silent = []
            self._silent.append(exchange)
        is_full = len(pending) + self._shadows > limits.connection_pending_requests
        if not self._holding and not is_full and counts.pending_requests <= limits.pending_requests:
            return released
        if self._holding:
            hold = 0 if frame.is_logged else NO_RESPONSE_HOLD  # a line of a log has both frames
            released = released + self._release(exchange.ordinal - hold)
        if pending and (is_full or counts.pending_requests > limits.pending_requests):
            oldest = self._take(self._oldest())
            most = limits.connection_pending_requests if is_full else limits.pending_requests
            where = "" if is_full else " of all connections"
            detail = f"more than {plural(most, 'request')}{where} in flight"
            oldest.note(AnomalyKind.PENDING_LIMIT, detail)
            released = [*released, oldest]
        return released

    def _give_up_silent(self, correlation_id: int) -> list[Exchange]:
        """Return the acks=0 request that waits under an id which is used again."""
        earlier = self._pending.get(correlation_id)
        if earlier is None or earlier.state is not _NO_RESPONSE:
            return _NOTHING
        return [self._take(correlation_id)]

    def skip_first(self, frame: Frame, correlation_id: int) -> Exchange | None:
        """Return the first of several requests under one id, if a response fits the second and cannot be the
        first's.
        """
        waiting = self._shadowed.get(correlation_id) if self._shadowed else None
        if not waiting or frame.is_cut:
            return None
        first, second = self._pending[correlation_id], waiting[0]
        if _answers(frame, first) or not _answers(frame, second):
            return None
        detail = f"the response under its correlation id does not fit it, but request {second.ordinal}"
        first.note(AnomalyKind.PAIRED_AGAIN, detail, frame)
        detail = f"the response does not fit request {first.ordinal}, of the same correlation id"
        second.note(AnomalyKind.PAIRED_AGAIN, detail, frame)
        return self._take(correlation_id)

    def _oldest(self) -> int:
        """Return the id of the first request that waits, for giving it up.

        A dict keeps the places of removed items, and scans them for its first item: with thousands that go
        from its front, each time as long. So the dict is rebuilt now and then.
        """
        self._given_up += 1
        if self._given_up % MADE_ANEW_AFTER == 0:
            self._pending = dict(self._pending)
        return next(iter(self._pending))

    def _shorten(self, exchange: Exchange, frame: Frame) -> None:
        before = len(frame.data)
        short = exchange.request = frame.shortened(max(HEADER_KEPT, exchange.request_body_offset))
        self._count_bytes(len(short.data) - before)
        exchange.note(
            AnomalyKind.PENDING_LIMIT,
            f"{plural(before, 'byte')} of the request dropped while it waited",
            frame,
        )

    def _release(self, up_to: int) -> list[Exchange]:
        """Acks=0 requests up to an ordinal: their answer is not coming."""
        due: list[Exchange] = []
        silent = self._silent
        while silent and silent[0].ordinal <= up_to:
            exchange = silent.pop(0)
            key = exchange.correlation_id or 0
            # A request that waits after another one with its id returns when that one is removed (`_take`).
            if exchange.state is _NO_RESPONSE and self._pending.get(key) is exchange:
                due.append(self._take(key))
        return due

    def _take(self, correlation_id: int) -> Exchange:
        exchange = self._pending.pop(correlation_id)
        if self._shadowed:
            waiting = self._shadowed.get(correlation_id)
            if waiting:
                following = self._pending[correlation_id] = waiting.popleft()
                self._shadows -= 1
                if following.state is _NO_RESPONSE:
                    self._silent = [following, *(self._silent or ())]
                if not waiting:
                    del self._shadowed[correlation_id]
        self._store.counts.pending_requests -= 1
        if exchange.request is not None:
            self._count_bytes(-len(exchange.request.data))
        if exchange.state is _NO_RESPONSE:
            self._holding -= 1
        return exchange

    def _count_bytes(self, change: int) -> None:
        self._bytes += change
        self._store.counts.pending_bytes += change

    def responses_lost(self, last_ordinal: int) -> None:
        """Bytes of the broker's direction are missing.

        Answers to requests up to `last_ordinal` may be among them.
        """
        self._lost_before = last_ordinal

    def response_misnamed(self, last_ordinal: int) -> None:
        """Note a response under an id that no request had: it may answer one of the requests up to an
        ordinal.
        """
        self._misnamed_before = last_ordinal

    def pending(self, correlation_id: int) -> Exchange | None:
        """Return the request that waits under an id."""
        return self._pending.get(correlation_id)

    def first_ids(self, count: int) -> list[int]:
        """Return the correlation ids of the first requests that wait."""
        return list(islice(self._pending, count))

    def first_unreadable(self) -> Exchange | None:
        """Return one of the first waiting requests that does not fit, or names an unknown API."""
        return next(filter(_is_unreadable, islice(self._pending.values(), FIRST_LOOKED_AT)), None)

    def all_wait(self, ordinals: range, replaces: bool) -> bool:
        """Return whether all requests of some ordinals wait, and can be removed and added again.

        The first may have any anomaly if it is to be replaced.
        """
        waiting = [one for one in self._pending.values() if one.ordinal >= ordinals.start]
        return (
            not self._shadows
            and not self._holding
            and (len(waiting) == len(ordinals) and all(map(_is_ordinary, waiting[replaces:])))
        )

    def take_out(self, ordinal: int) -> list[Frame]:
        """Take out the waiting requests from an ordinal on."""
        ids = [key for key, one in self._pending.items() if one.ordinal >= ordinal]
        return [frame for key in ids if (frame := self._take(key).request) is not None]

    def match(self, correlation_id: int) -> tuple[Exchange | None, list[Exchange]]:
        """Return the request a response belongs to, and the earlier requests that will not be answered any
        more.
        """
        # Hot, once an exchange: the first request that waits is answered, in the usual case.
        pending = self._pending
        exchange = pending.get(correlation_id)
        if exchange is None:
            return _NO_MATCH
        answered = self._answered
        answered.append(correlation_id)
        if len(answered) >= 2 * ANSWERED_KEPT:
            del answered[:ANSWERED_KEPT]
        is_first = next(iter(pending)) == correlation_id
        request = exchange.request
        if is_first and request is not None and not self._shadowed and not self._holding:
            del pending[correlation_id]
            if not pending:
                pending.clear()  # gives back its 160 bytes of places
            self._store.counts.pending_requests -= 1
            self._count_bytes(-len(request.data))
            return exchange, _NOTHING
        exchange = self._take(correlation_id)
        return exchange, _NOTHING if is_first else self._overtaken(exchange)

    def _overtaken(self, exchange: Exchange) -> list[Exchange]:
        ordinal = exchange.ordinal
        released = self._release(ordinal) if self._holding else []
        if not self._waits_before(ordinal):
            return released  # all that waited before it ask for no answer
        if self._lost_before >= 0:
            last = min(ordinal - 1, self._lost_before)
            # In stream order, except for the few that waited after another one with their id.
            for key in [k for k, _ in takewhile(lambda item: item[1].ordinal <= last, self._pending.items())]:
                earlier = self._take(key)
                earlier.note(AnomalyKind.GAP, "the response may be among bytes that were not captured")
                released.append(earlier)
            self._lost_before = -1
        if self._waits_before(ordinal):
            exchange.note(
                AnomalyKind.OUT_OF_ORDER_RESPONSE, "answered before an earlier request of the connection"
            )
            self._overtaker = max(self._overtaker, ordinal)
        return sorted(released, key=_ordinal)

    def _waits_before(self, ordinal: int) -> bool:
        return any(earlier.ordinal < ordinal for earlier in islice(self._pending.values(), FIRST_LOOKED_AT))

    def was_answered(self, correlation_id: int) -> bool:
        """Return whether a response with this id came lately."""
        return correlation_id in self._answered[-ANSWERED_KEPT:]

    def drain(self) -> list[Exchange]:
        """Return every request still waiting, in stream order."""
        waiting = list(self._pending.values())
        for shadowed in (self._shadowed or {}).values():
            waiting += shadowed
        self._pending = {}
        self._shadowed = self._silent = None
        self._store.counts.pending_requests -= len(waiting)
        self._count_bytes(-self._bytes)
        self._holding = self._shadows = 0
        for exchange in waiting:
            if self._is_passed_over(exchange):
                exchange.note(AnomalyKind.PASSED_OVER, f"request {self._overtaker}, after it, was answered")
        return sorted(waiting, key=_ordinal)

    def _is_passed_over(self, exchange: Exchange) -> bool:
        """Return whether only the broker explains that a waiting request was not answered."""
        ordinal = exchange.ordinal
        is_due = exchange.state is not _NO_RESPONSE and not exchange.anomalies
        return is_due and max(self._lost_before, self._misnamed_before) < ordinal < self._overtaker


def _is_ordinary(exchange: Exchange) -> bool:
    request = exchange.request
    return exchange.anomalies is None and request is not None and request.anomalies is None


def _is_unreadable(exchange: Exchange) -> bool:
    if any(anomaly.kind in _UNREADABLE for anomaly in exchange.anomalies or ()):
        return True
    request, key, version = exchange.request, exchange.api_key, exchange.api_version
    is_whole = request is not None and len(request.data) == request.size
    if request is None or key is None or version is None or not is_whole:
        return False
    return not request_fits(request.data, exchange.request_body_offset, key, version)


def _row(exchange: Exchange) -> WaitingRow:
    key, version, correlation_id = exchange.api_key, exchange.api_version, exchange.correlation_id
    assert key is not None, "only requests with a header wait"
    assert version is not None
    assert correlation_id is not None
    assert exchange.request is not None
    logged = exchange.request.logged
    return (
        exchange.ordinal, key, version, correlation_id, exchange.client_id, exchange.request.row(),
        exchange.request_body_offset, exchange.state is _NO_RESPONSE,
        None if logged is None else logged.comment(),
    )  # fmt: skip


def _answers(frame: Frame, exchange: Exchange) -> bool:
    """Return whether a response is to the last byte one to this request."""
    key, version = exchange.api_key, exchange.api_version
    return key is not None and version is not None and response_fits(frame.data, key, version)


def _ordinal(exchange: Exchange) -> int:
    return exchange.ordinal
