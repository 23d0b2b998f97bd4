"""Values that machines need of a row of a block, so that a row without a fact to report does not become an
object.

The compiled part reads the values and asks (native/src/judging). Bodies are canonical.
"""

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
from kdissect.history.topics.topic_ids import TopicIds
from kdissect.session.info import ConnectionInfo


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
    leaders: tuple[Callable[[ConnectionInfo, str | bytes, int, int, int], bool], ...] = ()
    """Whether the leader of a partition and its epoch, in the answer, are known. Machines must see other
    answers.
    """
    again: tuple[Again, ...] = ()
    """The receiver of a repeated `ANNOUNCING` response, at its position."""
    heartbeats: ModernGroups | None = None
    """The receiver of heartbeats with which members continue."""
    is_fed: bool = False
    """Whether a machine reads no row, so that all of them receive each exchange as an object."""


def row_asks(api_key: int, version: int, machines: Iterable[Machine], has_throttle: bool) -> RowAsks:
    """Return what these machines need of rows with an API and version.

    `has_throttle`: throttles are looked for.
    """
    asks = RowAsks(zeros=("throttle_time_ms",) if has_throttle else ())
    for machine in machines:
        asks = _with(asks, machine, api_key, version)
    return asks


def _with(asks: RowAsks, machine: Machine, api_key: int, version: int) -> RowAsks:
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
        case LeaderEpochs() | TopicIds() | ConnectionProblems(), _ if api_key in ANNOUNCING:
            return asks._replace(again=(*asks.again, machine))
        case LeaderEpochs(), apis.PRODUCE | apis.FETCH:
            return asks._replace(leaders=(*asks.leaders, machine.knows_leader))
        case ModernGroups(), _:
            return asks._replace(heartbeats=machine)
        case ClassicGroups(), _ if api_key in MEMBER_FIELDS:
            zeros = (*asks.zeros, "error_code") if api_key == apis.HEARTBEAT else asks.zeros
            return asks._replace(member_fields=MEMBER_FIELDS[api_key], zeros=zeros)
    return asks._replace(is_fed=True)
