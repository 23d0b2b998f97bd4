"""The packets of chosen frames as excerpts in memory: captures are read twice, to choose and to cut."""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from kdissect.api import Dissection
from kdissect.engine.secrets.secret_bytes import secret_patches
from kdissect.excerpt.excerpt_reader import ExcerptPacket, read_excerpts
from kdissect.excerpt.frame_plans import (
    MAX_NEGOTIATION,
    ConnectionPlan,
    FramePlan,
    HeldFrames,
    frame_plan,
    is_negotiation,
    latency_note,
)
from kdissect.session.events import Event
from kdissect.session.exchange import FIRST_ORPHAN_ORDINAL, Exchange
from kdissect.session.info import ConnectionInfo

# Bytes of frames in one excerpt. A few frames explain a finding, and a larger file fits no bug report.
MAX_BYTES = 16 << 20
EVERY = "*"


# Content of an excerpt.
class Wanted(NamedTuple):
    """Exchanges of one connection, by their ordinals, with the exchanges around them.

    The negotiation (ApiVersions and SASL) before the exchanges always belongs to them. `before` and `after`
    are numbers of exchanges around them. `whole` asks for everything up to the last of them, also bytes that
    are in no frame, and without any `exchanges` for the whole connection. `until_ns` asks for every exchange
    that began until then, without the APIs in `without`. Only then may `connection` be `EVERY`: each
    connection that carries Kafka.
    """

    connection: str
    exchanges: frozenset[int] = frozenset()
    before: int = 0
    after: int = 0
    whole: bool = False
    until_ns: int = 0
    without: frozenset[int] = frozenset()


def excerpts(
    wanted: Sequence[Sequence[Wanted]], opened: Callable[[], Dissection], show_secrets: bool = False
) -> list[list[ExcerptPacket]]:
    """Return the packets of each excerpt. Each group is one excerpt. Empty for one that is too large.

    `opened` returns the captures to read, from their start. It is called twice and must return equal captures
    both times. Link, network and transport headers come from the captured packets, with lengths, sequence
    numbers and checksums of the bytes that stay. Secrets are overwritten unless `show_secrets`.
    """
    plans = plan(wanted, opened().events(), show_secrets)
    again = opened()
    files = again.captures.files
    return read_excerpts(
        plans,
        again.captures.batches(),
        again.ports,
        lambda index: files[index].capture_set,
        show_secrets,
        again.key_logs,
    )


# Which frames of which connections an excerpt needs: found by reading the captures once.
class Budget:
    """Bytes of frames that an excerpt may still take. A negative number means that it is too large."""

    def __init__(self) -> None:
        self.left = MAX_BYTES


class Planner:
    """Plan for the wanted frames of one connection: `add` every exchange, then `plan`."""

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
            plan = frame_plan(exchange, side, frame, patches).noted(latency_note(exchange, side))
            self._taken.append((exchange.connection, plan))

    def plan(self) -> ConnectionPlan:
        """Return the plan, with frames in the order of the stream."""
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
    """Return the plans for each excerpt, None for one that is too large."""
    groups = [_Group(group, show_secrets) for group in wanted]
    for event in events:
        if isinstance(event, Exchange):
            for each in groups:
                each.add(event)
    return [each.plan() for each in groups]


class _Group:
    """The content of one excerpt."""

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
