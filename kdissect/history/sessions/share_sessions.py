"""Share sessions (KIP-932): one per member and broker, used by ShareFetch and ShareAcknowledge.

Key: capture set, broker address, group, member. Order: that of a connection's requests. The epoch counts both
APIs' requests together (org.apache.kafka.common.requests.ShareRequestMetadata).
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any, ClassVar

from kdissect.history import api_keys as apis
from kdissect.history import error_codes as codes
from kdissect.history.exchange_view import ExchangeView
from kdissect.history.fact import Evidence, Fact, evidence_of_row, is_of_connection
from kdissect.history.sessions.acknowledgements import RENEW, acknowledged
from kdissect.history.sessions.acquired_records import AcquiredRecords
from kdissect.history.state_table import Table
from kdissect.model.native import native
from kdissect.session.info import ConnectionInfo

SESSIONS_KEPT = 20_000  # a broker holds 2,000 by default (group.share.max.share.sessions)
INITIAL, FINAL = 0, -1  # ShareRequestMetadata: the epoch that opens a session, and the one that closes it
_MAX_EPOCH = 0x7FFFFFFF  # after it comes 1 (ShareRequestMetadata#nextEpoch)

ShareKey = tuple[str, str, str, str]


class ShareFact(StrEnum):
    """Facts about share sessions."""

    OPENED = "opened"
    CONTINUED = "continued"  # seen: the epoch
    CLOSED = "closed"
    EVICTED = "evicted"  # the broker does not know the session
    EPOCH_REFUSED = "epoch_refused"  # the broker finds the epoch wrong
    RIGHT_EPOCH_REFUSED = "right_epoch_refused"  # although it is the epoch that comes next
    LIMIT_REACHED = "limit_reached"  # the broker has no room for a session
    EPOCH_DIFFERS = "epoch_differs"  # not the epoch that comes next
    UNKNOWN_SESSION = "unknown_session"  # a session goes on, or ends, that was never opened
    NEVER_ACQUIRED = "never_acquired"  # acknowledged offsets that the member does not hold; seen: the range
    ACKNOWLEDGED_AT_OPENING = "acknowledged_at_opening"  # acknowledgements with epoch 0


class ShareSession:
    """State of one session. `next_epoch` is None where an answer was not seen."""

    __slots__ = ("acknowledges", "fetches", "is_open", "last", "next_epoch", "opened_by")

    def __init__(self) -> None:
        self.opened_by: Evidence | None = None
        self.last: Evidence | None = None
        self.next_epoch: int | None = None
        self.is_open = True
        self.fetches = 0
        self.acknowledges = 0


class ShareSessions:
    """Share sessions by broker, group and member."""

    api_keys: ClassVar[frozenset[int] | None] = frozenset({apis.SHARE_FETCH, apis.SHARE_ACKNOWLEDGE})

    def __init__(self, increments: bool = True) -> None:
        self._tells_increments = increments
        self.sessions: Table[ShareKey, ShareSession] = Table(SESSIONS_KEPT)
        self._acquired: Table[tuple[str, str, str], AcquiredRecords] = Table(SESSIONS_KEPT)
        """By capture set, group and member: leaders change."""

    def feed(self, view: ExchangeView) -> list[Fact]:
        """Take the next ShareFetch or ShareAcknowledge of a connection."""
        request = view.request
        if request is None:
            return []
        info = view.info
        key = info.capture_set, info.broker_address, str(request.group_id), str(request.member_id)
        epoch = request.share_session_epoch
        session = self.sessions.get(key)
        facts = self._acknowledged(view, key, session is not None or epoch == INITIAL)
        if epoch == INITIAL:
            session = self.sessions.put(key, ShareSession())
            session.opened_by = view.evidence
            if _acknowledges(request):
                facts.append(_fact(ShareFact.ACKNOWLEDGED_AT_OPENING, key, view, sure=True))
        elif session is None:
            if not self.sessions.forgotten:
                facts.append(_fact(ShareFact.UNKNOWN_SESSION, key, view, seen=epoch))
            session = self.sessions.put(key, ShareSession())
        elif epoch not in (FINAL, session.next_epoch) and _is_sure_of_epoch(view, session):
            facts.append(
                _fact(
                    ShareFact.EPOCH_DIFFERS, key, view, expected=session.next_epoch, seen=epoch,
                    earlier=session.last,
                )
            )  # fmt: skip
        session.fetches += view.key == apis.SHARE_FETCH
        session.acknowledges += view.key == apis.SHARE_ACKNOWLEDGE
        facts += _answered(key, view, session, epoch)
        session.last = view.evidence
        if not self._tells_increments:
            facts = [fact for fact in facts if fact.kind is not ShareFact.CONTINUED]
        return facts

    def goes_on(
        self, info: ConnectionInfo, group_id: str, member_id: str, epoch: int, row: native.EvidenceRow
    ) -> bool:
        """Take a ShareFetch without partitions, which was answered without partitions and without an error,
        if it is the next one of its session. Return False without a change for another one.
        """
        session = self.sessions.get((info.capture_set, info.broker_address, group_id, member_id))
        if self._tells_increments or session is None or epoch <= INITIAL or epoch != session.next_epoch:
            return False
        if self._acquired.get((info.capture_set, group_id, member_id)) is None:
            return False
        session.fetches += 1
        session.next_epoch = _after(epoch)
        session.last = evidence_of_row(info.id, apis.SHARE_FETCH, row)
        return True

    def _acknowledged(self, view: ExchangeView, key: ShareKey, is_opened: bool) -> list[Fact]:
        """Compare a request's acknowledgements with its member's records, then add the records of the
        response.
        """
        who = key[0], key[2], key[3]
        acquired = self._acquired.get(who)
        if acquired is None:
            is_known = view.request.share_session_epoch == INITIAL
            acquired = self._acquired.put(who, AcquiredRecords(is_known=is_known))
        if not is_opened:
            acquired.forget()  # the member received records before, from this broker
        is_judged = acquired.is_known and view.request.share_session_epoch != INITIAL
        facts = _never_acquired(view, key, acquired) if is_judged else []
        if view.response is None:
            acquired.forget()
        else:
            for one in acknowledged(view.request, view.response):
                if not one.is_refused and one.type != RENEW:
                    acquired.remove(one.partition, one.first, one.last)
        if view.response is not None and view.key == apis.SHARE_FETCH:
            for topic in view.response.responses or ():
                for row in topic.partitions or ():
                    for held in row.acquired_records or ():
                        partition = topic.topic_id, row.partition_index
                        acquired.add(partition, held.first_offset, held.last_offset)
        return facts


def _never_acquired(view: ExchangeView, key: ShareKey, acquired: AcquiredRecords) -> list[Fact]:
    """Return the first range that was never acquired; further ranges have the same cause."""
    for at, topic in enumerate(view.request.topics or ()):
        for index, row in enumerate(topic.partitions or ()):
            for number, batch in enumerate(row.acknowledgement_batches or ()):
                first, last = batch.first_offset, batch.last_offset
                partition = topic.topic_id, row.partition_index
                if first <= last and not acquired.holds(partition, first, last):
                    path = f"topics[{at}].partitions[{index}].acknowledgement_batches[{number}]"
                    return [_fact(ShareFact.NEVER_ACQUIRED, key, view, path, seen=f"{first} to {last}")]
    return []


def _is_sure_of_epoch(view: ExchangeView, session: ShareSession) -> bool:
    """Return whether the next epoch is known. After another connection it is, if the broker confirms it."""
    if session.next_epoch is None:
        return False
    if is_of_connection(session.last, view.info.id):
        return True
    return view.response is not None and view.response.error_code == codes.INVALID_SHARE_SESSION_EPOCH


_REFUSALS = {
    codes.SHARE_SESSION_NOT_FOUND: ShareFact.EVICTED,
    codes.INVALID_SHARE_SESSION_EPOCH: ShareFact.EPOCH_REFUSED,
    codes.SHARE_SESSION_LIMIT_REACHED: ShareFact.LIMIT_REACHED,
}


def _answered(key: ShareKey, view: ExchangeView, session: ShareSession, epoch: int) -> list[Fact]:
    answer = view.response
    if answer is None:
        session.next_epoch = None
        return []
    if answer.error_code:
        expected, session.next_epoch = session.next_epoch, None
        kind = _REFUSALS.get(answer.error_code)
        if kind is None:
            return []
        session.is_open = kind is ShareFact.EPOCH_REFUSED
        refused = _fact(
            kind, key, view, side="response", path="error_code", expected=0, seen=answer.error_code,
            earlier=session.last, sure=True,
        )  # fmt: skip
        is_right = expected == epoch and is_of_connection(session.last, view.info.id)
        if kind is not ShareFact.EPOCH_REFUSED or not is_right:
            return [refused]
        kind = ShareFact.RIGHT_EPOCH_REFUSED
        return [refused, refused._replace(kind=kind, expected=expected, sure=view.all_whole)]
    if epoch == FINAL:
        session.is_open, session.next_epoch = False, None
        return [_fact(ShareFact.CLOSED, key, view, sure=True)]
    session.next_epoch = _after(epoch)
    kind = ShareFact.OPENED if epoch == INITIAL else ShareFact.CONTINUED
    return [_fact(kind, key, view, seen=epoch, sure=True)]


def _after(epoch: int) -> int:
    return 1 if epoch >= _MAX_EPOCH else epoch + 1


def _acknowledges(request: Any) -> bool:
    return any(
        row.acknowledgement_batches for topic in request.topics or () for row in topic.partitions or ()
    )


def _fact(
    kind: ShareFact, key: ShareKey, view: ExchangeView, path: str = "share_session_epoch", **more: Any
) -> Fact:
    return view.fact(kind, key, path, **more)
