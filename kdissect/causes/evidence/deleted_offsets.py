"""Committed offsets that somebody deletes, and members of the group that find none afterwards."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from kdissect.causes.evidence.seen import packets_of
from kdissect.decoders.generated.values import sent
from kdissect.history import api_keys as apis
from kdissect.history.exchange_view import ExchangeView
from kdissect.history.state_table import Table
from kdissect.history.topics.topic_names import TopicNames
from kdissect.model.cause import Packets
from kdissect.session.identities import plain_name
from kdissect.stats.by_offset.deleted_commits import deleted_partitions, of_deleted_groups
from kdissect.stats.client import Client, client_of, text_of
from kdissect.stats.transfers import topic_key
from kdissect.stats.watermarks import topic_of

DELETED_KEPT = 10_000  # groups times partitions; 400 bytes each
MISSED_KEPT = 1_000

Committed = tuple[str, str, str, int]
"""Scope of a cluster, group, topic, partition."""


class Deletion(NamedTuple):
    """A request that deleted a committed offset."""

    client: Client
    api_key: int
    packets: Packets
    offset: int


class Missed(NamedTuple):
    """A response without an offset for a partition whose offset was deleted before."""

    group: str
    topic: str
    partition: int
    deletion: Deletion
    client: Client
    packets: Packets


class DeletedOffsets:
    """Takes responses about offsets in their order; `committed` has the last offset of each partition."""

    def __init__(self, names: TopicNames, committed: Table[Committed, int]) -> None:
        self._names = names
        self._committed = committed
        self._deleted: Table[Committed, Deletion] = Table(DELETED_KEPT)
        self.missed: list[Missed] = []

    def add(self, view: ExchangeView) -> None:
        """Take a request that deletes or fetches offsets, with its response."""
        if view.request is None or view.response is None:
            return
        if view.key == apis.OFFSET_FETCH:
            self._fetch(view)
            return
        for place in deleted_partitions(view, self._names):
            self._delete(view, (view.info.scope, *place))
        for key in of_deleted_groups(view, (key for key, _ in self._committed.items())):
            self._delete(view, key)

    def _delete(self, view: ExchangeView, key: Committed) -> None:
        offset = self._committed.pop(key)
        if offset is not None and offset >= 0:
            deletion = Deletion(client_of(view), view.key, packets_of(view.evidence), offset)
            self._deleted.put(key, deletion)

    def _fetch(self, view: ExchangeView) -> None:
        if not len(self._deleted) or len(self.missed) >= MISSED_KEPT:
            return
        for group, topics in fetched_groups(view):
            for topic in topics or ():
                name = topic_key(self._names, view.info, topic_of(topic))
                for row in topic.partitions or ():
                    key = view.info.scope, group, name, row.partition_index
                    if not row.error_code and row.committed_offset < 0 and key not in self._committed:
                        self._miss(view, key)

    def _miss(self, view: ExchangeView, key: Committed) -> None:
        deletion = self._deleted.peek(key)
        if deletion is not None:
            _, group, topic, partition = key
            packets = packets_of(view.evidence)
            self.missed.append(
                Missed(group, plain_name(topic), partition, deletion, client_of(view), packets)
            )


def fetched_groups(view: ExchangeView) -> Iterator[tuple[str, Any]]:
    """Yield the groups of a response to OffsetFetch without an error, each with its topics."""
    rows = sent(view.response, "groups", None)
    if rows is not None:
        yield from ((text_of(row.group_id), row.topics) for row in rows if not row.error_code)
    elif not sent(view.response, "error_code", 0):
        yield text_of(view.request.group_id), view.response.topics
