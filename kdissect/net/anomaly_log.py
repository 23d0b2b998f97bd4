"""A bounded list of anomalies that still counts all of them."""

from collections import Counter

from kdissect.model.anomaly import Anomaly, AnomalyKind

# A broken connection repeats itself: the first hundred tell what is wrong, the counts tell how often.
KEPT = 100


class AnomalyLog:
    """The first anomalies of a connection or parser, and how many of each kind there were."""

    __slots__ = ("counts", "kept")

    def __init__(self) -> None:
        self.kept: list[Anomaly] = []
        self.counts: Counter[AnomalyKind] = Counter()

    def note(self, kind: AnomalyKind, detail: str, ref: int, time_ns: int) -> None:
        """Count one anomaly, and keep it while there is room."""
        self.counts[kind] += 1
        if len(self.kept) < KEPT:
            self.kept.append(Anomaly(kind, detail, ref, time_ns))
