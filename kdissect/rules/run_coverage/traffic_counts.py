"""How fast exchanges were answered, and when they took place: what reports draw, in bounded memory."""

from __future__ import annotations

from collections import Counter
from itertools import repeat
from operator import floordiv
from typing import Any

from kdissect.session.exchange import Exchange, State
from kdissect.sketches.distribution import Distribution, DistributionRow
from kdissect.sketches.intervals import Counts

Kind = tuple[int | None, int | None]

# API keys and versions come from the wire: a peer with random ones must not fill the memory. 95 APIs have 368
# versions. Beyond this number of different ones, they count as unknown. Each takes 24 KB at most.
MAX_KINDS = 1000
# Slots of the time line. Enough for a picture. When the capture gets longer, two slots become one.
MAX_SLOTS = 240
FIRST_SLOT_NS = 1_000_000
# Exchanges that are counted together: some 600 KB of numbers.
MOST_WAITING = 8192


def kind_order(kind: Kind) -> tuple[tuple[bool, int | None], ...]:
    """Return the key that sorts kinds by number, with unknown parts first."""
    return tuple((part is not None, part) for part in kind)


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
        """Return every slot from the first to the last, empty ones too."""
        first = min(self._held, default=0)
        slots = (self._held.get(number, (0, 0)) for number in range(first, first + self.span()))
        return [(slot[0], slot[1]) for slot in slots]

    def is_full(self) -> bool:
        """Longer than `MAX_SLOTS`."""
        return self.span() > MAX_SLOTS

    def wider(self, width_ns: int) -> int:
        """Join each two slots, and return the new width."""
        return width_ns * 2


class Traffic:
    """`latencies` by API key and version, `times` of all exchanges. Merges exactly below `MAX_KINDS`.

    Numbers wait in lists and are counted together.
    """

    def __init__(self) -> None:
        self._latencies: dict[Kind, Distribution] = {}
        self._times = TimeLine()
        self._waiting: dict[Kind, list[int]] = {}
        self.open_times: list[int] = []
        """Times of exchanges that have the answers they should have, to be counted (see `wait`)."""

    def __getstate__(self) -> dict[str, Any]:
        """Return the state after `settle`: waiting numbers would be most of a connection's state."""
        self.settle()
        return self.__dict__

    @property
    def latencies(self) -> dict[Kind, Distribution]:
        """Latencies by API key and version."""
        self.settle()
        return self._latencies

    @property
    def times(self) -> TimeLine:
        """When exchanges took place."""
        self.settle()
        return self._times

    def add(self, exchange: Exchange) -> None:
        """Count one exchange."""
        request, response = exchange.request, exchange.response
        if request is None or response is None:
            frame = request or response
            if frame is not None:
                self._times.add(frame.time_ns, exchange.state is State.UNANSWERED)
            return
        latencies = self.open_latencies((exchange.api_key, exchange.api_version))
        latencies.append(response.time_ns - request.end_time_ns)
        self.wait(request.time_ns)

    def open_latencies(self, kind: Kind) -> list[int]:
        """Return where latencies of a kind wait to be counted. Each belongs to a time that waits (`wait`)."""
        return self._waiting.get(kind) or self._waiting.setdefault(self._open(kind), [])

    def wait(self, time_ns: int) -> None:
        """Count the time of one exchange that has the answer it should have."""
        times = self.open_times
        times.append(time_ns)
        if len(times) >= MOST_WAITING:
            self.settle()

    def add_slots(self, slots: list[tuple[int, int]]) -> int:
        """Count exchanges with their expected responses, by the time of a slot in a line like this.

        Return the width of a slot from now on.
        """
        for time_ns, count in slots:
            self._times.count(time_ns, (count, 0))
        return self._times.width_ns

    def add_latencies(self, kind: Kind, counted: DistributionRow) -> None:
        """Count latencies of a kind, which go with times."""
        self._latencies[self._open(kind)].add_bins(*counted)

    def merge(self, other: Traffic) -> None:
        """Count what another one holds, which stays as it is."""
        self.times.merge(other.times)
        for kind, latencies in other.latencies.items():
            self._latencies[self._open(kind)].merge(latencies)

    def settle(self) -> None:
        """Count what waits, which is due when `MOST_WAITING` times do."""
        if not self.open_times:
            return
        width = self._times.width_ns
        for index, count in Counter(map(floordiv, self.open_times, repeat(width))).items():
            self._times.count(index * width, (count, 0))
        for kind, waiting in self._waiting.items():
            self._latencies[kind].add_all(waiting)
            waiting.clear()  # the list itself is known elsewhere
        self.open_times.clear()  # this one too

    def _open(self, kind: Kind) -> Kind:
        """Return the kind under which latencies of a kind are counted, from now on too."""
        if kind not in self._latencies:
            if len(self._latencies) >= MAX_KINDS:
                kind = None, None
            self._latencies.setdefault(kind, Distribution())
        return kind
