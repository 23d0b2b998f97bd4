"""How far consumers have read, and how far they could: lag is high watermark minus fetch offset.

The fetch offset is that of the client's last Fetch, or the one behind the records that the last answer
brought. The high watermark is the last one that the client received.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from kdissect.decoders.generated.values import sent
from kdissect.engine.exchange_rows import topic_id_text
from kdissect.engine.records.record_sets import record_sets
from kdissect.history import api_keys as apis
from kdissect.history.exchange_view import ExchangeView
from kdissect.history.state_table import Table
from kdissect.history.topic_names import TopicNames
from kdissect.session.info import ConnectionInfo
from kdissect.stats.by_group.group_links import ClientKey, client_key
from kdissect.stats.client import text_of
from kdissect.stats.watermarks import topic_of

_POSITIONS_KEPT = 100_000  # clients times partitions, 400 bytes each
_COMMITS_KEPT = 100_000  # groups times partitions, 300 bytes each

Partition = tuple[str, int]
"""Topic by name where it is known, else by its id; and partition."""
_COMMITS = frozenset({apis.OFFSET_COMMIT, apis.TXN_OFFSET_COMMIT})


class Position(NamedTuple):
    """Where a client reads a partition; None for what was not seen."""

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
    """Fetch positions by client, committed offsets by group."""

    def __init__(self, names: TopicNames) -> None:
        self._names = names
        self._positions: Table[tuple[ClientKey, Partition], Position] = Table(_POSITIONS_KEPT)
        self._commits: Table[tuple[str, str, Partition], int] = Table(_COMMITS_KEPT)

    def learn(self, turn: ExchangeView) -> None:
        """Take the next exchange."""
        if turn.key == apis.FETCH and turn.request is not None:
            self._asked(turn)
            self._answered(turn)
        elif turn.key in _COMMITS and turn.request is not None and turn.response is not None:
            self._committed(turn)

    def of_client(self, client: ClientKey, partition: Partition) -> Position:
        """The position of a client."""
        return self._positions.peek((client, partition)) or _NOWHERE

    def committed(self, capture_set: str, group: str, partition: Partition) -> int | None:
        """The offset a group committed last; None where none was seen."""
        return self._commits.peek((capture_set, group, partition))

    def commits_of(self, capture_set: str, group: str) -> dict[Partition, int]:
        """All offsets a group committed."""
        return {key[2]: offset for key, offset in self._commits.items() if key[:2] == (capture_set, group)}

    def _asked(self, turn: ExchangeView) -> None:
        client = client_key(turn)
        for topic in turn.request.topics or ():
            name = self._name(turn, topic)
            for row in topic.partitions or ():
                key = client, (name, row.partition)
                before = self._positions.get(key) or _NOWHERE
                found = before._replace(fetch_offset=row.fetch_offset, time_ns=turn.sent_ns)
                self._positions.put(key, found)

    def _answered(self, turn: ExchangeView) -> None:
        client, behind = client_key(turn), self._behind(turn)
        for topic in sent(turn.response, "responses", None) or ():
            name = self._name(turn, topic)
            for row in topic.partitions or ():
                if row.error_code or row.high_watermark < 0:
                    continue
                key = client, (name, row.partition_index)
                found = (self._positions.get(key) or _NOWHERE)._replace(high_watermark=row.high_watermark)
                offset = behind.get((topic_of(topic), row.partition_index))
                if offset is not None and offset > (found.fetch_offset or 0):
                    found = found._replace(fetch_offset=offset)
                self._positions.put(key, found)

    def _behind(self, turn: ExchangeView) -> dict[Any, int]:
        """The offsets behind the records that an answer brings."""
        found = {}
        for records in record_sets(turn.exchange):
            batches = records.found.batches
            if batches:
                section = records.records_field
                topic = section.topic if section.topic is not None else section.topic_id
                found[topic, section.partition] = batches[-1].last_offset + 1
        return found

    def _committed(self, turn: ExchangeView) -> None:
        capture_set, group = turn.info.capture_set, text_of(turn.request.group_id)
        refused = {
            (topic_of(topic), row.partition_index)
            for topic in turn.response.topics or ()
            for row in topic.partitions or ()
            if row.error_code
        }
        for topic in turn.request.topics or ():
            name = self._name(turn, topic)
            for row in topic.partitions or ():
                if (topic_of(topic), row.partition_index) not in refused:
                    self._commits.put((capture_set, group, (name, row.partition_index)), row.committed_offset)

    def _name(self, turn: ExchangeView, topic: Any) -> str:
        return name_of(self._names, turn.info, topic_of(topic))


def name_of(names: TopicNames, info: ConnectionInfo, named: str | bytes) -> str:
    """The name of a topic, or its id as Kafka prints it where the name is unknown."""
    if not isinstance(named, bytes):
        return text_of(named)
    return names.name(info, named) or topic_id_text(named)
