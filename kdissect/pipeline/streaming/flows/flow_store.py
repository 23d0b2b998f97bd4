"""The state of flows in a store: entries of two byte strings by key.

Keys begin with the owner: flows and the heads of shards with the number of the shard, data that capture sets
share of a flow with a letter alone.
"""

from __future__ import annotations

from typing import Protocol

NOTHING = b""
_FLOW, _HEAD, _TAPS, _FORGET = b"F", b"H", b"T", b"X"


class Store(Protocol):
    """Entries that go on from batch to batch."""

    def get(self, key: bytes) -> tuple[bytes, bytes] | None:
        """Return an entry, or None. Either half may be empty."""

    def put(self, key: bytes, first: bytes, second: bytes) -> None:
        """Keep an entry."""

    def remove(self, key: bytes) -> None:
        """Forget an entry that is there."""


class ShardStore:
    """The entries of a capture set's shard in a store."""

    def __init__(self, store: Store, part: int) -> None:
        self._store = store
        self.part = part
        self._part = part.to_bytes(4)

    def flow(self, key: bytes) -> tuple[bytes, bytes] | None:
        """Return the frozen flow, and the run of its segments that wait. Either may be empty."""
        return self._store.get(_FLOW + self._part + key)

    def put_flow(self, key: bytes, flow: bytes, waiting: bytes) -> None:
        """Keep both."""
        self._store.put(_FLOW + self._part + key, flow, waiting)

    def remove_flow(self, key: bytes) -> None:
        """Forget a flow."""
        self._store.remove(_FLOW + self._part + key)

    def head(self) -> bytes | None:
        """Return the head of the shard, or None."""
        found = self._store.get(_HEAD + self._part)
        return None if found is None else found[0]

    def put_head(self, head: bytes) -> None:
        """Keep it."""
        self._store.put(_HEAD + self._part, head, NOTHING)

    def put_timer(self, number: int, data: bytes) -> None:
        """Keep what is to be done at some time."""
        self._store.put(self._timer(number), data, NOTHING)

    def take_timer(self, number: int) -> bytes | None:
        """Return the entry of a timer, and remove it."""
        found = self._store.get(self._timer(number))
        if found is None:
            return None
        self._store.remove(self._timer(number))
        return found[0]

    def _timer(self, number: int) -> bytes:
        return _FORGET + self._part + number.to_bytes(8)


def taps_key(key: bytes) -> bytes:
    """Return the key of the data that capture sets share about a flow."""
    return _TAPS + key
