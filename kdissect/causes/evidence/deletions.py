"""Topics that clients delete, and records that they delete up to an offset."""

from __future__ import annotations

from typing import NamedTuple

from kdissect.decoders.generated.values import sent
from kdissect.history import api_keys as apis
from kdissect.history.exchange_view import ExchangeView
from kdissect.history.state_table import Table
from kdissect.history.topics.topic_names import TopicNames
from kdissect.stats.client import Client, client_of, text_of

DELETIONS_KEPT = 10_000  # topics; 300 bytes each
DELETING_DATA = frozenset({apis.DELETE_TOPICS, apis.DELETE_RECORDS})


class Deletion(NamedTuple):
    """The last request that deleted something of a topic, and was not refused."""

    client: Client
    sent_ns: int


class Deletions:
    """Takes responses to DeleteTopics and DeleteRecords."""

    def __init__(self, names: TopicNames) -> None:
        self._names = names
        self._found: Table[tuple[int, str, str], Deletion] = Table(DELETIONS_KEPT)

    def add(self, view: ExchangeView) -> None:
        """Take a request that deletes, with its response."""
        if view.response is None:
            return
        deletion = Deletion(client_of(view), view.sent_ns)
        is_of_topics = view.key == apis.DELETE_TOPICS
        for row in (view.response.responses if is_of_topics else view.response.topics) or ():
            if is_of_topics and row.error_code:
                continue
            if not is_of_topics and all(one.error_code for one in row.partitions or ()):
                continue
            topic_id = sent(row, "topic_id")
            name = text_of(row.name) if row.name else topic_id and self._names.name(view.info, topic_id)
            if name:
                self._found.put((view.key, view.info.scope, name), deletion)

    def of(self, api_key: int, scope: str, topic: str | None) -> Deletion | None:
        """Return the last deletion of a topic, or of its records, by a request of this API."""
        return None if topic is None else self._found.peek((api_key, scope, topic))
