"""Names of topic ids.

Rules:
- Since KIP-516 Fetch (13), Produce (13) and others name topics by id alone. Other messages say which name an
  id has. An id never changes its name.
- Names are learned from exchanges in their order. A name that is not known by then is looked up once in all
  of the inputs, if they can be read again (`rescan`): an exchange may need a name before the message that
  contains it. That costs a second pass, and only captures with an unknown id pay it.
- Each cluster has ids of its own. A broker belongs to the cluster that its Metadata and DescribeCluster
  responses name. An id that two clusters map to two names has no name if the cluster is not known. A random
  id has its name in every cluster.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from kdissect.decoders.generated.summary import Summary
from kdissect.engine.exchange_rows import union
from kdissect.model.limits import in_force
from kdissect.model.native import is_compiled, native
from kdissect.schema.logs import METADATA_TOPIC, METADATA_TOPIC_ID
from kdissect.session.exchange import Exchange
from kdissect.session.identities import cluster_of
from kdissect.session.info import ConnectionInfo

if TYPE_CHECKING:
    from kdissect.engine.records.record_sets import RecordSet
    from kdissect.engine.records.snapshot_pieces import SnapshotPieces

# Messages that say names of ids, by API key: True for the response, False for the request.
# A test holds this equal to what the schema says.
ANNOUNCING: dict[int, bool] = {
    3: True,  # Metadata, 10+
    4: False,  # LeaderAndIsr, 5+
    6: False,  # UpdateMetadata, 7+
    19: True,  # CreateTopics, 7+
    20: True,  # DeleteTopics, 6+
    60: True,  # DescribeCluster: the cluster alone
    69: True,  # ConsumerGroupDescribe
    75: True,  # DescribeTopicPartitions
    77: True,  # ShareGroupDescribe
    90: True,  # DescribeShareGroupOffsets
    91: True,  # AlterShareGroupOffsets
    92: True,  # DeleteShareGroupOffsets
}
FETCH, FETCH_SNAPSHOT, DESCRIBE_CLUSTER = 1, 59, 60
_METADATA_MARKS = (METADATA_TOPIC_ID, METADATA_TOPIC.encode())

# Answers kept: exchanges of one consumer ask for the same few topics again and again.
MAX_ANSWERS = 4096
# Exchanges kept to learn from: many captures never ask.
MAX_PENDING = 16
# Beyond this number of ids neither the exchange nor the response is stored: a Metadata response of 1000
# topics has some 100 KB.
MAX_IDS_KEPT = 1000
# Brokers whose cluster is known.
MAX_BROKERS = 10_000

Rescan = Callable[[], Iterable[Exchange]]
_Names = tuple[tuple[str | None, str], ...]  # cluster and name, nearly always a single pair
_Place = tuple[str, str]  # capture set and address of a broker
_RESERVED: dict[bytes, _Names] = {METADATA_TOPIC_ID: ((None, METADATA_TOPIC),)}


class TopicNames:
    """Record the names of topic ids and look them up.

    `known` are names that the user supplied for every cluster, and they win. `rescan` yields every exchange
    of the inputs once more; it is None if the inputs are streams.
    """

    def __init__(self, known: Mapping[bytes, str] | None = None, rescan: Rescan | None = None) -> None:
        self._known = dict(known or {})
        self._rescan = rescan
        self._names: dict[bytes, _Names] = dict(_RESERVED)
        self._most = in_force().topic_names  # of about 300 bytes each
        self.dropped = 0
        """Names that were dropped: there were too many."""
        self.changes = 0
        """How often something came that a name may depend on: until then the result of `name` does not
        change.
        """
        self._clusters: dict[_Place, str] = {}
        self._answers: dict[object, tuple[str, ...]] = {}
        self._stated: set[int] = set()
        self._told: native.ToldNames | None = None
        self._pending: list[Exchange] = []
        self._pieces: SnapshotPieces | None = None

    def topics_of(self, exchange: Exchange, asked: Summary, answered: Summary) -> tuple[str, ...]:
        """Return the topics of an exchange by their names on the wire, or by the names of its topic ids.

        Learns from the exchange.
        """
        topics = asked.topics if asked.topics == answered.topics else union(asked.topics, answered.topics)
        ids = asked.topic_ids
        if ids != answered.topic_ids:
            ids = union(ids, answered.topic_ids)
        if not ids:
            if exchange.api_key == DESCRIBE_CLUSTER or METADATA_TOPIC in topics:
                self.learn(exchange)
            elif exchange.api_key in ANNOUNCING:
                self._note_told(exchange, answered)
            return topics
        if METADATA_TOPIC_ID in ids:
            self._learn_records(exchange)
        elif topics and exchange.api_key in ANNOUNCING:
            self._note(exchange, topics, ids)
            if len(topics) >= len(ids):  # one name for each id
                self._note_told(exchange, answered)
                return topics
        return self._answer(_place(exchange.connection), topics, ids)

    @property
    def told_before(self) -> native.ToldNames | None:
        """Exchanges that contained names and no error; equal rows add no names.

        Exchanges that are read each time are not included. If an address moves to another cluster, earlier
        exchanges count again. None without the native engine.
        """
        if self._told is None and is_compiled:
            self._told = native.ToldNames(_settled)
        return self._told

    def pass_by(self, exchange: Exchange) -> None:
        """Learn from an exchange that is not shown, like `topics_of`, if it is one of the few that contain
        names.
        """
        if exchange.api_key is not None and tells_names(exchange.api_key):
            self.topics_of(exchange, exchange.request_summary(), exchange.response_summary())

    def name(self, connection: ConnectionInfo, topic_id: bytes) -> str | None:
        """Return the name of an id in the cluster of a connection, or None if it is unknown."""
        return self.name_now(*_place(connection), topic_id)

    def of_records(self, records: RecordSet) -> str | None:
        """Return the name of a records field's topic id, or None if the field has no id."""
        topic_id = records.records_field.topic_id
        return None if topic_id is None else self.name(records.exchange.connection, topic_id)

    def name_now(self, capture_set: str, broker: str, topic_id: bytes) -> str | None:
        """`name` for a connection to a broker, given by its address."""
        if self._pending:
            self._learn_pending()
        return self._name((capture_set, broker), topic_id)

    def names_of(
        self, capture_set: str, broker: str, topics: tuple[str, ...], ids: tuple[bytes, ...]
    ) -> tuple[str, ...]:
        """Return `topics_of` an exchange without names of its own, from its names and ids and the broker's
        address.
        """
        return self._answer((capture_set, broker), topics, ids)

    @property
    def given(self) -> dict[bytes, str]:
        """The names that the user supplied."""
        return self._known

    def plain_names(self) -> dict[bytes, str]:
        """Return ids with one name each, as far as they are known by now."""
        if self._pending:
            self._learn_pending()
        found = {number: names[0][1] for number, names in self._names.items() if len(names) == 1}
        return found | self._known

    def name_at(self, capture_set: str, broker: str, topic_id: bytes) -> str | None:
        """Return the name of an id in the cluster of a broker, which is identified by its address; None if
        unknown.
        """
        return self._name((capture_set, broker), topic_id)

    def __getstate__(self) -> dict[str, Any]:
        """Return the names, without the exchanges that could still be read."""
        if self._pending:
            self._learn_pending()
        return self.__dict__ | {"_rescan": None, "_pieces": None, "_stated": set(), "_told": None}

    def learn(self, exchange: Exchange) -> None:
        """Record the names that an exchange contains."""
        key, version = exchange.api_key, exchange.api_version
        if key is None or version is None:
            return
        if key in (FETCH, FETCH_SNAPSHOT):
            self._learn_records(exchange)
            return
        is_response = ANNOUNCING.get(key)
        if is_response is None:
            return
        frame = exchange.response if is_response else exchange.request
        if frame is None:
            return
        from kdissect.decoders.generated.naming import naming_of  # at first use: start-up

        offset = exchange.response_body_offset if is_response else exchange.request_body_offset
        names, cluster = naming_of(frame.data, offset, key, version, is_response)
        place = _place(exchange.connection)
        if cluster and (place in self._clusters or len(self._clusters) < MAX_BROKERS):
            self.changes += self._clusters.get(place) != cluster
            self._clusters[place] = cluster
        cluster = cluster or self._clusters.get(place)
        for topic_id, name in names.items():
            self._add(cluster, topic_id, name)

    def _answer(self, place: _Place, topics: tuple[str, ...], ids: tuple[bytes, ...]) -> tuple[str, ...]:
        """Return the topics with the names of the ids; the same ids recur often."""
        if self._pending:
            self._learn_pending()
        found = self._answers.get((self._clusters.get(place), topics, ids))
        if found is None:
            found = self._add_names(place, topics, ids)
            if len(ids) <= MAX_IDS_KEPT:
                if len(self._answers) >= MAX_ANSWERS:
                    self._answers.clear()
                self._answers[self._clusters.get(place), topics, ids] = found
        return found

    def _note(self, exchange: Exchange, topics: tuple[str, ...], ids: tuple[bytes, ...]) -> None:
        """Store an exchange that has names and ids; `name` reads it when it needs it.

        Metadata is polled all the time: exchanges with the very topics of an earlier one are left out.
        """
        key = hash(
            (exchange.api_key, exchange.connection.broker_address, topics, ids)
        )  # a number, not the names
        if key in self._stated:
            return
        if len(self._stated) >= MAX_ANSWERS:
            self._stated.clear()
            if self._told is not None:
                self._told.clear()
        self._stated.add(key)
        self._pending.append(exchange)
        self.changes += 1
        if len(self._pending) >= MAX_PENDING or len(ids) > MAX_IDS_KEPT:
            self._learn_pending()

    def _note_told(self, exchange: Exchange, answered: Summary) -> None:
        told, request, response = self.told_before, exchange.request, exchange.response
        if told is None or request is None or response is None or answered.errors:
            return
        kind = exchange.api_key or 0, exchange.api_version or 0
        asked = request.data, exchange.request_body_offset
        told.note(exchange.connection, kind, asked, (response.data, exchange.response_body_offset))

    def _learn_pending(self) -> None:
        pending, self._pending = self._pending, []
        for exchange in pending:
            self.learn(exchange)

    def _learn_records(self, exchange: Exchange) -> None:
        """Topics in the records of the metadata log, which brokers and controllers fetch."""
        request = exchange.request
        if request is None or not any(mark in request.data for mark in _METADATA_MARKS):
            return
        # At first use: start-up. Few captures have the traffic of a controller.
        from kdissect.engine.records.snapshot_pieces import SnapshotPieces
        from kdissect.history.topics.metadata_log import topic_records

        if self._pieces is None:
            self._pieces = SnapshotPieces()
        place = _place(exchange.connection)
        for topic_id, name in topic_records(exchange, METADATA_TOPIC, METADATA_TOPIC_ID, self._pieces):
            self._add(self._clusters.get(place), topic_id, name)

    def _add(self, cluster: str | None, topic_id: bytes, name: str) -> None:
        names = self._names.get(topic_id, ())
        entry = (cluster, name)
        if entry in names:
            return
        if len(self._names) >= self._most:
            self.dropped += 1
            return
        # A cluster has one name for an id, and what was learned before the cluster was known is its too.
        kept = tuple(old for old in names if old[0] != cluster and not (old[0] is None and old[1] == name))
        self._names[topic_id] = (*kept, entry)
        self._answers.clear()
        self.changes += 1

    def _add_names(self, place: _Place, topics: tuple[str, ...], ids: tuple[bytes, ...]) -> tuple[str, ...]:
        found = dict.fromkeys(topics)
        for topic_id in ids:
            name = self._name(place, topic_id)
            if name is not None:
                found[name] = None
        return tuple(found)

    def _name(self, place: _Place, topic_id: bytes) -> str | None:
        if topic_id in self._known:
            return self._known[topic_id]
        found = self._pick(self._clusters.get(place), topic_id)
        if found is None and self._rescan is not None:
            self._scan()
            found = self._pick(self._clusters.get(place), topic_id)  # the cluster may be known only now
        return found

    def _pick(self, cluster: str | None, topic_id: bytes) -> str | None:
        names = self._names.get(topic_id, ())
        for owner, name in names:
            if owner == cluster:
                return name
        # A name of another cluster counts only if that cluster is not known, or if the id is random: a client
        # that is sent to the wrong cluster asks there for the topics of its own.
        is_any = cluster is None or is_random(topic_id)
        possible = {name for owner, name in names if owner is None or is_any}
        return possible.pop() if len(possible) == 1 else None

    def _scan(self) -> None:
        rescan, self._rescan = self._rescan, None
        if rescan is not None:
            for exchange in rescan():
                self.learn(exchange)


def tells_names(api_key: int) -> bool:
    """Return whether exchanges of an API are for `TopicNames.pass_by`: they name topics or a cluster."""
    return api_key in ANNOUNCING or api_key == FETCH_SNAPSHOT


def may_announce_names(exchange: Exchange) -> bool:
    """Return whether `TopicNames.learn` can have anything of an exchange."""
    if exchange.api_key not in (FETCH, FETCH_SNAPSHOT):
        return exchange.api_key in ANNOUNCING
    request = exchange.request
    return request is not None and any(mark in request.data for mark in _METADATA_MARKS)


def is_random(topic_id: bytes) -> bool:
    """Return whether an id is one that no two clusters have by chance: a UUID of version 4 (RFC 9562 section
    5.4).

    Kafka's ids are random (org.apache.kafka.common.Uuid#randomUuid). Other software counts, or uses a common
    prefix.
    """
    return topic_id[6] >> 4 == 4 and topic_id[8] >> 6 == 2


def _settled(connection: ConnectionInfo) -> _Place:
    """Return the place of a connection whose repeated responses can be recognized, after its cluster is
    known.
    """
    cluster_of(connection)
    return _place(connection)


def _place(connection: ConnectionInfo) -> _Place:
    return connection.capture_set, connection.broker_address
