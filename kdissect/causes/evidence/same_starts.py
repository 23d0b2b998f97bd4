"""Committed offsets that members of a group ask for again and again and that stay the same."""

from __future__ import annotations

from typing import NamedTuple

from kdissect.causes.evidence.deleted_offsets import Committed, fetched_groups
from kdissect.causes.evidence.seen import EVIDENCE_KEPT, packets_of
from kdissect.history.exchange_view import ExchangeView
from kdissect.history.state_table import Table
from kdissect.history.topics.topic_names import TopicNames
from kdissect.model.cause import Packets
from kdissect.stats.client import Client, client_of
from kdissect.stats.transfers import topic_key
from kdissect.stats.watermarks import topic_of

STARTS_KEPT = 20_000  # groups times partitions; 1 KB each


class Start(NamedTuple):
    """The offset at which a member of a group begins. `offset`: -1 if the group committed none."""

    client: Client
    offset: int


class Starts:
    """The starts at one offset in a row, and the lowest offset of all starts.

    `again` counts starts after the first one, from `first_ns` to `last_ns`; `packets` are the first of them.
    """

    __slots__ = ("again", "first_ns", "last_ns", "lowest", "packets", "start")

    def __init__(self, start: Start) -> None:
        self.lowest = start.offset
        self._begin(start)

    def _begin(self, start: Start) -> None:
        self.start = start
        self.again = self.first_ns = self.last_ns = 0
        self.packets: list[Packets] = []

    def add(self, start: Start, view: ExchangeView) -> None:
        """Take a start after the first one."""
        self.lowest = min(self.lowest, start.offset)
        if start != self.start:
            self._begin(start)
            return
        self.again += 1
        self.first_ns, self.last_ns = self.first_ns or view.sent_ns, view.sent_ns
        if len(self.packets) < EVIDENCE_KEPT:
            self.packets.append(packets_of(view.evidence))


class SameStarts:
    """Takes responses to OffsetFetch in their order."""

    def __init__(self, names: TopicNames) -> None:
        self._names = names
        self.found: Table[Committed, Starts] = Table(STARTS_KEPT)

    def add(self, view: ExchangeView) -> None:
        """Take a request for committed offsets, with its response."""
        if view.request is None or view.response is None:
            return
        client = client_of(view)
        for group, topics in fetched_groups(view):
            for topic in topics or ():
                name = topic_key(self._names, view.info, topic_of(topic))
                for row in topic.partitions or ():
                    if row.error_code:
                        continue
                    key = view.info.scope, group, name, row.partition_index
                    start, known = Start(client, row.committed_offset), self.found.get(key)
                    if known is None:
                        self.found.put(key, Starts(start))
                    else:
                        known.add(start, view)
