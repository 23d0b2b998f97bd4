"""A bounded list of anomalies that still counts all of them."""

from collections import Counter

from kdissect.model.anomaly import Anomaly, AnomalyKind
from kdissect.model.limits import DEFAULT_LIMITS


class AnomalyLog:
    """The first anomalies of a connection or parser, `most` of them, and how many of each kind there
    were."""

    __slots__ = ("_most", "counts", "kept")

    def __init__(self, most: int = DEFAULT_LIMITS.anomalies) -> None:
        self._most = most
        self.kept: list[Anomaly] = []
        self.counts: Counter[AnomalyKind] = Counter()

    def note(self, kind: AnomalyKind, detail: str, ref: int, time_ns: int) -> None:
        """Count one anomaly, and keep it while there is room."""
        self.counts[kind] += 1
        if len(self.kept) < self._most:
            self.kept.append(Anomaly(kind, detail, ref, time_ns))
