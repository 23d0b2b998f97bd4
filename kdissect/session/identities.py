"""The cluster of a connection, and the topic of a name.

Names of groups, topics and transactional ids, node ids and producer ids are unique in one cluster alone. The
name of a topic is unique in a cluster at one time: a topic that is deleted and created again has another id
(KIP-516). States that are stored by such names have `scope` and `topic` in their keys.

Rules:
- A broker names its cluster in Metadata (from version 2 on) and DescribeCluster. A request of ApiVersions
  (from version 5 on) names the cluster that the client expects. A response without an error confirms it, and
  REBOOTSTRAP_REQUIRED denies the advertisement of another broker: the broker is in another cluster, or
  another node.
- A connection that names two clusters, one after the other, leads to the later one from then on (MET015 is
  the finding): a proxy connects it to another broker, and a response is of the broker that sent it.
- A connection that names no cluster leads to the one that its address named last before the connection
  began. If the address named none by then, it leads to the one that it named first.
- A Metadata response without a cluster (before version 2) lists the brokers of the sender's cluster: if the
  cluster of one is known, all are in it. A controller lists them in UpdateMetadata requests, with all
  listeners.
- Addresses that such responses list together, and those of their senders, are a group of brokers. Two groups
  may be two clusters, or two listeners of one cluster, which have the same node ids at other addresses: the
  wire does not show it. Each group has a scope of its own until a response lists brokers of both, or names a
  cluster that both have. A scope then lacks what other brokers did, as if that had not been captured, which
  proves nothing false; states of two clusters in one scope would.
- A response without a cluster replaces the group of its sender if addresses of that group have other node
  ids in it, and none of the ids that these addresses had. The addresses that it lists are then a later group,
  for connections that begin no earlier than the sender's. It replaces a named cluster in the same way, by the
  node ids that responses with the cluster's id listed. Two clusters, one after the other at one address, with
  the same node id, look like one cluster if the later one has no name.
- An address without a captured response is in the cluster of the Metadata that advertises it.
- The first cluster or group of a capture set, and connections to addresses of neither, have the scope of the
  capture set itself. The first topic of a name has the name itself.
- Facts are learned from exchanges in the order of events, where exchanges are completed: in the
  conversation, in the native engine and in the replay of forwarded events. A block of exchanges ends before
  the next exchange with news, so that no reader of the block knows them too early.
- Copies of connections (`ConnectionInfo.same_as`) add no facts: other stages do not have them.
"""

from __future__ import annotations

import sys
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from kdissect.decoders.generated.summary import NO_TOPIC_ID
from kdissect.decoders.generated.values import sent
from kdissect.model.errors import DecodeError
from kdissect.model.limits import in_force
from kdissect.model.packets.segment import address_text

if TYPE_CHECKING:
    from kdissect.session.exchange import Exchange
    from kdissect.session.info import ConnectionInfo

METADATA, UPDATE_METADATA, API_VERSIONS, CREATE_TOPICS = 3, 6, 18, 19
DESCRIBE_CLUSTER, DESCRIBE_TOPIC_PARTITIONS = 60, 75
TELLING = frozenset(
    {METADATA, UPDATE_METADATA, API_VERSIONS, CREATE_TOPICS, DESCRIBE_CLUSTER, DESCRIBE_TOPIC_PARTITIONS}
)
"""APIs whose exchanges name a cluster or its brokers, or give the id of a topic (`is_telling` knows their
versions).
"""
# Addresses whose cluster is known, and clusters of a capture set.
MAX_BROKERS = 10_000
MAX_CLUSTERS = 1_000
# Numbers of bodies that were read: clients ask again and again and get equal answers.
MAX_BODIES = 4096
# Topics of one name that are distinguished. A later topic is not distinguished from the last of them.
MAX_TOPICS_OF_NAME = 100
# Clusters that advertise one address. The table has the latest clusters.
MAX_ADVERTISERS = 10
# Times at which an address became another cluster's. The table has the latest moves.
MAX_MOVES = 100
_EXPECTED_FROM = 5  # the first version of ApiVersions that names a cluster (ApiVersionsRequest.json)
_REBOOTSTRAP_REQUIRED = 129  # org.apache.kafka.common.protocol.Errors: another cluster or node

SEPARATOR = "\x1f"
"""Between a name and the id by which `scope` and `topic` distinguish it."""

_ID_DIGITS = 32  # of a topic id, 16 bytes
_IS_HEX = frozenset("0123456789abcdef")

_NOT_READ = -1, None

_Place = tuple[str, str]
"""Capture set and address of a broker."""
_Named = tuple[int, str]
"""Time at which an address named a cluster, in nanoseconds, and the cluster."""
_Grouped = tuple[int, str, int | None]
"""Start of the connection that placed an address in a group, the group, and the address's node id there, if
a response listed it.
"""
_TopicKey = tuple[str, str]
"""Scope and name of a topic."""


class Identities:
    """The clusters and topics of one analysis. Picklable. Its methods raise no exception."""

    def __init__(self) -> None:
        self._own: dict[_Place, tuple[_Named, ...]] = {}
        self._advertised: dict[_Place, str] = {}
        self._advertisers: dict[_Place, tuple[str, ...]] = {}
        """The clusters that ever advertised an address that more than one of them did."""
        self._moved: set[_Place] = set()
        """Addresses that were in several clusters, one after the other."""
        self._denied: set[tuple[_Place, str]] = set()
        """Brokers that said that they are not in a cluster, or another node of it."""
        self._node_ids: dict[_Place, tuple[str, tuple[int, ...]]] = {}
        """The cluster that advertised an address last, and the node ids that the address had in it."""
        self._together: dict[_Place, tuple[_Grouped, ...]] = {}
        """The groups of brokers that an address belonged to, one after the other, if no response named a
        cluster.
        """
        self._turned_out: dict[tuple[str, str], str] = {}
        """By capture set: the cluster, or the earlier group, that a group of brokers belongs to."""
        self._clusters: dict[str, dict[str, str]] = {}
        """Clusters and groups by capture set, in the order in which they were met, and what distinguishes
        their scopes: nothing for the first one.
        """
        self.several: set[str] = set()
        """Capture sets with more than one cluster or group."""
        self._known: set[str] = set()
        """The clusters of all capture sets."""
        self.by_capture_set = False
        """True if rows are of one capture set each, as rows of tables are: other sets do not matter then."""
        self._topics: dict[_TopicKey, tuple[bytes, ...]] = {}
        """The ids of a name, in the order in which they were met."""
        self._names: dict[tuple[str, bytes], str] = {}
        """The name of an id, by scope."""
        self._most_topics = in_force().topic_names
        self._renewed: set[_TopicKey] = set()
        """Names that more than one topic had."""
        self._bodies: dict[int, tuple[int | None, str | None]] = {}
        """By the number of an exchange that was read: `changes` then if its brokers were in no known cluster,
        else None, and the cluster that it names.
        """
        self.changes = 0
        """The number of new facts on which `scope` or `topic` may depend."""
        self.moves = 0
        """The number of times that an address became another cluster's. Its earlier traffic is then read
        again.
        """

    def learn(self, exchange: Exchange) -> None:
        """Take the next exchange."""
        key, version = exchange.api_key, exchange.api_version
        request, response = exchange.request, exchange.response
        if key is None or version is None or response is None:
            return
        if is_telling(key, version):
            asked = b"" if request is None else request.data[exchange.request_body_offset :]
            answered = response.data[exchange.response_body_offset :]
            number = self.number_of_news(exchange.connection, key, version, asked, answered)
            if number is not None:
                self.read(exchange, number)

    def number_of_news(
        self, info: ConnectionInfo, key: int, version: int, asked: bytes, answered: bytes
    ) -> int | None:
        """Return the number of an exchange that must be read; None if it repeats known facts."""
        is_copy = info.same_as is not None
        number = hash((info.capture_set, info.broker_address, is_copy, key, version, asked, answered))
        changes, cluster = self._bodies.get(number, _NOT_READ)
        if changes is not None and changes != self.changes:
            return number
        if cluster is not None:
            info.named_cluster = cluster  # a caller may use `cluster_of` for exchanges before this one
        return None

    def read(self, exchange: Exchange, number: int) -> None:
        """Take an exchange that has to be read."""
        info, key = exchange.connection, exchange.api_key
        is_decoded = exchange.bodies_cache is not None
        settled, cluster = True, None
        if key == API_VERSIONS:
            cluster = self._learn_expected(exchange)
        elif key == UPDATE_METADATA:
            settled = self._learn_update(exchange)
        elif not _only_validates(exchange):
            answer = _body(exchange)
            cluster = sent(answer, "cluster_id", None) or None
            if cluster is not None:
                cluster = self._note_own(info, str(cluster), _answered_ns(exchange))
            if info.same_as is None:
                settled = self._learn_body(info, answer, cluster, is_metadata=key == METADATA)
        if not is_decoded:
            exchange.forget_bodies()
        if len(self._bodies) >= MAX_BODIES:
            self._bodies.clear()
        self._bodies[number] = None if settled else self.changes, cluster

    def _learn_body(
        self, info: ConnectionInfo, answer: Any, cluster: str | None, *, is_metadata: bool
    ) -> bool:
        """Take brokers and topics of a response.

        Return False if it may contribute more once other facts are known.
        """
        settled = True
        if cluster is not None:
            for place, node_id in _listed(info, answer).items():
                self._note_advertised(place, cluster)
                self._note_node_id(place, cluster, node_id)
        elif is_metadata:
            settled = self._learn_neighbours(info, _listed(info, answer))
        self._learn_topics(info, answer)
        return settled

    def _learn_topics(self, info: ConnectionInfo, answer: Any) -> None:
        for row in sent(answer, "topics", None) or ():
            name, topic_id = sent(row, "name", None), sent(row, "topic_id", None)
            if name is not None and topic_id and topic_id != NO_TOPIC_ID:
                self._note_topic((self.scope(info), str(name)), bytes(topic_id))

    def _learn_update(self, exchange: Exchange) -> bool:
        """Take the brokers of an UpdateMetadata request, whose receiver is in their cluster."""
        info = exchange.connection
        if info.same_as is not None:
            return True
        try:
            brokers = sent(exchange.request_body(), "live_brokers", None) or ()
        except DecodeError:
            return True
        return self._learn_neighbours(info, {place: one.id for one in brokers for place in _ends(info, one)})

    def _learn_neighbours(self, info: ConnectionInfo, listed: dict[_Place, int]) -> bool:
        """Learn from a body that names no cluster: the brokers in it and the broker of the connection are in
        one cluster.

        Returns whether no more can be learned from it.
        """
        own = self.cluster_of(info)
        places = list(listed)
        if own is not None and self._is_followed(own, listed):
            own = self._begin_nameless(info, listed)
        clusters = {self.cluster_at(*place) for place in places} - {None}
        if own is None and (len(clusters) > 1 or any(place in self._advertisers for place in places)):
            return False
        places.append((info.capture_set, info.broker_address))
        cluster = own or next(iter(clusters), None)
        if cluster is None:
            if listed:
                self._join(info, places, listed)
            return False
        for place in places:
            if self.cluster_at(*place) is None:
                self._note_advertised(place, cluster)
            if place in listed:
                self._note_node_id(place, cluster, listed[place])
        return True

    def _note_node_id(self, place: _Place, cluster: str, node_id: int) -> None:
        known, ids = self._node_ids.get(place, (cluster, ()))
        ids = ids if known == cluster else ()
        if node_id not in ids and (place in self._node_ids or len(self._node_ids) < MAX_BROKERS):
            self._node_ids[place] = cluster, (*ids, node_id)[-MAX_MOVES:]

    def _is_followed(self, cluster: str, listed: dict[_Place, int]) -> bool:
        """Return whether addresses of a cluster have other node ids in a response that names none, all of
        them new there.
        """
        known = [self._node_ids[place] for place in listed if place in self._node_ids]
        found = {node_id for named, ids in known for node_id in ids if named == cluster}
        return bool(found) and found.isdisjoint(listed.values())

    def _begin_nameless(self, info: ConnectionInfo, listed: dict[_Place, int]) -> str:
        """Note that a cluster without an id has taken the addresses of another one, and return its name."""
        sender = info.capture_set, info.broker_address
        cluster = f"unknown ({sender[1]}, {len(self._own.get(sender, ())) + 1})"
        for place in {*listed, sender}:
            before = self._advertised.get(place)
            if place not in self._own and before is not None:
                self._note_named(place, before, 0)
            if place in self._own:
                self._note_named(place, cluster, info.start_ns)
        info.cluster_id = cluster
        return cluster

    def _join(self, info: ConnectionInfo, places: list[_Place], listed: dict[_Place, int]) -> None:
        """Take addresses of brokers that are in one cluster, which is unknown, with their node ids."""
        capture_set, start_ns = info.capture_set, info.start_ns
        met = self._clusters.setdefault(capture_set, {})
        own = self._group_at(places[-1], start_ns)
        is_replaced = own is not None and self._is_replaced(own, listed)
        if is_replaced:
            groups = {self._earlier_group(places[-1], listed)} - {None}
        else:
            groups = {self._group_at(place, start_ns) for place in places} - {None}
        group = next((one for one in met if one in groups), None)
        if group is None:
            group = self._name_of_group(places[-1])
            if group in met or len(met) >= MAX_CLUSTERS:
                return
            self._meet(capture_set, group)
        for other in groups:
            if other is not None and other != group:
                self._turned_out[capture_set, other] = group
                self.changes += 1
        for place in places:
            before = self._together.get(place, ())
            node_id = listed.get(place)
            if not before or (is_replaced and self._turned_out_as(capture_set, before[-1][1]) != group):
                if before or len(self._together) < MAX_BROKERS:
                    self._together[place] = (*before, (start_ns, group, node_id))[-MAX_MOVES:]
                    self.changes += 1
            elif node_id is not None and start_ns >= before[-1][0]:
                self._together[place] = (*before[:-1], (*before[-1][:2], node_id))

    def _is_replaced(self, group: str, listed: dict[_Place, int]) -> bool:
        """Return whether addresses of a group have other node ids in a response, all of them new there.

        Brokers that exchange their addresses, as pods do that restart, are still one cluster.
        """
        found = {
            was
            for place in listed
            for _, name, was in self._together.get(place, ())
            if was is not None and self._turned_out_as(place[0], name) == group
        }
        return bool(found) and found.isdisjoint(listed.values())

    def _earlier_group(self, sender: _Place, listed: dict[_Place, int]) -> str | None:
        """Return the last group of a sender in which a listed address had its node id; None for no such
        group.
        """
        for _, name, _ in reversed(self._together.get(sender, ())):
            group = self._turned_out_as(sender[0], name)
            if any(
                was == node_id and self._turned_out_as(place[0], one) == group
                for place, node_id in listed.items()
                for _, one, was in self._together.get(place, ())
            ):
                return group
        return None

    def _name_of_group(self, sender: _Place) -> str:
        number = len(self._together.get(sender, ())) + 1
        return f"unknown ({sender[1]})" if number == 1 else f"unknown ({sender[1]}, {number})"

    def _meet(self, capture_set: str, cluster: str, *, group: str | None = None) -> None:
        """Take a new cluster or group of a capture set. A cluster that `group` belongs to has its scope."""
        met = self._clusters[capture_set]
        met[cluster] = (cluster if met else "") if group is None else met[group]
        if group is None and len(met) > 1:
            self.several.add(capture_set)
        self.changes += 1

    def _group_at(self, place: _Place, time_ns: int | None = None) -> str | None:
        """Return the group of brokers, or the cluster that it turned out to be, of an address: the last one,
        or the one that a connection that began at a time leads to.
        """
        groups = self._together.get(place)
        if groups is None:
            return None
        before = [] if time_ns is None else [name for at_ns, name, _ in groups if at_ns <= time_ns]
        group = before[-1] if before else groups[-1 if time_ns is None else 0][1]
        return self._turned_out_as(place[0], group)

    def _turned_out_as(self, capture_set: str, group: str) -> str:
        while (found := self._turned_out.get((capture_set, group))) is not None:
            group = found
        return group

    def _name_group(self, place: _Place, cluster: str) -> None:
        """Take the cluster of an address, which a group of brokers may have."""
        capture_set, group = place[0], self._group_at(place)
        if group is None or group in self._known:
            return
        # A broker may name a cluster as a group is named here: no name leads to itself.
        if self._turned_out_as(capture_set, cluster) == group:
            return
        if cluster not in self._clusters[capture_set] and len(self._clusters[capture_set]) < MAX_CLUSTERS:
            self._meet(capture_set, cluster, group=group)
        self._turned_out[capture_set, group] = cluster
        self.changes += 1

    def _learn_expected(self, exchange: Exchange) -> str | None:
        """Return the cluster that a client expects, if the broker confirms it."""
        try:
            cluster = sent(exchange.request_body(), "cluster_id", None)
        except DecodeError:
            return None
        if not cluster:
            return None
        info, answer = exchange.connection, exchange.response_summary()
        if answer.fits and not answer.errors:
            return self._note_own(info, str(cluster), _answered_ns(exchange))
        if info.same_as is not None:
            return None
        if _REBOOTSTRAP_REQUIRED in answer.errors and len(self._denied) < MAX_BROKERS:
            self._denied.add(((info.capture_set, info.broker_address), str(cluster)))
            info.cluster_id = None if info.cluster_id == cluster else info.cluster_id
            self.changes += 1
        return None

    def _note_own(self, info: ConnectionInfo, cluster: str, time_ns: int) -> str:
        """Note that a broker names its cluster, and return its id."""
        cluster = sys.intern(cluster)  # connections have it
        info.named_cluster = cluster
        if info.same_as is not None:
            info.cluster_id = cluster
            return cluster
        place = info.capture_set, info.broker_address
        self._name_group(place, cluster)
        self._note_named(place, cluster, time_ns)
        if cluster in self._clusters[info.capture_set]:
            self._known.add(cluster)
        info.cluster_id = cluster
        return cluster

    def _note_named(self, place: _Place, cluster: str, time_ns: int) -> None:
        """Note that an address is in a cluster from a time on."""
        clusters = self._clusters.setdefault(place[0], {})
        if cluster not in clusters and len(clusters) < MAX_CLUSTERS:
            self._meet(place[0], cluster)
        before = self._own.get(place, ())
        if before and before[-1][1] == cluster:
            return
        if before:
            self.moves += 1
            self._bodies.clear()
            if len(self._moved) < MAX_BROKERS:
                self._moved.add(place)
        if before or len(self._own) < MAX_BROKERS:
            self._own[place] = (*before, (time_ns, cluster))[-MAX_MOVES:]
            self.changes += 1

    def _note_advertised(self, place: _Place, cluster: str) -> None:
        before = self._advertised.get(place)
        if before == cluster:
            return
        self._name_group(place, cluster)
        if before is not None:
            self._advertisers[place] = tuple(
                dict.fromkeys((*self._advertisers.get(place, ()), before, cluster))
            )[-MAX_ADVERTISERS:]
        if before is not None or len(self._advertised) < MAX_BROKERS:
            self._advertised[place] = cluster
            self.changes += 1

    def _note_topic(self, key: _TopicKey, topic_id: bytes) -> int:
        """Return the number of a topic among the topics of its name, or the last one if the table is full."""
        known = self._topics.get(key, ())
        if topic_id in known:
            return known.index(topic_id)
        if len(known) >= MAX_TOPICS_OF_NAME or (not known and len(self._topics) >= self._most_topics):
            return max(len(known) - 1, 0)
        self._topics[key] = (*known, topic_id)
        self._names[key[0], topic_id] = key[1]
        if known:
            self._renewed.add(key)
            self.changes += 1
        return len(known)

    def cluster_of(self, info: ConnectionInfo) -> str | None:
        """Return the id of the cluster that a connection leads to, or None if it is unknown."""
        if info.cluster_id is None:  # cached: an address may become another cluster's
            addresses = info.broker_address, info.broker_text
            info.cluster_id = self._cluster_at(info.capture_set, addresses, info.start_ns)
        return info.cluster_id

    def named_by(self, info: ConnectionInfo) -> str | None:
        """Return the cluster that the broker at the end of a connection named last, or None if it named
        none.
        """
        named = self._own.get((info.capture_set, info.broker_address))
        return None if named is None else named[-1][1]

    def moved_after(self, capture_set: str, address: str, time_ns: int) -> tuple[str, str] | None:
        """Return the cluster that an address named last by a time, and another one that it named next.

        None if it named the same cluster, or none before or after that.
        """
        named = self._own.get((capture_set, address), ())
        for (before_ns, before), (after_ns, after) in pairwise(named):
            if before_ns <= time_ns < after_ns:
                return before, after
        return None

    def cluster_at(self, capture_set: str, *addresses: str) -> str | None:
        """Return the cluster that a broker belongs to now, by its address or its name with the port."""
        return self._cluster_at(capture_set, addresses, None)

    def _cluster_at(self, capture_set: str, addresses: tuple[str, ...], time_ns: int | None) -> str | None:
        for address in addresses:
            named = self._own.get((capture_set, address))
            if named is not None:
                return named[-1][1] if len(named) == 1 or time_ns is None else _named_by(named, time_ns)
        for address in addresses:
            place = capture_set, address
            cluster = self._advertised.get(place)
            if cluster is not None and (place, cluster) not in self._denied:
                return cluster
        return None

    def advertised_by_other(self, info: ConnectionInfo) -> str | None:
        """Return a cluster that advertises the address of a connection to another cluster's broker.

        None for an address that was in several clusters: the earlier advertisement may have been true.
        """
        own_place = info.capture_set, info.broker_address
        named = self._own.get(own_place)
        if named is None or own_place in self._moved:
            return None
        own = named[-1][1]
        for address in (info.broker_address, info.broker_text):
            place = info.capture_set, address
            named_by = self._advertisers.get(place) or (self._advertised.get(place, own),)
            for cluster in named_by:
                if cluster != own:
                    return cluster
        return None

    def scope(self, info: ConnectionInfo) -> str:
        """Return the scope in which names are unique: the capture set, with a cluster if that is not its
        first.
        """
        if info.capture_set not in self.several:
            return info.capture_set
        cluster = self._cluster_or_group(info)
        suffix = None if cluster is None else self._clusters[info.capture_set].get(cluster, cluster)
        return f"{info.capture_set}{SEPARATOR}{suffix}" if suffix else info.capture_set

    def _cluster_or_group(self, info: ConnectionInfo) -> str | None:
        cluster = self.cluster_of(info)
        if cluster is not None:
            return cluster
        return self._group_at((info.capture_set, info.broker_address), info.start_ns)

    def topic(self, info: ConnectionInfo, name: str, topic_id: bytes | None = None) -> str:
        """Return the name of a topic, with its id if it is not the first topic of the name.

        Without an id: the topic that has the name now.
        """
        key = self.scope(info), name
        if topic_id is None:
            known = self._topics[key] if key in self._renewed else ()
            number = len(known) - 1
        else:
            number = self._note_topic(key, topic_id)
            known = self._topics.get(key, ())
        return name if number < 1 else later_topic(name, known[number])

    def other_name(self, info: ConnectionInfo, topic: str | bytes) -> str | bytes | None:
        """Return the id of a topic by its name, or the name by its id.

        None if it is unknown, or if several topics had the name.
        """
        scope = self.scope(info)
        name = self._names.get((scope, topic)) if isinstance(topic, bytes) else topic
        known = () if name is None else self._topics.get((scope, name), ())
        if len(known) != 1:
            return None
        return name if isinstance(topic, bytes) else known[0]

    def is_former(self, scope: str, topic: str) -> bool:
        """Return whether another topic has the name of a topic, which `topic` returned, by now."""
        key = scope, plain_name(topic)
        return key in self._renewed and topic != later_topic(key[1], self._topics[key][-1])

    def is_created_again(self, scope: str, name: str | None) -> bool:
        """Return whether a cluster gave a name to several ids: the topic was created again."""
        return (scope, name) in self._renewed

    def one_of_several(self, info: ConnectionInfo) -> str | None:
        """Return the cluster of a connection, or None if it is unknown, or if no other cluster was
        captured.

        The text for a group of brokers without a known cluster begins with `unknown`.
        """
        if not self._are_several(info.capture_set):
            return None
        return self._cluster_or_group(info) if info.capture_set in self.several else self.cluster_of(info)

    def _are_several(self, capture_set: str) -> bool:
        """Return whether rows name their cluster."""
        if capture_set in self.several:
            return True
        return not self.by_capture_set and (len(self._known) > 1 or bool(self.several))

    def apart(self, scope: str) -> str:
        """Return the cluster of a scope, which capture sets may have in common.

        Empty if it is unknown, or if no other cluster was captured.
        """
        capture_set, _, cluster = scope.partition(SEPARATOR)
        if not self._are_several(capture_set):
            return ""
        met = self._clusters.get(capture_set, {})
        cluster = self._turned_out_as(capture_set, cluster or next(iter(met), ""))
        return cluster if cluster in self._known or capture_set in self.several else ""


def _named_by(named: tuple[_Named, ...], time_ns: int) -> str:
    """Return the cluster that an address named last until then, or first of all."""
    before = [cluster for at_ns, cluster in named if at_ns <= time_ns]
    return before[-1] if before else named[0][1]


def _place_of(info: ConnectionInfo, row: Any) -> _Place:
    """Return the address of a broker in a response, in the form that addresses of connections have."""
    return info.capture_set, address_text(str(row.host), row.port)


def _listed(info: ConnectionInfo, answer: Any) -> dict[_Place, int]:
    """Return the node ids of the brokers in a response, by address."""
    return {_place_of(info, row): _node_id(row) for row in sent(answer, "brokers", None) or ()}


def _ends(info: ConnectionInfo, broker: Any) -> list[_Place]:
    """Return the addresses of a broker in an UpdateMetadata request."""
    ends = [(one.host, one.port) for one in sent(broker, "endpoints", None) or ()]
    ends += [(host, broker.v0_port) for host in [sent(broker, "v0_host", None)] if host]
    return [(info.capture_set, address_text(str(host), port)) for host, port in ends]


def _node_id(row: Any) -> int:
    """Return the node id of a broker in a response of Metadata or DescribeCluster."""
    return int(row.broker_id if hasattr(row, "broker_id") else row.node_id)


def _answered_ns(exchange: Exchange) -> int:
    return 0 if exchange.response is None else exchange.response.time_ns


def _only_validates(exchange: Exchange) -> bool:
    """Return whether an exchange is a CreateTopics that only validates, as far as its request shows.

    Brokers name an id for each topic then, too, which no topic ever has (seen of Apache Kafka 4.4.0).
    """
    if exchange.api_key != CREATE_TOPICS:
        return False
    try:
        return bool(sent(exchange.request_body(), "validate_only", True))
    except DecodeError:
        return True


def capture_set_of(scope: str) -> str:
    """Return the capture set of a scope."""
    return scope.partition(SEPARATOR)[0]


def is_telling(api_key: int, api_version: int) -> bool:
    """Return True if exchanges of an API in a version name a cluster or give the id of a topic."""
    return api_key in TELLING and (api_key != API_VERSIONS or api_version >= _EXPECTED_FROM)


def learn_identities(exchange: Exchange) -> None:
    """Have the identities of an exchange's analysis learn from it. For who completes exchanges."""
    # Hot, once an exchange.
    if exchange.api_key in TELLING:
        identities = exchange.connection.identities
        if identities is not None:
            identities.learn(exchange)


def number_of_news(info: ConnectionInfo, key: int, version: int, asked: bytes, answered: bytes) -> int | None:
    """`Identities.number_of_news` for the native engine."""
    identities = info.identities
    return None if identities is None else identities.number_of_news(info, key, version, asked, answered)


def read_news(exchange: Exchange, number: int) -> None:
    """`Identities.read` for the native engine."""
    if exchange.connection.identities is not None:
        exchange.connection.identities.read(exchange, number)


def cluster_of(info: ConnectionInfo) -> str | None:
    """Return the id of the cluster that a connection leads to, or None if it is unknown."""
    return None if info.identities is None else info.identities.cluster_of(info)


def one_of_several(info: ConnectionInfo) -> str | None:
    """Return the cluster of a connection, or None if it is unknown, or if no other cluster was captured."""
    return None if info.identities is None else info.identities.one_of_several(info)


def cluster_fact(info: ConnectionInfo | None) -> dict[str, str]:
    """Return the field `cluster` of a row about a connection, or no field if one cluster was captured."""
    cluster = None if info is None else one_of_several(info)
    return {} if cluster is None else {"cluster": cluster}


def topic_now(info: ConnectionInfo, topic: str) -> str:
    """Return the topic that has this name now, as `Identities.topic` returns it."""
    return topic if info.identities is None else info.identities.topic(info, plain_name(topic))


def later_topic(name: str, topic_id: bytes) -> str:
    """Return the result of `Identities.topic` for a topic that is not the first of its name."""
    return f"{name}{SEPARATOR}{topic_id.hex()}"


def plain_name(topic: str) -> str:
    """Return the name in a result of `Identities.topic`. A name may have a separator of its own on the
    wire.
    """
    name, _, topic_id = topic.rpartition(SEPARATOR)
    return name if len(topic_id) == _ID_DIGITS and _IS_HEX.issuperset(topic_id) and name else topic


def _body(exchange: Exchange) -> Any:
    """Return the body of a response that fits."""
    body = exchange.bodies()[1]
    return body.value if body is not None and body.fits else None
