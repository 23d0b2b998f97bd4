"""Times in which brokers sent no response while requests waited that they answer at once: stalls.

- A stall is an interval: from the arrival at the broker of the first such request to the broker's next
  response. Its length counts, not the number of waiting requests.
- A request that is in line after another one of its connection proves no stall. The first of each connection
  does, if no response of the connection came for a second.
- A broker that sends any response within the interval does not stall.
- Requests that wait for other brokers (Produce with acks=all, Fetch of a replica) are no evidence against the
  broker if one of these stalled at that time, or was away.
- A broker that was away begins to listen before it reads: requests on connections without a response do not
  count until it has started (kafka.network.SocketServer#enableRequestProcessing).
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Collection, Iterator, Sequence
from typing import Any, NamedTuple

from kdissect.decoders.generated.values import sent
from kdissect.engine.times import rfc3339
from kdissect.history import api_keys as apis
from kdissect.history.exchange_view import ExchangeView
from kdissect.history.fact import Evidence
from kdissect.model.finding import Who
from kdissect.model.native import native
from kdissect.model.packets.packet import ref_number
from kdissect.schema.protocol_messages import api_name
from kdissect.session.events import ConnectionClosed, Event
from kdissect.session.exchange import Exchange
from kdissect.session.info import ConnectionKind
from kdissect.session.problem import Reason
from kdissect.stats.client import Client, Clients, is_follower
from kdissect.stats.times.silences import SILENT_NS, Place, Silence, Silences, place_of
from kdissect.stats.times.waited import unanswered_since_ns, waited_ns

Facts = dict[str, Any]
WAITS_KEPT = 10_000  # 500 bytes each
_AWAY_KEPT = 10_000
_ALL_REPLICAS = -1  # acks (org.apache.kafka.clients.producer.ProducerConfig#ACKS_CONFIG)
# Produce, Fetch (after its wait for records), ListOffsets, Metadata, OffsetCommit, OffsetFetch, Heartbeat,
# ApiVersions, ConsumerGroupHeartbeat, ShareGroupHeartbeat, StreamsGroupHeartbeat: no broker waits on purpose
# before it answers them. To make topics, to log in, to end transactions takes long by nature.
_PROMPT = frozenset({0, 1, 2, 3, 8, 9, 12, 18, 68, 76, 88})
# LeaderAndIsr, StopReplica: what a controller orders, which other requests of one connection may wait for.
_ORDERS = frozenset({4, 5})
# On one connection alone, a request that takes long looks equal: then more evidence is required.
_ALONE_NS = 2 * SILENT_NS
_ALONE_MOST = 3
# Clients stop waiting before that (request.timeout.ms, 30 s): a time without other traffic is a step of the
# clock.
_GIVEN_UP_NS = 40 * SILENT_NS
# replica.lag.time.max.ms: the time that a leader waits for a follower that stopped.
_NOTICED_NS = 30 * SILENT_NS
AWAY = (Reason.REFUSED, Reason.NO_ANSWER, Reason.ADVERTISED_UNREACHED)
"""Reasons why connections to an absent broker fail."""
_EDGE = 10  # parts of a stall: who sends within all but the first and the last of them is awake


class Wait(NamedTuple):
    """A request that waited long for its response, or until the client ended the connection.

    `since_ns` is after the wait that the request asks for and a throttle. `needs_replicas`: a Produce that
    is answered when other brokers have its records, too (acks=all), or a Fetch of a replica: a controller
    holds it while the quorum elects a leader.
    """

    place: Place
    client: Client
    api_key: int
    evidence: Evidence
    since_ns: int
    until_ns: int
    needs_replicas: bool

    @property
    def connection(self) -> str:
        """Its id."""
        return self.evidence.connection

    @property
    def sent_ns(self) -> int:
        """When the client sent the request."""
        return self.evidence.sent_ns or self.evidence.answered_ns


class Stall(NamedTuple):
    """A silence with open requests. `is_seen`: another end sent packets meanwhile."""

    place: Place
    from_ns: int
    until_ns: int
    waits: tuple[Wait, ...]
    """All open requests, the earliest first."""
    heads: tuple[Wait, ...]
    """Requests that did not wait after another request of their connection."""
    is_seen: bool

    @property
    def took_ns(self) -> int:
        """How long."""
        return self.until_ns - self.from_ns

    @property
    def waited_ns(self) -> int:
        """How long requests waited within it, added up."""
        return sum(min(one.until_ns, self.until_ns) - max(one.since_ns, self.from_ns) for one in self.waits)

    @property
    def clients(self) -> list[Client]:
        """The clients that waited."""
        return list(dict.fromkeys(one.client for one in self.waits))

    @property
    def is_alone(self) -> bool:
        """Whether requests of one connection alone waited."""
        return _is_one_connection(self.heads)

    @property
    def may_wait_for_replicas(self) -> bool:
        """Whether all are Produces that other brokers may have delayed (acks=all)."""
        return all(one.needs_replicas for one in self.heads)


class Stalls:
    """Collector of all events in their order. Only wanted exchanges count as waits. `found` has the result.

    Bounded: the last `WAITS_KEPT` waits of a second or more.
    """

    def __init__(self, clients: Clients | None = None, silences: Silences | None = None) -> None:
        self.silences = silences or Silences()
        self.waits: deque[Wait] = deque(maxlen=WAITS_KEPT)
        self.away: deque[tuple[Place, int]] = deque(maxlen=_AWAY_KEPT)
        """Times at which brokers were absent: they ended connections, or connections to them failed."""
        self._clients = clients or Clients()

    def add(self, event: Event, is_wanted: bool = True) -> None:
        """Take the analyzer's next event."""
        if isinstance(event, Exchange):
            self.add_exchange(event, is_wanted)
        elif isinstance(event, ConnectionClosed):
            self.close(event)

    def add_exchange(self, exchange: Exchange, is_wanted: bool = True) -> None:
        """Take an exchange."""
        if exchange.connection.same_as is not None:
            return
        self.silences.add(exchange)
        latency = exchange.latency_ns
        if is_wanted and (latency is None or latency >= SILENT_NS):
            self._wait(ExchangeView(exchange))

    def take_block(self, block: native.ExchangeBlock, start: int) -> int:
        """Take exchanges of a block from `start`. Return the next one that is for `add_exchange`."""
        return self.silences.take_block(block, start)

    def close(self, event: ConnectionClosed) -> None:
        """End a connection."""
        info, problem = event.connection, event.problem
        self.silences.close(info)
        if info.same_as is not None:
            return
        close = info.close
        if problem is not None and problem.reason in AWAY:
            self.away.append((place_of(info), info.start_ns))
        elif close is not None and close.by == Who.BROKER and info.kind in _OF_BROKERS:
            self.away.append((place_of(info), close.time_ns))

    def _wait(self, view: ExchangeView) -> None:
        response, close = view.exchange.response, view.exchange.close
        if view.exchange.phases is not None:
            return  # a broker that stands still reads no requests, and logs no time for them
        if response is not None:
            until_ns, waited = response.time_ns, waited_ns(view)
        else:
            since_ns = unanswered_since_ns(view)
            if since_ns is None or close is None or close.by != Who.CLIENT:
                return
            until_ns, waited = close.time_ns, close.time_ns - since_ns
        if waited < SILENT_NS:
            return
        is_of_all = view.key == apis.PRODUCE and sent(view.request, "acks", _ALL_REPLICAS) == _ALL_REPLICAS
        needs_replicas = is_of_all or (view.key == apis.FETCH and is_follower(view))
        client = self._clients.of(view.info, view.exchange.client_id)
        place, since_ns = place_of(view.info), until_ns - waited
        self.waits.append(Wait(place, client, view.key, view.evidence, since_ns, until_ns, needs_replicas))

    # what was seen

    def found(self, throttled: Collection[Client] = ()) -> dict[Place, list[Stall]]:
        """Return all stalls by broker, without brokers that waited for the replicas of one that stopped.

        A broker does not read requests of `throttled` clients meanwhile (KIP-219): their waits do not count.
        """
        waits: dict[Place, list[Wait]] = {}
        for one in self.waits:
            if one.client not in throttled:
                waits.setdefault(one.place, []).append(one)
        stalled = {}
        for place, of in waits.items():
            one_by_one = [
                stall
                for silence in self.silences.of(place)
                if (stall := self._stall(place, silence, of)) is not None
            ]
            if sum(one.is_alone for one in one_by_one) > _ALONE_MOST:
                one_by_one = [one for one in one_by_one if not one.is_alone]
            if one_by_one:
                stalled[place] = one_by_one
        own = {place: list(self._own(place, of, stalled)) for place, of in stalled.items()}
        return {place: of for place, of in own.items() if of}

    def _stall(self, place: Place, silence: Silence, waits: list[Wait]) -> Stall | None:
        silences = self.silences
        is_open = [
            one
            for one in waits
            if min(one.until_ns, silence.until_ns) - max(one.since_ns, silence.from_ns) >= SILENT_NS
        ]
        heads, since, is_new = [], [], True
        for one in is_open:
            before_ns = silences.before(one.connection, one.until_ns)
            if before_ns is not None and one.api_key in _PROMPT and one.until_ns >= silence.until_ns:
                heads.append(one)
                since.append(max(one.since_ns, before_ns))
                is_new = is_new and not before_ns
        if not heads:
            return None
        if is_new and self._was_away(place, silence):
            return None  # it starts
        is_one = _is_one_connection(heads)
        if is_one and any(one.api_key in _ORDERS for one in is_open):
            return None
        from_ns, until_ns = max(silence.from_ns, min(since)), silence.until_ns
        if until_ns - from_ns < (_ALONE_NS if is_one else SILENT_NS):
            return None
        edge_ns = (until_ns - from_ns) // _EDGE
        within = from_ns + edge_ns, until_ns - edge_ns
        is_seen = silences.responds_within(place[0], *within) or any(
            within[0] <= one.sent_ns <= within[1] for one in is_open
        )
        if until_ns - from_ns > _GIVEN_UP_NS and not is_seen:
            return None
        is_open.sort(key=lambda one: one.sent_ns)
        return Stall(place, from_ns, until_ns, tuple(is_open), tuple(heads), is_seen)

    def _was_away(self, place: Place, silence: Silence) -> bool:
        return any(who == place and silence.from_ns <= at <= silence.until_ns for who, at in self.away)

    def _own(self, place: Place, stalls_of: list[Stall], found: dict[Place, list[Stall]]) -> Iterator[Stall]:
        """Yield the stalls of a broker that did not wait for replicas: of one that stopped, or was away."""
        others = [one for other, of in found.items() if other != place and other[0] == place[0] for one in of]
        for stall in stalls_of:
            is_bystander = stall.may_wait_for_replicas and (
                any(are_together(stall, other) and not other.may_wait_for_replicas for other in others)
                or self._is_another_away(place, stall.from_ns, stall.until_ns)
            )
            if not is_bystander:
                yield stall

    def held_by_absence_ns(self) -> Counter[tuple[Place, Client, int]]:
        """Return how long requests waited for replicas while another broker was away: by broker, client and
        API.
        """
        held: Counter[tuple[Place, Client, int]] = Counter()
        for one in self.waits:
            if one.needs_replicas and self._is_another_away(one.place, one.since_ns, one.until_ns):
                held[one.place, one.client, one.api_key] += one.until_ns - one.since_ns
        return held

    def _is_another_away(self, place: Place, from_ns: int, until_ns: int) -> bool:
        """Return whether another broker was away, and leaders may not have noticed yet."""
        return any(
            other[0] == place[0] and other != place and from_ns - _NOTICED_NS <= at_ns <= until_ns
            for other, at_ns in self.away
        )

    def facts(self, throttled: Collection[Client] = ()) -> list[Facts]:
        """Return plain values, in the order of time: a row for each interval, with all its brokers."""
        moments = [moment for _, of in by_brokers(self.found(throttled)) for moment in of]
        moments.sort(key=lambda moment: (min(one.from_ns for one in moment), moment[0].place))
        return [self._row(moment) for moment in moments]

    def _row(self, moment: list[Stall]) -> Facts:
        from_ns, until_ns = min(one.from_ns for one in moment), max(one.until_ns for one in moment)
        waits = list(dict.fromkeys(wait for one in moment for wait in one.waits))
        heads = [wait for one in moment for wait in one.heads]
        places = sorted({one.place for one in moment})
        clients = list(dict.fromkeys(wait.client for wait in waits))
        counted = Counter(api_name(one.api_key) or f"key {one.api_key}" for one in waits)
        span_ns = max(self.silences.span_ns(place) for place in places)
        first = min(heads, key=lambda one: one.sent_ns)
        request = first.evidence.request
        return {
            "capture_set": places[0][0],
            "brokers": [broker for _, broker in places],
            "from": rfc3339(from_ns),
            "from_ns": from_ns,
            "until": rfc3339(until_ns),
            "until_ns": until_ns,
            "took_ns": until_ns - from_ns,
            "share": round((until_ns - from_ns) / span_ns, 4) if span_ns else None,
            "waited_by": _scope(places, clients, heads),
            "clients": [one.facts() for one in clients],
            "requests": len(waits),
            "apis": dict(counted.most_common()),
            "waited_ns": sum(one.waited_ns for one in moment),
            "others_sent": any(one.is_seen for one in moment),
            "connection": first.connection,
            "exchange": first.evidence.ordinal,
            "packet": None if request is None else ref_number(request[0]),
        }


_OF_BROKERS = (ConnectionKind.KAFKA, ConnectionKind.TLS)


def _scope(places: Sequence[Place], clients: Sequence[Client], heads: Sequence[Wait]) -> str:
    if len(places) > 1:
        return "several brokers"
    if _is_one_connection(heads):
        return "one connection"
    return "one client" if len(clients) == 1 else "all clients"


def _is_one_connection(waits: Sequence[Wait]) -> bool:
    return len({one.connection for one in waits}) == 1


def by_brokers(
    found: dict[Place, list[Stall]],
) -> Iterator[tuple[tuple[Place, ...], list[list[Stall]]]]:
    """Yield stalls by the brokers that had them together. Each list of stalls belongs to one time."""
    left = sorted((one for of in found.values() for one in of), key=lambda one: (one.from_ns, one.place))
    groups: dict[tuple[Place, ...], list[list[Stall]]] = {}
    while left:
        moment = [left.pop(0)]
        for one in moment:  # grows meanwhile
            together = [
                other for other in left if other.place[0] == one.place[0] and are_together(one, other)
            ]
            for other in together:
                left.remove(other)
            moment += together
        groups.setdefault(tuple(sorted({one.place for one in moment})), []).append(moment)
    yield from groups.items()


def are_together(one: Stall, other: Stall) -> bool:
    """Return whether two stalls are at one time, for the most part."""
    common_ns = min(one.until_ns, other.until_ns) - max(one.from_ns, other.from_ns)
    return common_ns >= max(one.took_ns, other.took_ns) // 2
