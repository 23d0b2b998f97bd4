"""The flows that an analyzer has open and half-open, and which of them are over or heard longest ago."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from heapq import nsmallest
from operator import attrgetter
from typing import Any, NamedTuple, Protocol

from kdissect.engine.half_open import HalfOpen, time_of
from kdissect.model.native import is_compiled, native
from kdissect.model.packets.packet import MAX_TIME_NS
from kdissect.model.packets.segment import PlainSegment
from kdissect.model.packets.stream import CloseKind
from kdissect.net.streams.recent import RECENT_NS
from kdissect.net.streams.tcp import TcpConnection
from kdissect.session.info import ConnectionInfo

# A connection silent for longer is over; Kafka's own limit is 10 minutes (connections.max.idle.ms,
# SocketServerConfigs).
IDLE_NS = 30 * 60 * 1_000_000_000
# The same for a connection of a request log, which does not show how it ends: Kafka's limit, and the time
# that a member waits for a rebalance (max.poll.interval.ms, 5 minutes) before its next line is written.
LOGGED_IDLE_NS = 15 * 60 * 1_000_000_000
# After both ends closed, late retransmissions still belong to the connection: 2 MSL, RFC 9293 section 3.4.2,
# in the 60 s form of Linux.
LINGER_NS = 60 * 1_000_000_000
SWEEP_EVERY_NS = 10 * 1_000_000_000
_LAST_NS = attrgetter("last_ns")


class Connection(Protocol):
    """An open connection: a `ConnectionAnalyzer`, or who only follows it."""

    info: ConnectionInfo

    @property
    def tcp(self) -> TcpConnection:
        """Its two streams."""

    @property
    def last_ns(self) -> int:
        """Time of the last packet."""

    @property
    def is_over(self) -> bool:
        """Whether both directions ended."""

    @property
    def held(self) -> native.Held | None:
        """Its place in the compiled engine; None where every segment must be fed."""

    def feed(self, direction: int, segment: PlainSegment, ref: int, time_ns: int) -> None:
        """Take the next segment of a direction. The first packet has direction 0."""

    def forget_delivered(self) -> None:
        """Forget the bytes that its streams delivered, unless the native engine owns them."""

    def stay(self) -> None:
        """Report each exchange by itself: the compiled engine does not take it."""

    def close(self, how: CloseKind, time_ns: int) -> None:
        """End the flow, which takes nothing any more."""


Flow = Connection | HalfOpen
"""The analyzer of a flow. A table has each once, under the flow key of its first packet."""


class FlowTable(dict[bytes, Flow]):
    """A dict whose connections the native engine finds without a key object: `held` has the same entries.

    It changes by setting and popping a key and by `clear` alone. Pickled it is a dict.
    """

    __slots__ = ("held",)

    def __init__(self, flows: Mapping[bytes, Flow]) -> None:
        super().__init__()
        self.held = native.HeldFlows()
        for key, flow in flows.items():
            self[key] = flow

    def __setitem__(self, key: bytes, flow: Flow) -> None:
        held = None if isinstance(flow, bytes) else flow.held
        if held is not None:
            self.held.set(key, held)
        elif len(self.held):
            self.held.drop(key)
        super().__setitem__(key, flow)

    def pop(self, key: bytes, *default: Any) -> Any:
        """Take out a flow."""
        if len(self.held):
            self.held.drop(key)
        return super().pop(key, *default)

    def clear(self) -> None:
        """Take out all of them."""
        self.held.clear()
        super().clear()

    def __reduce__(self) -> tuple[Any, ...]:
        return dict, (), None, None, iter(self.items())


def flow_table(flows: Mapping[bytes, Flow]) -> dict[bytes, Flow]:
    """Return a table of these flows, as the bulk path that is there wants it."""
    return FlowTable(flows) if is_compiled else dict(flows)


def over_ns(connection: Flow) -> int:
    """Return when a connection is over if nothing more comes."""
    silent_ns = IDLE_NS
    if not isinstance(connection, bytes):
        is_logged = connection.info.logged is not None
        silent_ns = LINGER_NS if connection.is_over else LOGGED_IDLE_NS if is_logged else IDLE_NS
    return ((last_ns(connection) + silent_ns) // SWEEP_EVERY_NS + 1) * SWEEP_EVERY_NS


def may_be_over(flows: Mapping[bytes, Flow], time_ns: int) -> Iterable[bytes]:
    """Return the keys of all flows that are over at a time, and perhaps of others, in the table's order."""
    if not isinstance(flows, FlowTable) or not -MAX_TIME_NS <= time_ns <= MAX_TIME_NS:
        return flows
    return flows.held.may_be_over(flows, time_ns, IDLE_NS, LOGGED_IDLE_NS, LINGER_NS)


def forget_delivered(flows: Mapping[bytes, Flow], time_ns: int) -> None:
    """Let the connections in the native engine forget what they will have forgotten when they speak again: it
    is most of the memory of silent connections.
    """
    if isinstance(flows, FlowTable) and -MAX_TIME_NS + RECENT_NS <= time_ns <= MAX_TIME_NS:
        flows.held.forget_delivered(time_ns - RECENT_NS)


def keep_memory(flows: Mapping[bytes, Flow]) -> None:
    """Free no memory of open connections that the native engine has (`Analyzer.keep_memory`)."""
    if isinstance(flows, FlowTable):
        flows.held.keep_memory()


def last_ns(connection: Flow) -> int:
    """Return the time of the last packet."""
    last_ns: int = time_of(connection)[0] if isinstance(connection, bytes) else connection.last_ns
    return last_ns


class Heard(NamedTuple):
    """An open connection: its capture set, the flow key of its first packet, and when it was heard last."""

    capture_set: str
    flow: bytes
    last_ns: int


def heard_longest_ago(tables: Mapping[str, Mapping[bytes, Flow]], number: int) -> list[Heard]:
    """Return a number of longest-silent connections from all tables, by capture set.

    Among connections heard at one time, the first ones count.
    """
    # Hot: every connection there is, again and again in a flood: each is looked at once, few get a tuple, and
    # their times are no objects.
    heard: Sequence[int]
    try:
        heard = array("q", _heard(tables))
    except OverflowError:  # a time that no clock shows
        heard = list(_heard(tables))
    latest_ns = nsmallest(number, heard)[-1] if heard else 0
    flows = ((name, flow) for name, table in tables.items() for flow in table)
    found = [
        Heard(name, flow, heard_ns)
        for (name, flow), heard_ns in zip(flows, heard, strict=True)
        if heard_ns <= latest_ns
    ]
    return sorted(found, key=_LAST_NS)[:number]


def _heard(tables: Mapping[str, Mapping[bytes, Flow]]) -> Iterator[int]:
    """`last_ns` of each, without a call of ours."""
    return (
        time_of(one)[0] if isinstance(one, bytes) else one.last_ns
        for table in tables.values()
        for one in table.values()
    )


def give_back_room(table: dict[bytes, Flow]) -> None:
    """Give back the places of flows that went: a dict keeps them until it grows, and then grows twofold."""
    flows = dict.copy(table)
    dict.clear(table)  # native-owned connections remain native-owned
    dict.update(table, flows)
