"""The committed offsets that a request deletes: OffsetDelete names partitions, DeleteGroups whole groups."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

from kdissect.history import api_keys as apis
from kdissect.history.exchange_view import ExchangeView
from kdissect.history.topics.topic_names import TopicNames
from kdissect.stats.client import text_of
from kdissect.stats.transfers import topic_key
from kdissect.stats.watermarks import topic_of

Key = TypeVar("Key", bound=tuple[Any, ...])
DELETING = frozenset({apis.DELETE_GROUPS, apis.OFFSET_DELETE})


def deleted_partitions(view: ExchangeView, names: TopicNames) -> Iterator[tuple[str, str, int]]:
    """Yield group, topic and partition of each offset that an OffsetDelete deletes."""
    if view.key == apis.OFFSET_DELETE and not view.response.error_code:
        group = text_of(view.request.group_id)
        for topic in view.response.topics or ():
            name = topic_key(names, view.info, topic_of(topic))
            for row in topic.partitions or ():
                if not row.error_code:
                    yield group, name, row.partition_index


def of_deleted_groups(view: ExchangeView, committed: Iterable[Key]) -> list[Key]:
    """Return those of these keys, which begin with scope and group, whose group a DeleteGroups deletes."""
    if view.key != apis.DELETE_GROUPS:
        return []
    groups = {text_of(one.group_id) for one in view.response.results or () if not one.error_code}
    scope = view.info.scope
    return [key for key in committed if key[0] == scope and key[1] in groups] if groups else []
