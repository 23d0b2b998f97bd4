"""Offsets of deleted topics that groups commit for the topics that have their names now.

A consumer that keeps its position while its topic is deleted and created again commits that position for the
new topic. The group then skips the records of the new topic below it, or resets its offset.
"""

from __future__ import annotations

from typing import NamedTuple

from kdissect.history.fact import Evidence
from kdissect.history.state_table import Table
from kdissect.session.identities import plain_name

COMMITS_KEPT = 100_000  # groups times partitions; 300 bytes each
DUE_KEPT = 10_000  # partitions with commits that are not decided
_DUE_OF_PARTITION = 20

_Key = tuple[str, str, str, int]
"""Scope, group, name of the topic and partition."""


_Place = tuple[str, str, int]
"""Scope, topic as `transfers.topic_key` and partition."""


class DueCommit(NamedTuple):
    """A commit of an offset that may be the former topic's."""

    evidence: Evidence
    group: str
    client_id: str | None
    offset: int
    is_wanted: bool


class FormerTopics:
    """The topic and offset of the last commit, by group and partition.

    If the reader of a commit was not captured, it may have read a former topic whose copies have equal
    content to an equal offset. The end of the log shows it: one below the offset, reported after the commit.
    """

    def __init__(self) -> None:
        self._last: Table[_Key, tuple[str, int]] = Table(COMMITS_KEPT)
        self._due: Table[_Place, list[DueCommit]] = Table(DUE_KEPT)

    def wait(self, place: _Place, commit: DueCommit) -> None:
        """Store a commit until the end of its partition is reported again."""
        due = self._due.get_or(place, list)
        if len(due) < _DUE_OF_PARTITION:
            due.append(commit)

    def end(self, place: _Place, end: int, evidence: Evidence) -> list[DueCommit]:
        """Take the end of a partition. Return the commits beyond it: they are of the former topic."""
        if not self._due or place not in self._due:
            return []
        due = self._due.pop(place) or []
        later = [one for one in due if evidence.sent_ns < one.evidence.answered_ns]
        if later:
            self._due.put(place, later)
        return [one for one in due if one not in later and one.offset > end]

    def is_new(self, scope: str, group: str, topic: str, partition: int) -> bool:
        """Return whether the last commit was for another topic of the name; `topic`: as
        `transfers.topic_key`.
        """
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
