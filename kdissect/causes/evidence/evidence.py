"""Evidence for causes: the results of one pass, as rows and logs, each built on first use."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator
from functools import cached_property
from typing import Any, TypeVar

from kdissect.causes.evidence.absences import Absence, absences_of
from kdissect.causes.evidence.exchange_log import ErrorKey, LateKey, NodeEndpoint, UnansweredKey
from kdissect.causes.evidence.facts_read import FACT_NAMES
from kdissect.causes.evidence.full_listeners import waits_for_room
from kdissect.causes.evidence.gathering import Gathering, KnownFact
from kdissect.causes.evidence.resends import Resend
from kdissect.causes.evidence.seen import Seen, packets_of
from kdissect.causes.evidence.session_ends import Answered, InferredLifetime
from kdissect.causes.evidence.stops import Stop, stops_of
from kdissect.causes.evidence.written_ends import PartitionOf, written_ends
from kdissect.causes.ledger.ledger import Ledger
from kdissect.causes.ledger.sources import symptoms_of
from kdissect.causes.ledger.symptom import BROKER
from kdissect.history.connections.connection_problems import ConnectionProblem, names_of_end
from kdissect.history.connections.negotiated_versions import honest
from kdissect.history.fact import Fact
from kdissect.model.cause import Party, RefutedCause
from kdissect.schema.error_codes import error_name
from kdissect.schema.protocol_messages import api_by_name
from kdissect.session.info import ConnectionInfo
from kdissect.session.problem import Reason
from kdissect.stats.by_fetcher.fetch_session_traffic import fetch_session_facts
from kdissect.stats.by_group.group_links import ClientKey
from kdissect.stats.by_group.group_rows import group_facts
from kdissect.stats.by_group.position_table import Partition
from kdissect.stats.by_group.positions import Position
from kdissect.stats.by_producer.producer_rows import producer_facts
from kdissect.stats.by_producer.written_offsets import Written
from kdissect.stats.by_topic.topic_rows import topic_facts
from kdissect.stats.client import Client
from kdissect.stats.times.silences import Place, place_of
from kdissect.stats.times.stalls import AWAY, Stall
from kdissect.stats.traffic import Tally, Traffic

Built = TypeVar("Built")
Row = dict[str, Any]
Tallies = list[tuple[tuple[str, str, str, str], Tally]]
"""Exchanges by API, client id, host of the client and broker."""
# From how much on a capture is poor: bytes of its connections that are missing, and frames that are cut.
_LOST_SHARE = 0.005
_CUT_FRAMES = 5
_READS = frozenset({"Fetch", "ShareFetch"})
_TOGETHER_NS = 1_000_000_000


class Errors:
    """Errors that belong together: their keys, and how often and when they were."""

    def __init__(self, cluster: str = "") -> None:
        self.cluster = cluster
        """Empty if it is not known, or if no other one was captured."""
        self.keys: list[ErrorKey] = []
        self.seen = Seen()
        self.times: dict[str, int] = {}
        """By the name of the error code."""

    def add(self, key: ErrorKey, seen: Seen) -> None:
        """Add the errors of a key."""
        self.keys.append(key)
        self.seen.merge(seen)
        name = error_name(key.code)
        self.times[name] = self.times.get(name, 0) + seen.times

    @property
    def clients(self) -> list[Client]:
        """The clients that were refused."""
        return list(dict.fromkeys(key.client for key in self.keys))

    @property
    def brokers(self) -> list[str]:
        """The brokers that refused."""
        return list(dict.fromkeys(key.broker for key in self.keys))

    def names(self, what: str) -> list[str]:
        """Return the topics, groups or ids (`txn`) that they are about."""
        return list(dict.fromkeys(name for key in self.keys if (name := getattr(key, what))))

    @property
    def parties(self) -> frozenset[Party]:
        """All that they concern."""
        found = {Party("broker", key.broker) for key in self.keys}
        found |= {Party("topic", key.topic) for key in self.keys if key.topic}
        found |= {Party("group", key.group) for key in self.keys if key.group}
        found |= {Party("id", key.txn) for key in self.keys if key.txn}
        found |= {Party("cluster", self.cluster)} if self.cluster else set()
        return frozenset(found | parties_of(self.clients))


class Refusals:
    """Facts that belong together: how often and when they were, and whose requests they are about."""

    def __init__(self, broker: str) -> None:
        self.broker = broker
        self.seen = Seen()
        self.facts: list[Fact] = []
        self._clients: dict[Client, None] = {}

    def add(self, known: KnownFact, client: Client) -> None:
        """Another one."""
        self.seen.add(packets_of(known.fact.evidence))
        self.facts.append(known.fact)
        self._clients[client] = None

    @property
    def clients(self) -> list[Client]:
        """The clients that were refused."""
        return list(self._clients)

    @property
    def parties(self) -> frozenset[Party]:
        """All that they concern."""
        return parties_of(self.clients) | {Party("broker", self.broker)}


def refusals(
    facts: Iterable[KnownFact], by: Callable[[Fact], Hashable] = lambda fact: None
) -> list[Refusals]:
    """Return facts of known clients, those together that are of one broker and that `by` does not
    distinguish.
    """
    found: dict[Hashable, Refusals] = {}
    for known in facts:
        if known.client is not None:
            key = known.broker, by(known.fact)
            found.setdefault(key, Refusals(known.broker)).add(known, known.client)
    return list(found.values())


def parties_of(clients: Collection[Client]) -> frozenset[Party]:
    """Return clients as parties: by client id, and by host."""
    ids = {Party("client", client.client_id) for client in clients if client.client_id}
    return frozenset(ids | {Party("host", client.address) for client in clients if client.address})


class Evidence:
    """Results of one pass. Times are nanoseconds."""

    def __init__(self, gathering: Gathering) -> None:
        self.gathering = gathering
        self.first_ns, self.last_ns = gathering.first_ns, gathering.last_ns
        self.refuted: list[RefutedCause] = []
        """Causes that a law refutes: they are not printed."""
        self._built: dict[Callable[[Evidence], Any], Any] = {}

    def once(self, build: Callable[[Evidence], Built]) -> Built:
        """Return the evidence in a form that several causes use, built on first use."""
        if build not in self._built:
            self._built[build] = build(self)
        built: Built = self._built[build]
        return built

    @property
    def span_ns(self) -> int:
        """From the first packet of a connection to the last."""
        return max(self.last_ns - self.first_ns, 0)

    @cached_property
    def ledger(self) -> Ledger:
        """All symptoms, and which of them a cause claims."""
        symptoms = symptoms_of(
            self.gathering,
            self.unanswered(),
            self.late,
            self.background,
            self.groups,
            self.topics,
            self.last_ns,
            is_poor=self.is_poor,
        )  # fmt: skip
        return Ledger(symptoms, is_poor=self.is_poor, is_timed=not self.gathering.clock.flaw)

    @cached_property
    def lost_bytes(self) -> tuple[int, int]:
        """Bytes of connections that were not captured, and bytes that were."""
        lost: int = self.gathering.blind.facts()["bytes_not_captured"]
        return lost, sum(link.bytes for _, link in self.gathering.links.items())

    @cached_property
    def is_doubled(self) -> bool:
        """Whether most connections were captured twice, as by taps on both sides of a NAT.

        Clients with one id at one broker then have two addresses, and the same traffic at the same times.
        """
        links = [(key, link) for key, link in self.gathering.links.items() if link.exchanges]
        seen: dict[tuple[object, ...], set[str]] = {}
        for key, link in links:
            starts = tuple(start // _TOGETHER_NS for start, _ in link.starts[:1])
            traffic = link.exchanges, link.bytes, link.packets, link.opened
            seen.setdefault((key.client_id, key.broker, traffic, starts), set()).add(key.host)
        twice = sum(len(hosts) for hosts in seen.values() if len(hosts) > 1)
        return twice * 2 > len(links)

    @property
    def is_lossy(self) -> bool:
        """Whether many bytes of connections were not captured."""
        lost, captured = self.lost_bytes
        return lost > _LOST_SHARE * captured

    @property
    def is_cut(self) -> bool:
        """Whether many frames were captured in part."""
        cut: int = self.gathering.blind.facts()["cut_frames"]
        return cut >= _CUT_FRAMES

    @property
    def is_poor(self) -> bool:
        """Whether what did not come is no evidence: much is missing, or times cannot be trusted."""
        return self.is_lossy or self.is_cut or bool(self.gathering.clock.flaw)

    @property
    def stalls(self) -> dict[Place, list[Stall]]:
        """When brokers stood still."""
        found = self.gathering.stalls.found(self.gathering.background.throttled)
        return {
            place: [one for one in stalls if not waits_for_room(one, self.gathering.links.items())]
            for place, stalls in found.items()
        }

    @cached_property
    def groups(self) -> list[Row]:
        """As `kdissect groups` has them."""
        return group_facts(self.gathering.groups)

    @cached_property
    def producers(self) -> Row:
        """As `kdissect producers` has them."""
        return producer_facts(self.gathering.producers)

    @cached_property
    def fetchers(self) -> list[Row]:
        """As `kdissect groups --table fetch_sessions` has them."""
        found: list[Row] = fetch_session_facts(self.gathering.fetchers)["clients"]
        return found

    @cached_property
    def topics(self) -> list[Row]:
        """As `kdissect topics` has them."""
        return topic_facts(self.gathering.topics)

    @cached_property
    def positions(self) -> dict[tuple[ClientKey, Partition], Position]:
        """The last position of each client in each partition."""
        return dict(self.gathering.groups.positions.all())

    @cached_property
    def high_watermarks(self) -> dict[tuple[str, str, int], int]:
        """The highest one that a client received, by scope, topic and partition."""
        found: dict[tuple[str, str, int], int] = {}
        for ((scope, _, _), partition), position in self.positions.items():
            if position.high_watermark is not None:
                key = scope, *partition
                found[key] = max(found.get(key, 0), position.high_watermark)
        return found

    @cached_property
    def written_ends(self) -> dict[PartitionOf, Written]:
        """How far each partition is written."""
        return written_ends(self.gathering)

    @cached_property
    def last_moves(self) -> dict[str, int]:
        """By group: when its last commit moved an offset."""
        found: dict[str, int] = {}
        for (_, group, _, _), moved_ns in self.gathering.rewinds.moved.items():
            found[group] = max(found.get(group, 0), moved_ns)
        return found

    def errors(
        self,
        codes: Collection[int],
        apis: Collection[int] | None = None,
        by: Callable[[ErrorKey], Hashable] = lambda key: key.client,
    ) -> Iterator[Errors]:
        """Yield errors with these codes in responses of these APIs, grouped by the result of `by`."""
        found: dict[Hashable, Errors] = {}
        for key, seen in self.gathering.log.errors.items():
            if key.code in codes and (apis is None or key.api_key in apis):
                errors = found.setdefault((key.scope, by(key)), Errors(self.gathering.log.cluster(key.scope)))
                errors.add(key, seen)
        yield from found.values()

    def said(self, errors: Errors) -> str:
        """Return the broker's first message about errors, or an empty text."""
        messages = self.gathering.log.messages
        return next((message for key in errors.keys if (message := messages.peek(key))), "")

    @cached_property
    def late(self) -> list[tuple[LateKey, Seen]]:
        """Responses that took the broker long, except ones that waited for an absent broker."""
        held = self.gathering.stalls.held_by_absence_ns()
        return [
            (key, at)
            for key, at in self.gathering.log.late.items()
            if 2 * held[(key.capture_set, key.broker), key.client, key.api_key] <= at.time_ns
        ]

    def unanswered(self) -> list[tuple[UnansweredKey, Seen]]:
        """Return requests without a response. If no close ended the wait, it lasts until the end of the
        capture.
        """
        log = self.gathering.log
        found = []
        for key, at in log.unanswered.items():
            seen, waiting = at, log.open.peek(key)
            if waiting is not None:
                seen = Seen()
                seen.merge(at)
                seen.longest_ns, seen.time_ns = waiting.waits(self.last_ns)
            found.append((key, seen))
        return found

    def connection_of(self, client_id: str | None, host: str, broker: str) -> str:
        """Return a connection of a client to a broker, or an empty text."""
        for key, link in self.gathering.links.items():
            if (key.client_id, key.host, key.broker) == (client_id, host, broker):
                return link.first_id
        return ""

    def connection_of_client(self, client: Client) -> str:
        """Return a connection of a client, or an empty text."""
        for key, link in self.gathering.links.items():
            if (key.client_id, key.host) == (client.client_id, client.address):
                return link.first_id
        return ""

    def facts(self, *kinds: str) -> list[KnownFact]:
        """Return the facts of histories, of the kinds in `FACT_NAMES`."""
        assert FACT_NAMES.issuperset(kinds), f"not stored: {kinds}"
        return [known for kind in kinds for known in self.gathering.facts.get(kind, ())]

    @cached_property
    def expired_sessions(self) -> list[KnownFact]:
        """Requests after the lifetime that a login carries, on connections that the broker then closed."""
        closed = {
            connection
            for key, at in self.unanswered()
            if key.closed_by == BROKER
            for connection in at.connections
        }
        return [
            known
            for known in self.facts("SaslFact.session_expired")
            if known.fact.sure and known.fact.evidence.connection in closed
        ]

    @cached_property
    def inferred_lifetimes(self) -> list[InferredLifetime]:
        """Lifetimes of sessions that no login carries."""
        logins = [known.fact for known in self.facts("SaslFact.authenticated")]
        offers = [(known.broker, honest(known.fact.seen)) for known in self.facts("VersionFact.offered")]
        answered = {
            Answered(broker, found.key, client_id, host)
            for (api, client_id, host, broker), tally in self.background
            if tally.exchanges > tally.failed and (found := api_by_name(api)) is not None
        }
        return self.gathering.session_ends.inferred(logins, offers, answered)

    def is_unprocessed_after(self, lifetime: InferredLifetime) -> bool:
        """Return whether no offsets suggest that the broker wrote what came after an inferred lifetime."""
        ended = {one.packets.connection for one in lifetime.ends}
        return not any(
            one.has_fitting_gap and one.first.connection in ended for one in self.gathering.resends.retries
        )

    @cached_property
    def _expired_from(self) -> dict[str, int]:
        """The first request after the end of its session that the broker does not process, by connection."""
        asked = [known.fact.evidence for known in self.expired_sessions]
        inferred = filter(self.is_unprocessed_after, self.inferred_lifetimes)
        ended = [one.packets for lifetime in inferred for one in lifetime.ends]
        first = {one.connection: one.exchange for one in ended}
        return first | {one.connection: one.ordinal for one in asked}

    def is_too_late(self, one: Resend) -> bool:
        """Return whether the first attempt came after its session: the broker did not process it
        (KIP-368).
        """
        first = self._expired_from.get(one.first.connection)
        return first is not None and not one.is_written and one.first.exchange >= first

    def comes_back(self, one: Resend) -> bool:
        """Return whether the client of an attempt sent or received anything after the connection ended."""
        close = one.attempt.connection.close
        if close is None or close.by is None:
            return True
        key = one.client.client_id, one.client.address
        links = [link for of, link in self.gathering.links.items() if (of.client_id, of.host) == key]
        return any(
            link.last_ns > close.time_ns + _TOGETHER_NS
            or any(start >= close.time_ns for start, _ in link.starts)
            for link in links
        )

    def is_excluded(self, one: Resend) -> bool:
        """Return whether the broker cannot have written the first attempt."""
        return one.has_no_room or self.is_too_late(one)

    def problems(self, *reasons: Reason) -> list[ConnectionProblem]:
        """Return connections that failed for one of these reasons."""
        return [one for one in self.gathering.problems if one.problem.reason in reasons]

    def node_endpoint(self, info: ConnectionInfo) -> NodeEndpoint | None:
        """Return the response that named the end of a connection before it began, if only
        NodeEndpoints did.
        """
        for host in names_of_end(info):
            found = self.gathering.log.endpoints.peek((info.capture_set, host, info.broker.port))
            if found is not None and found.packets.time_ns <= info.start_ns:
                return None if self.gathering.is_advertised(info) else found
        return None

    def accepted(self, place: Place) -> list[int]:
        """Return when connections began that a broker accepted, in their order."""
        links = self.gathering.links.of_broker(*place)
        return sorted({start for _, link in links for start, _ in link.starts})

    @cached_property
    def stops(self) -> list[Stop]:
        """Each time that a broker stopped, with the absences of all its listeners."""
        attempts: dict[Place, list[ConnectionProblem]] = {}
        for one in self.problems(*AWAY):
            attempts.setdefault(place_of(one.connection), []).append(one)
        links = self.gathering.links
        places = sorted({(key.capture_set, key.broker) for key, _ in links.items()})
        absences = [
            absence
            for place in places
            for absence in absences_of(place, links.of_broker(*place), attempts.get(place, ()))
        ]
        silent: list[Absence] = []
        served: list[Absence] = []
        for absence in absences:
            (served if self.is_served_during(absence) else silent).append(absence)
        alone = [Stop((one,)) for one in served if one.is_certain]
        return [*alone, *stops_of(silent, lambda place: self.gathering.racks.nodes_at(*place))]

    @cached_property
    def absences(self) -> list[Absence]:
        """The absences of all listeners."""
        return [absence for stop in self.stops for absence in stop.listeners]

    def is_served_during(self, absence: Absence) -> bool:
        """Return whether a broker sent responses while it seems to be away: it did not stop."""
        silences = self.gathering.stalls.silences
        return silences.is_served_within(absence.place, absence.ended[-1].time_ns, absence.until_ns)

    @cached_property
    def refused_while_away(self) -> frozenset[str]:
        """Connections that a broker refused while it was away."""
        away = [one for one in self.absences if not self.is_served_during(one)]
        return frozenset(one.connection.id for absence in away for one in absence.refused)

    @cached_property
    def tallies(self) -> Tallies:
        """Exchanges that count, by API, client id, host of the client and broker."""
        return _tallies(self.gathering.traffic)

    @cached_property
    def background(self) -> Tallies:
        """All exchanges, also those that a filter does not accept: evidence against causes."""
        return _tallies(self.gathering.background) if self.gathering.is_filtered else self.tallies

    def reads(self, client: Client) -> bool:
        """Return whether a client fetches records."""
        return any(
            api in _READS and (client_id, host) == (client.client_id or "", client.address)
            for (api, client_id, host, _), _ in self.background
        )


def _tallies(traffic: Traffic) -> Tallies:
    return [
        ((key[0] or "", key[1] or "", key[2] or "", key[3] or ""), tally)
        for key, tally in traffic.rows.items()
    ]
