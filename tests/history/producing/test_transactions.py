"""Transactions from begin to end, and who is fenced."""

from typing import Any

import pytest

from kdissect.history.producing.transaction import Outcome, TransactionState
from kdissect.history.producing.transactions import Transactions
from kdissect.session.exchange import Exchange
from tests.history.talk import Talk, batch, brief, feed, kinds

PRODUCE, INIT, ADD, ADD_OFFSETS, END, MARKERS, OFFSETS = 0, 22, 24, 25, 26, 27, 28
TID = "txn"


def init(talk: Talk, epoch: int = 0, error: int = 0, own: int = -1, tid: str | None = TID) -> Exchange:
    body = {"transactional_id": tid, "transaction_timeout_ms": 60000, "producer_id": own}
    return talk.ask(INIT, 4, body, {"error_code": error, "producer_id": 5, "producer_epoch": epoch})


def add(talk: Talk, epoch: int = 0, error: int = 0, partition: int = 0) -> Exchange:
    body = {
        "v3_and_below_transactional_id": TID, "v3_and_below_producer_id": 5,
        "v3_and_below_producer_epoch": epoch,
        "v3_and_below_topics": [{"name": "t", "partitions": [partition]}],
    }  # fmt: skip
    rows = [{"partition_index": partition, "partition_error_code": error}]
    return talk.ask(
        ADD, 3, body, {"results_by_topic_v3_and_below": [{"name": "t", "results_by_partition": rows}]}
    )


def add_by_broker(talk: Talk, epoch: int = 0, verify: bool = False) -> Exchange:
    row = {
        "transactional_id": TID, "producer_id": 5, "producer_epoch": epoch, "verify_only": verify,
        "topics": [{"name": "t", "partitions": [0]}],
    }  # fmt: skip
    results = [{"name": "t", "results_by_partition": [{"partition_index": 0, "partition_error_code": 0}]}]
    answer = {"results_by_transaction": [{"transactional_id": TID, "topic_results": results}]}
    return talk.ask(ADD, 5, {"transactions": [row]}, answer)


def add_offsets(talk: Talk) -> Exchange:
    body = {"transactional_id": TID, "producer_id": 5, "producer_epoch": 0, "group_id": "g"}
    return talk.ask(ADD_OFFSETS, 3, body, {"error_code": 0})


def offsets(talk: Talk, version: int = 3, epoch: int = 0) -> Exchange:
    body = {
        "transactional_id": TID, "group_id": "g", "producer_id": 5, "producer_epoch": epoch, "member_id": "",
        "topics": [{"name": "t", "partitions": [{"partition_index": 0, "committed_metadata": ""}]}],
    }  # fmt: skip
    rows = [{"name": "t", "partitions": [{"partition_index": 0, "error_code": 0}]}]
    return talk.ask(OFFSETS, version, body, {"topics": rows})


def produce(
    talk: Talk, epoch: int = 0, version: int = 9, error: int = 0, at: int | None = None, partition: int = 0
) -> Exchange:
    data = batch(5, epoch, 0, 2, transactional=True)
    body = {
        "acks": -1, "transactional_id": TID,
        "topic_data": [{"name": "t", "partition_data": [{"index": partition, "records": data}]}],
    }  # fmt: skip
    rows = [{"index": partition, "error_code": error, "base_offset": 0}]
    return talk.ask(
        PRODUCE, version, body, {"responses": [{"name": "t", "partition_responses": rows}]}, at=at
    )


def end(
    talk: Talk, commit: bool = True, epoch: int = 0, error: int | None = 0, version: int = 3,
    at: int | None = None, took: int = 1,
) -> Exchange:  # fmt: skip
    body = {"transactional_id": TID, "producer_id": 5, "producer_epoch": epoch, "committed": commit}
    answer = {"error_code": error, "producer_id": 5, "producer_epoch": epoch + 1}
    return talk.ask(END, version, body, None if error is None else answer, at=at, took=took)


def ended_since_kip_890(talk: Talk) -> Exchange:
    """EndTxn v5 gives the next epoch."""
    return end(talk, version=5, commit=False)


def markers(talk: Talk, commit: bool, epoch: int = 0) -> Exchange:
    row = {
        "producer_id": 5, "producer_epoch": epoch, "transaction_result": commit,
        "topics": [{"name": "t", "partition_indexes": [0, 1]}],
    }  # fmt: skip
    done = [{"name": "t", "partitions": [{"partition_index": 0}, {"partition_index": 1}]}]
    return talk.ask(MARKERS, 1, {"markers": [row]}, {"markers": [{"producer_id": 5, "topics": done}]})


def outcomes(machine: Transactions) -> list[str]:
    (known,) = machine.ids
    return [str(transaction.outcome) for transaction in known.ended]


def test_commit_and_abort_as_before_kip_890() -> None:
    talk, leader, machine = Talk(), Talk(broker="10.0.0.3"), Transactions()
    facts = feed(machine, init(talk), add(talk), produce(leader), end(talk))
    assert kinds(facts) == ["taken", "began", "partition_added", "ended"]
    facts = feed(
        machine, add(talk), produce(leader), add_offsets(talk), offsets(talk), end(talk, commit=False),
        markers(leader, commit=False),
    )  # fmt: skip
    assert kinds(facts) == ["began", "partition_added", "offsets_added", "ended", "marked"]
    assert outcomes(machine) == ["committed", "aborted"]
    (known,) = machine.ids
    assert known.last is not None
    assert (known.last.records, known.last.offsets, known.last.markers) == (2, 1, 2)
    assert (known.state, known.outcomes) == (
        TransactionState.EMPTY,
        {Outcome.COMMITTED: 1, Outcome.ABORTED: 1},
    )


def test_batches_and_offsets_join_by_themselves_since_kip_890() -> None:
    talk, machine = Talk(), Transactions()
    facts = feed(
        machine, init(talk), produce(talk, version=12), end(talk, version=5), offsets(talk, 5, epoch=1),
        end(talk, version=5, epoch=1), add_by_broker(talk, epoch=2), produce(talk, 2, version=12),
        markers(talk, commit=True, epoch=2), end(talk, version=5, epoch=2),
    )  # fmt: skip
    assert kinds(facts) == [
        "taken", "began", "partition_added", "ended", "began", "offsets_added", "ended", "began",
        "partition_added", "marked", "ended",
    ]  # fmt: skip
    assert outcomes(machine) == ["committed"] * 3


def test_a_broker_that_only_verifies_adds_nothing() -> None:
    talk = Talk()
    assert kinds(feed(Transactions(), init(talk), add_by_broker(talk, verify=True))) == ["taken"]


def test_a_second_owner_fences_the_first() -> None:
    first, second, machine = Talk(), Talk("10.0.0.9"), Transactions()
    facts = feed(machine, init(first), add(first), init(second, epoch=1), end(first, error=90))
    assert brief(facts)[3:] == [
        ("ended", None, "fenced"), ("taken", (5, 0), (5, 1)), ("old_epoch", (5, 1), (5, 0)),
        ("refused", 0, 90),
    ]  # fmt: skip
    facts = feed(machine, add(second, epoch=1), end(second, epoch=1))
    assert kinds(facts) == ["began", "partition_added", "ended"]
    assert outcomes(machine) == ["fenced", "committed"]


def test_taking_its_own_id_again_aborts() -> None:
    talk, machine = Talk(), Transactions()
    feed(machine, init(talk), add(talk), init(talk, epoch=1, own=5))
    assert outcomes(machine) == ["aborted"]


def test_fenced_by_an_owner_who_was_not_seen() -> None:
    talk, machine = Talk(), Transactions()
    feed(machine, init(talk), add(talk), produce(talk, error=47))
    assert outcomes(machine) == ["fenced"]
    (known,) = machine.ids
    assert known.state is TransactionState.UNKNOWN


@pytest.mark.parametrize("wanted", [True, False])
def test_an_end_whose_answer_was_lost(wanted: bool) -> None:
    talk, machine = Talk(), Transactions()
    feed(machine, init(talk), add(talk), end(talk, wanted, error=None), add(talk))
    assert outcomes(machine) == ["committed" if wanted else "aborted"]


def test_an_end_without_a_begin() -> None:
    talk, machine = Talk(), Transactions()
    facts = feed(machine, init(talk), end(talk), add(talk), end(talk), end(talk))
    ends = [fact for fact in facts if fact.kind == "end_without_begin"]
    assert [fact.detail for fact in ends] == ["", "repeated"]


def test_a_middle_start_knows_the_end_but_not_the_begin() -> None:
    talk, machine = Talk(), Transactions()
    assert kinds(feed(machine, produce(talk), end(talk))) == ["ended"]
    (known,) = machine.ids
    assert known.last is not None and known.last.began is None


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        (lambda t: [init(t), produce(t)], ("produced_before_added", None, ("t", 0))),
        (lambda t: [init(t), add(t), produce(t, partition=1)], ("produced_before_added", None, ("t", 1))),
        (lambda t: [init(t), add(t, epoch=3)], ("other_producer", (5, 0), (5, 3))),
        (lambda t: [init(t, epoch=2), add(t, epoch=1, error=47)], ("old_epoch", (5, 2), (5, 1))),
        (
            lambda t: [init(t), end(t, version=5), produce(t, version=12, error=47)],
            ("epoch_not_taken", (5, 1), (5, 0)),
        ),
        (lambda t: [init(t), add(t), produce(t, version=12)], ("joined_twice", None, 12)),
        (lambda t: [init(t), add(t), offsets(t, 5)], ("joined_twice", None, 5)),
        (
            lambda t: [init(t), add(t), end(t), markers(t, commit=False)],
            ("marker_differs", True, False),
        ),
        (
            lambda t: [init(t), add(t), end(t, at=100, took=50), produce(t, at=120)],
            ("produced_while_ending", None, None),
        ),
        (
            lambda t: [init(t), add(t), produce(t, at=120), end(t, at=100, took=50)],
            ("produced_while_ending", None, None),
        ),
    ],
)
def test_what_differs(steps: Any, expected: tuple[str, Any, Any]) -> None:
    assert expected in brief(feed(Transactions(), *steps(Talk())))


def test_a_producer_without_a_transactional_id_has_no_transactions() -> None:
    talk, machine = Talk(), Transactions()
    assert not feed(machine, init(talk, tid=None))
    assert not len(machine.ids)


def test_a_refusal_that_will_be_tried_again_ends_nothing() -> None:
    talk, machine = Talk(), Transactions()
    facts = feed(
        machine, init(talk, error=51), init(talk), add(talk, error=51), add(talk), end(talk, error=14)
    )
    assert kinds(facts) == ["refused", "taken", "refused", "began", "partition_added", "refused"]
    assert kinds(feed(machine, end(talk))) == ["ended"]


def test_markers_belong_to_the_transaction_whose_epoch_they_carry() -> None:
    talk, machine = Talk(), Transactions()
    feed(machine, init(talk), add(talk), end(talk), init(talk, epoch=4, own=5), add(talk, epoch=4))
    (known,) = machine.ids
    assert known.last is not None and known.current is not None
    assert kinds(feed(machine, markers(talk, commit=True, epoch=0))) == ["marked"]
    assert kinds(feed(machine, markers(talk, commit=False, epoch=5))) == ["marked"]
    assert (known.last.marked, known.current.marked) == (True, False)
    assert not feed(machine, markers(talk, commit=False, epoch=9))


def test_an_old_epoch_that_is_taken() -> None:
    """Only what a coordinator takes that gave a higher one; EndTxn once more is taken from version 5 on."""
    talk, machine = Talk(), Transactions()
    feed(machine, init(talk, epoch=4))
    assert "old_epoch_taken" in kinds(feed(machine, end(talk, epoch=3)))
    assert "old_epoch_taken" not in kinds(feed(machine, end(talk, epoch=3, error=47)))
    assert "old_epoch_taken" not in kinds(feed(machine, produce(talk, epoch=3)))
    talk, machine = Talk(), Transactions()
    feed(machine, init(talk, epoch=4), add(talk, epoch=4))
    again = feed(machine, end(talk, epoch=4, version=5), end(talk, epoch=4, version=5))
    assert "old_epoch_taken" not in kinds(again)


def test_offsets_of_a_group_that_was_not_added() -> None:
    talk, machine = Talk(), Transactions()
    facts = feed(machine, init(talk), add(talk), offsets(talk), offsets(talk))
    assert kinds(facts).count("offsets_before_added") == 1
    talk, machine = Talk(), Transactions()
    assert "offsets_before_added" not in kinds(
        feed(machine, offsets(talk))
    )  # nobody knows of what came before


def test_the_epoch_that_ended_a_transaction_may_be_old_elsewhere() -> None:
    """Another connection may be of the producer that was fenced; EndTxn may be sent once more."""
    for later in (Talk("10.0.0.7"), None):
        talk, machine = Talk(), Transactions()
        feed(machine, init(talk), end(talk, version=5))
        step = end(talk, version=5, error=47) if later is None else produce(later, version=12, error=47)
        assert "epoch_not_taken" not in kinds(feed(machine, step))
