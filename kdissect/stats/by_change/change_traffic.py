"""Changes of a cluster in the order of their requests, with the requesting client.

An address that becomes another cluster's is reported, with the client that was the first to receive it.

A topic that Metadata creates is reported, too: a client asks for a missing one and allows its creation
(KIP-361), and it exists later, without a captured CreateTopics. If the path from a broker to the controller
was captured, its Envelope (KIP-590) shows the very request that creates it.
"""

from __future__ import annotations

from collections import deque
from ipaddress import ip_address
from typing import Any, NamedTuple

from kdissect.decoders.generated.values import sent
from kdissect.decoders.messages import decode_request, decode_response
from kdissect.decoders.payloads.versioned import versioned
from kdissect.engine.passed_blocks import PassedBlocks
from kdissect.history.api_keys import FETCH, METADATA, OFFSET_COMMIT
from kdissect.history.exchange_view import ExchangeView
from kdissect.history.fact import Evidence
from kdissect.history.state_table import Table
from kdissect.model.errors import DecodeError
from kdissect.model.native import native
from kdissect.schema.protocol_messages import api_name
from kdissect.session.events import Event
from kdissect.session.exchange import Exchange, ExchangeKind, State
from kdissect.session.identities import TELLING
from kdissect.session.info import ConnectionInfo
from kdissect.stats.by_change.change_requests import (
    ENVELOPE,
    READERS,
    Item,
    is_only_check,
    items_of,
)
from kdissect.stats.by_group.group_links import CLIENTS_KEPT, ClientKey, client_key_of
from kdissect.stats.client import Client, client_of, text_of

CHANGES_KEPT = 10_000  # the most recent ones, 1 KB each
ENVELOPES_KEPT = 1_000  # whose own request was not answered yet. They are answered within a minute
TOPICS_KEPT = 100_000  # that are known to be there, or asked for and not there; 200 bytes each
CLUSTERS_KEPT = 100  # of one address
REQUESTS_KEPT = 100  # requests for a topic until it exists, which come every 100 ms
# The broker does not know the topic, or creates it now and has no leader yet
# (org.apache.kafka.common.protocol.Errors).
_UNKNOWN_TOPIC, _LEADER_NOT_AVAILABLE = 3, 5

AUTOMATICALLY = "created automatically"


class Change(NamedTuple):
    """One change. `through` is the broker that asked the controller, if only that request was seen.

    `took_ns` is the time until the answer, or until the topic was there, None if neither was seen.
    """

    evidence: Evidence
    took_ns: int | None
    client: Client
    broker: str
    through: str | None
    api: str
    item: Item
    only_check: bool
    info: ConnectionInfo
    """The connection of the request."""


_Request = tuple[int | None, str | None]
"""Correlation id and client id."""


class _Asked:
    """A Metadata that may have a topic created. `item` is the thing that its broker asked the controller for.

    `requests` are all requests for the topic until it was there: each may be forwarded.
    """

    __slots__ = ("broker", "client", "evidence", "info", "item", "requests", "wanted")

    def __init__(self, view: ExchangeView, wanted: bool) -> None:
        self.evidence = view.evidence
        self.client = client_of(view)
        self.broker = view.info.broker_text
        self.info = view.info
        self.requests: set[_Request] = set()
        self.item: Item | None = None
        self.wanted = wanted

    def created(self, name: str, there_ns: int) -> Change:
        """Return the change: the topic exists, or the controller confirmed it."""
        item = self.item or Item("topic", name, AUTOMATICALLY)
        took_ns = max(there_ns - self.evidence.sent_ns, 0)
        return Change(
            self.evidence, took_ns, self.client, self.broker, None, "Metadata",
            item._replace(did=AUTOMATICALLY, code=0, message=None), False, self.info,
        )  # fmt: skip


class _Forwarded(NamedTuple):
    """The changes of an Envelope."""

    changes: list[Change]
    wanted: bool
    capture_set: str
    request: _Request


Topic = tuple[str, str]
"""Capture set and name."""
_RequestKey = tuple[str, int, int | None, str | None]
"""Capture set, API key, correlation id and client id."""


class ChangeTraffic:
    """Collector of changes: pass every event to `add`, then `finish`. `count` includes the changes beyond the
    bound.
    """

    def __init__(self) -> None:
        self.changes: deque[Change] = deque(maxlen=CHANGES_KEPT)
        self.count = 0
        self._forwarded: Table[_RequestKey, _Forwarded] = Table(ENVELOPES_KEPT)
        self._there: Table[Topic, _Asked | None] = Table(TOPICS_KEPT)
        """Topics that are there, and who had them created automatically."""
        self._asked: Table[Topic, _Asked] = Table(TOPICS_KEPT)
        self._readers: Table[ClientKey, bool] = Table(CLIENTS_KEPT)
        """Clients that fetch: their commits outside of a group are offsets that they have read."""
        self._clusters: Table[tuple[str, str], tuple[str, ...]] = Table(CLIENTS_KEPT)
        """The clusters that an address named, by capture set and address."""
        self._passed = PassedBlocks(self._is_watched)

    def count_block(self, block: native.ExchangeBlock, start: int) -> int:
        """Skip exchanges of a block that change no state. Return the next one that is for `add`."""
        return self._passed.count(block, start)

    def add(self, event: Event, wanted: bool = True) -> None:
        """Take the analyzer's next event. Only changes by wanted exchanges are reported."""
        self._passed.forget(event.connection)
        if not isinstance(event, Exchange) or event.kind is not ExchangeKind.KAFKA:
            return
        if event.state is State.ORPHAN_RESPONSE or event.api_key is None:
            return
        if not self._is_watched(event.connection, event.api_key, event.client_id):
            return
        view = ExchangeView(event)
        if view.request is None:
            return
        if view.key in TELLING:
            self._take_cluster(view, wanted)
        scope = view.info.scope
        if view.key == METADATA:
            self._take_metadata(view, wanted)
        elif view.key == ENVELOPE:
            self._take_envelope(view, wanted)
        elif view.key in READERS:
            self._forwarded.pop((scope, view.key, event.correlation_id, event.client_id))
            self._keep(_changes(view), scope, wanted)

    def _is_watched(self, info: ConnectionInfo, api_key: int, client_id: str | None) -> bool:
        """Return True if exchanges of a client with an API are read. Note the clients that fetch."""
        if api_key == FETCH:
            self._readers.get_or(client_key_of(info, client_id), lambda: True)
        if api_key == OFFSET_COMMIT:
            return client_key_of(info, client_id) not in self._readers
        return api_key in _WATCHED

    def finish(self) -> None:
        """End the input: report forwarded requests that were not seen on their path to the broker."""
        for held in list(self._forwarded):
            rest = [change for change in held.changes if not self._is_automatic(held, change)]
            self._keep(rest, held.capture_set, held.wanted)
        self._forwarded = Table(ENVELOPES_KEPT)
        for topic, asked in list(self._asked.items()):
            if asked.item is not None and asked.item.code == 0:
                self._keep([asked.created(topic[1], asked.evidence.sent_ns)], topic[0], asked.wanted)

    def _keep(self, changes: list[Change], capture_set: str, wanted: bool) -> None:
        for change in changes:
            self._learn(change, capture_set)
            if wanted:
                self.count += 1
                self.changes.append(change)

    def _learn(self, change: Change, capture_set: str) -> None:
        """Topics that are there, or not any more."""
        item = change.item
        if item.kind != "topic" or item.code or change.only_check:
            return
        topic = capture_set, item.name
        if item.did == "deleted":
            self._there.pop(topic)
        elif topic not in self._there:
            self._there.put(topic, None)
        self._asked.pop(topic)

    def _take_cluster(self, view: ExchangeView, wanted: bool) -> None:
        """Note a cluster that the broker names if its address was in another one before."""
        info = view.info
        cluster = None if info.identities is None else info.identities.named_by(info)
        if cluster is None:
            return
        place = info.capture_set, info.broker_address
        known = self._clusters.get_or(place, lambda: (cluster,))
        if cluster in known:
            return
        self._clusters.put(place, (*known, cluster)[-CLUSTERS_KEPT:])
        detail = f"from {known[-1]} to {cluster}"
        item = Item("address", info.broker_text, "became another cluster's", detail, 0)
        change = Change(
            view.evidence, None, client_of(view), info.broker_text, None, api_name(view.key) or "", item,
            False, info,
        )  # fmt: skip
        self._keep([change], info.scope, wanted)

    def _take_metadata(self, view: ExchangeView, wanted: bool) -> None:
        answer = view.response
        if answer is None:
            return
        # Up to version 3 every Metadata allows it. A request that names no topics asks for all existing ones.
        may_create = bool(view.request.topics) and sent(view.request, "allow_auto_topic_creation", True)
        for told in answer.topics or ():
            if told.name is None:
                continue
            topic, code = (view.info.scope, text_of(told.name)), told.error_code
            if not code:
                asked = self._asked.pop(topic)
                if asked is not None:
                    change = asked.created(topic[1], view.evidence.answered_ns)
                    self._there.put(topic, asked)
                    self._keep([change], topic[0], asked.wanted)
                elif topic not in self._there:
                    self._there.put(topic, None)
            elif may_create and (
                code == _UNKNOWN_TOPIC or (code == _LEADER_NOT_AVAILABLE and topic not in self._there)
            ):
                self._there.pop(topic)
                asked = self._asked.get(topic) or self._asked.put(topic, _Asked(view, wanted))
                if len(asked.requests) < REQUESTS_KEPT:
                    asked.requests.add((view.exchange.correlation_id, view.exchange.client_id))

    def _take_envelope(self, view: ExchangeView, wanted: bool) -> None:
        try:
            header, request = decode_request(bytes(view.request.request_data), size_prefixed=False)
            if header.api_key not in READERS:
                return
            answer = _inner_answer(view, header.api_key, header.api_version)
        except DecodeError:
            return
        client = _forwarded_client(view.request, header.client_id)
        held = _Forwarded(
            _changes_in(view, header.api_key, request, answer, client, _name_of(view.exchange.client_id)),
            wanted, view.info.scope, (header.correlation_id, header.client_id),
        )  # fmt: skip
        rest = [change for change in held.changes if not self._is_automatic(held, change)]
        if rest:
            key = held.capture_set, header.api_key, *held.request
            self._forwarded.put(key, held._replace(changes=rest))

    def _is_automatic(self, held: _Forwarded, change: Change) -> bool:
        """Return whether a broker creates a topic because of a Metadata: it forwards its correlation id."""
        if change.item.kind != "topic" or change.item.did != "created":
            return False
        topic = held.capture_set, change.item.name
        asked = self._asked.peek(topic)
        if asked is not None and held.request in asked.requests:
            if asked.item is None or not change.item.code:
                asked.item = change.item
            return True
        earlier = self._there.peek(topic)
        return earlier is not None and held.request in earlier.requests


_WATCHED = frozenset({*READERS, METADATA, ENVELOPE, *TELLING})


def _changes(view: ExchangeView) -> list[Change]:
    return _changes_in(view, view.key, view.request, view.response, client_of(view), None)


def _changes_in(
    view: ExchangeView, api_key: int, request: Any, answer: Any, client: Client, through: str | None
) -> list[Change]:
    evidence = view.evidence
    took_ns = max(evidence.answered_ns - evidence.sent_ns, 0) if evidence.answered_ns else None
    only_check, api = is_only_check(request), api_name(api_key) or str(api_key)
    return [
        Change(evidence, took_ns, client, view.info.broker_text, through, api, item, only_check, view.info)
        for item in items_of(api_key, request, answer)
    ]


def _inner_answer(view: ExchangeView, api_key: int, version: int) -> Any:
    """Return the answer of the controller, or None if it is unknown. Raises DecodeError."""
    data = None if view.response is None else view.response.response_data
    if data is None:
        return None
    return decode_response(bytes(data), api_key, version, size_prefixed=False).body


def _forwarded_client(envelope: Any, client_id: str | None) -> Client:
    """Return the client of the broker that forwards."""
    address = bytes(envelope.client_host_address)
    host = str(ip_address(address)) if len(address) in (4, 16) else ""
    return Client(_principal(envelope.request_principal), client_id, None, host)


def _principal(data: Any) -> str | None:
    if not data:
        return None
    found = versioned("DefaultPrincipalData", bytes(data), 0, len(data)).decode(bytes(data), len(data))
    name = sent(found.value, "name")
    return None if not name or name == "ANONYMOUS" else text_of(name)  # KafkaPrincipal.ANONYMOUS: no login


def _name_of(client_id: str | None) -> str:
    """Return the name of a broker, which uses its node id as client id."""
    return f"broker {client_id}" if client_id and client_id.isdigit() else client_id or "a broker"
