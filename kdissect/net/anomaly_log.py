"""A bounded list of anomalies that still counts all of them."""

from collections import Counter
from collections.abc import Sequence

from kdissect.model.anomaly import Anomaly, AnomalyKind
from kdissect.model.limits import DEFAULT_LIMITS


class _NoAnomalies(Counter[AnomalyKind]):
    """Counter that all objects without anomalies share: a Counter of its own comes with the first."""

    def __setitem__(self, kind: AnomalyKind, count: int) -> None:
        raise TypeError("shared by all that have no anomalies")


def without(counts: Counter[AnomalyKind], kind: AnomalyKind) -> Counter[AnomalyKind]:
    """Return the counts with one less of a kind."""
    return counts - Counter({kind: 1})


NO_ANOMALIES: Counter[AnomalyKind] = _NoAnomalies()


class AnomalyLog:
    """The first anomalies of a connection or parser, `most` of them, and how many of each kind there
    were."""

    __slots__ = ("_most", "counts", "kept")

    def __init__(self, most: int = DEFAULT_LIMITS.anomalies) -> None:
        self._most = most
        self.kept: Sequence[Anomaly] = ()
        self.counts = NO_ANOMALIES

    def __repr__(self) -> str:
        return f"AnomalyLog({dict(self.counts)})"

    @property
    def has_room(self) -> bool:
        """Whether the log stores the next anomaly."""
        return len(self.kept) < self._most

    def note(self, kind: AnomalyKind, detail: str, ref: int, time_ns: int) -> None:
        """Count one anomaly, and store it if the bound allows."""
        if not self.counts:
            self.counts = Counter()
        self.counts[kind] += 1
        if self.has_room:
            self.kept = [*self.kept, Anomaly(kind, detail, ref, time_ns)]

    def retract(self, anomaly: Anomaly) -> None:
        """Take one back that proved to be none."""
        self.counts = without(self.counts, anomaly.kind)
        self.kept = [one for one in self.kept if one != anomaly]


NOTHING_NOTED = AnomalyLog(0)
"""Replacement of a log while no anomaly can be noted, and none was."""
