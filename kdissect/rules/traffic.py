"""How fast exchanges were answered, and when they took place: what reports draw, in bounded memory."""

from __future__ import annotations

from kdissect.session.exchange import Exchange, State
from kdissect.sketches.distribution import Distribution
from kdissect.sketches.intervals import Counts

Kind = tuple[int | None, int | None]

# API keys and versions come from the wire: a peer that makes them up must not fill the memory. 95 APIs have
# 368 versions; what comes after this many different ones counts as unknown. Each takes 24 KB at most.
MAX_KINDS = 1000
# Slots of the time line. Enough for a picture; when the capture gets longer, two slots become one.
MAX_SLOTS = 240
FIRST_SLOT_NS = 1_000_000


class TimeLine(Counts):
    """Exchanges by the time of their first byte, in at most `MAX_SLOTS` slots: how many, and how many of
    them without an answer they should have.
    """

    __slots__ = ()

    def __init__(self, width_ns: int = FIRST_SLOT_NS) -> None:
        super().__init__(width_ns)

    def add(self, time_ns: int, is_lost: bool) -> None:
        """Count one exchange."""
        self.count(time_ns, (1, int(is_lost)))

    def empty(self) -> list[int]:
        """No exchanges."""
        return [0, 0]

    @property
    def start_ns(self) -> int:
        """Where the first slot begins."""
        return min(self._held, default=0) * self.width_ns

    def row(self) -> list[tuple[int, int]]:
        """Every slot from the first to the last, empty ones too."""
        first = min(self._held, default=0)
        slots = (self._held.get(number, (0, 0)) for number in range(first, first + self.span()))
        return [(slot[0], slot[1]) for slot in slots]

    def is_full(self) -> bool:
        """Longer than `MAX_SLOTS`."""
        return self.span() > MAX_SLOTS

    def wider(self, width_ns: int) -> int:
        """Two slots become one."""
        return width_ns * 2


class Traffic:
    """`latencies` by API key and version, `times` of all exchanges. Merges exactly below `MAX_KINDS`."""

    def __init__(self) -> None:
        self.latencies: dict[Kind, Distribution] = {}
        self.times = TimeLine()

    def add(self, exchange: Exchange) -> None:
        """Count one exchange."""
        request, response = exchange.request, exchange.response
        frame = request or response
        if frame is not None:
            self.times.add(frame.time_ns, exchange.state is State.UNANSWERED)
        if request is None or response is None:
            return
        kind = exchange.api_key, exchange.api_version
        held = self.latencies.get(kind) or self._open(kind)
        held.add(response.time_ns - request.end_time_ns)

    def merge(self, other: Traffic) -> None:
        """Count what another one holds, which stays as it is."""
        self.times.merge(other.times)
        for kind, latencies in other.latencies.items():
            (self.latencies.get(kind) or self._open(kind)).merge(latencies)

    def _open(self, kind: Kind) -> Distribution:
        if len(self.latencies) >= MAX_KINDS:
            kind = None, None
        return self.latencies.setdefault(kind, Distribution())
