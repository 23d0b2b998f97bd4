"""Connections that failed, compared with the other connections of their capture set.

- Addresses that Metadata, FindCoordinator and DescribeCluster named to a client, and that are refused, do not
  answer, or are never tried. Key: capture set and host of the client.
- Which ends speak Kafka: a failure elsewhere does not concern Kafka. Key: capture set and end.

Order: that of completion. A failed connection is reported as soon as its end is known to speak Kafka, else at
the end of the input.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Set
from ipaddress import ip_address
from typing import Any, ClassVar, NamedTuple

from kdissect.history import api_keys as apis
from kdissect.history.exchange_view import ExchangeView
from kdissect.history.fact import Evidence, Fact
from kdissect.history.state_table import Table
from kdissect.model.endpoint import Endpoint
from kdissect.model.packets.segment import canonical_host
from kdissect.schema.protocol_messages import api_name
from kdissect.session.events import ConnectionClosed
from kdissect.session.info import ConnectionInfo, ConnectionKind
from kdissect.session.problem import Problem, Reason

# Hosts of clients, each with the addresses named to it: 100 bytes for an address. Clusters have some hundred
# brokers.
CLIENTS_KEPT = 10_000
ADDRESSES_KEPT = 1000
ENDS_KEPT = 10_000
# Connections whose end is not known to speak Kafka yet, of 2 KB each. Beyond this number the first ones are
# reported.
PENDING_KEPT = 2000
# Connections that asked for addresses, of 300 bytes. A connection that did no more than ask is of interest
# when it ends.
ASKING_KEPT = 4000
# Number of responses after which a client that never goes where they send it asks too often.
ASKED_OFTEN = 3
_ASKING = frozenset(
    {
        apis.METADATA, apis.FIND_COORDINATOR, apis.SASL_HANDSHAKE, apis.API_VERSIONS, apis.SASL_AUTHENTICATE,
        apis.DESCRIBE_CLUSTER, apis.INIT_PRODUCER_ID, apis.GET_TELEMETRY_SUBSCRIPTIONS, apis.PUSH_TELEMETRY,
    }
)  # fmt: skip
"""APIs that clients send to any node before they connect to the responsible node."""
_LOCAL = "localhost"
ANNOUNCING = frozenset({apis.METADATA, apis.FIND_COORDINATOR, apis.DESCRIBE_CLUSTER})
"""APIs whose responses contain addresses."""


class Advertised(NamedTuple):
    """An address that a broker named to a client, and the response that named it."""

    host: str
    port: int
    node: int
    by: Evidence
    broker: str

    def __str__(self) -> str:
        return str(Endpoint(self.host, self.port))

    @property
    def sentence(self) -> str:
        """The response that named the address, in words."""
        api = api_name(self.by.api_key or 0)
        return f"{self.broker} said to the client in {api} that node {self.node} is at {self}"


class ConnectionProblem(NamedTuple):
    """A connection that failed.

    `is_kafka`: its end is known to speak Kafka. `advertised` is the address in question, for the reasons
    about these.
    """

    connection: ConnectionInfo
    problem: Problem
    is_kafka: bool
    advertised: Advertised | None = None


Address = tuple[int, str, int]
"""Node, host and port."""
Client = tuple[str, str]
End = tuple[str, Endpoint]


class PlainEnd(NamedTuple):
    """Facts that the end of a connection without a failure proves, equal for many connections.

    A client connected to a port, and to an end that was reached, and that may be proven to speak Kafka.
    `only_asks`: the connection only sent requests that any node answers, as far as its APIs show.
    """

    client: Client
    port: int
    broker: End
    is_reached: bool
    is_kafka: bool
    only_asks: bool


def plain_end(event: ConnectionClosed) -> PlainEnd | None:
    """Return the facts that an end proves; None for a connection that failed or is not a Kafka connection."""
    info = event.connection
    if event.problem is not None or info.kind is not ConnectionKind.KAFKA or not info.exchanges:
        return None
    host, port = info.attempt()
    is_reached = info.tcp is not None and bool(info.tcp.broker_bytes)
    end = info.capture_set, info.broker
    return PlainEnd((info.capture_set, host), port, end, is_reached, bool(info.complete), _only_asks(info))


def _only_asks(info: ConnectionInfo) -> bool:
    return all(key in _ASKING for key, _ in info.api_versions_seen)


class _Asking:
    """A connection that asks where the brokers are."""

    __slots__ = ("advertised", "answers")

    def __init__(self) -> None:
        self.answers = 0
        self.advertised: dict[tuple[str, int], Advertised] = {}


class ConnectionProblems:
    """Feed it exchanges, and every connection that is over (`close`). Call `finish` at the end of the
    input.
    """

    api_keys: ClassVar[frozenset[int] | None] = ANNOUNCING

    def __init__(self) -> None:
        self._advertised: Table[Client, dict[tuple[str, int], Advertised]] = Table(CLIENTS_KEPT)
        self._tried: Table[Client, Set[int]] = Table(CLIENTS_KEPT)
        """Ports that a client connected to, other than to ask where the brokers are."""
        self._alone: dict[int, frozenset[int]] = {}
        """Each alone in a tuple: most clients have one, and mostly an equal one."""
        self._asking: Table[str, _Asking] = Table(ASKING_KEPT)
        self._asked: Table[str, tuple[ConnectionInfo, _Asking]] = Table(ASKING_KEPT)
        self._kafka: Table[End, None] = Table(ENDS_KEPT)
        self._pending: dict[End, list[ConnectionClosed]] = {}
        self._held = 0
        self._reached: Table[End, None] = Table(ENDS_KEPT)
        """Ends that ever sent a byte."""
        self._in_vain: list[tuple[ConnectionClosed, Advertised]] = []
        """Attempts at addresses that were advertised."""

    def feed(self, view: ExchangeView) -> list[Fact]:
        """Read the next response that names addresses. Returns no facts."""
        if view.response is not None:
            self.repeat(view.info, self.stated(view), view.evidence)
        return []

    def stated(self, view: ExchangeView) -> list[Address]:
        """Return node, host and port of all brokers that a response names."""
        return list(_addresses(view.key, view.response))

    def stands(self, _info: ConnectionInfo, _stated: list[Address]) -> bool:
        """Return True: the repeated response may go to another client."""
        return True

    def repeat(self, info: ConnectionInfo, stated: list[Address], evidence: Evidence) -> None:
        """Take the addresses of an answer."""
        known = self._advertised.get_or((info.capture_set, info.client.host), dict)
        asking = self._asking.get_or(info.id, _Asking)
        asking.answers += 1
        for node, host, port in stated:
            place = host, port
            if place not in known and len(known) < ADDRESSES_KEPT:
                known[place] = Advertised(host, port, node, evidence, info.broker_text)
            if place in known:
                asking.advertised[place] = known[place]

    def is_advertised(self, info: ConnectionInfo) -> bool:
        """Return whether a response of `ANNOUNCING` names the end of a connection, to whichever client."""
        return any(
            (host, info.broker.port) in known
            for (capture_set, _), known in self._advertised.items()
            if capture_set == info.capture_set
            for host in names_of_end(info)
        )

    def close(self, event: ConnectionClosed) -> list[ConnectionProblem]:
        """Take a connection that is over; returns the failed connections that can be reported now."""
        info = event.connection
        end = info.capture_set, info.broker
        self._note_tried(info)
        if info.tcp is not None and info.tcp.broker_bytes:
            self._reached.put(end, None)
        given = self._of_addresses(end) if info.complete and info.kind is ConnectionKind.KAFKA else []
        if event.problem is None:
            return given
        return [*given, *self._judge(event, event.problem)]

    def close_plain(self, end: PlainEnd, connections: Collection[str]) -> list[ConnectionProblem]:
        """Take connections with equal ends, of which none `asked_often`; only ends and `finish` may
        follow.
        """
        if not end.only_asks or any(one not in self._asking for one in connections):
            self._note_port(end.client, end.port)
        if end.is_reached:
            self._reached.put(end.broker, None)
        return self._of_addresses(end.broker) if end.is_kafka else []

    def asked_often(self, connection: str) -> bool:
        """Return whether responses sent a connection elsewhere so often that it is of interest if it only
        asks.
        """
        asking = self._asking.peek(connection)
        return asking is not None and asking.answers >= ASKED_OFTEN

    def forget(self, info: ConnectionInfo) -> None:
        """Report no problem of a connection for its requests."""
        self._asking.pop(info.id)

    def _note_tried(self, info: ConnectionInfo) -> None:
        asking = self._asking.pop(info.id) if info.exchanges else None  # an id is worked out when asked for
        if asking is not None and _only_asks(info):
            if asking.answers >= ASKED_OFTEN:
                self._asked.put(info.id, (info, asking))
            return
        host, port = info.attempt()
        self._note_port((info.capture_set, host), port)

    def _note_port(self, client: Client, port: int) -> None:
        tried = self._tried.get(client)
        if tried is None:
            self._tried.put(client, self._alone.setdefault(port, frozenset((port,))))
        elif isinstance(tried, set):
            tried.add(port)
        elif port not in tried:
            self._tried.put(client, {*tried, port})

    def _of_addresses(self, end: End) -> list[ConnectionProblem]:
        """Return the failed connections that waited for the proof that an end speaks Kafka."""
        if end in self._kafka:
            return []
        self._kafka.put(end, None)
        waiting = self._pending.pop(end, [])
        self._held -= len(waiting)
        return [_problem(event, True) for event in waiting]

    def _judge(self, event: ConnectionClosed, problem: Problem) -> list[ConnectionProblem]:
        info = event.connection
        advertised = self._advertised_as(info)
        if advertised is not None and problem.reason in (Reason.REFUSED, Reason.NO_ANSWER):
            if len(self._in_vain) >= PENDING_KEPT:
                return [_problem(event, True)]
            self._in_vain.append((event, advertised))  # a node that is down may come back
            return []
        end = info.capture_set, info.broker
        if problem.reason is Reason.PLAINTEXT_TO_TLS:  # responses sent a Kafka client there
            return [*self._of_addresses(end), _problem(event, True)]
        if advertised is not None or end in self._kafka or info.kind is ConnectionKind.KAFKA:
            return [_problem(event, True)]
        self._pending.setdefault(end, []).append(event)
        self._held += 1
        return self._overflow() if self._held > PENDING_KEPT else []

    def _overflow(self) -> list[ConnectionProblem]:
        """Report the connections of the end that was heard longest ago, because too many wait."""
        waiting = self._pending.pop(next(iter(self._pending)))
        self._held -= len(waiting)
        return list(_untold(waiting))

    def _advertised_as(self, info: ConnectionInfo) -> Advertised | None:
        """Return the response that named the client the end it connected to."""
        given = self._advertised.peek((info.capture_set, info.client.host))
        if not given:
            return None
        port = info.broker.port
        for host in names_of_end(info):
            found = given.get((host, port))
            if found is not None and found.by.answered_ns <= info.start_ns:
                return found
        return None

    def finish(self) -> list[ConnectionProblem]:
        """Report the waiting connections at the end of the input, in the order in which connections began."""
        pending = [event for waiting in self._pending.values() for event in waiting]
        found = [*_untold(pending), *self._unreached(), *self._untried()]
        self._pending, self._held = {}, 0
        self._asked, self._in_vain = Table(ASKING_KEPT), []
        return sorted(found, key=lambda one: (one.connection.start_ns, one.connection.id))

    def _unreached(self) -> Iterator[ConnectionProblem]:
        """Yield attempts at advertised addresses, with a reason of their own if no connection reached the
        address.
        """
        for event, advertised in self._in_vain:
            info, problem = event.connection, event.problem
            if problem is None or (info.capture_set, info.broker) in self._reached:
                yield _problem(event, True)
                continue
            problem = Problem(
                Reason.ADVERTISED_UNREACHED, f"{problem.fact}; {advertised.sentence}", problem.age_ns
            )
            yield ConnectionProblem(info, problem, True, advertised)

    def _untried(self) -> Iterator[ConnectionProblem]:
        for info, asking in self._asked:
            tried = self._tried.peek((info.capture_set, info.client.host)) or set()
            given = list(asking.advertised.values())
            if not given or any(one.port in tried or _may_be(one, info) for one in given):
                continue
            where = ", ".join(map(str, given))
            fact = f"the client received {where}, and did not connect to any of them: {given[0].sentence}"
            problem = Problem(Reason.ADVERTISED_UNTRIED, fact, info.end_ns - info.start_ns)
            yield ConnectionProblem(info, problem, True, given[0])


def _problem(event: ConnectionClosed, is_kafka: bool) -> ConnectionProblem:
    assert event.problem is not None
    return ConnectionProblem(event.connection, event.problem, is_kafka)


def _untold(events: Iterable[ConnectionClosed]) -> Iterator[ConnectionProblem]:
    """Yield connections whose ends are not known to speak Kafka, except HTTP, which is no problem there."""
    for event in events:
        if event.problem is not None and event.problem.reason is not Reason.HTTP:
            yield _problem(event, False)


def _addresses(key: int, answer: Any) -> Iterator[Address]:
    """Return node, host and port of all brokers that a response names."""
    if key == apis.FIND_COORDINATOR:
        found = getattr(answer, "coordinators", None)
        nodes = [answer] if found is None else found
        return ((one.node_id, canonical_host(str(one.host)), one.port) for one in nodes if not one.error_code)
    if key == apis.METADATA:
        return ((one.node_id, canonical_host(str(one.host)), one.port) for one in answer.brokers)
    return ((one.broker_id, canonical_host(str(one.host)), one.port) for one in answer.brokers)


def names_of_end(info: ConnectionInfo) -> Iterator[str]:
    """Yield the names that a response may use for an end, as far as the packets and --hosts show."""
    yield info.broker.host
    name, _, _ = info.broker_text.rpartition(":")
    yield name
    if info.tls is not None and info.tls.sni is not None:
        yield info.tls.sni
    if _is_loopback(info.broker.host):
        yield _LOCAL


def _may_be(given: Advertised, info: ConnectionInfo) -> bool:
    """Return whether an address may be that of a connection; a name that cannot be resolved always may."""
    if given.port != info.broker.port:
        return False
    try:
        return ip_address(given.host) == ip_address(info.broker.host)
    except ValueError:
        return True


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
