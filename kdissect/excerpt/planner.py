"""Which frames of which connections an excerpt needs: found by reading the captures once."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from kdissect.engine.secrets.patches import Patch
from kdissect.engine.secrets.secret_bytes import secret_patches
from kdissect.excerpt.frame_plans import FramePlan, Frames, HeldFrames
from kdissect.excerpt.wanted import EVERY, MAX_BYTES, Wanted
from kdissect.model.frame import Frame
from kdissect.session.events import Event
from kdissect.session.exchange import FIRST_ORPHAN_ORDINAL, Exchange, ExchangeKind
from kdissect.session.info import ConnectionInfo

# ApiVersions, SaslHandshake, SaslAuthenticate: org.apache.kafka.common.protocol.ApiKeys
_NEGOTIATION = frozenset({18, 17, 36})
# Exchanges of it at most; GSSAPI takes a handful, a connection that authenticates again and again more.
MAX_NEGOTIATION = 16
# Bytes by which a frame is found in its segment: size, header, the beginning of the body.
MARK_BYTES = 64
_SIZE_BYTES = 4


class ConnectionPlan(NamedTuple):
    """What is kept of a connection. `whole`: also what is in no frame, until the last of the frames.

    `frames` may hold those of other connections, too. Of a `whole` one `number` says how many there are in
    each direction.
    """

    connection: str
    frames: Frames
    whole: bool = False
    is_open_end: bool = False
    """Whether everything is kept, to the end of the connection."""
    is_tls: bool = False
    """Whether the frames stand in the plaintext of TLS."""
    number: tuple[int, int] = (0, 0)


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


def is_negotiation(exchange: Exchange) -> bool:
    """Whether an exchange settles versions or who the client is."""
    return exchange.api_key in _NEGOTIATION or exchange.kind is ExchangeKind.SASL_TOKEN


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


def frame_plan(exchange: Exchange, side: str, frame: Frame, patches: Sequence[Patch] = ()) -> FramePlan:
    """How to find a frame, and what to put over it."""
    mark = frame.size.to_bytes(_SIZE_BYTES) + frame.data[:MARK_BYTES]
    return FramePlan(
        frame.first_ref, mark, frame.size + _SIZE_BYTES, tuple(patches), exchange.ordinal, side == "request",
        len(frame.data) + _SIZE_BYTES, (), (), exchange.api_key, exchange.api_version,
        exchange.correlation_id, exchange.kind is ExchangeKind.SASL_TOKEN,
    )  # fmt: skip
