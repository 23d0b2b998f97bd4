"""The facts about one connection while it lasts, and afterwards."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, Protocol, Self, TypeVar, cast

from kdissect.model.anomaly import Anomaly, AnomalyKind
from kdissect.model.digest import blake2b
from kdissect.model.endpoint import Endpoint
from kdissect.model.limits import DEFAULT_LIMITS
from kdissect.model.packets.segment import (
    flow_destination,
    flow_ports,
    flow_source,
    flow_texts,
    reverse_flow,
    source_host,
)
from kdissect.model.packets.stream import CloseKind
from kdissect.net.anomaly_log import NO_ANOMALIES, AnomalyLog, without
from kdissect.net.streams.round_trips import RoundTrips

if TYPE_CHECKING:
    from kdissect.model.packets.logged import Logged
    from kdissect.model.packets.process import Process
    from kdissect.session.detection.proxy_header import ProxyHeader
    from kdissect.tls.tls_info import TlsInfo

    _Processes = tuple[tuple[Endpoint | None, Process], ...]

_NO_NAMES: Mapping[str, str] = {}
_NOTHING_SELDOM: Mapping[str, Any] = {}
_T = TypeVar("_T")
# Results of exchanges, as `session.exchange.State` names them. Each is a slot that counts them.
_STATES = ("complete", "no_response_expected", "unanswered", "incomplete", "orphan_response")


class ConnectionKind(StrEnum):
    """Content of a connection. Every kind but KAFKA is opaque: counted and named, not dissected."""

    KAFKA = "kafka"
    TLS = "tls"
    HTTP = "http"
    HTTP2 = "http2"
    SSH = "ssh"
    ZOOKEEPER = "zookeeper"
    UNKNOWN = "unknown"
    CUT = "cut"
    """The snapshot length cut off too much of its data to recognize it."""
    NO_DATA = "no_data"


class Close(NamedTuple):
    """End of a connection: the end that closed it (`client`, `broker`, None for neither), how and when."""

    by: str | None
    how: CloseKind
    time_ns: int


def close_of(
    info: "ConnectionInfo",
    closed_by: tuple[int | None, CloseKind, int] | None,
    how: CloseKind,
    time_ns: int,
) -> Close:
    """Return the end that closed a connection, how and when.

    `closed_by`: direction of the first FIN or RST (None: not known), which of them, and when. None: `how` and
    `time_ns` apply.
    """
    if closed_by is None:
        return Close(None, how, time_ns)
    direction, kind, at_ns = closed_by
    by = None
    if direction is not None:
        by = "client" if direction == info.client_direction else "broker"
    notified = None if info.tls is None else info.tls.close_notify
    if notified is not None and notified[1] <= at_ns:
        # The end that receives close_notify closes, too, often first (RFC 8446 section 6.1).
        by = "client" if notified[0] == "client" else "broker"
    return Close(by, kind, at_ns)


class Share(NamedTuple):
    """The exchanges of a connection that other connections have and count. None: this connection counts.

    `inside` is the connection that counts most. `spans` pairs the last ordinal of a run of requests with the
    connection that counts them. The last span has all further requests. `early` counts responses to requests
    from before the capture. `is_whole`: `inside` counts all exchanges.
    """

    inside: str | None
    spans: tuple[tuple[int, str | None], ...]
    early: str | None
    is_whole: bool = False

    def root_of(self, ordinal: int) -> str | None:
        """Return the connection that counts a request; None for this one."""
        for last, owner in self.spans:
            if ordinal <= last:
                return owner
        return self.spans[-1][1] if self.spans else self.inside

    def root_of_orphan(self, is_early: bool) -> str | None:
        """Return the connection that counts a response without a request. `is_early`: no request precedes
        it.
        """
        return self.early if is_early else self.inside


class _Seldom(Generic[_T]):
    """An attribute that only a few connections have. It is None for the other ones and needs no memory
    there.
    """

    def __set_name__(self, _owner: type, name: str) -> None:
        self._name = name

    def __get__(self, info: "ConnectionInfo", _owner: type) -> _T | None:
        value: _T | None = info._seldom.get(self._name)  # noqa: SLF001  of the class that this serves
        return value

    def __set__(self, info: "ConnectionInfo", value: _T | None) -> None:
        seldom = info._seldom  # noqa: SLF001  of the class that this serves
        if value is not None or self._name in seldom:
            info._seldom = {**seldom, self._name: value}  # noqa: SLF001  of the class that this serves


class KnownIdentities(Protocol):
    """Methods that connections call for clusters and topics (`session.identities.Identities`)."""

    several: set[str]
    """Capture sets with more than one cluster, in which a scope is more than the capture set."""
    changes: int
    """The number of new facts on which `scope` or `topic` may depend."""
    moves: int
    """The number of times that an address became another cluster's."""

    def learn(self, exchange: Any) -> None:
        """Take the next exchange."""

    def number_of_news(
        self, info: "ConnectionInfo", key: int, version: int, asked: bytes, answered: bytes
    ) -> int | None:
        """Return the number of an exchange that must be read; None if it repeats known facts."""

    def read(self, exchange: Any, number: int) -> None:
        """Take an exchange that has to be read."""

    def scope(self, info: "ConnectionInfo") -> str:
        """Return the scope in which names of groups and topics are unique."""

    def cluster_of(self, info: "ConnectionInfo") -> str | None:
        """Return the id of the cluster that a connection leads to."""

    def named_by(self, info: "ConnectionInfo") -> str | None:
        """Return the cluster that the broker at the end of a connection named last."""

    def moved_after(self, capture_set: str, address: str, time_ns: int) -> tuple[str, str] | None:
        """Return the clusters that an address named before and after a time, if they differ."""

    def cluster_at(self, capture_set: str, *addresses: str) -> str | None:
        """Return the id of an address's cluster."""

    def advertised_by_other(self, info: "ConnectionInfo") -> str | None:
        """Return a cluster that advertises the address of a connection to another cluster."""

    def is_former(self, scope: str, topic: str) -> bool:
        """Return whether another topic has the name of a topic by now."""

    def is_created_again(self, scope: str, name: str | None) -> bool:
        """Return whether a cluster gave a name to several ids."""

    def one_of_several(self, info: "ConnectionInfo") -> str | None:
        """Return the cluster of a connection, if several were captured."""

    def apart(self, scope: str) -> str:
        """Return the cluster of a scope, if several were captured, else an empty text."""

    def other_name(self, info: "ConnectionInfo", topic: str | bytes) -> str | bytes | None:
        """Return the id of a topic by its name, or the name by its id, if it is the only one."""

    def topic(self, info: "ConnectionInfo", name: str, topic_id: bytes | None = None) -> str:
        """Return the topic of a name."""


class ConnectionInfo:
    """One connection. Until the roles are known `client` is the end that opened it or spoke first.

    Id and ends of one that `of_flow` made are computed at their first use: most connections of a flood never
    need them. `names` are names of addresses. `client_text` and `broker_text` have them. `anomaly_counts`
    includes TCP's anomalies from the end of the connection on, `anomalies_so_far` at any time. `opened_at` is
    the position of its first packet and `over_ns` the time at which its silence was known to be its end (0:
    it did not end so), both for `engine.event_order`. `same_as` is the connection of another capture set that
    is this one, captured elsewhere, and counted instead (`engine.taps`).
    """

    __slots__ = (
        "_flow",
        "_kept",
        "_seldom",
        "anomalies",
        "anomaly_counts",
        "api_versions_seen",
        "broker",
        "broker_address",
        "broker_text",
        "capture_set",
        "client",
        "client_direction",
        "client_id",
        "client_text",
        "close",
        "cluster_id",
        "complete",
        "end_ns",
        "id",
        "identities",
        "incomplete",
        "kind",
        "line_texts",
        "logged",
        "mechanism",
        "middle_start",
        "named_cluster",
        "names",
        "no_response_expected",
        "opened_at",
        "orphan_response",
        "over_ns",
        "principal",
        "processes",
        "same_as",
        "sasl_until",
        "software_name",
        "software_version",
        "start_ns",
        "tcp",
        "tcp_log",
        "tls",
        "unanswered",
    )

    probably_same_as = _Seldom[str]()
    """The connection of a tap that has the plaintext, if this one is TLS that cannot be read."""
    read_from = _Seldom[str]()
    """The capture set of the connection in `same_as` or `probably_same_as`; None if that is not known."""
    share = _Seldom[Share]()
    """The exchanges that the other connection has, if not all: `same_as` is then that of the event."""
    proxy: "_Seldom[ProxyHeader]" = _Seldom()
    """Content of a PROXY protocol header before its first byte."""

    id: str
    client: Endpoint
    broker: Endpoint
    client_text: str
    """The client with its name, as it is printed on every row: formatted once."""
    broker_text: str
    broker_address: str
    """Key of states, with any name of the broker."""

    def __init__(
        self,
        connection_id: str,
        capture_set: str,
        client: Endpoint,
        broker: Endpoint,
        start_ns: int,
        names: Mapping[str, str] = _NO_NAMES,
        anomalies_kept: int = DEFAULT_LIMITS.anomalies,
    ) -> None:
        self._begin(b"", capture_set, start_ns, names, anomalies_kept)
        self.id = connection_id
        self.set_ends(client, broker)

    @classmethod
    def of_flow(
        cls, flow: bytes, capture_set: str, start_ns: int, names: Mapping[str, str], anomalies_kept: int
    ) -> Self:
        """Make a connection whose client sends packets with this flow key (`model.segment.Segment`)."""
        info = cls.__new__(cls)
        ConnectionInfo._begin(info, flow, capture_set, start_ns, names, anomalies_kept)
        return info

    def _begin(
        self, flow: bytes, capture_set: str, start_ns: int, names: Mapping[str, str], anomalies_kept: int
    ) -> None:
        self._flow = flow
        self.capture_set = capture_set
        self.names = names
        self.identities: KnownIdentities | None = None
        """The clusters and topics of the analysis; None outside of one."""
        self.cluster_id: str | None = None
        """The cluster that the connection leads to, once `identities` know it."""
        self.named_cluster: str | None = None
        """The cluster that responses on the connection itself named last, once it is over."""
        self.line_texts: tuple[object, tuple[bytes, ...]] | None = None
        """The line writer, and its texts about the connection (`cli.formats.line_filler`), once there was
        one.
        """
        self.client_direction = 0
        self.kind = ConnectionKind.NO_DATA
        self.start_ns = start_ns
        self.end_ns = start_ns
        self.middle_start = False
        self.opened_at = (0, 0)
        self.over_ns = 0
        self.same_as: str | None = None
        self._seldom = _NOTHING_SELDOM
        self.logged: Logged | None = None
        """The last line of the connection's request log, without times if the native engine took it. None if
        the connection was captured.
        """
        self.client_id: str | None = None
        self.software_name: str | None = None
        self.software_version: str | None = None
        self.mechanism: str | None = None
        self.principal: str | None = None
        self.processes: _Processes = ()
        """The processes that hold the ends, as far as the capture names them. None: it is unknown which
        end.
        """
        self.sasl_until = -1
        """The ordinal of the last exchange before SASL ended; -1 without SASL."""
        self.close: Close | None = None
        self.complete = self.no_response_expected = self.unanswered = 0
        self.incomplete = self.orphan_response = 0
        self.api_versions_seen: Mapping[tuple[int, int], None] = _NO_KINDS
        """Kinds of its requests, in the order in which they were first seen."""
        self.anomalies: Sequence[Anomaly] = ()
        self._kept = anomalies_kept
        self.anomaly_counts = NO_ANOMALIES
        self.tcp: TcpSummary | None = None
        self.tcp_log: AnomalyLog | None = None
        """TCP's anomalies, while the connection is open."""
        self.tls: TlsInfo | None = None
        """The TLS around the connection, if there is any. `kind` is the kind of its plaintext, if any."""

    if not TYPE_CHECKING:  # else every misspelt attribute of a connection would pass the type check

        def __getattr__(self, name: str) -> Any:
            """Compute id or ends from the flow key at their first use."""
            if name == "id":
                self.id = connection_id(self._flow, self.capture_set, self.start_ns)
            elif name in _OF_CLIENT:
                self._set_client(flow_source(self._flow))
            elif name in _OF_BROKER:
                self._set_broker(flow_destination(self._flow))
            else:
                raise AttributeError(name)
            return getattr(self, name)

    @property
    def states(self) -> Counter[str]:
        """Exchanges emitted so far by what became of them."""
        return Counter({state: getattr(self, state) for state in _STATES if getattr(self, state)})

    @states.setter
    def states(self, states: Mapping[str, int]) -> None:
        for state in _STATES:
            setattr(self, state, states.get(state, 0))

    def count(self, state: str) -> None:
        """Count one more exchange in this state."""
        setattr(self, state, getattr(self, state) + 1)

    def remember(self, kind: tuple[int, int], most: int) -> None:
        """Note that the connection has requests of this API in this version, for at most `most` kinds."""
        seen = self.api_versions_seen
        if len(seen) >= most:
            self.note_limit(f"more than {most} kinds of request: further kinds are dropped")
            return
        if len(seen) < KINDS_SHARED:
            if len(_kinds) >= SHARED_KEPT:
                _kinds.clear()
            more = {**seen, kind: None}
            self.api_versions_seen = _kinds.setdefault(tuple(more), more)
            return
        own = dict(seen) if len(seen) == KINDS_SHARED else cast(dict[tuple[int, int], None], seen)
        own[kind] = None
        self.api_versions_seen = own

    @property
    def proxied(self) -> Endpoint | None:
        """The client that a proxy connected for, or None if no PROXY protocol header has its address."""
        return None if self.proxy is None else self.proxy.source

    @property
    def scope(self) -> str:
        """The scope in which names of groups and topics are unique: capture set and cluster
        (`session.identities`).
        """
        identities = self.identities  # hot, several times for each exchange: mostly there is one cluster
        return self.capture_set if identities is None or not identities.several else identities.scope(self)

    @property
    def proxied_text(self) -> str | None:
        """The same with the name of its host, as it is printed."""
        proxied = self.proxied
        return None if proxied is None else self._text(proxied, str(proxied))

    @property
    def is_unheard_after_proxy(self) -> bool:
        """Whether no request after a PROXY protocol header was answered: a broker may refuse the header."""
        return self.proxy is not None and not self.complete

    @property
    def software(self) -> str | None:
        """Name and version that the client sent, or None if it sent none."""
        return " ".join(part for part in (self.software_name, self.software_version) if part) or None

    @property
    def exchanges(self) -> int:
        """Exchanges emitted so far."""
        answered = self.complete + self.incomplete + self.orphan_response
        return answered + self.no_response_expected + self.unanswered

    def set_ends(self, client: Endpoint, broker: Endpoint) -> None:
        """Name the two ends."""
        self._set_client(client)
        self._set_broker(broker)
        self.line_texts = None

    def _set_client(self, client: Endpoint) -> None:
        self.client = client
        self.client_text = self._text(client, str(client))

    def _set_broker(self, broker: Endpoint) -> None:
        self.broker, self.broker_address = _known(broker)
        self.broker_text = self._text(broker, self.broker_address)

    def id_and_ends(self) -> tuple[str, str, str]:
        """Return id, client and broker as addresses, of a connection that `of_flow` made. It does not cache
        them.
        """
        client, broker = flow_texts(self._flow)
        return _id_of(client, broker, self.capture_set, self.start_ns), client, broker

    def attempt(self) -> tuple[str, int]:
        """Return the client's host and the port that it connected to, without caching, as `id_and_ends`."""
        flow = self._flow
        return (source_host(flow), flow_ports(flow)[1]) if flow else (self.client.host, self.broker.port)

    def swap_ends(self) -> None:
        """Swap the ends: the assumed client is the broker."""
        client, broker = self.broker, self.client
        self._flow = self._flow and reverse_flow(self._flow)
        self.set_ends(client, broker)

    def forget_ends(self) -> None:
        """Forget the ends and compute them again at their next use: the ends of a silent connection take 250
        bytes.
        """
        if self._flow:
            self.client  # noqa: B018 - both or none of them are there
            del self.client, self.client_text  # the broker's texts are shared
            self.line_texts = None

    def _text(self, end: Endpoint, address: str) -> str:
        """Return the name of an end with its port, or its address (`model.hosts`)."""
        names = self.names
        if not names:
            return address
        name = names.get(address) or names.get(end.host)
        return address if name is None else f"{name}:{end.port}"

    def note_process(self, end: Endpoint | None, process: "Process") -> None:
        """Note a process that the capture names for an end."""
        for at, (known_end, known) in enumerate(self.processes):
            if known_end == end:
                both = known if known is process else known.joined(process)
                if both is not None:
                    if both != known:
                        self._tell((*self.processes[:at], (end, both), *self.processes[at + 1 :]))
                    return
        if len(self.processes) < PROCESSES_KEPT:
            self._tell((*self.processes, (end, process)))

    def _tell(self, processes: "_Processes") -> None:
        self.processes = processes
        self.line_texts = None

    def processes_of(self, role: str | None = None) -> Iterator[tuple[str | None, "Process"]]:
        """Yield role (`client`, `broker`, None if unknown) and process, with `role` only for that end."""
        ends = {self.client: "client", self.broker: "broker"}
        told = [(None if end is None else ends.get(end), process) for end, process in self.processes]
        for one in ("client", "broker", None) if role is None else (role,):
            yield from (pair for pair in told if pair[0] == one)

    def note_logged(self, logged: "Logged") -> None:
        """Note the next line of the connection's request log."""
        self.logged = logged
        if self.software_name is None and logged.software_name is not None:
            self.software_name, self.software_version = logged.software_name, logged.software_version
            self.line_texts = None
        if logged.principal is not None and logged.principal != self.principal:
            self.principal = logged.principal
            self.line_texts = None

    def anomalies_so_far(self) -> Counter[AnomalyKind]:
        """Return how many anomalies of each kind there were, also while the connection is open."""
        log = self.tcp_log
        return self.anomaly_counts if log is None else self.anomaly_counts + log.counts

    def note_limit(self, why: str) -> None:
        """Note once that a limit was exceeded."""
        if not self.anomaly_counts[AnomalyKind.LIMIT_REACHED]:
            self.note(Anomaly(AnomalyKind.LIMIT_REACHED, why, 0, self.end_ns))

    def note(self, anomaly: Anomaly) -> None:
        """Count an anomaly, and store it if the bound allows."""
        self.count_anomalies({anomaly.kind: 1})
        if len(self.anomalies) < self._kept:
            self.anomalies = [*self.anomalies, anomaly]

    def retract(self, anomaly: Anomaly) -> None:
        """Take an anomaly back that proved to be none."""
        self.anomaly_counts = without(self.anomaly_counts, anomaly.kind)
        self.anomalies = [one for one in self.anomalies if one is not anomaly]

    def count_anomalies(self, counts: Mapping[AnomalyKind, int]) -> None:
        """Count anomalies that are stored elsewhere, or not at all."""
        if not self.anomaly_counts:
            self.anomaly_counts = Counter()
        self.anomaly_counts.update(counts)


# Processes at one end: it may pass from one process to another.
PROCESSES_KEPT = 4
_NO_KINDS: Mapping[tuple[int, int], None] = {}
# Kinds of request that thousands of one client's connections share. A connection with more of them has its
# own.
_kinds: dict[tuple[tuple[int, int], ...], Mapping[tuple[int, int], None]] = {}
KINDS_SHARED = 16
SHARED_KEPT = 1000
# Brokers with their text, client ids with their bytes: thousands of connections have one between them.
_brokers: dict[Endpoint, tuple[Endpoint, str]] = {}
_client_ids: dict[str | None, tuple[str | None, bytes]] = {}
_OF_CLIENT = frozenset(("client", "client_text"))
_OF_BROKER = frozenset(("broker", "broker_text", "broker_address"))


def connection_id(flow: bytes, capture_set: str, start_ns: int) -> str:
    """Return the name of a connection: of its capture set, both ends and the time of its first packet."""
    return _id_of(*flow_texts(flow), capture_set, start_ns)


def _id_of(one: str, other: str, capture_set: str, start_ns: int) -> str:
    if other < one:
        one, other = other, one
    # The set is called by its files, whose names are bytes and need not be text.
    named = f"{capture_set}|{one}|{other}|{start_ns}".encode("utf-8", "surrogateescape")
    return blake2b(named, digest_size=8).hexdigest()


def shared_client_id(client_id: str | None) -> tuple[str | None, bytes]:
    """Return a client id and its bytes, as they were first seen."""
    known = _client_ids.get(client_id)
    if known is None:
        if len(_client_ids) >= SHARED_KEPT:
            _client_ids.clear()
        known = _client_ids[client_id] = client_id, (client_id or "").encode("utf-8", "replace")
    return known


def _known(broker: Endpoint) -> tuple[Endpoint, str]:
    known = _brokers.get(broker)
    if known is None:
        if len(_brokers) >= SHARED_KEPT:
            _brokers.clear()
        known = _brokers[broker] = broker, str(broker)
    return known


class TcpTimes(NamedTuple):
    """Round trips as the capture saw them, and the delays of either direction by retransmissions.

    `after_ack` segments are in the capture after their acknowledgment, `after_ack_ns` later at most: in a
    capture whose times can be trusted there are none.
    """

    trips: RoundTrips
    delayed_ns: int
    after_ack: int = 0
    after_ack_ns: int = 0


class TcpSummary(NamedTuple):
    """TCP health of a connection, with both directions added up unless a field names one.

    `broker_packets` is 0, or as large as `packets`, if one direction was captured.

    `times` is None for a connection with one packet, and if they are not needed. `client_zero_windows` counts
    the part of `zero_windows` that the client sent. `bytes_cut_off` counts payload bytes that the snapshot
    length cut off.
    """

    packets: int
    client_bytes: int
    broker_bytes: int
    retransmissions: int
    out_of_order: int
    duplicates: int
    zero_windows: int
    resets: int
    gaps: int
    gap_bytes: int
    broker_packets: int
    times: TcpTimes | None = None
    client_zero_windows: int = 0
    bytes_cut_off: int = 0

    @property
    def is_one_sided(self) -> bool:
        """Whether the capture has packets of one direction only."""
        return not 0 < self.broker_packets < self.packets
