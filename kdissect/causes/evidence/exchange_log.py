"""Log of marked exchanges: errors, late responses, unanswered requests, readers that are held back."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from kdissect.causes.evidence.body_errors import asked, body_errors
from kdissect.causes.evidence.dropped_batches import DroppedBatches
from kdissect.causes.evidence.quotas_set import ALTER_CLIENT_QUOTAS, QuotasSet
from kdissect.causes.evidence.refused_batches import RefusedBatches
from kdissect.causes.evidence.reported_trouble import ReportedTrouble, trouble_in
from kdissect.causes.evidence.seen import Seen, packets_of
from kdissect.decoders.generated.values import sent
from kdissect.engine.exchange_rows import topic_id_text
from kdissect.engine.records.record_sets import record_sets
from kdissect.history import api_keys as apis
from kdissect.history.exchange_view import ExchangeView
from kdissect.history.state_table import Table
from kdissect.history.topics.topic_names import TopicNames
from kdissect.model.cause import Packets
from kdissect.model.packets.segment import canonical_host
from kdissect.model.packets.stream import CloseKind
from kdissect.rules.views.connection_view import LATE_NS
from kdissect.schema.protocol_messages import api_name
from kdissect.session.exchange import Exchange
from kdissect.session.info import ConnectionInfo, KnownIdentities
from kdissect.stats.client import Client, Clients, is_follower, text_of
from kdissect.stats.times.waited import at_broker_ns, unanswered_since_ns, waited_ns, waited_phases
from kdissect.stats.transfers import topic_key
from kdissect.stats.watermarks import topic_of

OFTEN_DELIVERED = 3
"""Deliveries of a record: two are normal, because a member that leaves releases what it holds."""
KEYS_KEPT = 5_000  # of each kind; 1 KB each
_METADATA, _CREATE_TOPICS = 3, 19
_MS = 1_000_000
_EDGE = 10  # parts of a wait: a response within all but the first and the last shows that time passed


class ErrorKey(NamedTuple):
    """Equal errors: of one client, at one broker, about one thing. `topic` may be an id.

    `scope` distinguishes clusters, in which names are unique (`session.identities`).
    """

    scope: str
    api_key: int
    code: int
    client: Client
    broker: str
    topic: str | None
    group: str | None
    txn: str | None


class TroubleKey(NamedTuple):
    """Trouble that a broker reports without an error code: to one client, about one group."""

    scope: str
    api_key: int
    client: Client
    broker: str
    group: str | None
    trouble: ReportedTrouble


class LateKey(NamedTuple):
    """Answers that are late: of one broker, to one client. `api_key` is that of the request."""

    capture_set: str
    api_key: int
    client: Client
    broker: str


class UnansweredKey(NamedTuple):
    """Requests without an answer. `closed_by`: client, broker, or None where the connection goes on."""

    capture_set: str
    api_key: int
    client: Client
    broker: str
    closed_by: str | None


class Open:
    """Requests that wait when the capture ends: how many, and since when. Times are nanoseconds.

    Since when: the end of the request, or of the wait that it asks for.
    """

    __slots__ = ("since_ns", "since_sum_ns", "times")

    def __init__(self) -> None:
        self.times = self.since_ns = self.since_sum_ns = 0

    def add(self, since_ns: int) -> None:
        """Another one."""
        self.since_ns = min(self.since_ns, since_ns) if self.times else since_ns
        self.times += 1
        self.since_sum_ns += since_ns

    def waits(self, end_ns: int) -> tuple[int, int]:
        """Return the longest wait until the end of the capture, and all waits."""
        return max(end_ns - self.since_ns, 0), max(self.times * end_ns - self.since_sum_ns, 0)


class NodeEndpoint(NamedTuple):
    """An address in the NodeEndpoints of a response: the new leader's, next to an error (KIP-951)."""

    node: int
    client: Client
    broker: str
    api: str
    packets: Packets


class HeldKey(NamedTuple):
    """A last stable offset that stands still below the end of its partition.

    `scope` and `topic`: of `session.identities`, which distinguish clusters and topics of one name.
    """

    scope: str
    topic: str
    partition: int
    offset: int


class Held:
    """How long it stalled, and how many records were after it at last."""

    __slots__ = ("behind", "readers", "seen")

    def __init__(self) -> None:
        self.seen = Seen()
        self.behind = 0
        self.readers: dict[Client, None] = {}


class RedeliveredKey(NamedTuple):
    """Records of one topic that a share group receives again."""

    scope: str
    broker: str
    group: str
    topic: str


class Redelivered:
    """Records that were delivered often: how many, how often at most, and to whom."""

    __slots__ = ("clients", "most", "records", "seen")

    def __init__(self) -> None:
        self.seen = Seen()
        self.records = self.most = 0
        self.clients: dict[Client, None] = {}


class Fetched:
    """Fetches of a client that names its rack; `bytes` counts the returned records."""

    __slots__ = ("bytes", "rack", "seen")

    def __init__(self) -> None:
        self.seen = Seen()
        self.bytes = 0
        self.rack = ""


class HeldBack:
    """Fetches of a client that ask for more than one byte and receive records: how many, which of them had to
    wait to the end of `max_wait_ms` and then received less than `min_bytes`, and the bytes of the largest
    such response.
    """

    __slots__ = ("fetches", "max_wait_ms", "min_bytes", "most_bytes", "seen")

    def __init__(self) -> None:
        self.seen = Seen()
        self.fetches = self.min_bytes = self.max_wait_ms = self.most_bytes = 0


def _never(_capture_set: str, _from_ns: int, _until_ns: int) -> bool:
    return False


class ExchangeLog:
    """Collector of exchanges. `add` returns True if each exchange like this one counts.

    `is_served` returns whether any broker of a capture set responded within a time.
    """

    def __init__(self, names: TopicNames, is_served: Callable[[str, int, int], bool] = _never) -> None:
        self._names = names
        self._is_served = is_served
        self.clients = Clients()
        self.errors: Table[ErrorKey, Seen] = Table(KEYS_KEPT)
        self.messages: Table[ErrorKey, str] = Table(KEYS_KEPT)
        """The broker's first message about errors, for errors that have one."""
        self.endpoints: Table[tuple[str, str, int], NodeEndpoint] = Table(KEYS_KEPT)
        """By capture set, host and port, the first response with each."""
        self.troubles: Table[TroubleKey, Seen] = Table(KEYS_KEPT)
        self.late: Table[LateKey, Seen] = Table(KEYS_KEPT)
        self.unanswered: Table[UnansweredKey, Seen] = Table(KEYS_KEPT)
        self.open: Table[UnansweredKey, Open] = Table(KEYS_KEPT)
        """Of `unanswered`, those on connections that neither end closed."""
        self.held: Table[HeldKey, Held] = Table(KEYS_KEPT)
        self.redelivered: Table[RedeliveredKey, Redelivered] = Table(KEYS_KEPT)
        self.may_create: Table[tuple[str, Client, str], Packets] = Table(KEYS_KEPT)
        """Topics that did not exist when a client asked for them in a way that creates them."""
        self.racks: Table[tuple[Client, str], Fetched] = Table(KEYS_KEPT)
        """Fetches that name a rack, by client and broker."""
        self.held_back: Table[tuple[Client, str], HeldBack] = Table(KEYS_KEPT)
        """Fetches that ask for more than one byte, by client and broker."""
        self.created: set[tuple[str, str]] = set()
        """Topics that somebody created on purpose, with their scope."""
        self.preferred: Table[tuple[Client, str], Seen] = Table(KEYS_KEPT)
        """Of these, answers that name another replica to read from."""
        self.shutdowns: Table[tuple[str, int], Packets] = Table(KEYS_KEPT)
        """Nodes that asked their controller to shut down and were allowed to, by scope, with the last time
        of each.
        """
        self._identities: KnownIdentities | None = None
        self.quotas = QuotasSet()
        self.refused = RefusedBatches(names)
        self.dropped = DroppedBatches(names)
        self.wanted = True
        self.exchanges = 0

    def cluster(self, scope: str) -> str:
        """Return the cluster of the errors' scope, or an empty text if it is unknown, or if no other cluster
        was captured.
        """
        return "" if self._identities is None else self._identities.apart(scope)

    def add(self, exchange: Exchange) -> bool:
        """Take an exchange, and return whether each repetition counts."""
        is_of_quotas = exchange.api_key == ALTER_CLIENT_QUOTAS  # a filter does not change who set them
        if not self.wanted and not is_of_quotas:
            return False
        view = ExchangeView(exchange)
        client = self.clients.of(exchange.connection, exchange.client_id)
        if is_of_quotas:
            self.quotas.add(view, client)
            if not self.wanted:
                return False
        tells = False
        if exchange.response is None or exchange.request is None:
            return self._unanswered(view, client)
        if view.key == _CREATE_TOPICS and view.request is not None and len(self.created) < KEYS_KEPT:
            self.created |= {(view.info.scope, text_of(topic.name)) for topic in view.request.topics or ()}
        if view.response is not None:
            tells = self._errors(view, client) | self._troubles(view, client)
            tells |= self._of_api(view, client)
            if _shuts_down(view):
                self.shutdowns.put((view.info.scope, view.request.broker_id), packets_of(view.evidence))
        return self._late(view, client) or tells

    def _of_api(self, view: ExchangeView, client: Client) -> bool:
        """Take the facts that only responses to one API have."""
        if view.key == apis.FETCH:
            return self._fetch(view, client)
        if view.key == apis.SHARE_FETCH:
            return self._redelivered(view, client)
        if view.key == apis.PRODUCE:
            self.refused.add(view)
            self.dropped.refuse(view, client)
        return False

    # errors

    def _errors(self, view: ExchangeView, client: Client) -> bool:
        found = body_errors(view.response)
        if not found:
            return False
        info, request = view.info, view.request
        group, txn = (None, None) if request is None else asked(request)
        packets = packets_of(view.evidence)
        for end in sent(view.response, "node_endpoints") or ():
            named = info.capture_set, canonical_host(text_of(end.host)), end.port
            if named not in self.endpoints:
                api = f"{api_name(view.key)} v{view.version}"
                self.endpoints.put(named, NodeEndpoint(end.node_id, client, info.broker_text, api, packets))
        told: set[ErrorKey] = set()
        scope, self._identities = info.scope, info.identities
        for error in found:
            topic = error.topic
            if isinstance(topic, bytes):
                topic = self._names.name(info, topic) or topic_id_text(topic)
            of_txn = error.txn or txn
            key = ErrorKey(scope, view.key, error.code, client, info.broker_text, topic, group, of_txn)
            if key in told:
                continue
            told.add(key)
            self.errors.get_or(key, Seen).add(packets, max(view.exchange.latency_ns or 0, 0))
            if error.message and key not in self.messages:
                self.messages.put(key, error.message)
            if view.key == _METADATA and topic and error.code in (3, 5) and _creates(request, error.code):
                place = scope, client, topic
                if place not in self.may_create:
                    self.may_create.put(place, packets)
        return True

    def _troubles(self, view: ExchangeView, client: Client) -> bool:
        found = trouble_in(view.key, view.response)
        if not found:
            return False
        info, packets = view.info, packets_of(view.evidence)
        group = None if view.request is None else asked(view.request)[0]
        for trouble in found:
            key = TroubleKey(info.scope, view.key, client, info.broker_text, group, trouble)
            self.troubles.get_or(key, Seen).add(packets)
        return True

    # times

    def _late(self, view: ExchangeView, client: Client) -> bool:
        # A response that only waited for responses to earlier requests is not late itself.
        took_ns = at_broker_ns(view.exchange, waited_ns(view))
        if took_ns < LATE_NS:
            return False
        response = view.exchange.response
        key = LateKey(view.info.capture_set, view.key, client, view.info.broker_text)
        until_ns = None if response is None else response.time_ns
        late = self.late.get_or(key, Seen)
        late.add(packets_of(view.evidence), took_ns, until_ns)
        late.add_phases(waited_phases(view.exchange))
        return view.exchange.request is not None

    def _unanswered(self, view: ExchangeView, client: Client) -> bool:
        info, close, api_key = view.info, view.exchange.close, view.exchange.api_key
        since_ns = unanswered_since_ns(view)
        if since_ns is None or api_key is None:
            return False
        by = None if close is None else close.by
        key = UnansweredKey(info.capture_set, api_key, client, info.broker_text, by)
        took_ns = 0
        if close is not None and by is not None:
            took_ns = close.time_ns - since_ns
        elif close is not None and close.how is CloseKind.IDLE:
            took_ns = self._evicted_ns(info, since_ns, max(info.over_ns, close.time_ns))
        elif close is not None and close.how is CloseKind.CAPTURE_END and close.time_ns >= info.end_ns:
            # Not where the clock went back.
            self.open.get_or(key, Open).add(since_ns)
        self.unanswered.get_or(key, Seen).add(packets_of(view.evidence), max(took_ns, 0))
        return True

    def _evicted_ns(self, info: ConnectionInfo, since_ns: int, until_ns: int) -> int:
        """Return how long a request waited on a connection that was evicted, 0 if that is not known.

        If no broker responded meanwhile, the clock may have been set forward.
        """
        edge_ns = (until_ns - since_ns) // _EDGE
        is_lasting = self._is_served(info.capture_set, since_ns + edge_ns, until_ns - edge_ns)
        return until_ns - since_ns if is_lasting else 0

    # readers

    def _fetch(self, view: ExchangeView, client: Client) -> bool:
        if is_follower(view):
            return False
        rack = sent(view.request, "rack_id")
        packets = packets_of(view.evidence)
        tells = False
        if rack:
            response = view.exchange.response
            size = 0 if response is None else response.size
            fetched = self.racks.get_or((client, view.info.broker_text), Fetched)
            fetched.seen.add(packets)
            fetched.bytes += size
            fetched.rack = text_of(rack)
            tells = True
        if sent(view.request, "min_bytes", 0) > 1:
            self._wait_for_bytes(view, client, packets)
            tells = True
        for topic, row in _rows(view.response):
            if rack and sent(row, "preferred_read_replica", -1) >= 0:
                self.preferred.get_or((client, view.info.broker_text), Seen).add(packets)
            stable = sent(row, "last_stable_offset", -1)
            if 0 <= stable < row.high_watermark and not row.error_code:
                self._held(view, client, (topic, row), packets)
                tells = True
        return tells

    def _wait_for_bytes(self, view: ExchangeView, client: Client, packets: Packets) -> None:
        response, took_ns = view.exchange.response, view.exchange.latency_ns
        if response is None or took_ns is None:
            return
        if not any(records.found.batches for records in record_sets(view.exchange)):
            return
        found = self.held_back.get_or((client, view.info.broker_text), HeldBack)
        found.fetches += 1
        least, wait_ms = view.request.min_bytes, view.request.max_wait_ms
        if response.size < least and took_ns >= wait_ms * _MS:
            found.seen.add(packets, took_ns)
            found.min_bytes, found.max_wait_ms = least, wait_ms
            found.most_bytes = max(found.most_bytes, response.size)

    def _redelivered(self, view: ExchangeView, client: Client) -> bool:
        group = None if view.request is None else asked(view.request)[0]
        tells = False
        for topic, row in _rows(view.response):
            often = [one for one in row.acquired_records or () if one.delivery_count >= OFTEN_DELIVERED]
            if not often:
                continue
            name = topic_key(self._names, view.info, topic_of(topic))
            key = RedeliveredKey(view.info.scope, view.info.broker_text, group or "", name)
            found = self.redelivered.get_or(key, Redelivered)
            found.seen.add(packets_of(view.evidence))
            found.most = max(found.most, *(one.delivery_count for one in often))
            found.clients[client] = None
            # Each record has this count once.
            found.records += sum(
                one.last_offset - one.first_offset + 1
                for one in often
                if one.delivery_count == OFTEN_DELIVERED
            )
            tells = True
        return tells

    def _held(self, view: ExchangeView, client: Client, at: tuple[Any, Any], packets: Packets) -> None:
        topic, row = at
        if sent(view.request, "isolation_level", 0) != 1:  # only who reads committed records waits (KIP-98)
            client = Client(None, None, None, "")
        name = topic_key(self._names, view.info, topic_of(topic))
        key = HeldKey(view.info.scope, name, row.partition_index, row.last_stable_offset)
        held = self.held.get_or(key, Held)
        held.seen.add(packets)
        held.behind = max(held.behind, row.high_watermark - row.last_stable_offset)
        if client.address and len(held.readers) < 20:
            held.readers[client] = None


def _creates(request: Any, code: int) -> bool:
    """Return whether a Metadata request has the broker create what it names (from version 4 on it says
    so).
    """
    return bool(sent(request, "allow_auto_topic_creation", code == 5))


def _rows(answer: Any) -> Iterator[tuple[Any, Any]]:
    for topic in sent(answer, "responses") or ():
        for row in topic.partitions or ():
            yield topic, row


def _shuts_down(view: ExchangeView) -> bool:
    """Return whether a broker asked its controller to shut down, and may."""
    if view.request is None or sent(view.response, "error_code"):
        return False
    if view.key == apis.BROKER_HEARTBEAT:
        return bool(sent(view.request, "want_shut_down") and sent(view.response, "should_shut_down"))
    return view.key == apis.CONTROLLED_SHUTDOWN
