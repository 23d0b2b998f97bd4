"""Positions of consumers, and the ends of partitions: lag is the end minus the fetch offset.

The fetch offset is that of the client's last Fetch, or the one after the records that the last answer
brought. The high watermark is the last one that the client received. Responses to Fetches of other clients,
to ListOffsets of the latest offset and to Produces show ends, too. If a topic is deleted and its name comes
again, the ends from before the deletion are those of another topic.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from kdissect.decoders.generated.values import sent
from kdissect.engine.exchange_rows import topic_id_text
from kdissect.engine.records.logged_sizes import logged_records
from kdissect.engine.records.record_sets import record_sets
from kdissect.engine.transfer_rows import transfer_places
from kdissect.history import api_keys as apis
from kdissect.history.exchange_view import ExchangeView
from kdissect.history.producing.produce_parts import produce_results
from kdissect.history.state_table import Table
from kdissect.history.topics.topic_names import TopicNames
from kdissect.model.native import is_compiled, native
from kdissect.session.exchange import Exchange
from kdissect.session.info import ConnectionInfo
from kdissect.stats.by_group.group_links import ClientKey, client_key
from kdissect.stats.by_group.position_table import Partition, PositionTable
from kdissect.stats.by_group.refetches import LastFetch, Refetches, StuckAt, refetches, see_fetch
from kdissect.stats.by_offset.deleted_commits import deleted_partitions, of_deleted_groups
from kdissect.stats.client import text_of
from kdissect.stats.transfers import COUNTED, ENOUGH, LEFT, NEW_TOPICS, Numbers, NumbersOf, WayOf, topic_key
from kdissect.stats.watermarks import refused_partitions, topic_of

_POSITIONS_KEPT = 100_000  # clients times partitions, 400 bytes each
_COMMITS_KEPT = 100_000  # groups times partitions, 300 bytes each
_ENDS_KEPT = 100_000  # partitions, 200 bytes each
_CLIENTS_KEPT = 20_000  # 200 bytes each
_TOPICS_KEPT = 10_000  # that were deleted, 200 bytes each
_LATEST = -1  # timestamp of ListOffsets (org.apache.kafka.common.requests.ListOffsetsRequest)
_OLD_STYLE = 0  # the version of ListOffsets whose response lists offsets
_MAX_OFFSET = (1 << 63) - 1
_CURRENT_MAGIC = 2  # of batches with a range of offsets

Commits = list[tuple[str | bytes, list[tuple[int, int, int, int]]]]
"""By topic, by name or id, the partitions, each with its offset."""
Committed = tuple[str, str, Partition, int]
"""Capture set and group, partition, the offset committed last."""
Ended = tuple[str, Partition, int]
"""Capture set, partition, the offset after the last record that a producer wrote."""
Taken = tuple[list[Committed], list[Ended], list[tuple[ClientKey, int]]]
"""Last: clients, each with the time of its last Fetch."""
GoesBack = Callable[[ConnectionInfo, str, Commits, int], bool]
"""Whether a commit is for Python, by connection, group, the offsets that it commits, and its time."""
OfMembers = tuple["native.GroupLogs", GoesBack | None]


class Position(NamedTuple):
    """Position of a client in a partition, None for values that were not seen."""

    fetch_offset: int | None
    high_watermark: int | None
    time_ns: int


_NOWHERE = (None, None, 0)


def _no_positions() -> PositionTable | native.PositionTable:
    return native.PositionTable(_POSITIONS_KEPT) if is_compiled else PositionTable(_POSITIONS_KEPT)


class Positions:
    """Fetch positions by client, and committed offsets by group. On request also offsets that are fetched
    again.
    """

    def __init__(self, names: TopicNames, *, watches_refetches: bool = False) -> None:
        self._names = names
        self._refetches = refetches() if watches_refetches else None
        self._positions = _no_positions()
        self._fetches = self._fetching()
        self._commits: Table[tuple[str, str, Partition], int] = Table(_COMMITS_KEPT)
        self._ends: Table[tuple[str, Partition], int] = Table(_ENDS_KEPT)
        self._former_ends: Table[tuple[str, Partition], int] = Table(_ENDS_KEPT)
        """From before the topic was deleted."""
        self._deleted: Table[tuple[str, str], int] = Table(_TOPICS_KEPT)
        """When topics were deleted last."""
        self._last_fetches: Table[ClientKey, int] = Table(_CLIENTS_KEPT)

    def __getstate__(self) -> dict[str, Any]:
        """Return the state, with the native engine's facts. The engine begins again elsewhere, if it is in
        use.
        """
        self.catch_up()
        return vars(self) | {
            "_fetches": self._fetches is not None,
            "_refetches": self._refetches is not None,
            "_positions": self._positions.items(),
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._refetches = refetches() if state["_refetches"] else None
        self._positions = _no_positions()
        for (client, partition), position in state["_positions"]:
            self._positions.put(client, partition, position)
        self._fetches = self._fetching() if state["_fetches"] else None

    def _fetching(self) -> _FetchPositions | None:
        return _FetchPositions(self._names, self._refetches, self._positions) if is_compiled else None

    def learn_fetch(self, exchange: Exchange) -> None:
        """Take the next Fetch. Its positions are known after `catch_up`."""
        if self._fetches is not None and self._fetches.learn(exchange, self._put_all):
            return
        self.catch_up()
        view = ExchangeView(exchange)
        if view.request is not None:
            self._asked(view)
            self._answered(view)
            if self._refetches is not None:
                see_fetch(self._refetches, view)

    def learn_block(
        self,
        block: native.ExchangeBlock,
        start: int,
        way_of: WayOf,
        see: Callable[[ConnectionInfo], bool],
        of_members: OfMembers,
    ) -> int:
        """Take Fetches of a block from `start`, as `way_of` returns. Return the next exchange that is for
        Python.

        `see` decides for each connection whether its exchanges count. `of_members` are the logs for requests
        of members, and the test of committed offsets.
        """
        fetches = self._fetches
        if fetches is None:
            return start

        def numbers_of(info: ConnectionInfo, client_id: str | None) -> tuple[int, int] | None:
            return fetches.numbers.of(info, client_id) if see(info) else None

        return fetches.learn_block(block, start, (way_of, numbers_of, *of_members), self._put_all)

    def learn_commit(self, view: ExchangeView) -> None:
        """Take the next commit of offsets."""
        if view.request is not None and view.response is not None:
            if self._fetches is not None and self._fetches.has_commits:
                self.catch_up()
            self._committed(view)

    def learn_ends(self, exchange: Exchange) -> None:
        """Take the next Produce or ListOffsets, whose response shows the ends of partitions."""
        view = ExchangeView(exchange)
        if view.request is None or view.response is None:
            return
        found = _written(view) if view.key == apis.PRODUCE else _listed(view)
        for topic, partition, offset in found:
            self._end(view.info.scope, (topic_key(self._names, view.info, topic), partition), offset)

    def _end(self, scope: str, partition: Partition, offset: int) -> None:
        known = self._ends.peek((scope, partition))
        if known is None or offset > known:
            self._ends.put((scope, partition), offset)

    def ends(self) -> dict[tuple[str, Partition], int]:
        """Return the highest offset that a response shows as the end of a partition, by capture set."""
        self.catch_up()
        former, found = dict(self._former_ends.items()), dict(self._ends.items())
        for ((scope, _, _), partition), position in self._positions.items():
            (_, end, asked_ns), key = position, (scope, partition)
            deleted_ns = self._deleted.peek((scope, partition[0])) if self._deleted else None
            known = found if deleted_ns is None or asked_ns > deleted_ns else former
            if end is not None and end > known.get(key, -1):
                known[key] = end
        return former | found

    def learn_deleted(self, view: ExchangeView) -> None:
        """Take a DeleteTopics, OffsetDelete or DeleteGroups."""
        answered = view.exchange.response
        if view.request is None or view.response is None or answered is None:
            return
        self.catch_up()
        scope = view.info.scope
        for group, topic, partition in deleted_partitions(view, self._names):
            self._commits.pop((scope, group, (topic, partition)))
        for committed in of_deleted_groups(view, (key for key, _ in self._commits.items())):
            self._commits.pop(committed)
        rows = (view.response.responses or ()) if view.key == apis.DELETE_TOPICS else ()
        topics = {self._deleted_name(view, row) for row in rows if not row.error_code}
        for topic in topics:
            self._deleted.put((scope, topic), answered.time_ns)
        for key, end in list(self._ends.items()) if topics else ():
            if key[0] == scope and key[1][0] in topics:
                self._ends.pop(key)
                self._former_ends.put(key, end)

    def _deleted_name(self, view: ExchangeView, row: Any) -> str:
        topic_id = bytes(sent(row, "topic_id", None) or b"")
        topic = topic_id if row.name is None else text_of(row.name)
        return topic_key(self._names, view.info, topic)

    def last_fetch_ns(self, client: ClientKey) -> int | None:
        """Return when a client sent its last Fetch, after `catch_up`; None if it sent none."""
        return self._last_fetches.peek(client)

    def catch_up(self) -> None:
        """Have everything known that was learned."""
        if self._fetches is not None:
            self._put_all(self._fetches.take())
            if max(len(self._positions), len(self._ends), 4 * len(self._last_fetches)) > _POSITIONS_KEPT // 2:
                self._fetches = None  # from here on some are forgotten, in their order

    def _put_all(self, taken: Taken) -> None:
        committed, ended, fetched = taken
        for capture_set, group, partition, offset in committed:
            self._commits.put((capture_set, group, partition), offset)
        for scope, partition, offset in ended:
            self._end(scope, partition, offset)
        for client, time_ns in fetched:
            self._last_fetches.put(client, time_ns)

    def of_client(self, client: ClientKey, partition: Partition) -> Position:
        """Return the position of a client."""
        return Position(*(self._positions.get(client, partition) or _NOWHERE))

    def all(self) -> list[tuple[tuple[ClientKey, Partition], Position]]:
        """Return the positions of all clients and partitions."""
        self.catch_up()
        return [(key, Position(*position)) for key, position in self._positions.items()]

    def stuck(self) -> list[StuckAt]:
        """Return the runs of connections that fetched one offset again and again although records came, if
        watched.
        """
        self.catch_up()
        return [] if self._refetches is None else [StuckAt(*row) for row in self._refetches.stuck()]

    def leave(self, info: ConnectionInfo) -> LastFetch | None:
        """End a connection: return its last Fetch, if refetches are watched and records came on it."""
        row = None if self._refetches is None else self._refetches.leave(info)
        return None if row is None else LastFetch(*row)

    def commits(self) -> dict[tuple[str, str], dict[Partition, int]]:
        """Return all committed offsets, by capture set and group."""
        self.catch_up()
        found: dict[tuple[str, str], dict[Partition, int]] = {}
        for (capture_set, group, partition), offset in self._commits.items():
            found.setdefault((capture_set, group), {})[partition] = offset
        return found

    def _asked(self, view: ExchangeView) -> None:
        client, time_ns = client_key(view), view.sent_ns
        self._last_fetches.put(client, time_ns)
        for topic in view.request.topics or ():
            name = self._name(view, topic)
            for row in topic.partitions or ():
                self._positions.learn(
                    client, (name, row.partition), (row.fetch_offset, time_ns), None, None, False
                )

    def _answered(self, view: ExchangeView) -> None:
        client, behind = client_key(view), self._behind(view)
        for topic in sent(view.response, "responses", None) or ():
            name = self._name(view, topic)
            for row in topic.partitions or ():
                if not row.error_code and row.high_watermark >= 0:
                    offset = behind.get((topic_of(topic), row.partition_index))
                    place = name, row.partition_index
                    self._positions.learn(client, place, None, offset, row.high_watermark, False)
        for field, size in logged_records(view.exchange):
            if size != 0 and field.partition is not None:  # how far they go is not known
                name = topic_key(self._names, view.info, field.topic_id or field.topic or "")
                self._positions.learn(client, (name, field.partition), None, None, None, True)

    def _behind(self, view: ExchangeView) -> dict[Any, int]:
        """Return the offsets after the records in an answer."""
        found = {}
        for records in record_sets(view.exchange):
            batches = records.found.batches
            if batches:
                section = records.records_field
                topic = section.topic if section.topic is not None else section.topic_id
                found[topic, section.partition] = batches[-1].last_offset + 1
        return found

    def _committed(self, view: ExchangeView) -> None:
        scope, group = view.info.scope, text_of(view.request.group_id)
        refused = refused_partitions(view.response.topics)
        for topic in view.request.topics or ():
            name = self._name(view, topic)
            for row in topic.partitions or ():
                if (topic_of(topic), row.partition_index) not in refused:
                    self._commits.put((scope, group, (name, row.partition_index)), row.committed_offset)

    def _name(self, view: ExchangeView, topic: Any) -> str:
        return topic_key(self._names, view.info, topic_of(topic))


def _written(view: ExchangeView) -> Iterator[tuple[str | bytes, int, int]]:
    """Yield topic, partition and the offset after the last record that the broker has, from a Produce."""
    sizes: dict[tuple[str | bytes, int | None], int] = {}
    for records in record_sets(view.exchange):
        section, batches = records.records_field, records.found.batches
        topic = section.topic if section.topic is not None else section.topic_id
        if topic is not None:
            is_batch = len(batches) == 1 and batches[0].magic >= _CURRENT_MAGIC
            # Without the range of offsets the response has the offset of the first record.
            count = batches[0].last_offset - batches[0].base_offset + 1 if is_batch else 1
            sizes[topic, section.partition] = max(count, 1)
    for topic, rows in produce_results(view.exchange) or ():
        for partition, error, base_offset in rows:
            count = sizes.get((topic, partition), 0)
            if count and not error and base_offset >= 0:
                yield topic, partition, min(base_offset + count, _MAX_OFFSET)


def _listed(view: ExchangeView) -> Iterator[tuple[str | bytes, int, int]]:
    """Yield topic, partition and offset, from a ListOffsets of the latest offsets."""
    latest = {
        (topic.name, row.partition_index)
        for topic in view.request.topics or ()
        for row in topic.partitions or ()
        if row.timestamp == _LATEST
    }
    has_list = view.version == _OLD_STYLE
    for topic in view.response.topics or ():
        name = text_of(topic.name)
        for row in topic.partitions or ():
            # Hot, once for each partition.
            listed = sent(row, "old_style_offsets", None) if has_list else (sent(row, "offset", -1),)
            offset = max(listed or (), default=-1)
            if offset >= 0 and not row.error_code and (topic.name, row.partition_index) in latest:
                yield name, row.partition_index, offset


Put = Callable[[Taken], None]
"""Takes what was read besides the positions."""


class _FetchPositions:
    """Fetches and commits that the native engine read, until Python takes them. Positions go into `table`."""

    def __init__(
        self,
        names: TopicNames,
        seen: native.Refetches | Refetches | None,
        table: native.PositionTable | PositionTable,
    ) -> None:
        self.numbers = Numbers(names)
        assert not isinstance(seen, Refetches)  # it is compiled, as the table is
        assert not isinstance(table, PositionTable)
        self._fetches = native.FetchPositions(seen)
        self._table = table

    @property
    def has_commits(self) -> bool:
        """Whether there are commits to take."""
        return self._fetches.has_commits

    def learn(self, exchange: Exchange, put: Put) -> bool:
        """Learn from a Fetch, and `put` the results in place. Return False if Python has to."""
        # Hot, once a Fetch.
        found = transfer_places(exchange)
        if found is None:
            return False
        numbers = self.numbers
        if numbers.are_old:
            put(self.take())
        client, broker = numbers.of(exchange.connection, exchange.client_id)
        asked, answered = found
        frame = exchange.request
        assert frame is not None  # there are places in it
        response = exchange.response
        times = frame.time_ns, 0 if response is None else response.time_ns, exchange.api_version or 0
        done = self._fetches.learn(
            client, broker, (exchange.connection, exchange.client_id, times), asked, answered
        )
        self._follow(done, put)
        return done != LEFT

    def learn_block(
        self,
        block: native.ExchangeBlock,
        start: int,
        asked: tuple[WayOf, NumbersOf, native.GroupLogs, GoesBack | None],
        put: Put,
    ) -> int:
        """Take exchanges of a block from `start`. Return the next one that is for Python."""
        if self.numbers.are_old:
            put(self.take())
        done = ENOUGH
        while done not in (LEFT, COUNTED) and start < len(block):
            start, done = self._fetches.learn_block(block, start, *asked)
            self._follow(done, put)
        return start

    def _follow(self, done: int, put: Put) -> None:
        if done & NEW_TOPICS:
            self.numbers.name(self._fetches.new_topics())
        if done & ENOUGH:
            put(self.take())

    def take(self) -> Taken:
        """Put the positions into the table. Return and forget the other facts read, by client or group and
        partition, in their order.
        """
        numbers = self.numbers
        names, clients = [named.identity for named in numbers.topics], [key for _, key in numbers.clients]
        commits, groups, ends, fetched = self._fetches.take(self._table, clients, names)
        keys = [(numbers.scope_of(broker), text_of(group)) for broker, group in groups]
        committed = [
            (*keys[group], (names[topic], partition), offset) for group, topic, partition, offset in commits
        ]
        topics = numbers.topics
        ended = [
            (topics[topic].scope, (names[topic], partition), offset) for topic, partition, offset in ends
        ]
        times = [(clients[client], time_ns) for client, time_ns in fetched]
        numbers.clear()
        return committed, ended, times


def name_of(names: TopicNames, info: ConnectionInfo, named: str | bytes) -> str:
    """Return the name of a topic, or its id as Kafka prints it if the name is unknown."""
    if not isinstance(named, bytes):
        return text_of(named)
    return names.name(info, named) or topic_id_text(named)
