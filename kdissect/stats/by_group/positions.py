"""Positions of consumers, and the positions they could reach: lag is high watermark minus fetch offset.

The fetch offset is that of the client's last Fetch, or the one after the records that the last answer
brought. The high watermark is the last one that the client received.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from kdissect.decoders.generated.values import sent
from kdissect.engine.exchange_rows import topic_id_text
from kdissect.engine.records.logged_sizes import logged_records
from kdissect.engine.records.record_sets import record_sets
from kdissect.engine.transfer_rows import transfer_places
from kdissect.history.exchange_view import ExchangeView
from kdissect.history.state_table import Table
from kdissect.history.topics.topic_names import TopicNames
from kdissect.model.native import is_compiled, native
from kdissect.session.exchange import Exchange
from kdissect.session.info import ConnectionInfo
from kdissect.stats.by_group.group_links import ClientKey, client_key
from kdissect.stats.by_group.refetches import LastFetch, Refetches, StuckAt, refetches, see_fetch
from kdissect.stats.client import text_of
from kdissect.stats.transfers import COUNTED, ENOUGH, LEFT, NEW_TOPICS, Numbers, NumbersOf, WayOf, topic_key
from kdissect.stats.watermarks import refused_partitions, topic_of

_POSITIONS_KEPT = 100_000  # clients times partitions, 400 bytes each
_COMMITS_KEPT = 100_000  # groups times partitions, 300 bytes each

Partition = tuple[str, int]
"""Topic as `transfers.topic_key` has it, and partition."""
Commits = list[tuple[str | bytes, list[tuple[int, int, int, int]]]]
"""By topic, by name or id, the partitions, each with its offset."""
Learned = tuple[ClientKey, Partition, tuple[int, int] | None, int | None, int | None, bool]
"""A client's Fetches: the requested offset with its time, the offset after records that came since then, and
the high watermark. None for a value without news. Then whether the offset is lost: a request log omits the
records.
"""
Committed = tuple[str, str, Partition, int]
"""Capture set and group, partition, the offset committed last."""
Taken = tuple[list[Learned], list[Committed]]
GoesBack = Callable[[ConnectionInfo, str, Commits, int], bool]
"""Whether a commit is for Python, by connection, group, the offsets that it commits, and its time."""
OfMembers = tuple["native.GroupLogs", GoesBack | None]


class Position(NamedTuple):
    """Position of a client in a partition, None for values that were not seen."""

    fetch_offset: int | None
    high_watermark: int | None
    time_ns: int

    @property
    def lag(self) -> int | None:
        """Records between the two, never below 0."""
        if self.fetch_offset is None or self.high_watermark is None:
            return None
        return max(self.high_watermark - self.fetch_offset, 0)


_NOWHERE = Position(None, None, 0)


class Positions:
    """Fetch positions by client, and committed offsets by group. On request also offsets that are fetched
    again.
    """

    def __init__(self, names: TopicNames, *, watches_refetches: bool = False) -> None:
        self._names = names
        self._refetches = refetches() if watches_refetches else None
        self._fetches = _FetchPositions(names, self._refetches) if is_compiled else None
        self._positions: Table[tuple[ClientKey, Partition], Position] = Table(_POSITIONS_KEPT)
        self._commits: Table[tuple[str, str, Partition], int] = Table(_COMMITS_KEPT)

    def __getstate__(self) -> dict[str, Any]:
        """Return the state, with the native engine's facts. The engine begins again elsewhere, if it is in
        use.
        """
        self.catch_up()
        return vars(self) | {"_fetches": self._fetches is not None, "_refetches": self._refetches is not None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._refetches = refetches() if state["_refetches"] else None
        is_used = is_compiled and state["_fetches"]
        self._fetches = _FetchPositions(self._names, self._refetches) if is_used else None

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

    def catch_up(self) -> None:
        """Have everything known that was learned."""
        if self._fetches is not None:
            self._put_all(self._fetches.take())
            if len(self._positions) > _POSITIONS_KEPT // 2:
                self._fetches = None  # from here on some are forgotten, in their order

    def _put_all(self, taken: Taken) -> None:
        learned, committed = taken
        for one in learned:
            self._learn(*one)
        for capture_set, group, partition, offset in committed:
            self._commits.put((capture_set, group, partition), offset)

    def _learn(
        self, client: ClientKey, partition: Partition, asked: tuple[int, int] | None, behind: int | None,
        high_watermark: int | None, is_lost: bool = False,
    ) -> None:  # fmt: skip
        """Note the requested offset and its time, the one after received records, and the high watermark.

        The offset `is_lost` after records that are not known.
        """
        # Hot, once for each partition of a Fetch.
        key = client, partition
        offset, known_watermark, time_ns = self._positions.peek(key) or _NOWHERE  # `put` counts as its use
        if asked is not None:
            offset, time_ns = asked
        if is_lost:
            offset = None
        elif behind is not None and behind > (offset or 0):
            offset = behind
        watermark = known_watermark if high_watermark is None else high_watermark
        self._positions.put(key, Position(offset, watermark, time_ns))

    def of_client(self, client: ClientKey, partition: Partition) -> Position:
        """Return the position of a client."""
        return self._positions.peek((client, partition)) or _NOWHERE

    def all(self) -> list[tuple[tuple[ClientKey, Partition], Position]]:
        """Return the positions of all clients and partitions."""
        self.catch_up()
        return list(self._positions.items())

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
        for topic in view.request.topics or ():
            name = self._name(view, topic)
            for row in topic.partitions or ():
                self._learn(client, (name, row.partition), (row.fetch_offset, time_ns), None, None)

    def _answered(self, view: ExchangeView) -> None:
        client, behind = client_key(view), self._behind(view)
        for topic in sent(view.response, "responses", None) or ():
            name = self._name(view, topic)
            for row in topic.partitions or ():
                if not row.error_code and row.high_watermark >= 0:
                    offset = behind.get((topic_of(topic), row.partition_index))
                    self._learn(client, (name, row.partition_index), None, offset, row.high_watermark)
        for field, size in logged_records(view.exchange):
            if size != 0 and field.partition is not None:  # how far they go is not known
                name = topic_key(self._names, view.info, field.topic_id or field.topic or "")
                self._learn(client, (name, field.partition), None, None, None, is_lost=True)

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


Put = Callable[[Taken], None]


class _FetchPositions:
    """Fetches and commits that the native engine read, until Python takes them."""

    def __init__(self, names: TopicNames, seen: native.Refetches | Refetches | None) -> None:
        self.numbers = Numbers(names)
        assert not isinstance(seen, Refetches)  # it is compiled
        self._fetches = native.FetchPositions(seen)

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
        """Return and forget the facts read, by client or group and partition, in their order."""
        numbers = self.numbers
        names = [named.identity for named in numbers.topics]
        positions, commits, groups = self._fetches.take()
        learned = [
            (numbers.clients[client][1], (names[topic], partition), asked, behind, high_watermark, is_lost)
            for client, topic, partition, asked, behind, high_watermark, is_lost in positions
        ]
        keys = [(numbers.scope_of(broker), text_of(group)) for broker, group in groups]
        committed = [
            (*keys[group], (names[topic], partition), offset) for group, topic, partition, offset in commits
        ]
        numbers.clear()
        return learned, committed


def name_of(names: TopicNames, info: ConnectionInfo, named: str | bytes) -> str:
    """Return the name of a topic, or its id as Kafka prints it if the name is unknown."""
    if not isinstance(named, bytes):
        return text_of(named)
    return names.name(info, named) or topic_id_text(named)
