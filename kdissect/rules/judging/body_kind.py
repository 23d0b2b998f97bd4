"""Bodies of one kind: which rules look at them, and how many were looked at."""

from collections import Counter
from collections.abc import Callable
from typing import Any

from kdissect.rules.kinds import BodyRule
from kdissect.rules.views.body_view import Body
from kdissect.session.exchange import Exchange

Checks = tuple[tuple[BodyRule, Callable[[Body], bool]], ...]
"""Rules with their quick looks."""
KindKey = tuple[int | None, str, int]
"""API key, side and version."""
_LATE = 1 << 64  # later than any time in nanoseconds
Earliest = tuple[int, str, int]
"""Where an exchange stands on the wire: time, connection, ordinal."""


def earliest_of(exchange: Exchange) -> Earliest:
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
        return self.first is None or earliest_of(exchange) < self.first

    def lead(self, exchange: Exchange) -> None:
        """This one stands first."""
        self.first = earliest_of(exchange)
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
