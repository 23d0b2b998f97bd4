"""Topics: their writers, their readers, volume, batches.

Counted from the headers of batches, without decompression: a batch contains the number of its records. Key
and value sizes need the records and are counted on request (`sizes`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kdissect.decoders.generated.values import sent
from kdissect.engine.exchange_rows import topic_id_text
from kdissect.engine.records.acquired import AcquiredRecords
from kdissect.engine.records.logged_sizes import logged_records
from kdissect.engine.records.record_sets import RecordSet, record_sets
from kdissect.history import api_keys as apis
from kdissect.history.exchange_view import ExchangeView
from kdissect.history.topics.topic_names import TopicNames
from kdissect.model.native import is_compiled, native
from kdissect.schema.error_codes import error_name
from kdissect.schema.protocol_messages import api_name
from kdissect.session.exchange import Exchange
from kdissect.session.info import ConnectionInfo, KnownIdentities
from kdissect.stats.by_group.group_links import GroupLinks, client_key
from kdissect.stats.by_topic.topic import Role, Topic, Use
from kdissect.stats.by_topic.topic_sums import TRANSFERS, TopicSums
from kdissect.stats.client import client_of, is_follower, text_of
from kdissect.stats.denials import denied_topics
from kdissect.stats.leaders import Leaders
from kdissect.stats.transfers import Named
from kdissect.stats.watermarks import topic_of

TOPICS_KEPT = 2_000  # 5 to 20 KB each. Later ones count in `other`
_ROLES = {
    apis.PRODUCE: Role.WRITE, apis.FETCH: Role.READ, apis.SHARE_FETCH: Role.SHARE,
}  # fmt: skip
PartitionKey = tuple[str | bytes, int | None]
TopicKey = tuple[str, str]
"""Identity (`stats.transfers.topic_key`) and scope (`session.identities`)."""


class TopicTraffic:
    """Topics by name, or by their id if the name is unknown.

    `other` holds the topics after `TOPICS_KEPT`.
    """

    def __init__(self, names: TopicNames, sizes: bool = False) -> None:
        self._names = names
        self._sizes = sizes
        self.topics: dict[tuple[str, str], Topic] = {}
        """By identity (`stats.transfers.topic_key`) and scope (`session.identities`)."""
        self.other = Topic("(other)", None)
        self.groups = GroupLinks()
        self.leaders = Leaders()
        self._acquired = AcquiredRecords()
        self._identities: KnownIdentities | None = None
        self._codecs: dict[TopicKey, int] = {}
        """The first codec of each topic."""
        self.mixed: dict[TopicKey, int] = {}
        """Topics with batches of several codecs, and when the first batch with a second one came, in
        nanoseconds.
        """
        self._scopes: dict[str, list[str]] = {}
        """By identity, of the stored topics."""
        self._sums = self._new_sums()

    def _new_sums(self) -> TopicSums | None:
        return (
            TopicSums(self._names, self._topic, self.leaders.again, self._meet, self.groups.link)
            if is_compiled and not self._sizes
            else None
        )

    def __getstate__(self) -> dict[str, Any]:
        """Return the state, with the native engine's counts in the topics. The engine begins again
        elsewhere.
        """
        self.catch_up()
        return {name: held for name, held in vars(self).items() if name != "_sums"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._sums = self._new_sums()

    def add(self, exchange: Exchange, counts: bool = True) -> None:
        """Take the next exchange, in the order in which the analyzer reports them.

        One that does not count still shows the names of topics, the groups of clients and the leaders. The
        counts are in the topics after `catch_up`.
        """
        self._names.pass_by(exchange)
        self.leaders.see(exchange.connection)
        is_transfer = exchange.api_key in TRANSFERS
        if is_transfer and (not counts or (self._sums is not None and self._sums.count(exchange))):
            return
        view = ExchangeView(exchange)
        self.groups.learn(view)
        self.leaders.learn(view)
        if counts:
            self._count(view)

    def count_block(self, block: native.ExchangeBlock, start: int) -> int:
        """Take exchanges of a block that all count, from `start`. Return the next one that is for `add`."""
        return start if self._sums is None else self._sums.count_block(block, start, self._numbers_of)

    def _numbers_of(self, info: ConnectionInfo, client_id: str | None) -> tuple[int, int] | None:
        if info.same_as is not None or self._sums is None:
            return None
        self.leaders.see(info)
        return self._sums.numbers(info, client_id)

    def catch_up(self) -> None:
        """Add all counts to the topics, before they are read."""
        if self._sums is not None:
            self._sums.take()

    def _count(self, view: ExchangeView) -> None:
        for named in denied_topics(view):
            self.catch_up()
            api = api_name(view.key) or str(view.key)
            self._topic_of(view, named).deny(client_of(view), api)
        role = _ROLES.get(view.key)
        if role is not None and view.exchange.request is not None:
            self.catch_up()
            self._transfer(view, Role.FOLLOW if role is Role.READ and is_follower(view) else role)

    def _transfer(self, view: ExchangeView, role: Role) -> None:
        """Count a Produce, Fetch or ShareFetch."""
        client, link = client_of(view), client_key(view)
        users: dict[str | bytes, tuple[Topic, Use]] = {}
        errors = partition_errors(view)
        for named in _topics_named(view):
            topic = self._topic_of(view, named)
            use = topic.user(role, client, link)
            use.requests += 1
            users[named] = topic, use
        for (named, partition), error in errors.items():
            if named in users:
                topic, use = users[named]
                topic.seen(partition)
                if error:
                    use.errors[error_name(error)] += 1
        for field, size in logged_records(view.exchange):
            place = field.topic if field.topic is not None else field.topic_id or b""
            if place in users and size != 0:
                self._logged(users[place], field.partition, size, errors.get((place, field.partition)), role)
        for records in record_sets(view.exchange):
            field = records.records_field
            key: str | bytes = field.topic if field.topic is not None else field.topic_id or b""
            if key in users:
                refused = errors.get((key, field.partition))
                self._records(records, users[key], refused, role)
                if role is not Role.WRITE or not refused:
                    self._meet_all(view, key, records)

    def _logged(
        self, user: tuple[Topic, Use], partition: int | None, size: int | None, error: int | None, role: Role
    ) -> None:
        """Count records that a request log does not have."""
        topic, use = user
        topic.seen(partition)
        if error and role is Role.WRITE:
            size = 0
        use.add_logged(size)

    def _records(self, records: RecordSet, user: tuple[Topic, Use], error: int | None, role: Role) -> None:
        topic, use = user
        topic.seen(records.records_field.partition)
        if error and role is Role.WRITE:
            use.refused += sum(batch.count or 1 for batch in records.found.batches)
            return
        confirmed = role is not Role.WRITE or error is not None
        acquired = self._acquired.of(records) if role is Role.SHARE else None
        for batch in records.found.batches:
            count = topic.count(batch, self._sizes)
            use.add(batch, count, confirmed)
            if acquired is not None:
                use.share(batch, acquired, count)

    def _meet_all(self, view: ExchangeView, topic: str | bytes, records: RecordSet) -> None:
        codecs = {batch.codec for batch in records.found.batches if not batch.is_control}
        if codecs:
            named = Named.of(self._names, view.info, topic)
            for codec in codecs:
                self._meet(named, codec, view.exchange)

    def _meet(self, named: Named, codec: int, exchange: Exchange) -> None:
        """Note the codec of a batch."""
        key = named.identity, named.scope
        before = self._codecs.get(key)
        if before is None and len(self._codecs) < TOPICS_KEPT:
            self._codecs[key] = codec
        elif before not in (None, codec) and key not in self.mixed and exchange.response is not None:
            self.mixed[key] = exchange.response.end_time_ns

    def _topic_of(self, view: ExchangeView, topic: str | bytes) -> Topic:
        return self._topic(Named.of(self._names, view.info, topic))

    def _topic(self, named: Named) -> Topic:
        key = named.identity, named.scope
        found = self.topics.get(key)
        if found is None:
            self._identities = named.info.identities or self._identities
            if len(self.topics) >= TOPICS_KEPT:
                return self._of_other_set(named)
            self._scopes.setdefault(named.identity, []).append(named.scope)
            found = self.topics[key] = Topic(named.name, named.topic_id)
        elif found.topic_id is None:  # others named it without its id
            found.topic_id = named.topic_id
        return found

    def _of_other_set(self, named: Named) -> Topic:
        """Return the topic in another capture set of its cluster, or `other` if no set has it."""
        cluster = self.apart(named.scope)
        for scope in self._scopes.get(named.identity, ()):
            if self.apart(scope) == cluster:
                return self.topics[named.identity, scope]
        return self.other

    def is_created_again(self, scope: str, name: str | None) -> bool:
        """Return whether a cluster gave a name to several ids."""
        return self._identities is not None and self._identities.is_created_again(scope, name)

    def is_former(self, scope: str, topic: str) -> bool:
        """Return whether another topic has the name of a topic by now; `topic` as `transfers.topic_key`."""
        return self._identities is not None and self._identities.is_former(scope, topic)

    def was_replaced(self, identity: str, cluster: str) -> bool:
        """Return whether another topic has the name of a cluster's topic by now."""
        return any(
            self.is_former(scope, identity) and self.apart(scope) == cluster
            for scope in self._scopes.get(identity, ())
        )

    def apart(self, scope: str) -> str:
        """Return the present cluster of a scope, or an empty text if no other cluster was captured."""
        return "" if self._identities is None else self._identities.apart(scope)

    def by_cluster(self) -> dict[tuple[str, str], Topic]:
        """Return topics by identity and cluster: capture sets of one cluster count together.

        Capture sets without a known cluster count together, too.
        """
        found: dict[tuple[str, str], list[Topic]] = {}
        for (identity, scope), topic in self.topics.items():
            found.setdefault((identity, self.apart(scope)), []).append(topic)
        return {key: topics[0] if len(topics) == 1 else _together(topics) for key, topics in found.items()}


def _together(topics: list[Topic]) -> Topic:
    found = Topic(topics[0].name, next((one.topic_id for one in topics if one.topic_id is not None), None))
    for one in topics:
        found.merge(one)
    return found


def _topics_named(view: ExchangeView) -> list[str | bytes]:
    """Return the topics of a request and its response: an incremental Fetch names only changes."""
    found: dict[str | bytes, None] = {}
    for body, fields in ((view.request, ("topic_data", "topics")), (view.response, ("responses",))):
        for field in fields:
            for row in sent(body, field, None) or ():
                found[_name(row)] = None
    return list(found)


def partition_errors(view: ExchangeView) -> dict[PartitionKey, int]:
    """Return codes of a Produce, Fetch or ShareFetch answer by topic (name or id) and partition, 0
    included.
    """
    found: dict[PartitionKey, int] = {}
    for topic in sent(view.response, "responses", None) or ():
        name = _name(topic)
        for index, row in _rows(topic):
            found[name, index] = row.error_code
    return found


def topic_bytes(exchange: Exchange, names: TopicNames) -> Iterator[tuple[str, int]]:
    """Yield the topic of each records field in an exchange, by name or id, and the field's size in bytes."""
    for records in record_sets(exchange):
        field = records.records_field
        name, topic_id = field.topic, field.topic_id or b""
        if name is None:
            name = names.name(exchange.connection, topic_id) or topic_id_text(topic_id)
        yield name, field.end - field.start


def _rows(topic: Any) -> Iterator[tuple[int, Any]]:
    for row in sent(topic, "partition_responses", None) or ():
        yield row.index, row
    for row in sent(topic, "partitions", None) or ():
        yield row.partition_index, row


def _name(row: Any) -> str | bytes:
    named = topic_of(row)
    return named if isinstance(named, bytes) else text_of(named)
