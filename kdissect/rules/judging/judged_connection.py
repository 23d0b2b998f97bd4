"""A connection as the judge keeps it: what rules see of it, and what counts for it."""

from __future__ import annotations

from kdissect.rules.judging.repeated import Repeated
from kdissect.rules.run_coverage.rule_coverage import Exercise
from kdissect.rules.views.connection_view import ConnectionView, Earlier
from kdissect.rules.views.kept_exchanges import LargeExchanges, RecentExchanges
from kdissect.session.exchange import Exchange
from kdissect.session.info import ConnectionInfo


class JudgedConnection(ConnectionView):
    """`exercise` has the counts for its `software`, name and version, as known at the last use. `repeated`
    belongs to the exchange before, if rules checked it.
    """

    __slots__ = ("exercise", "repeated", "software")

    def __init__(
        self,
        info: ConnectionInfo,
        large: LargeExchanges | None = None,
        recent: RecentExchanges[ConnectionView] | None = None,
    ) -> None:
        super().__init__(info, large, recent)
        self.exercise: Exercise | None = None
        self.software: tuple[str | None, str | None] = None, None
        self.repeated: Repeated | None = None

    def take_back(
        self,
        recent: list[Exchange],
        last: Earlier,
        numbers: tuple[int, int, int | None],
        spoke: tuple[int, bool],
        waiting: list[Earlier],
    ) -> None:
        """Exchanges that passed while it was native-owned had no rule."""
        super().take_back(recent, last, numbers, spoke, waiting)
        self.repeated = None

    def let_go(self) -> None:
        """Its counts are looked up again, and no exchange repeats an earlier one."""
        super().let_go()
        self.exercise, self.software, self.repeated = None, (None, None), None

    def rest(self) -> None:
        """Of what is at rest nothing comes again."""
        super().rest()
        self.repeated = None
