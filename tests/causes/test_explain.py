"""What there is for and against one cause, and causes of two pages side by side: made by hand."""

from __future__ import annotations

import pytest

from kdissect.causes.compared import State, against, compared
from kdissect.causes.diagnose import diagnose, found_by
from kdissect.causes.evidence.evidence import Evidence
from kdissect.causes.evidence.gathering import Gathering
from kdissect.causes.explain import explain
from kdissect.causes.laws.laws import LAWS
from kdissect.causes.registry import ALL_CAUSES, cause_by
from kdissect.model.cause import Certainty, Diagnosis, FoundCause, Party
from tests.causes.fixtures.boundaries import OTHER, _error, _late, _link, _made, _poor
from tests.causes.fixtures.case import NOTHING, SECOND, WHO, Change, Made, gathered
from tests.causes.test_folding import cause


def made(*changes: Change) -> Gathering:
    seen = Made(gathered(NOTHING))
    _made(*changes)(seen)
    seen.gathering.first_ns, seen.gathering.last_ns = seen.first_ns, seen.last_ns
    return seen.gathering


def test_symptoms_of_a_cause_and_what_became_of_them() -> None:
    gathering = made(
        _error(29, 0, 2, topic="t"),
        _error(29, 3, 1, who=OTHER),
        _error(42, 0, 5),
        _late(0, 2, SECOND, SECOND),
    )
    found = explain(gathering, ["a.pcap"], "topic-denied")
    assert (found.id, found.title, found.files) == (
        "topic-denied",
        "A client may not use a topic",
        ("a.pcap",),
    )
    assert [one.times for one in found.given] == [2, 1]
    assert (found.refuted, found.laws) == ((), ())
    assert found.symptoms == (
        "error (Produce TOPIC_AUTHORIZATION_FAILED) of client 'orders' at 10.0.0.5, 2 times:"
        " explained by topic-denied",
        "error (Metadata TOPIC_AUTHORIZATION_FAILED) of client 'billing' at 10.0.0.6, once:"
        " explained by topic-denied",
    )
    late = explain(gathering, [], "slow-broker")
    assert late.symptoms == (
        "late (Produce all clients) of client 'orders' at 10.0.0.5, 2 times:"
        " normal: few pauses of some seconds in all",
    )
    assert late.laws == tuple(law.says for law in LAWS if "slow-broker" in law.causes) != ()
    assert explain(gathering, [], "commit-storm").symptoms == ()


def test_a_symptom_that_nothing_explains() -> None:
    found = explain(made(_late(0, 4, SECOND, 4 * SECOND)), [], "slow-network")
    assert found.given == ()
    assert [one.rpartition(": ")[2] for one in found.symptoms] == ["explained by responses-late"]


def test_so_many_symptoms_are_listed() -> None:
    clients = [WHO._replace(client_id=f"c{number}") for number in range(21)]
    found = explain(made(*(_error(29, 0, who=one, topic="t") for one in clients)), [], "topic-denied")
    assert (len(found.given), len(found.symptoms)) == (21, 20)


def test_a_cause_that_a_law_refutes_is_not_printed() -> None:
    gathering = made(_link(trips=[(30_000_000, "a")], exchanges=20, bytes=9))
    found = explain(gathering, [], "slow-network")
    assert (len(found.given), len(found.refuted)) == (0, 1)
    assert found.refuted[0].sentence.startswith("A round trip between client 'orders'")
    assert explain(gathering, [], "slow-broker").refuted == ()
    seen = Evidence(gathering)
    assert found_by(ALL_CAUSES, seen) == []
    assert [one.id for one in seen.refuted] == ["slow-network"]


def test_a_cause_has_an_id() -> None:
    known = cause_by("slow-network")
    assert known is not None
    assert known.id == "slow-network"
    assert cause_by("none") is None


# A page


def test_of_a_poor_capture_what_may_be_missing_is_possible() -> None:
    """What a broker says is sure all the same."""
    gathering = made(
        _poor(lost=60),
        _error(29, 0, 2, topic="t"),
        _link(OTHER, bytes=1000, zero_windows=9, starts=[(5, "c")], opened=1),
    )
    page = diagnose(gathering, ["a.pcap"])
    certainty = {one.id: (one.certainty, one.why_not_surer) for one in page.causes}
    lacks = "packets are missing from the capture, which may look the same"
    assert certainty["slow-client"] == (Certainty.POSSIBLE, lacks)
    assert certainty["topic-denied"] == certainty["capture-too-poor"] == (Certainty.SURE, "")


def test_the_worst_are_shown_and_the_others_counted() -> None:
    clients = [WHO._replace(client_id=f"c{number:02}") for number in range(14)]
    gathering = made(*(_error(29, 0, number + 1, who=one, topic="t") for number, one in enumerate(clients)))
    page = diagnose(gathering, ["a.pcap"])
    assert (len(page.causes), page.left_out, page.files) == (12, 2, ("a.pcap",))
    assert [one.times for one in page.causes] == list(range(14, 2, -1))
    assert (page.first_ns, page.last_ns) == (SECOND, 100 * SECOND)
    few = diagnose(gathering, [], most=3)
    assert (len(few.causes), few.left_out) == (3, 11)
    wanted = diagnose(gathering, [], wanted=lambda parties: Party("client", "c03") in parties)
    assert [(one.times, wanted.left_out) for one in wanted.causes] == [(4, 0)]


# Two pages


def page(*found: FoundCause) -> Diagnosis:
    return diagnose(made(), ["p"])._replace(causes=found, looked_at=("looked",))


A, B = Party("client", "a"), Party("client", "b")
CRASHED, STUCK, CHURN, LAG = "member-crashed", "stuck-consumer", "connection-churn", "lag-slow-consumer"


def test_causes_of_two_pages_in_order() -> None:
    good = page(cause(STUCK, A), cause(CRASHED, A), cause(CHURN, A))
    twice = cause(CRASHED, A)._replace(cost=cause(CRASHED).cost + cause(CRASHED).cost)
    half = cause(STUCK, A)._replace(cost=cause(STUCK).cost._replace(errors=1))
    bad = page(half, twice, cause(LAG, A))
    found = compared(good, bad)
    assert [(str(one.state), one.facts()["id"]) for one in found] == [
        ("new", LAG),
        ("worse", CRASHED),
        ("better", STUCK),
        ("gone", CHURN),
    ]
    facts = found[1].facts()
    assert (facts["good_times"], facts["bad_times"], facts["state"]) == (7, 7, "worse")
    assert (facts["good_cost"]["errors"], facts["bad_cost"]["errors"]) == (2, 4)
    assert (facts["title"], facts["sentence"], facts["who"]) == ("title", f"It is {CRASHED}.", "who")
    new, gone = found[0].facts(), found[3].facts()
    assert (new["good_times"], new["good_cost"], new["bad_times"]) == (0, None, 7)
    assert (gone["bad_times"], gone["bad_cost"], gone["good_times"]) == (0, None, 7)
    left = against(good, bad)
    assert [one.id for one in left.causes] == [LAG, CRASHED]
    assert left.looked_at == (
        "looked",
        f"better than in what it is compared with: {STUCK}",
        f"only in what it is compared with: {CHURN}",
    )
    assert against(good, good).looked_at == (
        "looked",
        f"in what it is compared with, too: {STUCK}, {CRASHED}, {CHURN}",
    )


def test_of_several_with_one_id_those_with_common_parties_are_the_same() -> None:
    one, other = cause(STUCK, A, Party("group", "g")), cause(STUCK, B)
    assert [(pair.good, pair.bad) for pair in compared(page(other, one), page(one, other))] == [
        (one, one),
        (other, other),
    ]
    assert [pair.state for pair in compared(page(one), page(other, one))] == [State.NEW, State.SAME]
    assert [pair.state for pair in compared(page(one, one), page(one))] == [State.SAME, State.GONE]


@pytest.mark.parametrize(("times", "state"), [(14, "worse"), (13, "same"), (4, "same"), (3, "better")])
def test_where_nothing_is_known_of_the_cost_times_count(times: int, state: str) -> None:
    before = cause(STUCK, A)._replace(cost=cause(STUCK).cost._replace(errors=0))
    (found,) = compared(page(before), page(before._replace(times=times)))
    assert str(found.state) == state
