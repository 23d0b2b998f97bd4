"""Bodies of one kind: which rules look at them, and how many were looked at."""

from collections import Counter

from kdissect.rules.rule import BodyRule
from kdissect.session.exchange import Exchange

KindKey = tuple[int | None, str, int]
"""API key, side and version."""
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
    `pieces` counts the rules that looked at them.
    """

    __slots__ = ("bodies", "first", "is_watched", "pieces", "plain_rules", "rules")

    def __init__(
        self, rules: tuple[BodyRule, ...], plain_rules: tuple[BodyRule, ...], is_watched: bool
    ) -> None:
        self.rules = rules
        self.plain_rules = plain_rules
        self.is_watched = is_watched
        self.bodies = 0
        self.first: Earliest | None = None
        self.pieces: Counter[str] = Counter()

    def is_first(self, exchange: Exchange) -> bool:
        """Whether no plain body was seen that stands before this one."""
        return self.first is None or earliest_of(exchange) < self.first
