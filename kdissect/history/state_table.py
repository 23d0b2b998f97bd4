"""States by key, bounded in number."""

from collections import OrderedDict, deque
from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Table(Generic[K, V]):
    """Forgets what was used longest ago. `forgotten` counts that: then an unknown key may be an old one."""

    __slots__ = ("_entries", "_limit", "forgotten")

    def __init__(self, limit: int) -> None:
        self._entries: OrderedDict[K, V] = OrderedDict()
        self._limit = limit
        self.forgotten = 0

    def get(self, key: K) -> V | None:
        """Return the state of a key, which counts as used now."""
        found = self._entries.get(key)
        if found is not None:
            self._entries.move_to_end(key)
        return found

    def put(self, key: K, value: V) -> V:
        """Set the state of a key."""
        self._entries[key] = value
        self._entries.move_to_end(key)
        if len(self._entries) > self._limit:
            self._entries.popitem(last=False)
            self.forgotten += 1
        return value

    def get_or(self, key: K, make: Callable[[], V]) -> V:
        """Return the state of a key, made if there is none."""
        found = self.get(key)
        return self.put(key, make()) if found is None else found

    def pop(self, key: K) -> V | None:
        """Remove a key; return its state."""
        return self._entries.pop(key, None)

    def peek(self, key: K) -> V | None:
        """Return the state of a key, without counting it as used."""
        return self._entries.get(key)

    def use(self, key: K) -> None:
        """Note that a known key was used now."""
        self._entries.move_to_end(key)

    def use_all(self, keys: Iterable[K]) -> None:
        """Note that known keys were used now, in this order."""
        deque(map(self._entries.move_to_end, keys), maxlen=0)

    def __contains__(self, key: K) -> bool:
        return key in self._entries

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[V]:
        return iter(self._entries.values())

    def items(self) -> Iterator[tuple[K, V]]:
        """Return keys and states, the one unused for longest first."""
        return iter(self._entries.items())
