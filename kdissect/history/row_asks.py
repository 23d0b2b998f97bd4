"""What machines ask of a row of a block, so that one of which there is nothing to tell becomes no object.

The compiled part reads the values and asks (native/src/judging). Bodies are canonical: without tags.
"""

from collections.abc import Callable, Iterable
from functools import partial
from typing import NamedTuple

from kdissect.history import api_keys as apis
from kdissect.history.epochs.leader_epochs import LeaderEpochs, tells_in_tags
from kdissect.history.epochs.quorum_epochs import QuorumEpochs
from kdissect.history.fact import Evidence
from kdissect.history.groups.classic_groups import ClassicGroups
from kdissect.history.listed_partitions import Topics
from kdissect.history.machine import Machine
from kdissect.history.member_rows import MEMBER_FIELDS
from kdissect.history.producing.produce_parts import BatchHeader
from kdissect.history.producing.producers import Producers
from kdissect.history.producing.transactions import Transactions
from kdissect.history.sessions.fetch_parts import ToldTopics
from kdissect.history.sessions.fetch_sessions import FetchSessions
from kdissect.session.info import ConnectionInfo

EvidenceRow = tuple[int, int, int, tuple[int, int], tuple[int, int] | None, int, int]
"""`Evidence` but for the connection."""
TakeProduce = Callable[[ConnectionInfo, str | None, BatchHeader, EvidenceRow, int | None], bool]
TakeFetch = Callable[[ConnectionInfo, tuple[int, int], tuple[Topics, ToldTopics], EvidenceRow, bool], bool]
TakeMember = Callable[[ConnectionInfo, tuple[str, str | None, int | None], int], bool]


class RowAsks(NamedTuple):
    """Who asks; each of the first three tells whether it took a row, and nothing is changed where it did not.

    `produces` takes a Produce of one batch with a producer id, acks=all, that was taken or not answered;
    `fetches` an incremental fetch that was answered in its session; `members` a request of a member, by
    `member_fields`.
    """

    produces: TakeProduce | None = None
    fetches: TakeFetch | None = None
    members: TakeMember | None = None
    member_fields: tuple[str, str, str] | None = None
    is_transactional: bool = False
    """Whether Produces in transactions are to be fed."""
    is_of_quorum: bool = False
    """Whether Fetches of the metadata log are."""
    zeros: tuple[str, ...] = ()
    """Numbers of the answer that have to be 0."""
    sessions: FetchSessions | None = None
    """What counts Fetches without a session."""


def row_asks(api_key: int, version: int, machines: Iterable[Machine], has_throttle: bool) -> RowAsks | None:
    """What these ask of a kind; None where one has to be fed. `has_throttle`: throttles are looked for."""
    asks = RowAsks(zeros=("throttle_time_ms",) if has_throttle else ())
    for machine in machines:
        found = _with(asks, machine, api_key, version)
        if found is None:
            return None
        asks = found
    return asks


def _with(asks: RowAsks, machine: Machine, api_key: int, version: int) -> RowAsks | None:
    match machine, api_key:
        case Transactions(), apis.PRODUCE:
            return asks._replace(is_transactional=True)
        case Producers(), apis.PRODUCE:
            return asks._replace(produces=partial(_produce, machine))
        case FetchSessions(), apis.FETCH:
            return asks._replace(fetches=partial(_fetch, machine), sessions=machine)
        case QuorumEpochs(), apis.FETCH:
            return asks._replace(is_of_quorum=True)
        case LeaderEpochs(), _ if tells_in_tags(api_key, version):
            return asks
        case ClassicGroups(), _ if api_key in MEMBER_FIELDS:
            zeros = (*asks.zeros, "error_code") if api_key == apis.HEARTBEAT else asks.zeros
            take = partial(machine.take_member, api_key)
            return asks._replace(members=take, member_fields=MEMBER_FIELDS[api_key], zeros=zeros)
    return None


def _produce(
    machine: Producers,
    info: ConnectionInfo,
    client_id: str | None,
    header: BatchHeader,
    row: EvidenceRow,
    base_offset: int | None,
) -> bool:
    return machine.take_next(info, client_id, header, Evidence(info.id, *row), base_offset)


def _fetch(
    machine: FetchSessions,
    info: ConnectionInfo,
    place: tuple[int, int],
    topics: tuple[Topics, ToldTopics],
    row: EvidenceRow,
    has_records: bool,
) -> bool:
    return machine.take_increment(info, place, topics, Evidence(info.id, *row), has_records)
