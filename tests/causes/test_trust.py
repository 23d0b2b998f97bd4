"""`sure` is a promise: no cause is false where the truth is known, and damage of a capture adds none.

`python -m captures.faults.trust` measures the same over everything (docs/why.md).
"""

from itertools import product

import pytest

from captures.faults.damage import DAMAGES
from captures.faults.recording import RECORDED, Meant, Recording, recordings
from captures.faults.trust import (
    CAPTURES,
    DAMAGED,
    TOO_POOR,
    Judged,
    healthy_days,
    misses,
    of_clients,
    of_damaged,
    of_recordings,
    table,
)
from kdissect.causes.diagnose import found_by
from kdissect.causes.evidence.evidence import Evidence
from kdissect.causes.laws.producer_laws import client_sends_sequences
from kdissect.causes.registry import ALL_CAUSES
from kdissect.model.cause import Party
from tests.causes.fixtures.case import NOTHING, Made, gathered

KNOWN = [one for folder in (CAPTURES, RECORDED) for one in recordings(folder) if one.truth is not None]
KNOWN += healthy_days()
# Damage that brought about a false cause, with its seed.
ONCE_FALSE = (
    ("kafka28zk_franz_late", "both sides of a NAT merged", "11"),
    ("kafka39_franz_releases", "few packets lost", "11"),
    ("kafka39_franz_releases", "packets cut", "11"),
    ("kafka40_java_share", "ends in the middle", "11"),
    ("kafka44_aiokafka_admin", "runs of packets lost", "11"),
    ("kafka44_aiokafka_groups", "ends in the middle", "3"),
    ("kafka44_franz_groups", "clock set back", "12"),
    ("kafka44_franz_groups", "few packets lost", "1"),
    ("kafka44_franz_groups", "many packets lost", "1"),
    ("kafka44_java_produce", "one direction stops", "1"),
    ("kafka44_java_produce", "runs of packets lost", "2"),
    ("kafka44_kafkajs_groups", "many packets lost", "3"),
    ("kafka44_java_kip848", "packets shuffled", "2"),
    ("kafka44_java_redelivery", "clock set forward", "11"),
    ("kafka44_java_telemetry", "clock set back", "11"),
    ("kafka44_java_tls13", "responses alone", "11"),
    ("kafka44_kafkajs_transactions", "runs of packets lost", "11"),
    ("kafka44_kp3_groups", "clock set forward", "11"),
    ("kafka44_kp3_produce", "both sides of a NAT merged", "11"),
    ("kafka44_kp3_transactions", "clock set back", "3"),
    ("kafka44_kp3_transactions", "ends in the middle", "12"),
    ("kafka44_kp3_transactions", "ends in the middle", "3"),
    ("kafka44_kp3_transactions", "one direction stops", "1"),
    ("kafka44_kp3_transactions", "runs of packets lost", "1"),
    ("kafka44_rdkafka_groups", "runs of packets lost", "1"),
    ("kafka44_sarama_groups", "requests alone", "1"),
    ("kafka44_segmentio_groups", "both sides of a NAT merged", "1"),
    ("kafka44_segmentio_groups", "clock set forward", "2"),
    ("kafka44_segmentio_groups", "headers alone", "1"),
)  # fmt: skip


def told(judged: Judged) -> list[str]:
    return [f"{one['id']}: {one['sentence']}" for one in judged.wrong()]


@pytest.mark.sampled(24)
@pytest.mark.parametrize("one", KNOWN, ids=lambda one: one.name)
def test_no_sure_cause_is_false(one: Recording) -> None:
    (judged,) = of_recordings([one])
    assert [cause["sentence"] for cause in judged.wrong() if cause["certainty"] == "sure"] == []


@pytest.mark.sampled(24)
@pytest.mark.parametrize(("name", "kind"), list(product(DAMAGED, DAMAGES)))
def test_damage_adds_no_cause(name: str, kind: str) -> None:
    (judged,) = of_damaged([(name, kind)])
    assert told(judged) == []
    assert not judged.is_silent(), "a capture that lacks so much is not called right"


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("name", "kind", "seed"), ONCE_FALSE)
def test_what_was_false_once(name: str, kind: str, seed: str) -> None:
    (judged,) = of_damaged([(name, kind)], seed)
    assert told(judged) == []


def test_what_is_damaged_is_healthy_and_of_many_clients() -> None:
    truths = {one.name: one.truth for one in recordings(CAPTURES)}
    assert [name for name in DAMAGED if truths[name] != {}] == []
    assert len({name.split("_")[1] for name in DAMAGED}) >= 6
    assert len(DAMAGES) == 23
    assert set(DAMAGES) >= TOO_POOR


def test_the_table_counts_what_is_right() -> None:
    def cause(name: str, certainty: str) -> dict[str, str]:
        return {"id": name, "certainty": certainty, "sentence": f"{name} it is."}

    page = {"summary": "2 causes", "causes": [cause("slow-poll", "sure"), cause("slow-broker", "likely")]}
    nothing = {"summary": "nothing wrong was found", "causes": []}
    judged = [
        Judged("a", {"slow-poll": "injected"}, page, is_healthy=False),
        Judged("b", {}, nothing, is_healthy=True),
        Judged("c", {"slow-poll": "injected"}, nothing, is_healthy=False),
        Judged("d", {}, page, is_healthy=True),
    ]
    found = [("some", judged)]
    assert "| some | 4 | 1 of 2 | 0 of 2 | 0 of 0 | 2 | 2 | 1 |" in table(found)
    assert list(misses(found)) == [
        "some: a: slow-broker, likely: slow-broker it is.",
        "some: c: nothing wrong was found; true is slow-poll",
        "some: d: slow-poll, sure: slow-poll it is.",
        "some: d: slow-broker, likely: slow-broker it is.",
    ]


def test_healthy_recordings_are_counted_by_client_library() -> None:
    page = {"summary": "nothing wrong was found", "causes": []}
    both = Judged("a", {}, page, is_healthy=True, clients=frozenset({"sarama", "librdkafka"}))
    faulty = Judged("b", {"slow-poll": "injected"}, page, is_healthy=False, clients=frozenset({"sarama"}))
    found = [("some", [both, both._replace(clients=frozenset({"sarama"})), faulty]), ("damaged", [both])]
    assert of_clients(found).endswith(
        "2 healthy recordings as they are, of 2 client libraries: sarama 2, librdkafka 1"
    )


def test_forty_healthy_recordings_of_six_clients() -> None:
    drawn = RECORDED.with_name("drawn") / "recorded"
    healthy = [one for folder in (CAPTURES, drawn) for one in recordings(folder) if one.is_healthy]
    assert len(healthy) >= 40
    assert len({library for one in healthy for library in one.clients}) >= 6


def test_a_consumer_that_works_off_a_backlog_does_not_fall_behind() -> None:
    made = Made(gathered("lag-slow-consumer-1"))
    assert "lag-slow-consumer" in {one.id for one in found_by(ALL_CAUSES, made)}
    for key, tally in made.tallies:
        if key[0] == "Produce":
            tally.last_ns = made.first_ns
    assert "lag-slow-consumer" not in {one.id for one in found_by(ALL_CAUSES, made)}
    assert "no producer wrote to its topics after it came" in {one.against for one in made.refuted}


@pytest.mark.parametrize(
    ("name", "client", "is_refuted"),
    [("kafka44_segmentio_produce", "p-codec-none", True), ("kafka44_missteps_raw", "missteps", False)],
)
def test_a_producer_without_an_id_has_no_sequences(name: str, client: str, is_refuted: bool) -> None:
    made = Made(gathered(NOTHING))
    made.put_error(45, topic="t")
    (gap,) = [one for one in found_by(ALL_CAUSES, made) if one.id == "sequence-gap"]
    gap = gap._replace(parties=frozenset({Party("client", client)}))
    assert bool(client_sends_sequences(gap, Evidence(gathered(name)))) is is_refuted


def test_a_right_id_about_somebody_else_or_another_time_is_not_right() -> None:
    meant = {
        "slow-poll": Meant(frozenset({"orders"})),
        "broker-restarted": Meant(since="2026-11-24T13:18:08Z", until="2026-11-24T13:18:10Z"),
    }
    parties = [{"kind": "client", "name": "orders"}]
    page = {
        "summary": "",
        "causes": [
            {"id": "slow-poll", "certainty": "sure", "sentence": "", "parties": parties},
            {"id": "slow-poll", "certainty": "sure", "sentence": "", "who": "client 'shop'", "parties": []},
            *(
                {"id": "broker-restarted", "certainty": "likely", "since": f"2026-11-24T13:18:{second}Z"}
                for second in ("07.999999999", "08", "10", "10.000000001")
            ),
            {"id": "slow-broker", "certainty": "sure", "parties": parties},
        ],
    }
    truth = dict.fromkeys(("slow-poll", "broker-restarted"), "injected")
    judged = Judged("a", truth, page, is_healthy=False, meant=meant)
    assert [judged.is_right(one) for one in page["causes"]] == [True, False, False, True, True, False, False]
    assert "| some | 1 | 1 of 3 | 2 of 4 | 0 of 0 |" in table([("some", [judged])])


def test_a_truth_names_whom_it_was_done_to() -> None:
    known = {one.name: one.meant for one in recordings(RECORDED)}
    assert known["fenced-producer-1"]["fenced-producer"].whom
    stopped = known["version-removed-by-upgrade-1"]["broker-restarted"]
    assert stopped.whom == {"127.0.0.1:31212"}
    assert stopped.since < stopped.until


def test_a_fault_that_no_packet_shows_is_no_silence() -> None:
    nothing = {"summary": "nothing wrong was found", "causes": []}
    meant = {"old-client": Meant(unseen="it names no release")}
    one = Judged("a", {"old-client": "injected"}, nothing, is_healthy=False, meant=meant)
    assert not one.is_silent()
    assert one._replace(truth={"old-client": "", "slow-poll": ""}).is_silent()
    assert one._replace(meant={}).is_silent()
    assert list(misses([("some", [one])])) == ["some: a: old-client is not in sight: it names no release"]
