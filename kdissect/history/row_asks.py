"""Values that machines need of a row of a block, so that a row without a fact to report does not become an
object.

The compiled part reads the values and asks (native/src/judging). Bodies are canonical.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from kdissect.history import api_keys as apis
from kdissect.history.connections.connection_problems import ANNOUNCING, ConnectionProblems
from kdissect.history.epochs.leader_epochs import LeaderEpochs
from kdissect.history.epochs.quorum_epochs import QuorumEpochs
from kdissect.history.groups.classic_groups import ClassicGroups
from kdissect.history.groups.modern_groups import ModernGroups
from kdissect.history.machine import Again, Machine
from kdissect.history.member_rows import MEMBER_FIELDS
from kdissect.history.producing.producers import Producers
from kdissect.history.producing.stored_batches import StoredBatches
from kdissect.history.producing.transactions import Transactions
from kdissect.history.sessions.fetch_sessions import FetchSessions
from kdissect.history.sessions.share_sessions import ShareSessions
from kdissect.history.topics.topic_ids import TopicIds
from kdissect.model.native import native
from kdissect.session.info import ConnectionInfo

_OF_RECORDS = frozenset({apis.PRODUCE, apis.FETCH, apis.SHARE_FETCH})


class RowAsks(NamedTuple):
    """Requests that machines make of rows."""

    asks_sequences: bool = False
    """Whether batches with a producer id are for `lent_sequences`."""
    asks_sessions: bool = False
    """Whether Fetches are for `lent_sessions`."""
    asks_stored: bool = False
    """Whether batches are for the table of `StoredBatches`."""
    member_fields: tuple[str, str, str] | None = None
    """Those of requests that are for `lent_members`."""
    is_transactional: bool = False
    """Whether machines need Produces in transactions as objects."""
    knows_epoch: Callable[[ConnectionInfo, int, int], bool] | None = None
    """Whether a Fetch of the metadata log names an epoch that is known. Machines must see other Fetches."""
    zeros: tuple[str, ...] = ()
    """Numbers of the answer that have to be 0."""
    fed_unless_zero: tuple[str, ...] = ()
    """Numbers of the answer with which machines must see an exchange, unless they are 0."""
    leaders: tuple[Callable[[ConnectionInfo, str | bytes, int, int, int], bool], ...] = ()
    """Whether the leader of a partition and its epoch, in the answer, are known. Machines must see other
    answers.
    """
    again: tuple[Again, ...] = ()
    """The receiver of a repeated `ANNOUNCING` response, at its position."""
    idle: tuple[Callable[[ConnectionInfo, str, str, int, native.EvidenceRow], bool], ...] | None = None
    """The receivers of a ShareFetch without partitions: whether a session goes on. Machines must see others.
    None: of other APIs.
    """
    heartbeats: ModernGroups | None = None
    """The receiver of heartbeats with which members continue."""
    is_fed: bool = False
    """Whether a machine reads no row, so that all of them receive each exchange as an object."""


def row_asks(api_key: int, machines: Iterable[Machine], has_throttle: bool) -> RowAsks:
    """Return what these machines, which concern a version of an API, need of its rows.

    `has_throttle`: throttles are looked for.
    """
    asks = RowAsks(zeros=("throttle_time_ms",) if has_throttle else ())
    add = _of_records if api_key in _OF_RECORDS else _of_others
    for machine in machines:
        asks = add(asks, machine, api_key)
    return asks


def _of_records(asks: RowAsks, machine: Machine, api_key: int) -> RowAsks:
    match machine, api_key:
        case Transactions(), apis.PRODUCE:
            return asks._replace(is_transactional=True)
        case StoredBatches(), _:
            return asks._replace(asks_stored=True)
        case Producers(), apis.PRODUCE:
            return asks._replace(asks_sequences=True)
        case FetchSessions(), apis.FETCH:
            return asks._replace(asks_sessions=True)
        case QuorumEpochs(), apis.FETCH:
            return asks._replace(knows_epoch=machine.knows, leaders=(*asks.leaders, machine.knows_leader))
        case LeaderEpochs(), apis.PRODUCE | apis.FETCH:
            return asks._replace(leaders=(*asks.leaders, machine.knows_leader))
        case LeaderEpochs(), apis.SHARE_FETCH:  # a response without partitions names no leader
            return asks._replace(idle=asks.idle or ())
        case ShareSessions(), apis.SHARE_FETCH:
            return asks._replace(idle=(*(asks.idle or ()), machine.goes_on))
    return asks._replace(is_fed=True)


def _of_others(asks: RowAsks, machine: Machine, api_key: int) -> RowAsks:
    match machine, api_key:
        case LeaderEpochs() | TopicIds() | ConnectionProblems(), _ if api_key in ANNOUNCING:
            return asks._replace(again=(*asks.again, machine))
        case ModernGroups(), _:
            return asks._replace(heartbeats=machine)
        case ClassicGroups(), _ if api_key in MEMBER_FIELDS:
            refusals = ("error_code",) if api_key == apis.HEARTBEAT else ()
            return asks._replace(member_fields=MEMBER_FIELDS[api_key], fed_unless_zero=refusals)
    return asks._replace(is_fed=True)
