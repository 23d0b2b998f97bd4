"""How fast exchanges were answered, and when they took place: what reports draw, in bounded memory."""

from __future__ import annotations

from kdissect.rules.latency import Latencies
from kdissect.session.exchange import Exchange, State

Kind = tuple[int | None, int | None]

# API keys and versions come from the wire: a peer that makes them up must not fill the memory. 95 APIs have
# 368 versions; what comes after this many different ones counts as unknown.
MAX_KINDS = 2000
# Slots of the time line. Enough for a picture; when the capture gets longer, two slots become one.
MAX_SLOTS = 240
FIRST_SLOT_NS = 1_000_000


class TimeLine:
    """Exchanges by the time of their first byte, in at most `MAX_SLOTS` slots of `width_ns`.

    A slot is numbered by its time divided by the width; `slots` holds [exchanges, those without an answer
    they should have].
    """

    __slots__ = ("_first", "_last", "slots", "width_ns")

    def __init__(self) -> None:
        self.width_ns = FIRST_SLOT_NS
        self.slots: dict[int, list[int]] = {}
        self._first = 0
        self._last = 0

    def add(self, time_ns: int, is_lost: bool) -> None:
        """Count one exchange."""
        number = time_ns // self.width_ns
        slot = self.slots.get(number)
        if slot is None:
            slot = self._open(time_ns)
        slot[0] += 1
        slot[1] += is_lost

    def merge(self, other: TimeLine) -> None:
        """Count what another one holds, which stays as it is."""
        while self.width_ns < other.width_ns:
            self._widen()
        for number, (count, lost) in other.slots.items():
            time_ns = number * other.width_ns
            slot = self.slots.get(time_ns // self.width_ns) or self._open(time_ns)
            slot[0] += count
            slot[1] += lost

    def put_back(self, width_ns: int, number: int, held: int, is_lost: bool) -> None:
        """Take a slot of a time line that was written down; all of them have one width."""
        self._first = min(self._first, number) if self.slots else number
        self._last = max(self._last, number) if self.slots else number
        self.width_ns = width_ns
        self.slots.setdefault(number, [0, 0])[is_lost] = held

    @property
    def start_ns(self) -> int:
        """Where the first slot begins."""
        return self._first * self.width_ns

    @property
    def count(self) -> int:
        """Slots from the first to the last, empty ones too."""
        return self._last - self._first + 1 if self.slots else 0

    def row(self) -> list[tuple[int, int]]:
        """Every slot from the first to the last."""
        numbers = range(self._first, self._first + self.count)
        return [(slot[0], slot[1]) for slot in (self.slots.get(number, (0, 0)) for number in numbers)]

    def _open(self, time_ns: int) -> list[int]:
        number = time_ns // self.width_ns
        if not self.slots:
            self._first = self._last = number
        while max(self._last, number) - min(self._first, number) >= MAX_SLOTS:
            self._widen()
            number = time_ns // self.width_ns
        self._first = min(self._first, number)
        self._last = max(self._last, number)
        return self.slots.setdefault(number, [0, 0])

    def _widen(self) -> None:
        self.width_ns *= 2
        merged: dict[int, list[int]] = {}
        for number, (count, lost) in self.slots.items():
            slot = merged.setdefault(number // 2, [0, 0])
            slot[0] += count
            slot[1] += lost
        self.slots = merged
        self._first //= 2
        self._last //= 2


class Traffic:
    """`latencies` by API key and version, `times` of all exchanges. Merges exactly below `MAX_KINDS`."""

    def __init__(self) -> None:
        self.latencies: dict[Kind, Latencies] = {}
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

    def _open(self, kind: Kind) -> Latencies:
        if len(self.latencies) >= MAX_KINDS:
            kind = None, None
        return self.latencies.setdefault(kind, Latencies())
