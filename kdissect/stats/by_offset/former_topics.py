"""Offsets of deleted topics that groups commit for the topics that have their names now.

A consumer that keeps its position while its topic is deleted and created again commits that position for the
new topic. The group then skips the records of the new topic below it, or resets its offset.
"""

from __future__ import annotations

from kdissect.history.state_table import Table
from kdissect.session.identities import plain_name

COMMITS_KEPT = 100_000  # groups times partitions; 300 bytes each

_Key = tuple[str, str, str, int]
"""Scope, group, name of the topic and partition."""


class FormerTopics:
    """The topic and offset of the last commit, by group and partition."""

    def __init__(self) -> None:
        self._last: Table[_Key, tuple[str, int]] = Table(COMMITS_KEPT)

    def is_new(self, scope: str, group: str, topic: str, partition: int) -> bool:
        """Whether the last commit was for another topic of the name; `topic`: as `transfers.topic_key`."""
        last = self._last.peek((scope, group, plain_name(topic), partition))
        return last is not None and last[0] != topic

    def commit(
        self, scope: str, group: str, topic: str, partition: int, offset: int, is_refused: bool
    ) -> str | None:
        """Take a commit. Return the topic before of the name if the offset is the last one committed for it.

        A refused commit counts as one for the topic before: the broker may not know the new topic yet.
        """
        key = scope, group, plain_name(topic), partition
        last = self._last.peek(key)
        self._last.put(key, (last[0] if is_refused and last is not None else topic, offset))
        if is_refused or last is None or last[0] == topic:
            return None
        return last[0] if last[1] == offset > 0 else None
