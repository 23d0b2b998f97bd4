"""Fetch sessions (KIP-227) and share sessions (KIP-932)."""

from typing import Any

import pytest

from kdissect.history.sessions.acquired_records import RANGES_KEPT, AcquiredRecords
from kdissect.history.sessions.fetch_parts import fetch_parts
from kdissect.history.sessions.fetch_sessions import FetchFact, FetchSessions
from kdissect.history.sessions.share_sessions import ShareSessions
from kdissect.session.exchange import Exchange
from tests.history.talk import Talk, batch, brief, feed, kinds
from tests.support.messages.batches import batch_bytes, record_bytes

FETCH, SHARE_FETCH, SHARE_ACKNOWLEDGE = 1, 78, 79
UUID = bytes(range(16))


def fetch(
    talk: Talk, session: int, epoch: int, partitions: tuple[int, ...] = (), forget: tuple[int, ...] = (),
    got: int | None = 7, error: int = 0, answered: tuple[int, ...] | None = None, version: int = 12,
    high: int = 9, start: int = 0, failed: int = 0, leader: int = -1, records: bytes = b"",
    throttled: int = 0,
) -> Exchange:  # fmt: skip
    """`leader` is the leader epoch that is asked for."""
    name: dict[str, Any] = {"topic_id": UUID} if version > 12 else {"topic": "t"}
    asked = [{"partition": p, "current_leader_epoch": leader} for p in partitions]
    body = {
        "session_id": session, "session_epoch": epoch,
        "topics": [name | {"partitions": asked}] if asked else [],
        "forgotten_topics_data": [name | {"partitions": list(forget)}] if forget else [],
    }  # fmt: skip
    if answered is None:  # a full fetch is answered for all, another with what is new
        answered = () if epoch > 0 else partitions
    told = {"high_watermark": high, "log_start_offset": start, "error_code": failed}
    rows = [{"partition_index": p, "records": records, "aborted_transactions": None} | told for p in answered]
    answer = {
        "throttle_time_ms": throttled, "error_code": error, "session_id": got,
        "responses": [name | {"partitions": rows}] if rows else [],
    }  # fmt: skip
    return talk.ask(FETCH, version, body, None if got is None else answer)


def test_a_session_from_full_to_incremental_to_close() -> None:
    talk, machine = Talk(), FetchSessions()
    facts = feed(
        machine, fetch(talk, 0, 0, (0, 1)), fetch(talk, 7, 1), fetch(talk, 7, 2, (2,), answered=(2, 0)),
        fetch(talk, 7, 3, forget=(0,)), fetch(talk, 7, -1, got=0),
    )  # fmt: skip
    assert kinds(facts) == ["created", "incremental", "incremental", "incremental", "closed"]
    (session,) = machine.sessions
    assert set(session.partitions or ()) == {("t", 1), ("t", 2)}
    assert (session.full, session.incremental, session.is_open) == (1, 3, False)


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        ([(7, 2)], ("epoch_differs", 1, 2)),
        ([(7, 1), (7, 1)], ("epoch_differs", 2, 1)),
        ([(0, 5)], ("zero_incremental", 0, 5)),
        ([(9, 1)], ("unknown_session", None, None)),
    ],
)
def test_epochs_that_differ(steps: list[tuple[int, int]], expected: tuple[str, Any, Any]) -> None:
    talk = Talk()
    facts = feed(FetchSessions(), fetch(talk, 0, 0, (0,)), *[fetch(talk, *step) for step in steps])
    assert expected in brief(facts)


def test_the_epoch_wraps_to_one() -> None:
    talk, machine = Talk(), FetchSessions()
    feed(machine, fetch(talk, 7, 0x7FFFFFFE))  # a middle start: the session is learned as it goes
    assert kinds(feed(machine, fetch(talk, 7, 0x7FFFFFFF), fetch(talk, 7, 1))) == ["incremental"] * 2


@pytest.mark.parametrize("lost", [None, 71])
def test_after_a_failed_fetch_the_epoch_is_unknown(lost: int | None) -> None:
    talk, machine = Talk(), FetchSessions()
    failed = fetch(talk, 7, 1, got=None) if lost is None else fetch(talk, 7, 1, error=lost, got=0)
    facts = feed(machine, fetch(talk, 0, 0, (0,)), failed, fetch(talk, 7, 9))
    refused = [] if lost is None else ["right_epoch_refused", "epoch_refused"]
    assert kinds(facts) == ["created", *refused, "incremental"]


@pytest.mark.parametrize(
    ("code", "kind"), [(70, "evicted"), (71, "epoch_refused"), (106, "topic_ids_refused")]
)
def test_what_brokers_refuse(code: int, kind: str) -> None:
    talk = Talk()
    facts = feed(FetchSessions(), fetch(talk, 0, 0, (0,)), fetch(talk, 7, 2, error=code, got=0))
    assert brief(facts)[-1:] == [(kind, 0, code)]


def test_the_next_epoch_is_refused() -> None:
    """Another connection may have used the session meanwhile."""
    talk, other = Talk(), Talk("10.0.0.9")
    for by in (talk, other):
        facts = feed(FetchSessions(), fetch(talk, 0, 0, (0,)), fetch(by, 7, 1, error=71, got=0))
        refused = ("right_epoch_refused", 1, 71)
        assert (refused in brief(facts)) is (by is talk)
        facts = feed(ShareSessions(), share(talk, 0), share(by, 1, error=123))
        refused = ("right_epoch_refused", 1, 123)
        assert (refused in brief(facts)) is (by is talk)


def test_other_differences() -> None:
    talk, machine = Talk(), FetchSessions()
    facts = feed(
        machine, fetch(talk, 0, 0, (0,), forget=(1,)), fetch(talk, 7, 1, (2,), version=13),
        fetch(talk, 0, 0, got=0), fetch(talk, 0, 0, (5,), answered=(6,), got=8),
    )  # fmt: skip
    assert kinds(facts) == [
        "forgotten_in_full", "created", "topic_ids_mixed", "incremental", "not_created", "created",
        "strange_partition",
    ]  # fmt: skip
    assert facts[-1].seen == ("t", 6)
    assert facts[-1].kind is FetchFact.STRANGE_PARTITION


def test_a_throttled_response_has_no_session() -> None:
    talk = Talk()
    assert feed(FetchSessions(), fetch(talk, 0, 0, (0,), got=0, answered=(), throttled=248)) == []
    assert kinds(feed(FetchSessions(), fetch(talk, 0, 0, (0,), got=0))) == ["not_created"]


def test_a_session_moves_to_another_connection_but_not_to_another_broker() -> None:
    first, again, elsewhere = Talk(), Talk("10.0.0.9"), Talk(broker="10.0.0.3")
    machine = FetchSessions()
    facts = feed(machine, fetch(first, 0, 0, (0,)), fetch(again, 7, 1), fetch(elsewhere, 7, 2))
    assert kinds(facts) == ["created", "incremental", "unknown_session", "incremental"]


def share(
    talk: Talk, epoch: int, key: int = SHARE_FETCH, error: int = 0, acks: bool = False,
    gives: int | None = None,
) -> Exchange:  # fmt: skip
    """Return a ShareFetch and its response; `gives` is the last acquired offset, from 0 on."""
    rows = [{"first_offset": 0, "last_offset": 1, "acknowledge_types": [1]}] if acks else []
    topics = [{"topic_id": UUID, "partitions": [{"partition_index": 0, "acknowledgement_batches": rows}]}]
    body = {"group_id": "g", "member_id": "m", "share_session_epoch": epoch, "topics": topics}
    held = [] if gives is None else [{"first_offset": 0, "last_offset": gives, "delivery_count": 1}]
    records = batch(-1, -1, -1, 0 if gives is None else gives + 1)
    row = {"partition_index": 0, "acquired_records": held, "records": records}
    given = [{"topic_id": UUID, "partitions": [row]}] if held else []
    answer = {"error_code": error, "acquisition_lock_timeout_ms": 30000, "responses": given}
    return talk.ask(key, 1, body, answer)


def test_both_sides_of_a_nat_are_one_connection() -> None:
    """The second copy of an exchange comes later, and is accepted; a refusal is the word of the broker."""
    inside, outside, machine = Talk("10.0.0.1"), Talk("203.0.113.9"), FetchSessions()
    talks = inside, outside
    opened = [fetch(talk, 0, 0, (0, 1)) for talk in talks]
    steps = [fetch(talk, 7, epoch) for epoch in (1, 2, 3) for talk in talks]
    assert "epoch_differs" not in kinds(feed(machine, *opened, *steps))
    assert "epoch_differs" in kinds(feed(machine, fetch(inside, 7, 9, error=71)))
    shares, members = ShareSessions(), (Talk("10.0.0.1"), Talk("203.0.113.9"))
    both = [share(talk, epoch) for epoch in (0, 1, 2, 3) for talk in members]
    assert "epoch_differs" not in kinds(feed(shares, *both))


def test_a_share_session_counts_fetches_and_acknowledgements() -> None:
    talk, machine = Talk(), ShareSessions()
    facts = feed(
        machine,
        share(talk, 0),
        share(talk, 1),
        share(talk, 2, SHARE_ACKNOWLEDGE),
        share(talk, 3),
        share(talk, -1),
    )
    assert kinds(facts) == ["opened", "continued", "continued", "continued", "closed"]


def test_share_sessions_that_differ() -> None:
    talk, machine = Talk(), ShareSessions()
    facts = feed(
        machine, share(talk, 5), share(talk, 0, acks=True), share(talk, 3), share(talk, 4, error=123),
        share(talk, 9), share(talk, 10, error=122),
    )  # fmt: skip
    assert brief(facts) == [
        ("unknown_session", None, 5), ("continued", None, 5), ("acknowledged_at_opening", None, None),
        ("opened", None, 0), ("epoch_differs", 1, 3), ("continued", None, 3), ("epoch_refused", 0, 123),
        ("right_epoch_refused", 4, 123), ("continued", None, 9), ("evicted", 0, 122),
    ]  # fmt: skip


def test_an_answer_names_the_session_it_belongs_to() -> None:
    talk, machine = Talk(), FetchSessions(increments=False)
    facts = feed(machine, fetch(talk, 0, 0, (0,)), fetch(talk, 7, 1, got=9))
    assert brief(facts)[-1] == ("other_session", 7, 9)
    answered = fetch(talk, 7, 2, got=9)
    assert not machine.passes(answered, fetch_parts(answered))


def test_what_is_acknowledged_was_acquired() -> None:
    talk, machine = Talk(), ShareSessions()
    facts = feed(machine, share(talk, 0, gives=0), share(talk, 1, SHARE_ACKNOWLEDGE, acks=True))
    assert [(fact.kind, fact.seen) for fact in facts if fact.kind == "never_acquired"] == [
        ("never_acquired", "0 to 1")
    ]
    facts = feed(machine, share(talk, 2, gives=1), share(talk, 3, SHARE_ACKNOWLEDGE, acks=True))
    assert "never_acquired" not in kinds(facts)


def test_what_a_member_was_given_before_the_capture_is_not_known() -> None:
    talk, machine = Talk(), ShareSessions()
    facts = feed(machine, share(talk, 3), share(talk, 4, SHARE_ACKNOWLEDGE, acks=True))
    assert "never_acquired" not in kinds(facts)


def test_ranges_that_were_acquired_join() -> None:
    acquired, partition = AcquiredRecords(is_known=True), (UUID, 0)
    for first, last in ((10, 12), (0, 3), (20, 25), (4, 9), (13, 13)):
        acquired.add(partition, first, last)
    assert acquired.ranges == 2
    assert acquired.holds(partition, 0, 13)
    assert acquired.holds(partition, 21, 25)
    assert not acquired.holds(partition, 13, 14)
    assert not acquired.holds(partition, 19, 20)
    assert not acquired.holds((UUID, 1), 0, 0)
    for first in range(100, 100 + 2 * RANGES_KEPT, 2):
        acquired.add(partition, first, first)
    assert not acquired.is_known


@pytest.mark.parametrize(
    ("now", "expected"),
    [
        ({"high": 6}, [("offset_back", 9, 6)]),
        ({"start": 2}, [("offset_back", 3, 2)]),
        ({"high": -1}, []),
        ({"high": 6, "failed": 6}, []),
        ({"high": 9, "start": 4}, []),
    ],
)
def test_offsets_do_not_go_back(now: dict[str, int], expected: list[Any]) -> None:
    """Of what was told in the session, without an error; -1 is unknown."""
    talk, machine = Talk(), FetchSessions(increments=False)
    opened = fetch(talk, 0, 0, (0,), start=3)
    changed = fetch(talk, 7, 1, answered=(0,), **({"start": 3} | now))
    assert brief(feed(machine, opened)) == [("created", None, 7)]
    assert machine.passes(changed, fetch_parts(changed)) is not bool(expected)
    if expected:
        facts = feed(machine, changed)
        assert brief(facts) == expected
        assert facts[0].earlier is not None
        assert facts[0].earlier.ordinal == opened.ordinal


def of_epoch(leader_epoch: int) -> bytes:
    """Return a batch that a leader of an epoch wrote."""
    return batch_bytes(
        record_bytes(value=b"v"), 1, leader_epoch=leader_epoch, base_timestamp=0, max_timestamp=0
    )


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        ([{"records": of_epoch(2)}], []),
        ([{"records": of_epoch(3)}], [("epoch_beyond", 2, 3)]),
        ([{"records": of_epoch(3), "failed": 74}], []),  # FENCED_LEADER_EPOCH
        ([{"partitions": (0,), "leader": 3}, {"records": of_epoch(3)}], []),
        ([{"partitions": (0,), "leader": 3, "records": of_epoch(4)}], []),  # REC044 says so
        ([{"partitions": (0,), "leader": -1}, {"records": of_epoch(3)}], []),
        ([{"forget": (0,), "answered": ()}, {"partitions": (0,)}, {"records": of_epoch(3)}], []),
    ],
)
def test_a_session_asks_for_the_epoch_that_was_named_last(steps: list[Any], expected: list[Any]) -> None:
    talk, machine = Talk(), FetchSessions(increments=False)
    feed(machine, fetch(talk, 0, 0, (0,), leader=2))
    said = []
    for epoch, step in enumerate(steps, 1):
        one = fetch(talk, 7, epoch, **({"answered": (0,)} | step))
        if not machine.passes(one, fetch_parts(one)):
            said += brief(feed(machine, one))
    assert said == expected
