"""Counts by labels whose values come from the wire, in bounded memory.

Rules:
- A label set that exists stays: counters of Prometheus only grow.
- If a new one exceeds the bound, its labels from the last to the first become `other`, until it equals an
  existing set or fits. So sums stay right, and the first labels keep their meaning.
- Values become inert and short before they become labels.
"""

from collections.abc import Callable
from typing import Generic, Protocol, Self, TypeVar, cast

from kdissect.report.printable import printable

# Label sets in a group of metrics, and the same number for each replaced label. Most series of a set are its
# histogram: 1000 clients and 1000 topics are 47 000 series, 4.5 MB and 0.7 s of CPU at each scrape.
MAX_LABEL_SETS = 1000
OTHER = "other"
# Topic names have at most 249 characters (org.apache.kafka.common.internals.Topic#MAX_NAME_LENGTH). Client
# ids may have 32 767 bytes.
MAX_VALUE_LENGTH = 249
_CUT = "..."

Labels = tuple[str, ...]
T = TypeVar("T", bound="Copied")


class Copied(Protocol):
    """Counts that change, and can be copied as they are."""

    def copy(self) -> Self:
        """Return the same counts, which do not change any more."""


class LabelSets(Generic[T]):
    """Counts of type T by label values. `make` makes new counts."""

    def __init__(self, make: Callable[[], T], limit: int = MAX_LABEL_SETS) -> None:
        self._make = make
        self._limit = limit
        self._kept: dict[int, int] = {}  # labels that were not replaced -> number of sets
        self.sets: dict[Labels, T] = {}

    def at(self, values: tuple[str | None, ...]) -> T:
        """Return the counts of a label set, or of its replacement. None is a label without a value."""
        found = self.sets.get(cast(Labels, values))  # nearly all values are equal to their labels
        return self.sets[self.labels_of(values)] if found is None else found

    def labels_of(self, values: tuple[str | None, ...]) -> Labels:
        """Return the label set for values. Add it if it is missing."""
        labels = tuple(label_value(value) for value in values)
        for keep in range(len(labels), 0, -1):
            stand_in = labels[:keep] + (OTHER,) * (len(labels) - keep)
            if stand_in in self.sets:
                return stand_in
            if self._kept.get(keep, 0) < self._limit:
                return self._add(stand_in, keep)
        nameless = (OTHER,) * len(labels)
        return nameless if nameless in self.sets else self._add(nameless, 0)

    def copies(self) -> dict[Labels, T]:
        """Return the counts of all sets as they are now."""
        return {labels: counts.copy() for labels, counts in self.sets.items()}

    def _add(self, labels: Labels, keep: int) -> Labels:
        self._kept[keep] = self._kept.get(keep, 0) + 1
        self.sets[labels] = self._make()
        return labels


def label_value(value: str | None) -> str:
    """Return a value as a label: printable, at most `MAX_VALUE_LENGTH` characters, empty for None."""
    if value is None:
        return ""
    text = printable(value[: MAX_VALUE_LENGTH + 1])
    return text if len(text) <= MAX_VALUE_LENGTH else text[: MAX_VALUE_LENGTH - len(_CUT)] + _CUT
