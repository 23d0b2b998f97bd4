"""Snapshots that nodes of the metadata quorum fetch piece by piece (KIP-630).

Key: connection, topic, partition, end offset and epoch of the snapshot. Order: that of the connection's
requests. A node that begins a snapshot on another connection goes on where it was, so the first request on a
connection is not checked.
"""

from enum import StrEnum
from typing import Any, ClassVar

from kdissect.history import api_keys as apis
from kdissect.history.exchange_view import ExchangeView
from kdissect.history.fact import Evidence, Fact, is_answered_before
from kdissect.history.state_table import Table

SNAPSHOTS_KEPT = 10_000  # a state is 200 bytes, and a node fetches one snapshot at a time


class SnapshotFact(StrEnum):
    """Facts about snapshots."""

    FETCHED = "fetched"  # a whole snapshot (seen: its size)
    POSITION_DIFFERS = "position_differs"  # asked for bytes that do not follow those received
    OTHER_POSITION = "other_position"  # answered with other bytes than asked for
    SIZE_DIFFERS = "size_differs"  # the size of a snapshot is another than before


class SnapshotFetch:
    """One snapshot on one connection. `position` is where the next bytes begin, `size` that of the whole."""

    __slots__ = ("by", "losses", "position", "size")

    def __init__(self) -> None:
        self.position: int | None = None
        self.size: int | None = None
        self.losses = 0
        self.by: Evidence | None = None


SnapshotKey = tuple[str, str, int, int, int]


class SnapshotFetches:
    """Snapshots by connection and id."""

    api_keys: ClassVar[frozenset[int] | None] = frozenset({apis.FETCH_SNAPSHOT})

    def __init__(self) -> None:
        self.snapshots: Table[SnapshotKey, SnapshotFetch] = Table(SNAPSHOTS_KEPT)

    def feed(self, view: ExchangeView) -> list[Fact]:
        """Take the next FetchSnapshot."""
        facts = []
        answers = {
            (str(topic.name), row.index): (row, f"topics[{at}].partitions[{index}]")
            for at, topic in enumerate(getattr(view.response, "topics", None) or ())
            for index, row in enumerate(topic.partitions or ())
        }
        for at, topic in enumerate(getattr(view.request, "topics", None) or ()):
            for index, row in enumerate(topic.partitions or ()):
                stated = row.snapshot_id
                key = (view.info.id, str(topic.name), row.partition, stated.end_offset, stated.epoch)
                known = self.snapshots.get_or(key, SnapshotFetch)
                facts += _asked(view, key, known, row, f"topics[{at}].partitions[{index}].position")
                answer, path = answers.get((key[1], key[2]), (None, ""))
                if answer is not None and not answer.error_code:
                    facts += _answered(view, key, known, row, answer, path)
        return facts


def _asked(view: ExchangeView, key: SnapshotKey, known: SnapshotFetch, row: Any, path: str) -> list[Fact]:
    """Return a fact unless the request begins at 0 or where the bytes received end."""
    expected, by = known.position, known.by
    if expected is None or known.losses != view.losses or row.position in (0, expected):
        return []
    if by is not None and not is_answered_before(by, view.evidence):
        return []  # sent before the last response came
    kind = SnapshotFact.POSITION_DIFFERS
    return [Fact(kind, key, view.evidence, "request", path, expected, row.position, by)]


def _answered(
    view: ExchangeView, key: SnapshotKey, known: SnapshotFetch, row: Any, answer: Any, path: str
) -> list[Fact]:
    facts = []

    def fact(kind: SnapshotFact, field: str, expected: Any, seen: int) -> None:
        facts.append(Fact(kind, key, view.evidence, "response", f"{path}.{field}", expected, seen, known.by))

    if answer.position != row.position:
        fact(SnapshotFact.OTHER_POSITION, "position", row.position, answer.position)
    if known.size not in (None, answer.size):
        fact(SnapshotFact.SIZE_DIFFERS, "size", known.size, answer.size)
    known.position, known.size = answer.position + len(answer.unaligned_records), answer.size
    known.losses, known.by = view.losses, view.evidence
    if known.position == known.size:
        fact(SnapshotFact.FETCHED, "size", None, known.size)
    return facts
