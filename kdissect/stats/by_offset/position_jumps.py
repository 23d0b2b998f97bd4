"""Positions of consumers that do not go on at the end of the last answer, with the observed causes."""

from __future__ import annotations

from typing import NamedTuple

from kdissect.history.fact import Evidence
from kdissect.history.state_table import Table
from kdissect.stats.by_group.group_links import ClientKey

READERS_KEPT = 100_000  # clients times partitions; 500 bytes each
PENDING_KEPT = 1_000  # readers with jumps that another consumer of the same name may explain
PENDING_OF_READER = 100  # such jumps of one reader, the last ones
CAUSES_KEPT = 8  # of one client and partition until its next Fetch
Partition = tuple[str, int]
"""Topic as `transfers.topic_key` has it, and partition."""
ReaderKey = tuple[ClientKey, Partition]

EARLIEST, LATEST = -2, -1  # of ListOffsets (org.apache.kafka.common.requests.ListOffsetsRequest)


class Cause(NamedTuple):
    """An answer that may move a position: to `offset`, or None if it only requires a move."""

    evidence: Evidence
    offset: int | None
    text: str
    is_commit: bool = False


class Jump(NamedTuple):
    """A position that went from the offset after the last records, or the requested offset, to another one.

    It does not move if the client asks again because it got less than one whole batch.
    """

    evidence: Evidence
    reader: ReaderKey
    before: int
    after: int
    because: str
    cause: Evidence | None


class _Reader:
    """The position of a client in a partition. `behind` is the next offset to ask for, if no answer was
    lost.
    """

    __slots__ = ("asked", "behind", "causes", "connection", "in_part", "is_shared", "losses")

    def __init__(self) -> None:
        self.in_part = ""
        """Content of the last answer, if that is less than one whole batch."""
        self.asked = -1
        self.behind = -1
        self.connection = ""
        self.losses = 0
        self.causes: list[Cause] = []
        self.is_shared = False


class _Pending(NamedTuple):
    """A jump to another connection, while the one before is open: that may go on reading."""

    jump: Jump
    before: str
    is_wanted: bool


class PositionJumps:
    """Positions by client and partition.

    Clients of one name and host that read a partition over two connections in turn are several clients: their
    positions are not reported.
    """

    def __init__(self) -> None:
        self._readers: Table[ReaderKey, _Reader] = Table(READERS_KEPT)
        self._pending: Table[ReaderKey, tuple[_Pending, ...]] = Table(PENDING_KEPT)
        self._open: dict[str, int] = {}
        """Connections with readers, and the number of answers on each that cannot be read."""

    def fetch(
        self, key: ReaderKey, evidence: Evidence, offset: int, losses: int, wanted: bool = True
    ) -> list[Jump]:
        """Take a client's request for an offset. Return the jump, if it is certain now and wanted."""
        connection, at_ns = evidence.connection, evidence.sent_ns
        losses += self._open.setdefault(connection, 0)
        reader = self._readers.get(key)
        is_new = reader is None
        if reader is None:
            reader = self._readers.put(key, _Reader())
        before, behind = reader.connection, reader.behind
        causes = [cause for cause in reader.causes if cause.evidence.answered_ns <= at_ns]
        reader.causes = [cause for cause in reader.causes if cause.evidence.answered_ns > at_ns]
        pending = self._pending.peek(key) or ()
        if any(waiting.before == connection for waiting in pending):
            reader.is_shared = True
            self._pending.pop(key)
        is_known = not (is_new or reader.is_shared) and losses == reader.losses
        asked, in_part = reader.asked, reader.in_part
        reader.asked = reader.behind = offset
        reader.connection, reader.losses, reader.in_part = connection, losses, ""
        if not is_known:
            return []
        if offset == behind:
            return [Jump(evidence, key, behind, offset, in_part, None)] if in_part and wanted else []
        jump = _jump(evidence, key, behind, offset, causes, before != connection, offset == asked)
        if jump is None:
            return []
        if before != connection and before in self._open:
            self._pending.put(key, (*pending[1 - PENDING_OF_READER :], _Pending(jump, before, wanted)))
            return []
        return [jump] if wanted else []

    def answer(self, key: ReaderKey, behind: int) -> None:
        """Take an answer that brought records up to an offset."""
        reader = self._readers.peek(key)
        if reader is not None and behind > reader.asked:
            reader.behind = behind

    def answer_in_part(self, key: ReaderKey, text: str) -> None:
        """Take an answer with less than one whole batch, which `text` describes: the client has to ask
        again.
        """
        reader = self._readers.peek(key)
        if reader is not None and reader.behind == reader.asked:
            reader.in_part = text

    def unread(self, connection: str) -> None:
        """Note an answer whose records are unknown."""
        self._open[connection] = self._open.get(connection, 0) + 1

    def cause(self, key: ReaderKey, cause: Cause) -> None:
        """Something that may move the position of a client that reads already."""
        reader = self._readers.peek(key)
        if reader is not None:
            reader.causes = [*reader.causes[1 - CAUSES_KEPT :], cause]

    def knows(self, key: ReaderKey) -> bool:
        """Return whether a client was seen to read a partition."""
        return self._readers.peek(key) is not None

    def behind(self, key: ReaderKey) -> int | None:
        """Return the offset that a client should ask for next, or None if it is unknown."""
        reader = self._readers.peek(key)
        if reader is None or reader.is_shared or key in self._pending:
            return None
        return reader.behind if self._open.get(reader.connection) == reader.losses else None

    def is_cause(self, key: ReaderKey, offset: int) -> bool:
        """Return whether a client received this offset since its last Fetch."""
        reader = self._readers.peek(key)
        return reader is not None and any(cause.offset == offset for cause in reader.causes)

    def close(self, connection: str) -> list[Jump]:
        """End a connection. Return the jumps that are certain now."""
        if self._open.pop(connection, None) is None:
            return []
        certain: list[Jump] = []
        for key, pending in list(self._pending.items()):
            waiting = tuple(jump for jump in pending if jump.before != connection)
            if len(waiting) == len(pending):
                continue
            certain += [over.jump for over in pending if over.before == connection and over.is_wanted]
            if waiting:
                self._pending.put(key, waiting)
            else:
                self._pending.pop(key)
        return certain

    def finish(self) -> list[Jump]:
        """End the input: no other client read at the jumps. Return them."""
        return [over.jump for pending in self._pending for over in pending if over.is_wanted]


def _jump(
    evidence: Evidence,
    key: ReaderKey,
    behind: int,
    offset: int,
    causes: list[Cause],
    is_new: bool,
    is_again: bool,
) -> Jump | None:
    """Return a jump with its best explanation, or None for a consumer that goes on at its group's offset."""
    for cause in reversed(causes):
        if cause.offset == offset:
            if cause.is_commit and offset > behind:
                return None  # other members of its group read the records between
            must = next((other.text for other in causes if other.offset is None), "")
            text = f"{must}: {cause.text}" if must else cause.text
            return Jump(evidence, key, behind, offset, text, cause.evidence)
    must_move = next((cause for cause in reversed(causes) if cause.offset is None), None)
    if must_move is not None:
        return Jump(evidence, key, behind, offset, must_move.text, must_move.evidence)
    why = "a new consumer" if is_new else "it asks for the same again" if is_again else "a seek"
    return Jump(evidence, key, behind, offset, f"nothing on the wire: {why}", None)
