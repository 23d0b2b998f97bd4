"""State that rules may store for one connection while its exchanges pass in stream order."""

from __future__ import annotations

from collections.abc import Sequence, Set
from copy import copy
from typing import NamedTuple, Self, Union

from kdissect.history.connections.negotiated_versions import ranges_of
from kdissect.model.anomaly import AnomalyKind
from kdissect.model.finding import Finding, Who
from kdissect.model.frame import Frame, is_cut_by_end
from kdissect.model.packets.packet import NEVER_NS, Moment, is_before
from kdissect.rules.findings import Key
from kdissect.rules.guards import ExchangeFact
from kdissect.rules.rule import REQUEST, RESPONSE
from kdissect.rules.views.body_view import Body
from kdissect.rules.views.doubt import Doubt
from kdissect.rules.views.kept_exchanges import LargeExchanges, RecentExchanges
from kdissect.rules.views.misplaced_end import MisplacedEnd
from kdissect.session.exchange import Exchange, State
from kdissect.session.info import ConnectionInfo

API_VERSIONS = 18  # org.apache.kafka.common.protocol.ApiKeys
UNSUPPORTED_VERSION = 35  # org.apache.kafka.common.protocol.Errors
# Requests remembered to see which were in flight when another was sent. Clients have 5, librdkafka at most
# some thousands.
REMEMBERED = 1024
# Requests in flight that rules look at: some look at all of them for each request. Clients have 1 to 5,
# Kafka's own senders a few hundred, of which the latest are sufficient.
WAITING_KEPT = 100
# For larger exchanges only the last one is stored: four responses of a megabyte on each connection fill the
# memory.
RECENT_BYTES = 16 << 10
# Sizes and times of `ExchangeFact`.
_LARGE, _LEAST_REQUEST, _LEAST_RESPONSE = 512 << 10, 8, 4
_SLOW_NS = 30_000_000_000
LATE_NS = 100_000_000
_MANY_IN_FLIGHT = 5
# After a correlation id and an empty tag section, and in requests also after key, version and an empty client
# id.
_RESPONSE_BODY_AT, _REQUEST_BODY_AT = 5, 11
_AGAIN_LATENCY_NS = 10_000_000_000
_HOLES = (AnomalyKind.SKIPPED_BYTES, AnomalyKind.RESYNCHRONISED, AnomalyKind.GAP, AnomalyKind.PENDING_LIMIT)

# For a connection without silenced rules, as most are. A dict of its own comes with the first.
_NONE_SUPPRESSED: dict[int, frozenset[str]] = {}
_NEVER = 1 << 64  # later than any time in nanoseconds
MOST_NS = (1 << 63) - 1  # the largest one in 64 bits
Earlier = Union[Exchange, "AtRest"]
LentView = tuple[
    str | None, int, int, list[tuple[Earlier, int]], dict[int, tuple[int, int]] | None, frozenset[str], int
]
"""Client id of the request before, highest correlation id, time of the last answer, who may wait and when
each is answered, versions advertised, codes that spoke, the last turn of `RecentExchanges` in which it spoke.
"""
# Stands for a list of `previous` alone, as most connections at rest have one: for all of them, pickled too.
_PREVIOUS_ALONE: tuple[Earlier, ...] = ()

# A module's own name is found faster than an enum's member, once an exchange.
NO_RESPONSE_EXPECTED = State.NO_RESPONSE_EXPECTED
COMPLETE = State.COMPLETE


NUMBER_EARLY = (None, "apache-kafka-java")
"""Software of clients that may number a request before they send others, as ApiVersions names it (KIP-511).
Earlier clients send no name.
"""
_NOTHING_SPOKEN: frozenset[str] = frozenset()  # Python makes a new one of 216 bytes with each call
# As numbers: each look at a member of the enumeration, and each `|` of two, takes as long as a test.
ANOMALY, NOT_ANSWERED, FIRST, NO_CLIENT_ID, OTHER_CLIENT_ID, ESCAPED_CLIENT_ID, ID_NOT_HIGHEST = map(
    int, list(ExchangeFact)[:7]
)
MANY_IN_FLIGHT, NOT_ADVERTISED, HEADER_TAGS, LARGE, SHORT, SLOW, VERSIONS_REFUSED, LATE = map(
    int, list(ExchangeFact)[7:]
)


class Refusal(NamedTuple):
    """That ApiVersions was refused (KIP-511): the range of it that the last refusal lists, empty where it
    lists none, the end of the first one, and the ordinal of the last exchange refused.
    """

    versions: tuple[int, int] | tuple[()]
    first: Moment
    ordinal: int


class Misfit(NamedTuple):
    """A fault of a body, by the code of its rule. Without a `finding` it only increases a count."""

    code: str
    key: Key
    time_ns: int
    finding: Finding | None


class ConnectionView:
    """One connection as far as it was judged.

    `advertised` are the ranges of the last successful ApiVersions response by API key, None before there is
    one. `refusal` has facts about refused ones. `previous` is the request before the one judged. `spoken` are
    codes that speak once per connection. Large exchanges are in `previous` and `in_flight` without their
    bytes, which `large` stores within its limit. So are exchanges of a connection at rest. `first` is the
    ordinal of the first request.
    """

    __slots__ = (
        "_answered_ns",
        "_large",
        "_looked_ns",
        "_recent",
        "_waiting",
        "advertised",
        "advertised_at",
        "cut",
        "doubt",
        "first",
        "highest_id",
        "in_flight",
        "info",
        "misfits",
        "misplaced_end",
        "previous",
        "refusal",
        "spoken",
        "suppressed",
    )  # fmt: skip

    def __init__(
        self,
        info: ConnectionInfo,
        large: LargeExchanges | None = None,
        recent: RecentExchanges[ConnectionView] | None = None,
    ) -> None:
        self.info = info
        self.advertised: dict[int, tuple[int, int]] | None = None
        self.advertised_at: Moment = 0, NEVER_NS
        """The end of the last answer that advertised versions."""
        self.refusal: Refusal | None = None
        self.first: int | None = None
        self.previous: Earlier | None = None
        self.in_flight: Sequence[Earlier] = []
        """Earlier requests not answered yet when the one judged was sent."""
        self.cut: tuple[Exchange, str] | None = None
        """The last exchange with a frame inside of which its stream ended, and the side."""
        self.doubt: Doubt | None = None
        """The last doubt about where frames begin. Data that follows a frame that is wrong may be none."""
        self.misplaced_end: MisplacedEnd | None = None
        """The first frame whose size seems to be off by one, as long as that is not refuted."""
        self.misfits: tuple[Misfit, ...] = ()
        """Faults of the body of that frame: its size may explain them."""
        self.spoken = _NOTHING_SPOKEN
        self.suppressed: dict[int, frozenset[str]] = _NONE_SUPPRESSED
        """Codes that other rules silenced, by the ordinal of the exchange."""
        self.highest_id = -1
        """The highest correlation id of the requests judged before."""
        self._answered_ns = NEVER_NS
        """When the last answer to one of `_waiting` came."""
        self._large = large or LargeExchanges()
        self._recent = recent or RecentExchanges(ConnectionView.rest)
        self._waiting: Sequence[Earlier] = []
        self._looked_ns = _NEVER
        """Which of them wait, but for the last one, is known for this time."""

    @property
    def is_whole(self) -> bool:
        """Whether no byte is missing so far."""
        counts = self.info.anomaly_counts
        gaps = self.info.tcp.gaps if self.info.tcp is not None else 0
        return not gaps and not (counts and any(counts[kind] for kind in _HOLES))

    @property
    def is_half(self) -> bool:
        """Whether one direction alone was captured so far, of a connection that began before."""
        tcp = self.info.tcp
        return self.info.middle_start and tcp is not None and not (tcp.client_bytes and tcp.broker_bytes)

    @property
    def _is_behind_refusal(self) -> bool:
        """Whether the request before the next one was an ApiVersions that was refused."""
        refusal, previous = self.refusal, self.previous
        return refusal is not None and previous is not None and previous.ordinal == refusal.ordinal

    def facts(self, exchange: Exchange) -> int:
        """Return the facts of the next exchange: members of `ExchangeFact`, as a number."""
        # Hot, once an exchange.
        facts = self._facts_of_frames(exchange) | self._facts_of_versions(exchange)
        client_id, previous = exchange.client_id, self.previous
        if exchange.anomalies:
            facts |= ANOMALY
        if self.first == exchange.ordinal:
            facts |= FIRST
        if previous is not None and previous.client_id != client_id:
            facts |= OTHER_CLIENT_ID
        if not client_id:
            facts |= NO_CLIENT_ID
        elif "\\x" in client_id:
            facts |= ESCAPED_CLIENT_ID
        number = exchange.correlation_id
        if number is None or (number <= self.highest_id and not self._is_early(exchange, number)):
            facts |= ID_NOT_HIGHEST
        if len(self.in_flight) >= _MANY_IN_FLIGHT:
            facts |= MANY_IN_FLIGHT
        return facts

    def _is_early(self, exchange: Exchange, number: int) -> bool:
        """Return whether the client may have numbered a request before it sent the one before."""
        previous = self.previous
        return (
            exchange.connection.software_name in NUMBER_EARLY
            and previous is not None
            and previous.correlation_id != number
            and all(earlier.correlation_id != number for earlier in self.in_flight)
        )

    def _facts_of_versions(self, exchange: Exchange) -> int:
        facts = 0
        if self.refusal and (exchange.api_key == API_VERSIONS or self._is_behind_refusal):
            facts = VERSIONS_REFUSED
        if self.advertised is not None:
            found, version = self.advertised.get(exchange.api_key or 0), exchange.api_version or 0
            if found is None or not found[0] <= version <= found[1]:
                facts |= NOT_ADVERTISED
        return facts

    def _facts_of_frames(self, exchange: Exchange) -> int:
        request, response, facts = exchange.request, exchange.response, 0
        if request is None:
            return NOT_ANSWERED | HEADER_TAGS | SHORT  # of the answer alone all is looked at
        length = int.from_bytes(request.data[8:10], signed=True)
        if exchange.request_body_offset > _REQUEST_BODY_AT + max(length, 0) or len(request.data) < 10:
            facts = HEADER_TAGS
        if not _LEAST_REQUEST <= request.size < _LARGE:
            facts |= LARGE if request.size >= _LARGE else SHORT
        if response is None:
            is_due = exchange.state is not NO_RESPONSE_EXPECTED or exchange.close is not None
            return facts | NOT_ANSWERED if is_due else facts
        if exchange.response_body_offset > _RESPONSE_BODY_AT:
            facts |= HEADER_TAGS
        if response.size < _LEAST_RESPONSE:
            facts |= SHORT
        latency_ns = response.time_ns - request.end_time_ns
        if latency_ns >= LATE_NS:
            facts |= SLOW | LATE if latency_ns >= _SLOW_NS else LATE
        return facts if exchange.state is COMPLETE else facts | NOT_ANSWERED

    def is_again(self, exchange: Exchange) -> bool:
        """Return whether an exchange is the one before once more, whole: the same bytes but for a higher
        id.
        """
        before, request, response = self.previous, exchange.request, exchange.response
        if not isinstance(before, Exchange) or request is None or response is None or exchange.anomalies:
            return False
        asked, answered = before.request, before.response
        if asked is None or answered is None or exchange.state is not COMPLETE:
            return False
        return (
            request.size == asked.size == len(request.data) == len(asked.data)
            and response.size == answered.size == len(response.data) == len(answered.data)
            and request.data[8:] == asked.data[8:]
            and request.data[:4] == asked.data[:4]
            and response.data[4:] == answered.data[4:]
            and exchange.kind is before.kind
            and exchange.request_body_offset == before.request_body_offset
            and exchange.response_body_offset == before.response_body_offset
            and exchange.correlation_id is not None
            and exchange.correlation_id > self.highest_id
            and response.time_ns - request.end_time_ns < _AGAIN_LATENCY_NS
        )

    def begin(self, exchange: Exchange) -> None:
        """Begin the next request in stream order, which is about to be judged."""
        if self._waiting is _PREVIOUS_ALONE and self.previous is not None:
            self._waiting = self.in_flight = [self.previous]
        request = exchange.request
        if request is None:
            return
        if self.first is None:
            self.first = exchange.ordinal
        sent = request.time_ns
        if self._answered_ns <= sent:  # mostly: all were answered
            if self.in_flight or self._waiting:
                self._waiting = self.in_flight = []
            return
        waiting = self._waiting
        if sent == self._looked_ns and waiting and _waits(waiting[-1], sent):
            self.in_flight = waiting  # the others were found to wait when the request before was sent
        else:
            self._waiting = self.in_flight = [e for e in waiting if _waits(e, sent)]
        self._looked_ns = sent

    def end(self, exchange: Exchange, suppressed: Set[str]) -> None:
        """End an exchange that was judged; `suppressed` are codes that must not report it any more."""
        if suppressed:
            self._suppress(exchange, suppressed)
        request, response = exchange.request, exchange.response
        size = 0
        if request is not None:
            size = request.size
            if len(request.data) < size and is_cut_by_end(request):
                self.cut = exchange, REQUEST
        if response is not None:
            size += response.size
            if len(response.data) < response.size and is_cut_by_end(response):
                self.cut = exchange, RESPONSE
        if self.misplaced_end is not None:
            self._hear(exchange, self.misplaced_end)
        exchange = self._keep(exchange, size)
        if request is None:
            return
        self.previous = exchange
        number = exchange.correlation_id
        if number is not None and number > self.highest_id:
            self.highest_id = number
        self._wait(exchange)

    def note_misfit(self, body: Body) -> None:
        """Note a body that does not fit: its frame's size may be off by one."""
        if self.misplaced_end is None:
            found = MisplacedEnd(body)
            self.misplaced_end = None if found.is_over else found

    def is_size_in_question(self, exchange: Exchange | None) -> bool:
        """Whether the size of a frame of an exchange may be off by one."""
        found = self.misplaced_end
        if found is None or exchange is None:
            return False
        return not found.is_over and found.ordinal == exchange.ordinal

    def raise_doubt(
        self, who: Who, exchange: Exchange, said: Key, *, is_no_frame: bool, is_sound: bool = False
    ) -> None:
        """Note that a frame of `who` is wrong, or none at all: later frames may be read at wrong positions.

        `said` is the key of the finding about it. `is_sound`: the frame fits, and should not have been sent.
        """
        doubt = self.doubt
        if is_sound and doubt is not None and doubt.is_open:
            return
        if doubt is None or not (doubt.is_open and (doubt.is_proven or doubt.ordinal == exchange.ordinal)):
            self.doubt = doubt = Doubt(who, exchange, doubt)
            doubt.is_open = not is_sound
        doubt.hides_facts = doubt.hides_facts or is_no_frame
        if doubt.ordinal == exchange.ordinal and doubt.who is who:
            doubt.said.append(said)

    def hide_facts(self, exchange: Exchange) -> None:
        """Exchanges of the connection were misread: histories do not know of them."""
        if self.doubt is None:
            self.doubt = Doubt(Who.CLIENT, exchange)
            self.doubt.is_open = False
        self.doubt.hides_facts = True

    def hear_in_doubt(self, exchange: Exchange, doubt: Doubt) -> bool:
        """Look at the next exchange, which is about to be judged; whether it is to be looked at closely."""
        doubt.hear_request(exchange)
        if doubt.is_open and doubt.hear(exchange, self.info.anomalies, self.direction_of(doubt.who)):
            self._refute_misplaced_end()
        return doubt.is_proven or doubt.hides_facts

    def direction_of(self, who: Who) -> int:
        """Return the direction of the connection in which an end sends."""
        return self.info.client_direction if who is Who.CLIENT else 1 - self.info.client_direction

    def _hear(self, exchange: Exchange, found: MisplacedEnd) -> None:
        found.hear(exchange)
        if found.is_over:
            self._refute_misplaced_end()

    def _refute_misplaced_end(self) -> None:
        """Refute a misplaced end that is not proven by now, because whole frames passed."""
        if self.misplaced_end is not None and not self.misplaced_end.stated:
            self.misplaced_end = None

    def pass_by(self, exchange: Exchange, request: Frame, response: Frame | None) -> None:
        """Do `end` for an exchange, captured whole, that no rule received.

        Without a response it is one that expects none.
        """
        size = request.size if response is None else request.size + response.size
        self.previous = exchange = self._keep(exchange, size)
        self.highest_id = max(self.highest_id, exchange.correlation_id or 0)
        if response is not None:
            if response.time_ns > self._answered_ns:
                self._answered_ns = response.time_ns
            self._waiting = [*self._waiting[-WAITING_KEPT + 1 :], exchange] if self._waiting else [exchange]

    def lend(self) -> LentView | None:
        """Return the state for the native engine; None for a connection that is new or in doubt, or whose
        versions were refused last.
        """
        previous = self.previous
        doubt = self.doubt
        in_doubt = doubt is not None and (doubt.is_open or doubt.is_last or doubt.hides_facts)
        if self.first is None or previous is None or self._is_behind_refusal or in_doubt:
            return None
        waits = (previous,) if self._waiting is _PREVIOUS_ALONE else self._waiting
        waiting = [
            (before, MOST_NS if (response := before.response) is None else response.time_ns)
            for before in waits
        ]
        answered_ns, turn = min(self._answered_ns, MOST_NS), self._recent.turn_of(self.info.id)
        return previous.client_id, self.highest_id, answered_ns, waiting, self.advertised, self.spoken, turn

    def lend_new(self, client_id: str | None) -> LentView:
        """Return the same for a connection whose first exchange, with this client id, passes with the native
        engine.
        """
        turn = self._recent.turn_of(self.info.id)
        return client_id, self.highest_id, self._answered_ns, [], self.advertised, self.spoken, turn

    def keep_large(self, exchange: Exchange) -> Exchange:
        """Store a large exchange that passed while the view was native-owned, and return the light form that
        other objects refer to.
        """
        request, response = exchange.request, exchange.response
        assert request is not None  # it is a row of a block
        return self._keep(exchange, request.size if response is None else request.size + response.size)

    def take_back(
        self,
        recent: list[Exchange],
        last: Earlier,
        numbers: tuple[int, int, int | None],
        spoke: tuple[int, bool],
        waiting: list[Earlier],
    ) -> None:
        """Take the state from the native engine: the last exchanges except large ones, the last one, and the
        exchanges that still wait.

        `numbers` are the highest correlation id, the time of the last response, and the last time at which
        the waiting requests were known, None without one; `spoke` is for `RecentExchanges.extend`.
        """
        self.highest_id, answered_ns, looked_ns = numbers
        self._recent.extend(self, recent, *spoke)
        self.previous = last
        self._answered_ns = max(self._answered_ns, answered_ns)
        self._looked_ns = self._looked_ns if looked_ns is None else looked_ns
        self._waiting = waiting
        self.in_flight = waiting if last.response is None else waiting[:-1]

    def _keep(self, exchange: Exchange, size: int) -> Exchange:
        """Store it for late facts, without its bytes if they may be many."""
        if size <= RECENT_BYTES:
            self._recent.append(self, exchange)
            return exchange
        self._large.put(exchange, size)
        return self._light(exchange)

    def _wait(self, exchange: Exchange) -> None:
        """Note that requests from now on are sent while this one waits for its answer, or after that."""
        response = exchange.response
        if response is not None:
            if response.time_ns > self._answered_ns:
                self._answered_ns = response.time_ns
        elif exchange.state is NO_RESPONSE_EXPECTED:
            return
        else:
            self._answered_ns = _NEVER
        waiting = self._waiting
        self._waiting = [*waiting[-WAITING_KEPT + 1 :], exchange] if waiting else [exchange]

    def _suppress(self, exchange: Exchange, codes: Set[str]) -> None:
        if self.suppressed is _NONE_SUPPRESSED:
            self.suppressed = {}
        self.suppressed[exchange.ordinal] = frozenset(codes)
        if len(self.suppressed) > REMEMBERED:
            del self.suppressed[next(iter(self.suppressed))]

    def recent(self, ordinal: int) -> Exchange | None:
        """Return one of the last exchanges that were judged, by its ordinal."""
        large = self._large.get(self.info.id, ordinal)
        return large or self._recent.get(self.info.id, ordinal)

    def let_go(self) -> None:
        """Drop references to shared objects, until `hold`."""
        del self._large, self._recent

    def hold(self, large: LargeExchanges, recent: RecentExchanges[ConnectionView]) -> None:
        """Go on with what a judge keeps of its exchanges."""
        self._large, self._recent = large, recent

    def rest(self) -> None:
        """Reduce a connection that was silent for long: drop bytes of exchanges, and state that can be
        computed again.
        """
        self.info.forget_ends()
        self._refute_misplaced_end()  # a few bytes for each connection would add up
        if self.previous is not None:
            before, self.previous = self.previous, AtRest.of(self.previous, self._answered_ns)
            waiting = self._waiting
            if len(waiting) == 1 and waiting[0] is before:
                self._waiting = _PREVIOUS_ALONE
            elif waiting:
                ns = self._answered_ns
                self._waiting = [self.previous if e is before else AtRest.of(e, ns) for e in waiting]
        self.in_flight = self._waiting

    def _light(self, exchange: Exchange) -> Exchange:
        """Return an exchange without the bytes of its frames, which may fill memory for as long as it waits
        here.
        """
        light = copy(exchange)
        light.request, light.response = _empty(exchange.request), _empty(exchange.response)
        light.request_summary_cache = light.bodies_cache = light.batches_cache = None
        return light

    def learn_versions(self, exchange: Exchange, answer: object) -> None:
        """Remember what an ApiVersions answer says."""
        error = getattr(answer, "error_code", -1)
        if exchange.response is None:
            return
        ranges = ranges_of(answer)
        if error == UNSUPPORTED_VERSION:
            first = self.refusal.first if self.refusal else _end_of(exchange.response)
            self.refusal = Refusal(ranges.get(API_VERSIONS, ()), first, exchange.ordinal)
        elif error == 0:
            self.advertised = ranges
            self.advertised_at = _end_of(exchange.response)

    def learn_again(self, response: Frame) -> None:
        """Note that the same versions were advertised again."""
        self.advertised_at = _end_of(response)


def _end_of(frame: Frame) -> Moment:
    return frame.last_ref, frame.end_time_ns


def is_sent_before(request: Frame, answered: Moment) -> bool:
    """Return whether a request left before an answer came."""
    return is_before((request.first_ref, request.time_ns), answered)


def _waits(exchange: Earlier, at_ns: int) -> bool:
    """Return whether an exchange has no answer at a time."""
    response = exchange.response
    return response is None or response.time_ns > at_ns


class AtRest:
    """Facts about an exchange that its connection's next exchange needs."""

    __slots__ = ("api_key", "client_id", "correlation_id", "is_answered", "ordinal", "time_ns")

    def __init__(
        self,
        ordinal: int,
        api_key: int | None,
        correlation_id: int | None,
        client_id: str | None,
        answered_ns: int | None,
    ) -> None:
        """`answered_ns` is None where it has no answer."""
        self.ordinal = ordinal
        self.api_key = api_key
        self.correlation_id = correlation_id
        self.client_id = client_id
        self.is_answered = answered_ns is not None
        self.time_ns = answered_ns or 0

    @classmethod
    def of(cls, exchange: Earlier, known_ns: int) -> AtRest:
        """Of an exchange. `known_ns` is stored anyway: it is mostly the time of the response."""
        response = exchange.response
        time_ns = None if response is None else response.time_ns
        time_ns = known_ns if time_ns == known_ns else time_ns
        return cls(exchange.ordinal, exchange.api_key, exchange.correlation_id, exchange.client_id, time_ns)

    @property
    def response(self) -> Self | None:
        """Its answer: all that is known of that is `time_ns`."""
        return self if self.is_answered else None


def _empty(frame: Frame | None) -> Frame | None:
    if frame is None:
        return None
    return Frame(b"", frame.size, frame.first_ref, frame.last_ref, frame.time_ns, frame.end_time_ns)
