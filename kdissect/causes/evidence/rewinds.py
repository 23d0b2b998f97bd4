"""Committed offsets that go back, compared with the last one of the group, whoever commits, offsets that a
client outside a group sets, and the connections that carry commits.
"""

from __future__ import annotations

from typing import NamedTuple

from kdissect.causes.evidence.deleted_offsets import Committed, DeletedOffsets
from kdissect.causes.evidence.deletions import DELETING_DATA, Deletions
from kdissect.causes.evidence.same_starts import SameStarts
from kdissect.causes.evidence.seen import packets_of
from kdissect.history import api_keys as apis
from kdissect.history.exchange_view import ExchangeView
from kdissect.history.state_table import Table
from kdissect.history.topics.topic_names import TopicNames
from kdissect.model.cause import Packets
from kdissect.session.exchange import Exchange
from kdissect.session.identities import plain_name
from kdissect.session.info import ConnectionInfo
from kdissect.stats.by_group.group_traffic import GroupTraffic
from kdissect.stats.by_group.positions import Commits
from kdissect.stats.by_offset.deleted_commits import DELETING
from kdissect.stats.client import Client, client_of, host_of, is_commit_from_outside, text_of
from kdissect.stats.transfers import Way, topic_key
from kdissect.stats.watermarks import refused_partitions, topic_of

_ABOUT_OFFSETS = DELETING | {apis.OFFSET_FETCH}
_DELETING = DELETING | DELETING_DATA
COMMITS_KEPT = 100_000  # groups times partitions; 300 bytes each
REWINDS_KEPT = 1_000
_CONNECTIONS_KEPT = 10_000


class Moved(NamedTuple):
    """A commit of an offset that differs from the one before."""

    group: str
    topic: str
    partition: int
    before: int
    after: int
    client: Client
    packets: Packets

    @property
    def skipped(self) -> int:
        """Offsets in between. Less than 0 if it was set back."""
        return self.after - self.before


class Rewinds:
    """Takes commits in their order."""

    def __init__(self, names: TopicNames) -> None:
        self._names = names
        self.committed: Table[Committed, int] = Table(COMMITS_KEPT)
        """The last offset."""
        self.found: list[Moved] = []
        """Back."""
        self.set_from_outside: list[Moved] = []
        """By requests that name no member of the group."""
        self.moved: Table[Committed, int] = Table(COMMITS_KEPT)
        """When a commit had an offset other than the previous commit's."""
        self.carriers: Table[str, tuple[str, str, str]] = Table(_CONNECTIONS_KEPT)
        """Connections that carry commits: client id, host and broker."""
        self._outsiders: Table[str, bool] = Table(_CONNECTIONS_KEPT)
        """Of these, connections whose first commit names no member."""

    def add(self, view: ExchangeView) -> None:
        """Take a commit that is answered."""
        if view.key != apis.OFFSET_COMMIT or view.request is None or view.response is None:
            return
        is_outside = is_commit_from_outside(view.request)
        if is_outside and view.info.id not in self.carriers:
            self._outsiders.put(view.info.id, True)
        is_outside &= view.info.id in self._outsiders  # as in blocks
        self._carry(view.info)
        refused = refused_partitions(view.response.topics)
        group = text_of(view.request.group_id)
        committed = {}  # of a partition that is named twice, the last offset counts
        for topic in view.request.topics or ():
            name = topic_key(self._names, view.info, topic_of(topic))
            for row in topic.partitions or ():
                if (topic_of(topic), row.partition_index) not in refused:
                    committed[view.info.scope, group, name, row.partition_index] = row.committed_offset
        for key, offset in committed.items():
            if is_outside:
                self._set(view, key, offset)
            self._commit(view, key, offset)

    def _set(self, view: ExchangeView, key: Committed, offset: int) -> None:
        before = self.committed.peek(key)
        if before is None or before < 0 or before == offset or len(self.set_from_outside) >= REWINDS_KEPT:
            return
        self.set_from_outside.append(_moved(view, key, before, offset))

    def _commit(self, view: ExchangeView, key: Committed, offset: int) -> None:
        before = self.committed.peek(key)
        self.committed.put(key, offset)
        if offset != before:
            self.moved.put(key, view.sent_ns)
        if before is not None and 0 <= offset < before and len(self.found) < REWINDS_KEPT:
            self.found.append(_moved(view, key, before, offset))

    def is_back(self, info: ConnectionInfo, group: str, commits: Commits, sent_ns: int) -> bool:
        """Return whether a commit of a block goes back somewhere, or may come from outside the group.
        Otherwise record it, as `add` does: a commit that comes to `add` after this changes nothing more.
        """
        if info.id not in self.carriers or info.id in self._outsiders:
            return True  # whether it names a member shows the first commit of each connection
        committed = {
            (info.scope, group, topic_key(self._names, info, topic), partition): offset
            for topic, rows in commits
            for partition, offset, *_ in rows
        }
        if any(offset < (self.committed.peek(key) or 0) for key, offset in committed.items()):
            return True
        for key, offset in committed.items():
            if self.committed.peek(key) != offset:
                self.moved.put(key, sent_ns)
            self.committed.put(key, offset)
        return False

    def _carry(self, info: ConnectionInfo) -> None:
        if info.id not in self.carriers:
            self.carriers.put(info.id, (info.client_id or "", host_of(info), info.broker_text))

    def carrying(self, client_id: str, host: str, broker: str) -> int:
        """Return how many connections of a client to a broker carried commits that were answered."""
        return sum(who == (client_id, host, broker) for _, who in self.carriers.items())


def _moved(view: ExchangeView, key: Committed, before: int, after: int) -> Moved:
    _, group, topic, partition = key
    packets = packets_of(view.evidence)
    return Moved(group, plain_name(topic), partition, before, after, client_of(view), packets)


class WatchedGroups(GroupTraffic):
    """Groups whose commits are compared with those before, and offsets that are fetched again. Requests that
    delete what groups read belong to them.
    """

    def __init__(
        self,
        names: TopicNames,
        rewinds: Rewinds,
        deleted: DeletedOffsets,
        deletions: Deletions,
        starts: SameStarts,
    ) -> None:
        super().__init__(names, watches_refetches=True)
        self._rewinds, self._deleted, self._deletions, self._starts = rewinds, deleted, deletions, starts
        self._goes_back = rewinds.is_back

    def _way_of(self, api_key: int, version: int) -> Way:
        """Return requests that delete are added as exchanges, too."""
        return False if api_key in _DELETING else super()._way_of(api_key, version)

    def add(self, exchange: Exchange, wanted: bool = True) -> None:
        """Take the next exchange."""
        super().add(exchange, wanted)
        if exchange.api_key == apis.OFFSET_COMMIT and wanted:
            self._rewinds.add(ExchangeView(exchange))
        elif exchange.api_key in _ABOUT_OFFSETS and wanted:
            view = ExchangeView(exchange)
            self._deleted.add(view)
            if exchange.api_key == apis.OFFSET_FETCH:
                self._starts.add(view)
        elif exchange.api_key in DELETING_DATA and wanted:
            self._deletions.add(ExchangeView(exchange))
