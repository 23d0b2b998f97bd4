"""Open connections of a capture set that are silent: the frozen state of each, in the checkpoint.

Rules:
- A batch sets a connection's state in the capture set aside, once a batch had no event of it. It takes the
  state up when an event comes, or when a fact is about it. So a batch reads and writes only connections that
  speak.
- Files are never changed, as older states name them too. A file that is no larger than the new one, or most
  of whose connections were resumed, is merged into the new one.
"""

from __future__ import annotations

import pickle
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from kdissect.pipeline.streaming.flows.freezer import Freezer
from kdissect.session.info import ConnectionInfo
from kdissect.stages.per_capture_set import Aside

Read = Callable[[str], bytes]
"""Returns the content of a file."""
Silent = tuple[ConnectionInfo, Aside]
_FREEZER = Freezer({})


class SilentConnections:
    """Frozen connections by id. Picklable by a `Freezer` that keeps `read` apart."""

    def __init__(self, read: Read) -> None:
        self._read = read
        self._files: dict[int, tuple[str, int]] = {}
        """By number: path, and how many connections it was written with."""
        self._in: dict[str, int] = {}
        """The file number of each connection."""
        self._opened: dict[int, dict[str, bytes]] = {}
        self._woken: list[Silent] = []

    def __getstate__(self) -> tuple[Any, ...]:
        return self._read, self._files, self._in

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self._read, self._files, self._in = state
        self._opened, self._woken = {}, []

    def __contains__(self, connection: str) -> bool:
        return connection in self._in

    @property
    def paths(self) -> tuple[str, ...]:
        """Their files."""
        return tuple(path for path, _ in self._files.values())

    def take(self, connection: str) -> Silent | None:
        """Take a connection out; None if it is not here."""
        number = self._in.pop(connection, None)
        if number is None:
            return None
        found: Silent = _FREEZER.thaw(self._entries(number)[connection])
        return found

    def add(self, connections: Mapping[str, Silent], path: str) -> bytes | None:
        """Add connections. Return the content to write as `path`, or None if there is none."""
        alive = Counter(self._in.values())
        whole = {name: _FREEZER.freeze(silent) for name, silent in connections.items()}
        for number, (_, size) in sorted(self._files.items(), key=lambda file: alive[file[0]]):
            if alive[number] <= len(whole) or 2 * alive[number] < size:
                whole |= self._living(number)
                del self._files[number]
        if not whole:
            return None
        newest = max(self._files, default=0) + 1
        self._files[newest] = path, len(whole)
        self._in |= dict.fromkeys(whole, newest)
        self._opened = {newest: whole}
        return pickle.dumps(whole)

    def reduced(self, info: ConnectionInfo) -> tuple[Any, ...]:
        """Return how a connection is pickled next to these: a silent one by its name."""
        if info.id in self._in:
            return _woken, (self, info.id)
        found: tuple[Any, ...] = info.__reduce_ex__(5)  # type: ignore[assignment]
        return found

    def wake(self, connection: str) -> ConnectionInfo:
        """Take out a connection that another object in the same pickle refers to."""
        found = self.take(connection)
        assert found is not None, f"connection {connection} is named twice"
        self._woken.append(found)
        return found[0]

    def take_woken(self) -> list[Silent]:
        """Return the connections that were resumed because an object refers to them. The caller takes them
        up.
        """
        woken, self._woken = self._woken, []
        return woken

    def _living(self, number: int) -> dict[str, bytes]:
        names = [name for name, at in self._in.items() if at == number]
        return {name: self._entries(number)[name] for name in names}

    def _entries(self, number: int) -> dict[str, bytes]:
        found = self._opened.get(number)
        if found is None:
            found = self._opened[number] = pickle.loads(self._read(self._files[number][0]))
        return found


def _woken(silent: SilentConnections, connection: str) -> ConnectionInfo:
    return silent.wake(connection)
