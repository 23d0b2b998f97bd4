"""Runs that a seed draws: the same seed draws the same; the score counts what it says."""

from __future__ import annotations

from typing import Any

import pytest

from captures.faults.drawn.kinds import DAYS, FAULTS
from captures.faults.drawn.plan import EDITIONS, draw, is_aside, setting_of
from captures.faults.drawn.record import plan_of
from captures.faults.drawn.score import NO_TRACE, RECORDED, judged, made_of, misses, scored, table
from captures.faults.recording import Recording, injected_in
from captures.record.scrub import blocks, with_secrets
from kdissect.causes.registry import ALL_CAUSES
from tests.support.console import CAPTURES

SEEDS = range(1, 400)


def test_a_seed_draws_the_same_plan_again() -> None:
    assert plan_of(7) == plan_of(7) != plan_of(8)
    assert plan_of(7).chance(0).random() == plan_of(7).chance(0).random()


def test_seeds_draw_what_they_drew_when_they_were_recorded() -> None:
    assert [one.kind for one in plan_of(8).happens] == ["broker-restarts"]
    assert [one.kind for one in plan_of(16).happens] == ["transaction-times-out", "group-denied"]
    for one in injected_in(RECORDED):
        plan = plan_of(one.injected["variant"])
        assert [each["kind"] for each in one.injected["injected"]] == [each.kind for each in plan.happens]
        assert [each["library"] for each in one.injected["injected"]] == [
            each.library for each in plan.happens
        ]
        assert one.is_aside is is_aside(plan.seed)


def test_first_seeds_draw_from_the_first_kinds_alone() -> None:
    first, later = EDITIONS
    assert first.last == 88
    kinds = FAULTS | DAYS
    for seed in SEEDS:
        plan = plan_of(seed)
        assert plan.setting.edition is (first if seed <= 88 else later)
        assert all(kinds[one.kind].edition <= plan.setting.edition.number for one in plan.happens)
        assert all(plan.setting.cluster in kinds[one.kind].clusters for one in plan.happens)
    settings = [plan_of(seed).setting for seed in SEEDS if seed > 88]
    assert {one.cluster for one in settings} == set(later.clusters)
    assert {one.is_encrypted for one in settings} == {True, False}


def test_a_third_is_kept_aside_and_every_kind_is_drawn() -> None:
    plans = [plan_of(seed) for seed in SEEDS]
    assert 0.25 < sum(is_aside(seed) for seed in SEEDS) / len(SEEDS) < 0.42
    assert {one.kind for plan in plans for one in plan.happens} == {*FAULTS, *DAYS}
    assert {len(plan.happens) for plan in plans} == {1, 2, 3}
    assert all((one.kind in DAYS) is plan.is_healthy for plan in plans for one in plan.happens)


def test_what_needs_the_same_thing_does_not_happen_at_once() -> None:
    needs = {"a": frozenset({"broker"}), "b": frozenset({"broker"}), "c": frozenset[str]()}
    for seed in SEEDS:
        assert {one.kind for one in draw(seed, setting_of(seed), needs, needs).happens} != {"a", "b", "c"}


def test_kinds_name_causes_and_topics_of_their_own() -> None:
    ids = {cause.id for cause in ALL_CAUSES}
    assert {cause for kind in FAULTS.values() for cause in (*kind.causes, *kind.also)} <= ids
    topics = [topic for kind in (*FAULTS.values(), *DAYS.values()) for topic in kind.topics]
    assert len(topics) == len(set(topics))


def _truth(*faults: dict[str, Any]) -> dict[str, Any]:
    return {"variant": 1, "injected": list(faults)}


def _fault(*causes: str, also: tuple[str, ...] = (), **who: str) -> dict[str, Any]:
    return {"kind": "k", "causes": list(causes), "also": list(also), "who": who}


def _said(*ids: str, who: str = "") -> list[dict[str, Any]]:
    return [{"id": one, "who": who, "parties": []} for one in ids]


def test_places_skip_other_faults_effects_and_general_causes() -> None:
    truth = _truth(_fault("slow-poll", also=("flapping-member",)), _fault("login-refused"))
    said = _said("requests-fail", "flapping-member", "login-refused", "hot-partition", "slow-poll")
    run = judged(truth, said)
    assert [one.place for one in run.injected] == [2, 1]
    assert run.false == ("hot-partition",)


@pytest.mark.parametrize(
    ("said", "is_reported"),
    [
        (_said("requests-fail", who="client 'bank'"), True),
        (_said("requests-fail", who="client 'shop'"), False),
        (_said("broker-closes"), True),
        ([_said("hot-partition")[0] | {"effects": [{"id": "transaction-timeout"}]}], True),
        (_said("hot-partition", who="client 'bank'"), False),
        ([], False),
    ],
)
def test_a_fault_without_its_cause_may_be_reported(said: list[dict[str, Any]], is_reported: bool) -> None:
    fault = _fault("transaction-timeout", also=("broker-closes",), client_id="bank")
    (found,) = judged(_truth(fault), said).injected
    assert (found.place, found.is_reported) == (0, is_reported)


@pytest.mark.parametrize(
    ("clients", "cause", "left_none"),
    [
        ({"shop"}, "login-refused", True),
        ({"shop", "bank"}, "login-refused", False),
        ({"shop"}, "tls-to-plaintext", False),  # its connections show it
        (None, "login-refused", False),
    ],
)
def test_a_client_that_sent_no_request_left_no_trace(
    clients: set[str] | None, cause: str, left_none: bool
) -> None:
    (found,) = judged(_truth(_fault(cause, client_id="bank")), [], clients).injected
    assert bool(found.no_trace) is left_none
    (found,) = judged(_truth(_fault(cause, client_id="bank")), _said(cause), clients).injected
    assert not found.no_trace


def test_every_cause_of_a_healthy_day_is_false() -> None:
    run = judged(_truth(_fault()), _said("responses-late"))
    assert run.is_healthy and run.false == ("responses-late",)


def test_a_fault_that_left_no_trace_counts_apart() -> None:
    for seed, kinds in NO_TRACE.items():
        assert not is_aside(int(seed))
        assert kinds.keys() <= {each.kind for each in plan_of(int(seed)).happens}
    fault = _fault("login-refused", client_id="vault") | {"kind": "wrong-password"}
    there = _truth(fault) | {"variant": 4}
    unseen, seen = judged(there, []), judged(there | {"variant": 1}, [])
    assert [one.injected[0].no_trace[:12] for one in (unseen, seen)] == ["the listener", ""]
    lines = table([unseen, seen]).splitlines()
    assert next(line.split()[-4:] for line in lines if "reported" in line) == ["of", "2", "0", "%"]
    assert next(line.split()[-4:] for line in lines if "trace" in line) == ["of", "1", "0", "%"]
    assert any("no trace: the listener" in line for line in misses([unseen]))


@pytest.mark.sampled(3)
@pytest.mark.parametrize("one", injected_in(RECORDED), ids=lambda one: one.name)
def test_recorded_runs(one: Recording) -> None:
    run = scored(one)
    assert [one.place for one in run.injected] == [1] * len(run.injected)
    assert run.false == ()


def test_what_runs_are_made_of_is_counted() -> None:
    of_first = {"injected": [{"kind": "no-login"}, {"kind": "slow-poll"}]}
    of_later = {"injected": [{"kind": "no-login"}], "cluster": "three nodes", "is_encrypted": True}
    there = [
        Recording(str(number), RECORDED, {}, truth, frozenset({"sarama"}))
        for number, truth in enumerate((of_first, of_later))
    ]
    assert made_of(there) == [
        "2 runs, 1 with TLS",
        "  clusters: first 1, three nodes 1",
        "  clients: sarama 2",
        "  kinds: no-login 2, slow-poll 1",
    ]


def test_secrets_stand_inside_a_capture_before_its_packets() -> None:
    capture = CAPTURES / "kafka44_java_tls13.pcapng"
    keys = capture.with_suffix(".keys").read_bytes()
    kinds = [(kind, body) for kind, body in blocks(with_secrets(capture.read_bytes(), keys))]
    (at,) = [place for place, (kind, _) in enumerate(kinds) if kind == 10]  # section 4.7
    assert 6 not in [kind for kind, _ in kinds[:at]]  # no packet: section 4.3
    assert kinds[at][1][:4] == b"KSLT"  # the little-endian TLSK of section 4.7
    assert kinds[at][1][8:].rstrip(b"\0") == keys
    assert [one for one in kinds if one[0] != 10] == list(blocks(capture.read_bytes()))
