"""Fetch sessions (KIP-227): opened, continued without partitions, partitions forgotten, closed."""

from __future__ import annotations

from kdissect.conform.broker_connection import Response
from kdissect.conform.broker_run import NONE, BrokerRun, NoResponseError
from kdissect.conform.record_batches import batch
from kdissect.conform.request_bodies import Fields, fetch
from kdissect.conform.sequences.suite_topic import first_partition, play_each, records_from, send
from kdissect.history.error_codes import FETCH_SESSION_ID_NOT_FOUND, INVALID_FETCH_SESSION_EPOCH
from kdissect.model.wording import plural

_SESSIONS_FROM = 7  # version of Fetch (KIP-227)
_FINAL_EPOCH, _WRONG_EPOCH = -1, 1_000
_LAST_ID = 0x7FFFFFFF


def fetch_sessions(run: BrokerRun) -> None:
    """Play a session in each version that has sessions."""
    versions = [(one,) for one in run.versions("Fetch") if one >= _SESSIONS_FROM]
    play_each(run, "fetch sessions", versions, _life_of_session)


class _Session:
    """A session with the first two partitions, from the end of the first one on.

    A session without partitions ends, so that one has to be left when the other is forgotten.
    """

    def __init__(self, run: BrokerRun, version: int, offset: int) -> None:
        self._run = run
        self._version = version
        self._offset = offset
        self.id = 0
        self._epoch = 0

    def begin(self) -> Response:
        """Send the full request."""
        body = fetch(self._run.subject, self._offset)
        (topic,) = body["topics"]
        (row,) = topic["partitions"]
        second = row | {"partition": 1, "fetch_offset": 0, "current_leader_epoch": -1}
        rows = [row, second][: self._run.partitions]
        response = self._ask({"topics": [topic | {"partitions": rows}]}, 0, 0)
        self.id = response.body.session_id
        return response

    def next(self, *, forgets: bool = False) -> Response:
        """Send a request that names no partition to fetch."""
        self._epoch += 1
        subject = self._run.subject
        topic = {"topic": subject.topic, "topic_id": subject.topic_id, "partitions": [0]}
        return self._ask({"forgotten_topics_data": [topic] if forgets else []}, self.id, self._epoch)

    def of(self, session: int, epoch: int) -> Response:
        """Send a request that is not the next one."""
        return self._ask({}, session, epoch)

    def _ask(self, more: Fields, session: int, epoch: int) -> Response:
        run = self._run
        body = fetch(run.subject) | {"topics": [], "session_id": session, "session_epoch": epoch} | more
        return run.call("Fetch", body, self._version, run.leader)


def _life_of_session(run: BrokerRun, version: int) -> None:
    session = _Session(run, version, _written(run) + 1)
    begun = session.begin()
    if begun.body.error_code or not run.observe(
        "CNF070", begun, passed=session.id != 0, expected="a session id", seen=f"session id {session.id}"
    ):
        return
    quiet = session.next()
    _lacks_first(run, "CNF071", quiet)
    offset = _written(run)
    changed = run.until(session.next, lambda body: first_partition(body) is not None)
    got = [row[0] for row in records_from(first_partition(changed.body), offset)]
    run.observe(
        "CNF072", changed, passed=got == [offset] and not changed.body.error_code,
        expected=f"the record at offset {offset}",
        seen=f"{plural(len(got), 'record')}, error code {changed.body.error_code}",
    )  # fmt: skip
    wrong = session.of(session.id, _WRONG_EPOCH)
    run.errs("CNF074", wrong, wrong.body.error_code, INVALID_FETCH_SESSION_EPOCH)
    other = session.of(session.id % _LAST_ID + 1, 1)
    run.errs("CNF075", other, other.body.error_code, FETCH_SESSION_ID_NOT_FOUND)
    if run.partitions > 1:
        forgotten = session.next(forgets=True)
        if not run.errs("CNF073", forgotten, forgotten.body.error_code, NONE):
            return
        _written(run)
        _lacks_first(run, "CNF073", session.next())
    session.of(session.id, _FINAL_EPOCH)
    closed = session.next()
    run.errs("CNF076", closed, closed.body.error_code, FETCH_SESSION_ID_NOT_FOUND)


def _written(run: BrokerRun) -> int:
    """Produce a record to the first partition. Returns its offset."""
    stored, partition = send(run, batch([(b"k", b"v")], run.subject.time_ms))
    if partition.error_code:
        raise NoResponseError(stored, f"Produce has error code {partition.error_code}")
    return int(partition.base_offset)


def _lacks_first(run: BrokerRun, code: str, response: Response) -> None:
    error, is_there = response.body.error_code, first_partition(response.body) is not None
    run.observe(
        code, response, passed=not is_there and not error, expected="a response without partition 0",
        seen=f"error code {error}" if error else "partition 0" if is_there else "no partition 0",
    )  # fmt: skip
