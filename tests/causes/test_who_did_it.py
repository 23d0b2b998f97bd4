"""Sentences name who did something, and what it was about, as the packets say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kdissect.causes.groups.group_story import GroupStory, Rebalance
from kdissect.history.fact import Evidence, Fact
from kdissect.history.groups.classic_steps import ClassicFact
from kdissect.model.cause import Certainty
from kdissect.model.packets.packet import Packet
from tests.causes.diagnosing import ids
from tests.causes.talks import Talk, what_is_wrong
from tests.support.messages.traffic import BROKER, CLIENT

_WINDOW_AT = 14 + 20 + 14  # bytes: Ethernet, IPv4, TCP up to the window
_EMPTY: dict[str, Any] = {"rebalances": [], "protocol": "consumer range", "kind": "classic", "group": "g"}


def _close_window(talk: Talk, side: int, times: int) -> Talk:
    for _ in range(times):
        talk.talk.packet(side)
        last: Packet = talk.talk.packets[-1]
        data = last.data[:_WINDOW_AT] + bytes(2) + last.data[_WINDOW_AT + 2 :]
        talk.talk.packets[-1] = last._replace(data=data)
    return talk


@pytest.mark.parametrize(
    ("side", "cause", "words"),
    [
        (CLIENT, "slow-client", "client 'app' at 10.0.0.1 closed its TCP window 6 times"),
        (BROKER, "slow-broker", "Broker 10.0.0.2:9092 closed its TCP window 6 times"),
    ],
)
def test_the_end_that_closes_its_window_does_not_read(
    tmp_path: Path, side: int, cause: str, words: str
) -> None:
    found = what_is_wrong(tmp_path, _close_window(Talk().heartbeats(3), side, 6).heartbeats(3))
    assert ids(found) == [cause]
    assert found.causes[0].sentence.startswith(words)


@pytest.mark.parametrize(
    ("kind", "code", "cause", "words"),
    [(1, 53, "cluster-denied", "transactional id 'x-1'"), (0, 30, "group-denied", "group 'x-1'")],
)
def test_what_a_coordinator_is_asked_for_is_named(
    tmp_path: Path, kind: int, code: int, cause: str, words: str
) -> None:
    talk = Talk()
    talk.ask(10, 4, {"key_type": kind, "coordinator_keys": ["x-1"]})
    row = {
        "key": "x-1", "node_id": -1, "host": "", "port": -1, "error_code": code, "error_message": None,
    }  # fmt: skip
    talk.answer(10, 4, {"throttle_time_ms": 0, "coordinators": [row]}).heartbeats(2)
    (found,) = what_is_wrong(tmp_path, talk).causes
    assert found.id == cause
    assert words in found.sentence


def _takes(talk: Talk, epoch: int) -> Talk:
    body = {
        "transactional_id": "x-1", "transaction_timeout_ms": 60_000, "producer_id": -1, "producer_epoch": -1,
    }  # fmt: skip
    talk.ask(22, 4, body)
    return talk.answer(
        22, 4, {"throttle_time_ms": 0, "error_code": 0, "producer_id": 7, "producer_epoch": epoch}
    )


def _ends(talk: Talk, epoch: int, error: int) -> Talk:
    talk.ask(26, 3, {"transactional_id": "x-1", "producer_id": 7, "producer_epoch": epoch, "committed": True})
    return talk.answer(26, 3, {"throttle_time_ms": 0, "error_code": error})


@pytest.mark.parametrize(
    ("second", "cause"), [("other", "fenced-producer"), ("first", "requests-fail")], ids=["other", "itself"]
)
def test_a_transaction_in_another_state_is_that_of_another_client(
    tmp_path: Path, second: str, cause: str
) -> None:
    one, two = Talk("first"), Talk(second, 40001).wait(1)
    _ends(_takes(one, 0), 0, 0)
    _takes(two, 1)
    _ends(one.wait(2), 0, 48)
    assert ids(what_is_wrong(tmp_path, one, two)) == [cause]


def _rebalance(*causes: tuple[str, str]) -> dict[str, Any]:
    told = [{"cause": how, "member": name, "reason": None} for how, name in causes]
    return {"time": "2026-11-28T12:00:00Z", "took_ns": 1, "members": 2, "causes": told}


_GROWS = [_rebalance(("member_joined", f"m-{at}")) for at in range(4)]
_STEPS = [step for one in _GROWS for step in (one, _rebalance(("leader_rejoined", "m-0")))]
_SHRINKS = [_rebalance(("member_left", f"m-{at}")) for at in range(3)]


@pytest.mark.parametrize(
    ("rebalances", "protocol", "is_resized"),
    [
        (_GROWS + _SHRINKS, "consumer range", True),
        (_STEPS + _SHRINKS, "consumer cooperative-sticky", True),
        (_STEPS + _SHRINKS, "consumer range", False),
        (_GROWS + _SHRINKS + _GROWS, "consumer range", False),
        ([*_GROWS, _rebalance(("member_lost", "m-1"))], "consumer range", False),
    ],
    ids=["eager", "incremental", "rejoins", "again", "lost"],
)
def test_a_group_that_grows_and_shrinks_is_resized(
    rebalances: list[dict[str, Any]], protocol: str, is_resized: bool
) -> None:
    story = GroupStory(_EMPTY | {"rebalances": rebalances, "protocol": protocol}, [])
    assert story.is_resized is is_resized


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ({}, "the whole group stops"),
        ({"protocol": "consumer cooperative-sticky"}, "reading stops on the partitions that move"),
        ({"kind": "consumer", "protocol": None}, "reading stops on the partitions that move"),
    ],
)
def test_incremental_rebalances_stop_what_moves(row: dict[str, Any], words: str) -> None:
    assert GroupStory(_EMPTY | row, []).stops == words


def test_what_a_throttled_client_gives_up_follows_from_its_quota(tmp_path: Path) -> None:
    talk = Talk()
    partition = {"index": 0, "records": None}
    sent = {
        "transactional_id": None, "acks": 1, "timeout_ms": 1000,
        "topic_data": [{"name": "t", "partition_data": [partition]}],
    }  # fmt: skip
    row = {"index": 0, "error_code": 0, "base_offset": 0, "log_append_time_ms": -1}
    for _ in range(3):
        talk.ask(0, 3, sent)
        talk.answer(
            0, 3, {"responses": [{"name": "t", "partition_responses": [row]}], "throttle_time_ms": 2000}
        ).wait(2)
    talk.ask(0, 3, sent)
    talk.wait(20).talk.fin(CLIENT)
    (found,) = what_is_wrong(tmp_path, talk, Talk("other", 40001).heartbeats(30)).causes
    assert found.id == "throttled-produce"
    assert {effect.id for effect in found.effects} >= {"unanswered-requests"}


def _metadata(talk: Talk, number: int, *, partitions: int = 0) -> Talk:
    rows = [
        {"error_code": 0, "partition_index": index, "leader_id": 1, "leader_epoch": 0, "replica_nodes": [],
         "isr_nodes": [], "offline_replicas": []}
        for index in range(partitions)
    ]  # fmt: skip
    topic = {
        "error_code": 0, "name": "t", "topic_id": bytes(15) + bytes([number]), "is_internal": False,
        "partitions": rows, "topic_authorized_operations": 0,
    }  # fmt: skip
    talk.ask(
        3, 10,
        {"topics": None, "allow_auto_topic_creation": False, "include_cluster_authorized_operations": False,
         "include_topic_authorized_operations": False},
    )  # fmt: skip
    return talk.answer(
        3, 10,
        {"throttle_time_ms": 0, "brokers": [], "cluster_id": "c", "controller_id": 1, "topics": [topic],
         "cluster_authorized_operations": 0},
    )  # fmt: skip


def _fetch(talk: Talk, number: int) -> Talk:
    partition = {
        "partition": 0, "current_leader_epoch": -1, "fetch_offset": 0, "last_fetched_epoch": -1,
        "log_start_offset": -1, "partition_max_bytes": 1,
    }  # fmt: skip
    talk.ask(
        1, 13,
        {"max_wait_ms": 500, "min_bytes": 1, "max_bytes": 1, "isolation_level": 0, "session_id": 0,
         "session_epoch": -1, "forgotten_topics_data": [], "rack_id": "",
         "topics": [{"topic_id": bytes(15) + bytes([number]), "partitions": [partition]}]},
    )  # fmt: skip
    row = {
        "partition_index": 0, "error_code": 0, "high_watermark": 0, "last_stable_offset": 0,
        "log_start_offset": 0, "aborted_transactions": None, "preferred_read_replica": -1, "records": None,
    }  # fmt: skip
    topic = {"topic_id": bytes(15) + bytes([number]), "partitions": [row]}
    return talk.answer(1, 13, {"throttle_time_ms": 0, "error_code": 0, "session_id": 0, "responses": [topic]})


def _commit(talk: Talk, offset: int, error: int = 0) -> Talk:
    row = {"partition_index": 0, "committed_offset": offset, "committed_metadata": None}
    talk.ask(
        8, 2,
        {"group_id": "g", "generation_id_or_member_epoch": 1, "member_id": "m", "retention_time_ms": -1,
         "topics": [{"name": "t", "partitions": [row]}]},
    )  # fmt: skip
    partition = {"partition_index": 0, "error_code": error}
    return talk.answer(8, 2, {"topics": [{"name": "t", "partitions": [partition]}]}).wait(1)


@pytest.mark.parametrize(("second", "causes"), [(7, ["offset-rewound"]), (8, [])])
def test_offsets_of_a_topic_that_was_created_again_do_not_go_back(
    tmp_path: Path, second: int, causes: list[str]
) -> None:
    talk = _commit(_fetch(_metadata(Talk(), 7), 7), 50)
    _commit(_fetch(_metadata(talk, second), second), 3)
    assert ids(what_is_wrong(tmp_path, talk)) == causes


@pytest.mark.parametrize(("second", "causes"), [(7, []), (8, ["topic-recreated"])])
def test_requests_that_fail_while_a_topic_is_created_again(
    tmp_path: Path, second: int, causes: list[str]
) -> None:
    talk = _commit(_commit(_fetch(_metadata(Talk(), 7), 7), 50), 50, error=3)
    _commit(_fetch(_metadata(talk, second), second), 3)
    found = [one for one in ids(what_is_wrong(tmp_path, talk)) if one == "topic-recreated"]
    assert found == causes


def test_commits_to_a_topic_that_is_not_there_are_about_that_topic(tmp_path: Path) -> None:
    talk = Talk()
    for offset in range(6):
        _commit(talk, offset, error=3)
    assert ids(what_is_wrong(tmp_path, talk)) == ["unknown-topic"]


@pytest.mark.parametrize(("partitions", "certainty"), [(0, Certainty.SURE), (1, Certainty.LIKELY)])
def test_a_topic_that_comes_later_is_not_called_missing_for_sure(
    tmp_path: Path, partitions: int, certainty: Certainty
) -> None:
    talk = Talk()
    for offset in range(6):
        _commit(talk, offset, error=3)
    (cause,) = what_is_wrong(tmp_path, _metadata(talk, 7, partitions=partitions)).causes
    assert (cause.id, cause.certainty) == ("unknown-topic", certainty)


@pytest.mark.parametrize(
    ("time_ns", "ordinal"), [(0, 0), (10, 0), (14, 0), (15, 3), (16, 3), (20, 3), (24, 3), (29, 1), (99, 1)]
)
def test_packets_of_a_rebalance_are_those_of_the_nearest_fact(time_ns: int, ordinal: int) -> None:
    """Of several the first, in the order of the facts."""
    sent = 10, 30, 10, 20, 20
    evidence = [Evidence("c", at, 11, 9, (1, 1), (2, 2), time, time) for at, time in enumerate(sent)]
    facts = [Fact(ClassicFact.JOINED, ("", "g"), one) for one in evidence]
    facts = [facts[3], facts[0], facts[1], facts[2], facts[4]]
    story = GroupStory(_EMPTY, facts)
    found = story.seen([Rebalance(time_ns, 0, 1, ())])
    assert [one.exchange for one in found.evidence] == [ordinal]
