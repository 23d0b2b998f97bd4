"""Both bodies of the exchanges of one kind: they are looked at together where no rule can speak of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kdissect.rules.judging.body_kind import BodyKind
from kdissect.rules.judging.fast_path_bodies import Look
from kdissect.rules.traffic_counts import MOST_WAITING, Traffic

if TYPE_CHECKING:
    from kdissect.decoders.decoded import Decoded
    from kdissect.model.frame import Frame
    from kdissect.session.exchange import Exchange

PairKey = tuple[int | None, int | None, bool]
"""API key and version, and whether there is an answer."""


class BodyPair:
    """The kinds of both bodies, `answered` None where there is no answer, and the look at both.

    `is_watched`: rules about record batches look at one of them too. `exchanges` counts those that were
    usual, `batches` the batches in them, until they are counted elsewhere (`Coverage.settle`).
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
        "look",
    )

    def __init__(
        self, key: PairKey, asked: BodyKind, answered: BodyKind | None, look: Look, traffic: Traffic
    ) -> None:
        self.asked = asked
        self.answered = answered
        self.look = look
        self.is_watched = asked.is_watched or (answered is not None and answered.is_watched)
        self.exchanges = self.batches = 0
        self._traffic, self._times = traffic, traffic.open_times
        self._latencies = traffic.open_latencies((key[0], key[1])) if answered is not None else []

    def takes(self, asked: Decoded, answered: Decoded | None, at_ns: int, exchange: Exchange) -> bool:
        """Whether no rule about bodies speaks of these: they are plain, usual, and not first of a kind."""
        request, _, _, fits, is_plain, _, _ = asked
        if not fits or not is_plain or at_ns <= self.asked.first_ns:
            return False
        if answered is None:
            return self.look(request, None, exchange)
        response, _, _, fits, is_plain, _, _ = answered
        if not fits or not is_plain or self.answered is None or at_ns <= self.answered.first_ns:
            return False
        return self.look(request, response, exchange)

    def count(self, request: Frame, response: Frame | None) -> None:
        """Such an exchange was looked at."""
        self.exchanges += 1
        if response is not None:
            self._latencies.append(response.time_ns - request.end_time_ns)
        times = self._times  # `Traffic.wait`, without a call
        times.append(request.time_ns)
        if len(times) >= MOST_WAITING:
            self._traffic.settle()

    def settle(self) -> tuple[int, int]:
        """Count the bodies by their kinds; gives exchanges and batches since it was asked last."""
        count, batches = self.exchanges, self.batches
        self.exchanges = self.batches = 0
        self.asked.bodies += count
        if self.answered is not None:
            self.answered.bodies += count
        return count, batches
