"""Which frames of which connections an excerpt needs: found by reading the captures once."""

from collections.abc import Iterable, Sequence

from kdissect.engine.secrets.secret_bytes import secret_patches
from kdissect.excerpt.frame_plans import (
    MAX_NEGOTIATION,
    ConnectionPlan,
    FramePlan,
    HeldFrames,
    frame_plan,
    is_negotiation,
)
from kdissect.excerpt.wanted import EVERY, MAX_BYTES, Wanted
from kdissect.session.events import Event
from kdissect.session.exchange import FIRST_ORPHAN_ORDINAL, Exchange
from kdissect.session.info import ConnectionInfo


class Budget:
    """Bytes of frames that an excerpt may still take; negative: too large."""

    def __init__(self) -> None:
        self.left = MAX_BYTES


class Planner:
    """What is wanted of one connection: `add` every exchange, then `plan`."""

    def __init__(self, one: Wanted, budget: Budget, show_secrets: bool) -> None:
        self._wanted = one
        self._budget = budget
        self._show_secrets = show_secrets
        self._last = max((o for o in one.exchanges if o < FIRST_ORPHAN_ORDINAL), default=-1)
        self._taken: list[tuple[ConnectionInfo, FramePlan]] = []
        self._negotiation = 0

    def add(self, exchange: Exchange) -> None:
        """Take an exchange of the connection."""
        if self._budget.left < 0 or not self._is_wanted(exchange):
            return
        for side, frame in (("request", exchange.request), ("response", exchange.response)):
            if frame is None:
                continue
            self._budget.left -= len(frame.data)
            if self._budget.left < 0:
                self._taken.clear()
                return
            patches = [] if self._show_secrets else secret_patches(exchange, side)
            self._taken.append((exchange.connection, frame_plan(exchange, side, frame, patches)))

    def plan(self) -> ConnectionPlan:
        """What to keep, in the order of the stream."""
        frames, number = HeldFrames(), [0, 0]
        for info, plan in self._taken:
            frames.add(plan)
            # which end is the client is sure only now
            number[info.client_direction if plan.is_request else 1 - info.client_direction] += 1
        one = self._wanted
        is_tls = any(info.tls is not None for info, _ in self._taken)
        is_open_end = one.whole and not one.exchanges
        return ConnectionPlan(one.connection, frames, one.whole, is_open_end, is_tls, (number[0], number[1]))

    def _is_wanted(self, exchange: Exchange) -> bool:
        one, ordinal = self._wanted, exchange.ordinal
        if one.until_ns:
            frame = exchange.request or exchange.response
            is_due = frame is not None and frame.time_ns <= one.until_ns
            return is_due and exchange.api_key not in one.without
        if ordinal in one.exchanges or (one.whole and not one.exchanges):
            return True
        if ordinal >= FIRST_ORPHAN_ORDINAL:
            return one.whole
        if self._is_negotiation(exchange):
            return True
        if one.whole:
            return self._last < 0 or ordinal <= self._last + one.after
        return any(wanted - one.before <= ordinal <= wanted + one.after for wanted in one.exchanges)

    def _is_negotiation(self, exchange: Exchange) -> bool:
        is_one = is_negotiation(exchange)
        before = self._last < 0 or exchange.ordinal < self._last
        if not is_one or not before or self._negotiation >= MAX_NEGOTIATION:
            return False
        self._negotiation += 1
        return True


def plan(
    wanted: Sequence[Sequence[Wanted]], events: Iterable[Event], show_secrets: bool
) -> list[list[ConnectionPlan] | None]:
    """The plans for each excerpt, None for one that is too large."""
    groups = [_Group(group, show_secrets) for group in wanted]
    for event in events:
        if isinstance(event, Exchange):
            for each in groups:
                each.add(event)
    return [each.plan() for each in groups]


class _Group:
    """What one excerpt is to hold."""

    def __init__(self, wanted: Sequence[Wanted], show_secrets: bool) -> None:
        self._wanted = {one.connection: one for one in wanted}
        self._planners: dict[str, Planner] = {}
        self._budget = Budget()
        self._show_secrets = show_secrets

    def add(self, exchange: Exchange) -> None:
        connection = exchange.connection.id
        one = self._wanted.get(connection) or self._wanted.get(EVERY)
        if one is None:
            return
        planner = self._planners.get(connection)
        if planner is None:
            own = one._replace(connection=connection)
            planner = self._planners[connection] = Planner(own, self._budget, self._show_secrets)
        planner.add(exchange)

    def plan(self) -> list[ConnectionPlan] | None:
        if self._budget.left < 0:
            return None
        for name, one in self._wanted.items():  # a connection without any exchange can be wanted, too
            if name not in self._planners and name != EVERY:
                self._planners[name] = Planner(one, self._budget, self._show_secrets)
        return [planner.plan() for planner in self._planners.values()]
