"""Bodies of one kind, alone and in pairs: which rules look at them, and how many were looked at."""

from collections import Counter
from collections.abc import Callable
from typing import Any

from kdissect.decoders.decoded import Decoded
from kdissect.model.frame import Frame
from kdissect.rules.judging.fast_path_bodies import Look
from kdissect.rules.kinds import BodyRule
from kdissect.rules.traffic_counts import MOST_WAITING, Traffic
from kdissect.rules.views.body_view import Body
from kdissect.session.exchange import Exchange

Checks = tuple[tuple[BodyRule, Callable[[Body], bool]], ...]
"""Rules with their quick looks."""
KindKey = tuple[int | None, str, int]
"""API key, side and version."""
_LATE = 1 << 64  # later than any time in nanoseconds
Earliest = tuple[int, str, int]
"""Where an exchange stands on the wire: time, connection, ordinal."""


def _earliest_of(exchange: Exchange) -> Earliest:
    """The place of an exchange, by which the first of a kind is chosen."""
    frame = exchange.request or exchange.response
    return 0 if frame is None else frame.time_ns, exchange.connection.id, exchange.ordinal


class BodyKind:
    """One side of an API in one version: the rules for all such bodies, and those for plain ones.

    `is_watched` says whether rules about record batches look at such bodies too, or learn from them. `bodies`
    counts those looked at. The pieces of the first plain one on the wire, `first`, stand for those of all:
    `pieces` counts the rules that looked at them. `is_free`: no rule looks at plain ones, but for the first.
    """

    __slots__ = (
        "bodies",
        "checks",
        "first",
        "first_ns",
        "is_free",
        "is_watched",
        "pieces",
        "plain_checks",
        "rules",
    )

    def __init__(
        self, rules: tuple[BodyRule, ...], plain_rules: tuple[BodyRule, ...], is_watched: bool
    ) -> None:
        self.rules = rules
        self.checks: Checks = tuple((rule, rule.is_suspect) for rule in rules)
        self.plain_checks: Checks = tuple((rule, rule.is_suspect) for rule in plain_rules)
        self.is_watched = is_watched
        self.is_free = not (plain_rules or is_watched)
        self.bodies = 0
        self.first: Earliest | None = None
        self.first_ns = _LATE
        """The time of `first`: a quick look at one that came later."""
        self.pieces: Counter[str] = Counter()

    def is_first(self, exchange: Exchange) -> bool:
        """Whether no plain body was seen that stands before this one."""
        return self.first is None or _earliest_of(exchange) < self.first

    def lead(self, exchange: Exchange) -> None:
        """This one stands first."""
        self.first = _earliest_of(exchange)
        self.first_ns = self.first[0]
        self.pieces.clear()

    def __getstate__(self) -> tuple[Any, ...]:
        """The rules go as what they are: their quick looks are methods of them."""
        plain_rules = tuple(rule for rule, _ in self.plain_checks)
        return self.rules, plain_rules, self.is_watched, self.bodies, self.first, self.pieces

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self.__init__(*state[:3])  # type: ignore[misc]
        self.bodies, self.first, self.pieces = state[3:]
        self.first_ns = _LATE if self.first is None else self.first[0]


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
