"""Bodies of one kind, alone and in pairs: which rules look at them, and how many were looked at."""

from collections import Counter

from kdissect.model.frame import Frame
from kdissect.rules.kinds import BodyRule
from kdissect.rules.run_coverage.traffic_counts import MOST_WAITING, Traffic
from kdissect.session.exchange import Exchange

KindKey = tuple[int | None, str, int, int]
"""API key, side and version, and the marks of rules that never speak of such bodies
(`ShownBodies.silent`).
"""
_LATE = 1 << 64  # later than any time in nanoseconds
Earliest = tuple[int, str, int]
"""The position of an exchange on the wire: time, connection, ordinal."""


def _earliest_of(exchange: Exchange) -> Earliest:
    """Return the place of an exchange, by which the first of a kind is chosen."""
    frame = exchange.request or exchange.response
    return 0 if frame is None else frame.time_ns, exchange.connection.id, exchange.ordinal


class BodyKind:
    """One side of an API in one version, with the same marks of rules that never speak of it: the rules for
    all such bodies.

    `is_watched` says whether rules about record batches look at such bodies too, or learn from them. `bodies`
    counts those looked at. `first` is the first body on the wire that no guard of a rule about pieces marks,
    and its pieces represent all such bodies: `pieces` counts the rules that checked them.
    """

    __slots__ = ("bodies", "first", "first_ns", "is_watched", "pieces", "rules")

    def __init__(self, rules: tuple[BodyRule, ...], is_watched: bool) -> None:
        self.rules = rules
        self.is_watched = is_watched
        self.bodies = 0
        self.first: Earliest | None = None
        self.first_ns = _LATE
        """The time of `first`: a quick look at one that came later."""
        self.pieces: Counter[str] = Counter()

    def is_first(self, exchange: Exchange) -> bool:
        """Return whether no such body before this one was seen."""
        return self.first is None or _earliest_of(exchange) < self.first

    def lead(self, exchange: Exchange) -> None:
        """Make this one the first."""
        self.first = _earliest_of(exchange)
        self.first_ns = self.first[0]
        self.pieces.clear()


PairKey = tuple[int | None, int | None, bool, int]
"""API key and version, whether there is an answer, and the marks of both kinds."""


class BodyPair:
    """The kinds of both bodies, `answered` None without a response.

    `is_watched`: rules about record batches look at one of them too. `exchanges` counts exchanges that no
    guard marked, `batches` the batches in them, until `Coverage.settle` counts them elsewhere.
    """

    __slots__ = (
        "_latencies",
        "_times",
        "_traffic",
        "answered",
        "asked",
        "batches",
        "exchanges",
        "is_watched",
    )

    def __init__(self, key: PairKey, asked: BodyKind, answered: BodyKind | None, traffic: Traffic) -> None:
        self.asked = asked
        self.answered = answered
        self.is_watched = asked.is_watched or (answered is not None and answered.is_watched)
        self.exchanges = self.batches = 0
        self._traffic, self._times = traffic, traffic.open_times
        self._latencies = traffic.open_latencies((key[0], key[1])) if answered is not None else []

    def is_first(self, at_ns: int) -> bool:
        """Return whether a body in an exchange at that time may be the first of its kind."""
        return at_ns <= self.first_ns

    def count(self, request: Frame, response: Frame | None) -> None:
        """Such an exchange was looked at."""
        self.exchanges += 1
        if response is not None:
            self._latencies.append(response.time_ns - request.end_time_ns)
        times = self._times  # `Traffic.wait`, without a call
        times.append(request.time_ns)
        if len(times) >= MOST_WAITING:
            self._traffic.settle()

    def add(self, exchanges: int, batches: int) -> None:
        """Count a number of them at once. Their times and latencies are for `Traffic`."""
        self.exchanges += exchanges
        self.batches += batches

    @property
    def first_ns(self) -> int:
        """An exchange that is not later may have the first body of a kind."""
        asked = self.asked.first_ns
        return asked if self.answered is None else max(asked, self.answered.first_ns)

    def settle(self) -> tuple[int, int]:
        """Count the bodies by their kinds, and return exchanges and batches since the last call."""
        count, batches = self.exchanges, self.batches
        self.exchanges = self.batches = 0
        self.asked.bodies += count
        if self.answered is not None:
            self.answered.bodies += count
        return count, batches
