"""Racks: the places of brokers and clients, and the clients that were directed to another replica.

Racks of brokers come from Metadata, DescribeCluster, BrokerRegistration and UpdateMetadata. Racks of clients
come from their Fetches (KIP-392) and the heartbeats of newer groups. A follower's rack is that of its broker.
Producers have no known rack. While exchanges are counted, a rack, or the cluster of a broker, may not be
known yet. So they are counted by tokens of brokers and clients, which get their names at the end
(`Racks.namer`).
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any

from kdissect.decoders.generated.values import sent
from kdissect.engine.replica_ids import replica_id
from kdissect.history import api_keys as apis
from kdissect.history.exchange_view import ExchangeView
from kdissect.history.state_table import Table
from kdissect.session.identities import capture_set_of, cluster_of
from kdissect.session.info import ConnectionInfo, KnownIdentities
from kdissect.stats.client import advertised, is_follower, text_of
from kdissect.stats.watermarks import topic_of

Facts = dict[str, Any]
Token = str

BROKERS_KEPT = 10_000
CLIENTS_KEPT = 20_000  # 300 bytes each
ANSWERS_KEPT = 1024  # numbers
TOLD_KEPT = 50_000  # partitions whose clients were directed elsewhere, and have not read there yet
ROWS_KEPT = 10_000
CLIENT_RACK, BROKER_RACK, CLUSTER = "client_rack", "broker_rack", "cluster"
RACKS = frozenset((CLIENT_RACK, BROKER_RACK, CLUSTER))
"""Key of counts."""
SEVERAL = "(several)"
"""For a client with more than one rack: more than one process uses its address and client id."""

_SEPARATOR = "\0"
_BEATS = frozenset({apis.CONSUMER_GROUP_HEARTBEAT, apis.SHARE_GROUP_HEARTBEAT, apis.STREAMS_GROUP_HEARTBEAT})
_TELL_BROKERS = frozenset(
    {apis.METADATA, apis.DESCRIBE_CLUSTER, apis.BROKER_REGISTRATION, apis.UPDATE_METADATA}
)


def broker_token(info: ConnectionInfo) -> Token:
    """Return the token for the rack of a connection's broker."""
    return _SEPARATOR.join((info.scope, info.broker_address, info.broker_text))


def client_token(view: ExchangeView) -> Token | None:
    """Return the token for the rack of an exchange's client, or None for a client without a client id."""
    info, client_id = view.info, view.exchange.client_id
    if client_id is None:
        return None
    return _SEPARATOR.join((info.scope, info.client.host, client_id))


def cluster_token(info: ConnectionInfo) -> Token:
    """Return the token for the cluster of a connection: its id, or a broker if the connection has no id
    yet.
    """
    cluster = cluster_of(info)
    if cluster is not None:
        return cluster
    return _SEPARATOR.join((info.capture_set, info.broker_address, info.broker_text))


class Racks:
    """Racks from every exchange, in the order in which the analyzer reports them."""

    api_keys = _TELL_BROKERS | _BEATS | {apis.FETCH, apis.API_VERSIONS}

    def __init__(self) -> None:
        self._of_address: Table[tuple[str, str], str | None] = Table(BROKERS_KEPT)
        self._of_node: Table[tuple[str, int], tuple[str, str | None]] = Table(BROKERS_KEPT)
        """Address and rack."""
        self._of_client: Table[Token, tuple[str, ...]] = Table(CLIENTS_KEPT)
        self._followers: Table[Token, tuple[str, int]] = Table(CLIENTS_KEPT)
        self._identities: KnownIdentities | None = None
        self._changes = 0
        self._told: Table[int, int] = Table(ANSWERS_KEPT)
        """Messages about brokers, by a number for their bytes, with the number of changes by then."""
        self._due: Table[tuple[Token, str | bytes, int], tuple[str, list[int]]] = Table(TOLD_KEPT)
        """By client and partition: the broker that directed it elsewhere, and the counts for that."""
        self._counts: Table[tuple[Token, str, int], list[int]] = Table(ROWS_KEPT)
        """The numbers of times that it was directed elsewhere, went there, and asked the same broker
        again.
        """

    def learn(self, view: ExchangeView) -> None:
        """Take the next exchange."""
        self._identities = view.info.identities or self._identities
        if view.key == apis.FETCH:
            self._fetch(view)
        elif view.key in _BEATS:
            self._learn_client(view, sent(view.request, "rack_id", None))
        elif view.key in _TELL_BROKERS:
            self._learn_brokers(view)

    def _learn_brokers(self, view: ExchangeView) -> None:
        is_request = view.key in (apis.BROKER_REGISTRATION, apis.UPDATE_METADATA)
        exchange, capture_set = view.exchange, view.info.scope
        frame = exchange.request if is_request else exchange.response
        if frame is None:
            return
        # clients ask again and receive equal answers
        start = 0 if is_request else exchange.response_body_offset
        told = hash((capture_set, view.key, view.version, frame.data[start:]))
        body = view.request if is_request else view.response
        if self._told.peek(told) == self._changes or body is None:
            return
        for node, places, rack in _brokers_in(view.key, body):
            for address in places:
                self._changes += self._of_address.peek((capture_set, address)) != rack
                self._of_address.put((capture_set, address), rack)
            if places:
                self._changes += self._of_node.peek((capture_set, node)) != (places[0], rack)
                self._of_node.put((capture_set, node), (places[0], rack))
        self._told.put(told, self._changes)

    def _learn_client(self, view: ExchangeView, rack: Any) -> None:
        token = client_token(view)
        if token is None or not rack:
            return
        known = self._of_client.get(token) or ()
        if (name := text_of(rack)) not in known and len(known) < 2:
            self._of_client.put(token, (*known, name))

    def _fetch(self, view: ExchangeView) -> None:
        token = client_token(view)
        request = view.request
        if token is None or request is None:
            return
        if is_follower(view):
            self._followers.put(token, (view.info.scope, replica_id(request)))
            return
        self._learn_client(view, sent(request, "rack_id", None))
        broker = view.info.broker_address
        for topic, partition, _ in _partitions(request.topics, "partition"):
            self._asked(token, broker, topic, partition)
        for topic, partition, row in _partitions(sent(view.response, "responses", None), "partition_index"):
            node = sent(row, "preferred_read_replica", -1)
            if node >= 0:
                self._asked(token, broker, topic, partition)  # it was directed before, and asks here again
                counts = self._counts.get_or((token, broker, node), lambda: [0, 0, 0])
                counts[0] += 1
                self._due.put((token, topic, partition), (broker, counts))

    def _asked(self, token: Token, broker: str, topic: str | bytes, partition: int) -> None:
        """Take a client's request to a broker for a partition."""
        if not self._due:
            return
        due = self._due.pop((token, topic, partition))
        if due is not None:
            teller, counts = due
            counts[2 if broker == teller else 1] += 1

    def nodes_at(self, capture_set: str, address: str) -> list[tuple[str, int]]:
        """Return scope and id of a capture set's nodes with this address, as brokers name it."""
        return [
            (scope, node)
            for (scope, node), (known, _) in self._of_node.items()
            if known == address and capture_set_of(scope) == capture_set
        ]

    def namer(self, by: Sequence[str]) -> Callable[[tuple[str | None, ...]], tuple[str | None, ...]]:
        """Return a function that replaces tokens in a key by racks, by these dimensions, None if a rack is
        not known.
        """
        of = {CLIENT_RACK: self._client_rack, BROKER_RACK: self._broker_rack, CLUSTER: self._cluster}
        names = [of.get(name) for name in by]

        def named(key: tuple[str | None, ...]) -> tuple[str | None, ...]:
            return tuple(
                value if name is None or value is None else name(value)
                for name, value in zip(names, key, strict=True)
            )

        return named

    def _client_rack(self, token: Token) -> str | None:
        follower = self._followers.peek(token)
        if follower is not None:
            return (self._of_node.peek(follower) or ("", None))[1]
        told = self._of_client.peek(token) or (None,)
        return told[0] if len(told) == 1 else SEVERAL

    def _broker_rack(self, token: Token) -> str | None:
        capture_set, address, text = token.split(_SEPARATOR, 2)
        return self._of_address.peek((capture_set, address)) or self._of_address.peek((capture_set, text))

    def _cluster(self, token: Token) -> str | None:
        if _SEPARATOR not in token:
            return token
        return None if self._identities is None else self._identities.cluster_at(*token.split(_SEPARATOR))

    def facts(self, keys: Collection[tuple[str | None, ...]], by: Sequence[str]) -> Facts:
        """Return the known racks, and the clients and brokers in some keys without a known rack."""
        return {
            "brokers": [
                {"node": node, "broker": address, "rack": rack}
                for (_, node), (address, rack) in sorted(self._of_node.items())
            ],
            "without_rack": {
                CLIENT_RACK: sorted(set(self._unknown(keys, by, CLIENT_RACK, self._client_rack, 2))),
                BROKER_RACK: sorted(set(self._unknown(keys, by, BROKER_RACK, self._broker_rack, 1))),
            },
            "told_elsewhere": [self._row(key, counts) for key, counts in self._counts.items()],
        }

    @staticmethod
    def _unknown(
        keys: Collection[tuple[str | None, ...]], by: Sequence[str], name: str,
        rack_of: Callable[[Token], str | None], part: int,
    ) -> Iterator[str]:  # fmt: skip
        if name in by:
            at = list(by).index(name)
            for key in keys:
                token = key[at]
                if token is None:
                    yield "(no client id)"
                elif rack_of(token) is None:
                    yield token.split(_SEPARATOR, 2)[part]

    def _row(self, key: tuple[Token, str, int], counts: list[int]) -> Facts:
        token, broker, node = key
        capture_set, host, client_id = token.split(_SEPARATOR, 2)
        address, rack = self._of_node.peek((capture_set, node)) or (None, None)
        told, followed, ignored = counts
        return {
            "client_id": client_id,
            "address": host,
            "rack": self._client_rack(token),
            "broker": broker,
            "broker_rack": self._of_address.peek((capture_set, broker)),
            "replica": node,
            "replica_address": address,
            "replica_rack": rack,
            "told": told,
            "followed": followed,
            "ignored": ignored,
        }


def _brokers_in(api_key: int, body: Any) -> Iterator[tuple[int, list[str], str | None]]:
    """Node ids, addresses and racks of brokers."""
    if api_key == apis.BROKER_REGISTRATION:
        yield body.broker_id, _addresses(body.listeners), _rack(body)
    elif api_key == apis.UPDATE_METADATA:
        for row in body.live_brokers or ():
            yield row.id, _addresses(sent(row, "endpoints", None)), _rack(row)
    else:
        for row in body.brokers or ():
            node = row.node_id if api_key == apis.METADATA else row.broker_id
            yield node, _addresses((row,)), _rack(row)


def _addresses(endpoints: Any) -> list[str]:
    return [advertised(row) for row in endpoints or ()]


def _rack(row: Any) -> str | None:
    rack = sent(row, "rack", None)
    return None if rack is None else text_of(rack)


def _partitions(topics: Any, number: str) -> Iterator[tuple[str | bytes, int, Any]]:
    for topic in topics or ():
        name = topic_of(topic)
        for row in topic.partitions or ():
            yield name, getattr(row, number), row
