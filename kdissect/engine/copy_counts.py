"""Connections of which another capture set has the copy that is read: counts by capture set, and examples."""

from collections import Counter
from typing import Any

from kdissect.session.info import ConnectionInfo

# Pairs of capture sets that are counted one by one, and examples of each. `total` counts all.
MAX_PAIRS = 20
EXAMPLES_KEPT = 5


class CopyCounts:
    """Counts copies that are `proven` and copies over TLS that are `probable`."""

    def __init__(self) -> None:
        self.proven = _Kind()
        self.probable = _Kind()

    def add(self, info: ConnectionInfo) -> bool:
        """Count a connection that is over. Return False if it is no copy."""
        for kind, read in ((self.proven, info.same_as), (self.probable, info.probably_same_as)):
            if read is not None:
                kind.add(info, read)
                return True
        return False

    def facts(self) -> dict[str, Any]:
        """Return the counts for JSON."""
        return self.proven.facts() | {"probable": self.probable.facts()}


class _Kind:
    def __init__(self) -> None:
        self._total = 0
        self._counts: Counter[tuple[str, str | None]] = Counter()
        self._examples: dict[tuple[str, str | None], list[dict[str, str]]] = {}

    def add(self, info: ConnectionInfo, read: str) -> None:
        self._total += 1
        sets = info.capture_set, info.read_from
        if sets not in self._counts and len(self._counts) >= MAX_PAIRS:
            return
        self._counts[sets] += 1
        examples = self._examples.setdefault(sets, [])
        if len(examples) < EXAMPLES_KEPT:
            examples.append({"connection": info.id, "same_as": read})

    def facts(self) -> dict[str, Any]:
        rows = [
            {
                "capture_set": capture_set,
                "read_from": read_from,
                "connections": count,
                "examples": self._examples[capture_set, read_from],
            }
            for (capture_set, read_from), count in self._counts.items()
        ]
        return {"total": self._total, "by_capture_set": rows}
