"""Share groups (KIP-932): records acquired, locked, released, accepted, and sessions of members."""

from __future__ import annotations

from collections.abc import Sequence

from kdissect.conform.broker_connection import Response
from kdissect.conform.broker_run import NONE, BrokerRun, first
from kdissect.conform.record_batches import batch
from kdissect.conform.request_bodies import Fields
from kdissect.conform.sequences.heartbeat_groups import SHARE, Member, fences_and_leaves, joins
from kdissect.conform.sequences.suite_topic import (
    first_partition,
    play_each,
    records_from,
    send,
    version_pairs,
)
from kdissect.history.error_codes import INVALID_SHARE_SESSION_EPOCH, SHARE_SESSION_NOT_FOUND
from kdissect.model.wording import plural

_INVALID_RECORD_STATE = 121
_ACCEPT, _RELEASE = 1, 2  # acknowledge types (KIP-932)
_FINAL_EPOCH, _WRONG_EPOCH = -1, 1_000
_WAIT_MS = 300


def share_groups(run: BrokerRun) -> None:
    """Play the life of a member in each version."""
    play_each(run, "share groups", [(one,) for one in run.versions(SHARE)], _members)


def shared_records(run: BrokerRun) -> None:
    """Let two members of a group acquire and acknowledge records, in each version."""
    play_each(run, "shared records", version_pairs(run, "ShareFetch", "ShareAcknowledge"), _records)


def _members(run: BrokerRun, version: int) -> None:
    member = Member(run, SHARE, version, run.subject.name(f"sharers-{version}"), 1)
    if joins(member):
        fences_and_leaves(member)


class _Reader:
    """A member that reads the first partition, and its share session. `acquired` are the offsets of its last
    response, with the number of deliveries.
    """

    def __init__(self, member: Member, versions: tuple[int, int]) -> None:
        self._member = member
        self._fetch, self._acknowledge = versions
        self._epoch = 0
        self.acquired: dict[int, int] = {}

    def fetch(self, epoch: int | None = None) -> Response:
        """Send the next ShareFetch, or one with another epoch."""
        run = self._member.run
        part = {"partition_index": 0, "partition_max_bytes": 1 << 20}
        at = self._epoch if epoch is None else epoch
        more = {
            "max_wait_ms": _WAIT_MS, "min_bytes": 1, "max_bytes": 1 << 20, "max_records": 100,
            "batch_size": 100,
            "topics": [] if at else [{"topic_id": run.subject.topic_id, "partitions": [part]}],
        }  # fmt: skip
        response = self._ask("ShareFetch", self._fetch, at, more)
        if epoch is None:
            self._epoch += 1
            self.acquired = {
                offset: row.delivery_count
                for row in getattr(first_partition(response.body), "acquired_records", None) or ()
                for offset in range(row.first_offset, min(row.last_offset + 1, row.first_offset + 1_000))
            }
        return response

    def acknowledge(self, offsets: dict[int, int], kind: int) -> Response:
        """Acknowledge offsets, all in the same way."""
        topic_id = self._member.run.subject.topic_id
        rows = [
            {"first_offset": each, "last_offset": each, "acknowledge_types": [kind]}
            for each in sorted(offsets)
        ]
        part = {"partition_index": 0, "acknowledgement_batches": rows}
        response = self._ask(
            "ShareAcknowledge", self._acknowledge, self._epoch,
            {"topics": [{"topic_id": topic_id, "partitions": [part]}]},
        )  # fmt: skip
        self._epoch += 1
        return response

    def close(self) -> Response:
        """Close the session."""
        return self._ask("ShareAcknowledge", self._acknowledge, _FINAL_EPOCH, {"topics": []})

    def _ask(self, name: str, version: int, epoch: int, more: Fields) -> Response:
        run, member = self._member.run, self._member
        body = {"group_id": member.group, "member_id": member.id, "share_session_epoch": epoch}
        return run.call(name, body | more, version, run.leader)


def _records(run: BrokerRun, fetch: int, acknowledge: int) -> None:
    group = run.subject.name(f"shared-{fetch}-{acknowledge}")
    version = run.highest(SHARE)
    members = [Member(run, SHARE, version, group, number) for number in (1, 2, 3)]
    for each in members[:2]:
        if each.join().body.error_code:
            return
    run.until(lambda: [each.beat() for each in members[:2]][-1], lambda _: _is_assigned(members))
    one, other, stranger = (_Reader(each, (fetch, acknowledge)) for each in members)
    got = _acquire(run, one)
    if not got:
        return
    for _ in range(2):  # the session begins with the first one, which may have no records
        _lacks(run, "CNF091", other.fetch(), other, got)
    if not _repeat_released(run, one, got):
        return
    _accept(run, one, other, got)
    _refuse_epochs(run, one, stranger)
    _close(run, one, other)
    for each in members[:2]:
        each.beat_as(-1)


def _is_assigned(members: Sequence[Member]) -> bool:
    """Return whether the first partition is at a member. It may be at one or at several."""
    return any(0 in each.assigned for each in members)


def _acquire(run: BrokerRun, reader: _Reader) -> dict[int, int]:
    """Write and fetch until records are acquired: a new group begins at the end of the log at some time."""

    def ask() -> Response:
        send(run, batch([(b"k", b"1"), (b"k", b"2")], run.subject.time_ms))
        return reader.fetch()

    response = run.until(ask, lambda _: bool(reader.acquired))
    read = {row[0] for row in records_from(first_partition(response.body), 0)}
    got = dict(reader.acquired)
    passed = bool(got) and set(got) <= read and set(got.values()) == {1}
    run.observe(
        "CNF090", response, passed=passed, expected="records that are acquired for the first time",
        seen=f"{plural(len(got), 'offset')} acquired, {plural(len(read), 'record')}, error codes "
        f"{response.body.error_code} and {getattr(first_partition(response.body), 'error_code', NONE)}",
    )  # fmt: skip
    return got


def _lacks(run: BrokerRun, code: str, response: Response, reader: _Reader, offsets: dict[int, int]) -> None:
    both = set(offsets) & set(reader.acquired)
    run.observe(
        code, response, passed=not both and not response.body.error_code,
        expected=f"none of {plural(len(offsets), 'offset')}",
        seen=f"{len(both) or 'none'} of them, error code {response.body.error_code}",
    )  # fmt: skip


def _repeat_released(run: BrokerRun, reader: _Reader, offsets: dict[int, int]) -> bool:
    """Release offsets and acquire them again. Returns whether they were acquired."""
    released = reader.acknowledge(offsets, _RELEASE)
    if not run.errs("CNF092", released, first(released, "responses", "partitions").error_code, NONE):
        return False
    again = run.until(reader.fetch, lambda _: set(offsets) <= set(reader.acquired))
    counts = {reader.acquired.get(each, 0) for each in offsets}
    return run.observe(
        "CNF092", again, passed=counts == {2}, expected="the released offsets, with delivery count 2",
        seen=f"delivery counts {sorted(counts)}",
    )  # fmt: skip


def _accept(run: BrokerRun, reader: _Reader, other: _Reader, offsets: dict[int, int]) -> None:
    """Accept the last offset twice, then the others: a broker may forget what is before them all."""
    last = {max(offsets): 1}
    for code, wanted in (("CNF093", NONE), ("CNF094", _INVALID_RECORD_STATE)):
        response = reader.acknowledge(last, _ACCEPT)
        error = first(response, "responses", "partitions").error_code
        if not run.errs(code, response, error, wanted) and wanted == NONE:
            return
    reader.acknowledge({each: 1 for each in offsets if each not in last}, _ACCEPT)
    for each in (reader, other):
        _lacks(run, "CNF093", each.fetch(), each, offsets)


def _refuse_epochs(run: BrokerRun, reader: _Reader, stranger: _Reader) -> None:
    wrong = reader.fetch(_WRONG_EPOCH)
    run.errs("CNF095", wrong, wrong.body.error_code, INVALID_SHARE_SESSION_EPOCH)
    lost = stranger.fetch(1)
    run.errs("CNF096", lost, lost.body.error_code, SHARE_SESSION_NOT_FOUND)


def _close(run: BrokerRun, one: _Reader, other: _Reader) -> None:
    """Acquire records, close the session, and let another member acquire them."""
    send(run, batch([(b"k", b"v")], run.subject.time_ms))
    run.until(one.fetch, lambda _: bool(one.acquired))
    got = dict(one.acquired)
    closed = one.close()
    if not got or not run.errs("CNF097", closed, closed.body.error_code, NONE):
        return
    seen = run.until(other.fetch, lambda _: set(got) <= set(other.acquired))
    run.observe(
        "CNF097", seen, passed=set(got) <= set(other.acquired),
        expected=f"{plural(len(got), 'offset')} of the closed session",
        seen=f"{len(set(got) & set(other.acquired))} of them",
    )  # fmt: skip
    other.acknowledge(got, _ACCEPT)
