"""Bodies of one kind: which rules look at them, and how many were looked at."""

from kdissect.rules.rule import BodyRule

KindKey = tuple[int | None, str, int]
"""API key, side and version."""


class BodyKind:
    """One side of an API in one version: the rules for all such bodies, and those for plain ones.

    `is_watched` says whether rules about record batches look at such bodies too, or learn from them. `bodies`
    counts those looked at; `seen` says whether the pieces of one were.
    """

    __slots__ = ("bodies", "is_watched", "plain_rules", "rules", "seen")

    def __init__(
        self, rules: tuple[BodyRule, ...], plain_rules: tuple[BodyRule, ...], is_watched: bool
    ) -> None:
        self.rules = rules
        self.plain_rules = plain_rules
        self.is_watched = is_watched
        self.bodies = 0
        self.seen = False
