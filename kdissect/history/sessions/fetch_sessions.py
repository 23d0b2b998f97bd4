"""Incremental fetch sessions (KIP-227).

Key: capture set, broker address, session id: a session belongs to one broker and outlives a connection.
Order: that of a connection's requests. A session moves from connection to connection only after the earlier
one ended. Epochs are judged by org.apache.kafka.common.requests.FetchMetadata.
"""

from collections.abc import Callable, Iterator
from enum import StrEnum
from typing import Any, ClassVar, NamedTuple

from kdissect.history import api_keys as apis
from kdissect.history import error_codes as codes
from kdissect.history.exchange_view import ExchangeView
from kdissect.history.fact import Evidence, Fact, evidence_of, is_of_connection
from kdissect.history.machine import nothing_lent
from kdissect.history.sessions.fetch_parts import (
    UNKNOWN_EPOCH,
    AskedTopics,
    BatchEpochs,
    FetchParts,
    StatedTopics,
    Told,
    asked_by,
    asked_topics,
    batch_epochs,
    brings_records,
    stated_by,
    stated_topics,
)
from kdissect.history.state_table import Table
from kdissect.session.exchange import Exchange
from kdissect.session.info import ConnectionInfo

SESSIONS_KEPT = 20_000  # a broker caches 1,000 by default (max.incremental.fetch.session.cache.slots)
PARTITIONS_KEPT = 10_000  # of one session. Beyond this number membership is unknown
SESSIONS_FROM = 7  # the first version of Fetch with sessions (KIP-227)
TOPIC_IDS_FROM = 13  # the first version with ids in place of names (KIP-516)
INITIAL, FINAL = 0, -1  # KIP-227: epoch of a full fetch that opens a session, and of one that opens none
NO_SESSION = 0  # KIP-227: session id of a request without a session
_MAX_EPOCH = 0x7FFFFFFF  # after it comes 1, not 0 (FetchMetadata#nextEpoch)

Partition = tuple[str | bytes, int]
Offsets = tuple[int, int, Evidence | None]
"""High watermark and log start, 0 if unknown, and their positions."""
_UNTOLD: Offsets = 0, 0, None


class FetchFact(StrEnum):
    """Facts about fetch sessions."""

    CREATED = "created"  # seen: the session id
    # the client asked for a session and the broker created none: its cache is full
    NOT_CREATED = "not_created"
    INCREMENTAL = "incremental"  # seen: the epoch
    CLOSED = "closed"  # by the client, with a full fetch that names the session
    ENDED = "ended"  # by the broker, which answered without the session: it has no partitions left
    EVICTED = "evicted"  # the broker does not know the session any more
    EPOCH_REFUSED = "epoch_refused"  # the broker finds the epoch wrong
    RIGHT_EPOCH_REFUSED = "right_epoch_refused"  # although it is the epoch that comes next
    TOPIC_IDS_REFUSED = "topic_ids_refused"  # names and ids in one session, says the broker
    EPOCH_DIFFERS = "epoch_differs"  # not the epoch that comes next
    USED_AFTER_CLOSE = "used_after_close"  # and refused: its own client had closed the session
    UNKNOWN_SESSION = "unknown_session"  # an incremental fetch in a session that was never given
    ZERO_INCREMENTAL = "zero_incremental"  # an epoch above 0 without a session
    FORGOTTEN_IN_FULL = "forgotten_in_full"  # partitions to forget in a full fetch
    TOPIC_IDS_MIXED = "topic_ids_mixed"  # names and ids in one session
    OTHER_SESSION = "other_session"  # an answer that names another session than its request
    OFFSET_BACK = "offset_back"  # a high watermark or log start lower than the session received before
    STRANGE_PARTITION = "strange_partition"  # an answer for a partition outside the session
    EPOCH_BEYOND = "epoch_beyond"  # a batch of a higher leader epoch than the session asks for


class FetchSession:
    """State of one session.

    `next_epoch` is None where an answer was not seen: the broker may have counted on or not. `partitions`
    maps each partition to the last offsets that a response named. It is None if the session's opening was not
    seen, or if it has more partitions than the limit. `epochs` are the leader epochs that requests named for
    them last, and those requests: a broker compares its own epoch with these until another request names the
    partition (kafka.server.CachedPartition#updateRequestParams). `with_ids` is True for topic ids, False for
    names. `empty` counts incremental fetches that brought no records. `incremental` and `full` count fetches
    that the broker accepted. `closed_by` is the fetch with which the client closed it.
    """

    __slots__ = (
        "closed_by", "created_by", "empty", "epochs", "full", "incremental", "is_open", "last",
        "next_epoch", "partitions", "session_id", "with_ids",
    )  # fmt: skip

    def __init__(self, session_id: int) -> None:
        self.session_id = session_id
        self.created_by: Evidence | None = None
        self.closed_by: Evidence | None = None
        self.last: Evidence | None = None
        self.next_epoch: int | None = None
        self.partitions: dict[Partition, Offsets] | None = None
        self.epochs: dict[Partition, tuple[int, Evidence]] = {}
        self.with_ids: bool | None = None
        self.is_open = True
        self.full = 0
        self.incremental = 0
        self.empty = 0

    def epoch_of(self, partition: Partition) -> int:
        """Return the leader epoch that the session asks for."""
        known = self.epochs.get(partition)
        return UNKNOWN_EPOCH if known is None else known[0]

    def holds(self, topics: AskedTopics) -> bool:
        """Return whether all these partitions belong to the session and ask for their epochs again, as far as
        its partitions are known.
        """
        known = self.partitions
        if known is None:
            return True
        for name, asked in topics:
            for number, epoch in asked:
                if (name, number) not in known or epoch != self.epoch_of((name, number)):
                    return False
        return True

    def is_beyond(self, epochs: BatchEpochs) -> bool:
        """Return whether a batch has a higher leader epoch than the session asks for."""
        known = self.epochs
        if not known:
            return False
        return any(0 <= self.epoch_of(partition) < epoch for partition, epoch in epochs)

    def ask(self, asked: AskedTopics, by: Evidence) -> None:
        """Take the leader epochs that a request names."""
        for name, rows in asked:
            for number, epoch in rows:
                if epoch == UNKNOWN_EPOCH:
                    self.epochs.pop((name, number), None)
                elif epoch != self.epoch_of((name, number)):
                    self.epochs[name, number] = epoch, by

    def agrees(self, stated: StatedTopics) -> bool:
        """Return whether these belong to the session, and no offset is lower than it was, as far as known."""
        known = self.partitions
        if known is None:
            return True
        for name, rows in stated:
            for number, error, high, start in rows:
                before = known.get((name, number))
                if before is None:
                    return False
                if not error and (0 <= high < before[0] or 0 <= start < before[1]):
                    return False
        return True

    def learn(self, stated: StatedTopics, by: Evidence) -> None:
        """Record the offsets that a response names for the session's partitions."""
        known = self.partitions
        if known is None:
            return
        for name, rows in stated:
            for number, error, high, start in rows:
                before = known.get((name, number))
                if before is None or error or (high == before[0] and start == before[1]):
                    continue
                known[name, number] = high if high >= 0 else before[0], start if start >= 0 else before[1], by

    def expects(self, topics: AskedTopics, with_ids: bool) -> bool:
        """Return whether a request may name these again, by ids or names."""
        if not topics:
            return True
        if self.with_ids is not with_ids:
            return False
        return self.holds(topics)

    def count(self, epoch: int, last: Evidence, has_records: bool) -> None:
        """Take an incremental fetch that was answered."""
        self.count_all(1, not has_records, 1 if epoch >= _MAX_EPOCH else epoch + 1, last)

    def count_all(self, fetches: int, empty: int, next_epoch: int, last: Evidence) -> None:
        """Count a number of incremental fetches, some of which brought no records."""
        self.incremental += fetches
        self.is_open = True
        self.empty += empty
        self.next_epoch = next_epoch
        self.last = last


SessionKey = tuple[str, str, int]


class _Fetch(NamedTuple):
    """The parts of a fetch that concern sessions."""

    view: ExchangeView
    session_id: int
    epoch: int
    with_ids: bool
    key: SessionKey

    def fact(self, kind: FetchFact, path: str = "session_epoch", **more: Any) -> Fact:
        return self.view.fact(kind, self.key, path, **more)


class FetchSessions:
    """Fetch sessions by broker and id."""

    api_keys: ClassVar[frozenset[int] | None] = frozenset({apis.FETCH})
    reads_parts: ClassVar[bool] = True

    def __init__(self, increments: bool = True) -> None:
        self.tells_increments = increments
        self.have_back: Callable[[], None] = nothing_lent
        """Take back sessions from the native engine (`lent_sessions`) before they are read."""
        self.sessions: Table[SessionKey, FetchSession] = Table(SESSIONS_KEPT)
        self.without_session = 0
        """Full fetches that neither had nor got a session."""

    def concerns(self, _api_key: int, api_version: int) -> bool:
        """Return whether a version has sessions."""
        return api_version >= SESSIONS_FROM

    def feed(self, view: ExchangeView) -> list[Fact]:
        """Take the next Fetch of a connection."""
        self.have_back()
        request = view.request
        if request is None or view.version < SESSIONS_FROM:
            return []
        topics: list[Any] = request.topics or []
        with_ids = bool(topics) and view.version >= TOPIC_IDS_FROM
        fetch = _Fetch(
            view, request.session_id, request.session_epoch, with_ids, self._key(view, request.session_id)
        )
        if fetch.epoch in (INITIAL, FINAL):
            return self._full(fetch)
        return self._incremental(fetch)

    def passes(self, exchange: Exchange, parts: FetchParts | None) -> bool:
        """Return True for a fetch without a session, or for an expected one in a session that adds nothing
        and is answered so.
        """
        # Hot, once a Fetch.
        if parts is None or not self.concerns(apis.FETCH, exchange.api_version or 0):
            return False
        self.have_back()
        epoch, session_id = parts.epoch, parts.session_id
        if not parts.is_answered or parts.is_refused or parts.forgets:
            return False
        if not session_id:
            if epoch != FINAL or parts.answered_session:
                return False
            self.without_session += 1
            return True
        if epoch <= 0 or parts.answered_session != session_id or self.tells_increments:
            return False
        session = self._next(exchange.connection, session_id, epoch)
        if session is None or not _names_known(exchange, parts, session):
            return False
        evidence = evidence_of(exchange)
        if parts.answers:
            stated = stated_topics(exchange)
            if stated is None or not session.agrees(stated):
                return False
            if parts.has_records and session.epochs and session.is_beyond(batch_epochs(exchange)):
                return False
            session.learn(stated, evidence)
        session.count(epoch, evidence, parts.has_records)
        return True

    def _next(self, info: ConnectionInfo, session_id: int, epoch: int) -> FetchSession | None:
        """Return a session in which this epoch comes next."""
        session = self.sessions.get((info.capture_set, info.broker_address, session_id))
        return None if session is None or session.next_epoch != epoch else session

    def _key(self, view: ExchangeView, session_id: int) -> SessionKey:
        return view.info.capture_set, view.info.broker_address, session_id

    def _full(self, fetch: _Fetch) -> list[Fact]:
        facts = []
        if fetch.view.request.forgotten_topics_data:
            facts.append(fetch.fact(FetchFact.FORGOTTEN_IN_FULL, "forgotten_topics_data", sure=True))
        if fetch.session_id != NO_SESSION:
            session = self.sessions.get(fetch.key)
            if session is not None and session.is_open:
                session.is_open, session.closed_by = False, fetch.view.evidence
                facts.append(fetch.fact(FetchFact.CLOSED, "session_id", earlier=session.last))
        answer = fetch.view.response
        if answer is None:
            return facts
        if answer.error_code or answer.session_id == NO_SESSION:
            self.without_session += 1
            # next to an error: a client that uses it follows the response
            if answer.session_id != NO_SESSION:
                self.sessions.get_or(
                    self._key(fetch.view, answer.session_id), lambda: FetchSession(answer.session_id)
                )
            # A throttled response to a full fetch has no session (FetchContext#getThrottledResponse).
            if fetch.epoch == INITIAL and not answer.error_code and not answer.throttle_time_ms:
                facts.append(fetch.fact(FetchFact.NOT_CREATED, "session_id", side="response"))
            return facts
        return [*facts, *self._created(fetch, answer)]

    def _created(self, fetch: _Fetch, answer: Any) -> list[Fact]:
        view = fetch.view
        key = self._key(view, answer.session_id)
        session = self.sessions.put(key, FetchSession(answer.session_id))
        session.created_by = session.last = view.evidence
        session.next_epoch = 1  # FetchMetadata#nextEpoch of 0
        session.full = 1
        session.with_ids = fetch.with_ids if view.request.topics else None
        session.partitions = dict.fromkeys(_partitions(view.request.topics), _UNTOLD)
        session.ask(asked_by(view.request, view.version), view.evidence)
        _bound(session)
        seen = answer.session_id
        return [
            Fact(FetchFact.CREATED, key, view.evidence, "response", "session_id", None, seen),
            *_stated(fetch._replace(key=key), session, answer),
        ]

    def _incremental(self, fetch: _Fetch) -> list[Fact]:
        view = fetch.view
        if fetch.session_id == NO_SESSION:
            return [fetch.fact(FetchFact.ZERO_INCREMENTAL, seen=fetch.epoch, expected=INITIAL, sure=True)]
        session = self.sessions.get(fetch.key)
        if session is None:
            facts = [] if self.sessions.forgotten else [fetch.fact(FetchFact.UNKNOWN_SESSION, "session_id")]
            session = self.sessions.put(fetch.key, FetchSession(fetch.session_id))
        else:
            facts = _against(fetch, session)
        answer = view.response
        if answer is None or not answer.error_code:
            session.incremental += 1
            session.is_open = True
            _change(session, view)
        facts += _answered(fetch, session, answer, self.tells_increments)
        session.last = view.evidence
        return facts


def _names_known(exchange: Exchange, parts: FetchParts, session: FetchSession) -> bool:
    """Return whether a fetch adds no topic, and uses names or ids as before."""
    if not parts.asked:
        return True
    topics = asked_topics(exchange)
    with_ids = (exchange.api_version or 0) >= TOPIC_IDS_FROM
    return topics is not None and session.expects(topics, with_ids)


def _is_sure_of_epoch(fetch: _Fetch, session: FetchSession) -> bool:
    """Return whether this connection sent the session's previous fetch. Otherwise only the broker knows the
    epoch.
    """
    if is_of_connection(session.last, fetch.view.info.id):
        return True
    answer = fetch.view.response
    return answer is not None and answer.error_code == codes.INVALID_FETCH_SESSION_EPOCH


def _against(fetch: _Fetch, session: FetchSession) -> list[Fact]:
    """Return the differences between a request and the session that it names."""
    facts = []
    if (
        session.next_epoch is not None
        and fetch.epoch != session.next_epoch
        and _is_sure_of_epoch(fetch, session)
    ):
        facts.append(
            fetch.fact(
                FetchFact.EPOCH_DIFFERS, expected=session.next_epoch, seen=fetch.epoch, earlier=session.last
            )
        )
    if fetch.view.request.topics:
        if session.with_ids is not None and session.with_ids != fetch.with_ids:
            facts.append(
                fetch.fact(
                    FetchFact.TOPIC_IDS_MIXED, "topics", expected=_kind_of_names(session.with_ids),
                    seen=_kind_of_names(fetch.with_ids), earlier=session.created_by, sure=True,
                )
            )  # fmt: skip
        session.with_ids = fetch.with_ids
    return facts


def _answered(fetch: _Fetch, session: FetchSession, answer: Any, increments: bool) -> list[Fact]:
    if answer is None:
        session.next_epoch = None
        return []
    error = answer.error_code
    if not error:
        session.empty += not brings_records(answer)
        if answer.session_id == NO_SESSION:  # org.apache.kafka.server.FetchManager, KIP-227
            session.is_open, session.next_epoch = False, None
            return [fetch.fact(FetchFact.ENDED, "session_id", side="response", sure=True)]
        session.next_epoch = 1 if fetch.epoch >= _MAX_EPOCH else fetch.epoch + 1
        strange = _stated(fetch, session, answer)
        if answer.session_id != fetch.session_id and session.created_by is not None:
            expected, seen = fetch.session_id, answer.session_id
            named, path = FetchFact.OTHER_SESSION, "session_id"
            other = fetch.fact(named, path, side="response", expected=expected, seen=seen, sure=True)
            strange = [other, *strange]
        return (
            [fetch.fact(FetchFact.INCREMENTAL, seen=fetch.epoch, sure=True), *strange]
            if increments
            else strange
        )
    due, session.next_epoch = session.next_epoch, None
    kind = _REFUSALS.get(error)
    if kind is None:
        return []
    facts = []
    is_right = due == fetch.epoch and is_of_connection(session.last, fetch.view.info.id)
    if kind is FetchFact.EPOCH_REFUSED and is_right:
        facts.append(
            fetch.fact(
                FetchFact.RIGHT_EPOCH_REFUSED, "error_code", side="response", expected=due, seen=error,
                earlier=session.last,
            )
        )  # fmt: skip
    if kind is FetchFact.EVICTED:
        session.is_open = False
        if session.closed_by is not None:
            facts.append(fetch.fact(FetchFact.USED_AFTER_CLOSE, "session_id", earlier=session.closed_by))
    refused = fetch.fact(
        kind, "error_code", side="response", expected=0, seen=error, earlier=session.last, sure=True
    )
    return [*facts, refused]


_REFUSALS = {
    codes.FETCH_SESSION_ID_NOT_FOUND: FetchFact.EVICTED,
    codes.INVALID_FETCH_SESSION_EPOCH: FetchFact.EPOCH_REFUSED,
    codes.FETCH_SESSION_TOPIC_ID_ERROR: FetchFact.TOPIC_IDS_REFUSED,
}


def _change(session: FetchSession, view: ExchangeView) -> None:
    """Apply an incremental fetch: add the partitions that it names and forget the partitions that it
    lists.
    """
    request = view.request
    if session.partitions is None or not (request.topics or request.forgotten_topics_data):
        return
    for partition in _partitions(request.topics):
        session.partitions.setdefault(partition, _UNTOLD)
    session.ask(asked_by(request, view.version), view.evidence)
    for topic in request.forgotten_topics_data or ():
        name = _name(topic)
        for number in topic.partitions or ():
            session.partitions.pop((name, number), None)
            session.epochs.pop((name, number), None)
    _bound(session)


def _bound(session: FetchSession) -> None:
    if session.partitions is not None and len(session.partitions) > PARTITIONS_KEPT:
        session.partitions = None
        session.epochs.clear()


def _stated(fetch: _Fetch, session: FetchSession, answer: Any) -> list[Fact]:
    """Return the differences between a response's partitions and the session, one for each kind, and record
    the partitions.
    """
    known = session.partitions
    stated = stated_by(answer, fetch.view.version)
    facts: dict[FetchFact, Fact] = {}
    if known is not None and not session.agrees(stated):
        for at, (name, rows) in enumerate(stated):
            for index, row in enumerate(rows):
                path = f"responses[{at}].partitions[{index}]"
                for fact in _against_told(fetch, session, (name, row[0]), row, path):
                    facts.setdefault(FetchFact(fact.kind), fact)
    beyond = _beyond(fetch, session, stated)
    if beyond is not None:
        facts[FetchFact.EPOCH_BEYOND] = beyond
    session.learn(stated, fetch.view.evidence)
    return list(facts.values())


def _against_told(
    fetch: _Fetch, session: FetchSession, partition: Partition, row: Told, path: str
) -> Iterator[Fact]:
    """Yield the differences between a partition of a response and the session."""
    _, error, *now = row
    before = (session.partitions or {}).get(partition)
    if before is None:
        yield fetch.fact(
            FetchFact.STRANGE_PARTITION, "responses", side="response", seen=partition,
            earlier=session.created_by,
        )  # fmt: skip
        return
    high, start, earlier = before
    for field, seen, least in zip(("high_watermark", "log_start_offset"), now, (high, start), strict=True):
        is_known = is_of_connection(earlier, fetch.view.info.id)
        if not error and 0 <= seen < least and is_known:
            yield fetch.fact(
                FetchFact.OFFSET_BACK, f"{path}.{field}", side="response", expected=least, seen=seen,
                earlier=earlier,
            )  # fmt: skip


def _beyond(fetch: _Fetch, session: FetchSession, stated: StatedTopics) -> Fact | None:
    """Return the first batch of a higher leader epoch than that of the session, of partitions that the
    request does not name.
    """
    if not session.epochs:
        return None
    epochs = batch_epochs(fetch.view.exchange)
    if not session.is_beyond(epochs):
        return None
    named, highest = set(_partitions(fetch.view.request.topics)), dict(epochs)
    for at, (name, rows) in enumerate(stated):
        for index, (number, error, *_) in enumerate(rows):
            partition = name, number
            seen, least = highest.get(partition, UNKNOWN_EPOCH), session.epoch_of(partition)
            if error or partition in named or not 0 <= least < seen:
                continue
            earlier = session.epochs[partition][1]
            if is_of_connection(earlier, fetch.view.info.id):
                path = f"responses[{at}].partitions[{index}].records"
                return fetch.fact(
                    FetchFact.EPOCH_BEYOND, path, side="response", expected=least, seen=seen, earlier=earlier
                )
    return None


def _kind_of_names(with_ids: bool) -> str:
    return "ids" if with_ids else "names"


def _partitions(topics: Any) -> list[Partition]:
    return [(_name(topic), row.partition) for topic in topics or () for row in topic.partitions or ()]


def _name(topic: Any) -> str | bytes:
    """Return the id of a topic, or its name in versions without ids."""
    name: str | bytes = topic.topic_id if hasattr(topic, "topic_id") else topic.topic
    return name
