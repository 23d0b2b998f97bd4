"""Data that the log of exchanges stores for each one: numbers in columns, and indexes into tables of repeated
values.

An exchange takes about 140 bytes so, without an object of its own: a million of them 140 MB.
"""

from __future__ import annotations

from array import array
from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

from kdissect.capture.resume import ResumePoint
from kdissect.model.anomaly import Anomaly
from kdissect.session.exchange import State
from kdissect.session.info import ConnectionInfo

# Column -> type code of `array`. Frames have a column for each side.
COLUMNS = {
    "connection": "I",  # index into the connections
    "ordinal": "I",
    "api_key": "h",
    "api_version": "h",
    "correlation_id": "i",
    "client_id": "I",  # index into the table of client ids
    "flags": "H",
    "errors": "I",  # indexes into the tables of tuples
    "topics": "I",
    "topic_ids": "I",
    "rtt": "q",  # nanoseconds, NOT_KNOWN if unknown
    **{
        f"{side}_{name}": code
        for side in ("request", "response")
        for name, code in (
            ("time", "q"),
            ("end_time", "q"),
            ("size", "I"),  # without the 4 bytes of the size itself
            ("first_ref", "q"),
            ("last_ref", "q"),
            ("body", "I"),  # where in the frame the body begins
            ("mark", "I"),  # checksum of the beginning, or the block in the spool
        )
    },
}

STATES = (State.COMPLETE, State.NO_RESPONSE_EXPECTED, State.UNANSWERED, State.ORPHAN_RESPONSE)
STATE_MASK = 3  # bits of `flags`: the index into `STATES`
IS_TOKEN = 1 << 2
HAS_REQUEST = 1 << 3
HAS_RESPONSE = 1 << 4
REQUEST_CUT = 1 << 5
RESPONSE_CUT = 1 << 6
REQUEST_KEPT = 1 << 7  # in the spool
RESPONSE_KEPT = 1 << 8
HAS_CLOSE = 1 << 9
IS_ODD = 1 << 10  # has anomalies
NO_KEY = 1 << 11
NO_VERSION = 1 << 12
NO_CORRELATION = 1 << 13
IS_DELAYED = 1 << 14
IS_INCOMPLETE = 1 << 15  # of a complete one: the stream ended inside the response

# Bytes at the beginning of a frame whose checksum distinguishes it from frames with an equal beginning.
MARK_BYTES = 64
# Different values kept of each thing that repeats: a peer that sends a new name each time must not fill the
# memory. Later values appear as `MORE`.
MAX_VALUES = 1 << 18
MAX_VALUE_ITEMS = 10_000
# Exchanges whose anomalies are stored in words. For further ones the log stores only that there are some.
MAX_ODD = 200_000
# Exchanges that retransmissions delayed, with the stored time: 100 bytes each.
MAX_DELAYED = 200_000
NOT_KNOWN = -1
MORE = "(more names than fit)"

Anomalies = tuple[Sequence[Anomaly], Sequence[Anomaly], Sequence[Anomaly]]
"""Columns of the exchange, its request and its response."""


class Batch(NamedTuple):
    """Exchanges on their way from a `LogWriter` to an `ExchangeLog`, in plain values that can be pickled.

    `columns` by name, as bytes. `connections` are new or changed ones, by index. `client_ids`, `errors`,
    `topics` and `topic_ids` are new entries of the tables. By row, for the few that have some: `anomalies`,
    `captured` (bytes captured of request and response) and `delays` (nanoseconds). `points` are positions at
    which reading a file can begin. `names` are topic names by id.
    """

    columns: dict[str, bytes]
    connections: list[tuple[int, ConnectionInfo]]
    client_ids: list[str | None]
    errors: list[tuple[int, ...]]
    topics: list[tuple[str, ...]]
    topic_ids: list[tuple[bytes, ...]]
    anomalies: dict[int, Anomalies]
    captured: dict[int, tuple[int, int]]
    delays: dict[int, int]
    points: list[tuple[int, ResumePoint]]
    names: dict[bytes, str]
    start_ns: int


class Interned:
    """Values by number, with a separate list of new values since the last `take`. Number 0 is `first`."""

    def __init__(self, first: Hashable, overflow: Hashable) -> None:
        self._numbers: dict[Any, int] = {first: 0, overflow: 1}
        self._new: list[Any] = [first, overflow]

    def number(self, value: Any) -> int:
        """Return the number of a value; 1 if there are too many."""
        found = self._numbers.get(value)
        if found is None:
            if len(self._numbers) >= MAX_VALUES:
                return 1
            found = self._numbers[value] = len(self._numbers)
            self._new.append(value)
        return found

    def take(self) -> list[Any]:
        """Return the new values."""
        new, self._new = self._new, []
        return new


def new_columns() -> dict[str, array[int]]:
    """Empty columns."""
    return {name: array(code) for name, code in COLUMNS.items()}
