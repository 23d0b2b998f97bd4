"""Which effects are printed with a cause, and which symptoms a cause explains, by parties and time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from kdissect.causes.diagnose import folded, roots_first
from kdissect.causes.ledger.ledger import Ledger
from kdissect.causes.ledger.symptom import Claim, Symptom, SymptomKind
from kdissect.model.cause import Certainty, Cost, FoundCause, Party, Severity, in_order
from kdissect.stats.client import Client
from tests.causes.fixtures.case import SECOND, several

CLIENT, HOST, BROKER = Party("client", "app"), Party("host", "h"), Party("broker", "b:1")
GROUP = Party("group", "g")
BEFORE, AFTER = 5 * SECOND, 120 * SECOND


def cause(cause_id: str, *parties: Party, since_s: float = 100, until_s: float = 200) -> FoundCause:
    return FoundCause(
        cause_id, "title", Severity.DELAYS, f"It is {cause_id}.", "who", frozenset(parties),
        int(since_s * SECOND), int(until_s * SECOND), 7, Cost(errors=2), Certainty.SURE, "", (), "", "help",
        (),
    )  # fmt: skip


def together(*found: FoundCause) -> list[tuple[str, list[str]]]:
    """Return each cause with its effects."""
    return [(one.id, [effect.id for effect in one.effects]) for one in folded(found)]


def test_a_cause_precedes_what_became_of_records() -> None:
    """An effect on data has its own place, even if the cause only delays clients."""
    topic, client = Party("topic", "t"), Party("client", "app")
    reset = cause("offset-reset", client, topic)._replace(severity=Severity.DATA)
    other = cause("session-expired", client)
    recreated = cause("topic-recreated", client, topic)
    assert roots_first([reset, other, recreated]) == [recreated, reset, other]
    possible = recreated._replace(certainty=Certainty.POSSIBLE)
    assert roots_first([reset, other, possible]) == [reset, other, possible]
    elsewhere = recreated._replace(parties=frozenset({client, Party("topic", "u")}))
    assert roots_first([reset, other, elsewhere]) == [reset, other, elsewhere]


CRASHED, STUCK = "member-crashed", "stuck-consumer"
APART = [(CRASHED, []), (STUCK, [])]


def test_a_cause_has_the_cost_the_parties_and_the_end_of_its_effects() -> None:
    effect = cause(STUCK, GROUP, CLIENT, until_s=300)._replace(cost=Cost(errors=3))
    (one,) = folded([effect, cause(CRASHED, GROUP)])
    assert one.id == CRASHED
    assert [(each.id, each.sentence, each.times) for each in one.effects] == [(STUCK, f"It is {STUCK}.", 7)]
    assert (one.cost, one.parties, one.until_ns) == (Cost(errors=5), {GROUP, CLIENT}, 300 * SECOND)
    (other,) = folded([cause(CRASHED, GROUP), effect._replace(until_ns=0)])
    assert other.until_ns == 200 * SECOND


@pytest.mark.parametrize(
    ("since_s", "is_effect"),
    [(95, True), (94.999, False), (100, True), (320, True), (320.001, False)],
)
def test_an_effect_begins_while_its_cause_lasts(since_s: float, is_effect: bool) -> None:
    found = together(cause(CRASHED, GROUP), cause(STUCK, GROUP, since_s=since_s))
    assert found == ([(CRASHED, [STUCK])] if is_effect else APART)


@pytest.mark.parametrize(
    ("moments_s", "is_effect"),
    [
        ([], True),
        (range(97, 210), False),  # once a second, whether the broker stands still or not
        (range(97, 205), True),  # fewer than ten outside the time of the cause and a second
        ([*range(99, 202), *range(202, 224, 2)], False),  # half as often
        ([*range(99, 202), *range(202, 235, 3)], True),
        ([at / 4 for at in range(400, 900)], False),
        ([*(at / 10 for at in range(1000, 2000)), *range(202, 215)], True),
    ],
)
def test_an_effect_is_more_frequent_while_its_cause_lasts(
    moments_s: Sequence[float], is_effect: bool
) -> None:
    moments = tuple(int(at * SECOND) for at in moments_s)
    found = together(
        cause("stalled-broker", CLIENT), cause("connection-churn", CLIENT)._replace(moments=moments)
    )
    apart = [("stalled-broker", []), ("connection-churn", [])]
    assert found == ([("stalled-broker", ["connection-churn"])] if is_effect else apart)


@pytest.mark.parametrize(
    ("of_cause", "of_effect", "is_effect"),
    [
        ([CLIENT], [CLIENT], True),
        ([CLIENT], [CLIENT, Party("client", "other")], False),
        ([CLIENT, GROUP], [CLIENT, GROUP, Party("client", "other")], True),
        ([HOST], [HOST], False),  # this cause is about groups
        ([BROKER], [BROKER], False),
        ([], [], False),
    ],
)
def test_an_effect_concerns_the_same(of_cause: list[Party], of_effect: list[Party], is_effect: bool) -> None:
    found = together(cause(CRASHED, *of_cause), cause(STUCK, *of_effect))
    assert found == ([(CRASHED, [STUCK])] if is_effect else APART)


@pytest.mark.parametrize(
    ("of_effect", "is_effect"),
    [([HOST, BROKER], True), ([HOST, Party("broker", "b:2")], False), ([HOST], True)],
)
def test_a_host_may_have_other_trouble_with_another_broker(of_effect: list[Party], is_effect: bool) -> None:
    found = together(cause("connections-fail", HOST, BROKER), cause("connection-churn", *of_effect))
    assert len(found) == 2 - is_effect


def test_a_client_that_is_served_is_another_one_of_the_host() -> None:
    found = together(
        cause("tls-to-plaintext", HOST, BROKER), cause("metadata-storm", HOST, BROKER, CLIENT, since_s=101)
    )
    assert found == [("tls-to-plaintext", []), ("metadata-storm", [])]


def test_what_does_not_follow_is_a_cause() -> None:
    assert together(cause(CRASHED, GROUP), cause("commit-storm", GROUP)) == [
        (CRASHED, []),
        ("commit-storm", []),
    ]


def test_an_effect_of_two_goes_to_the_nearest_in_time() -> None:
    near, far = cause(CRASHED, GROUP, since_s=104), cause("endless-rebalances", CLIENT, since_s=90)
    effect = cause(STUCK, GROUP, CLIENT)
    assert together(far, near, effect) == [("endless-rebalances", []), (CRASHED, [STUCK])]
    assert together(far._replace(since_ns=103 * SECOND), near, effect)[0] == ("endless-rebalances", [STUCK])


def test_effects_of_effects_are_printed_with_the_first_cause() -> None:
    chain = [cause(STUCK, GROUP), cause("endless-rebalances", GROUP), cause(CRASHED, GROUP, since_s=99)]
    assert together(*chain) in (
        [(CRASHED, [STUCK, "endless-rebalances"])], [(CRASHED, ["endless-rebalances", STUCK])],
    )  # fmt: skip


# Symptoms.

WHO = Client(None, "app", None, "h")
ERRORS, LATE = Claim(SymptomKind.ERROR), Claim(SymptomKind.LATE)


def claims(
    parties: list[Party], client: Client = WHO, since_s: float = 0, until_s: float = 500, at_s: float = 100,
    by: tuple[str, ...] = ("client", "group"), kind: SymptomKind = SymptomKind.ERROR, **about: Any,
) -> list[str]:  # fmt: skip
    """Return how a cause explains a symptom of four seconds: itself, by an effect."""
    seen = several(5)
    seen.first_ns, seen.last_ns = int(at_s * SECOND), int((at_s + 4) * SECOND)
    ledger = Ledger([Symptom(kind, "a", client, "b:1", seen, 1, 42, **about)])
    one = cause(CRASHED, *parties, since_s=since_s, until_s=until_s)
    return [
        name
        for name, own, also in (("own", [ERRORS], []), ("effect", [], [ERRORS]))
        if ledger.claimable(one, own, also, by)  # type: ignore[arg-type]
    ]


@pytest.mark.parametrize(
    ("since_s", "until_s", "is_explained"),
    [(0, 500, True), (109, 500, True), (109.001, 500, False), (-50, -20, True), (-50, -20.001, False)],
)
def test_a_cause_explains_what_happens_while_it_lasts(
    since_s: float, until_s: float, is_explained: bool
) -> None:
    """The symptom lasts from second 100 to second 104."""
    assert claims([CLIENT], since_s=since_s, until_s=until_s) == ["own", "effect"] * is_explained


@pytest.mark.parametrize(
    ("parties", "client", "by", "expected"),
    [
        ([CLIENT], WHO, ("client",), ["own", "effect"]),
        ([CLIENT], WHO, ("group",), ["own"]),
        ([Party("client", "other")], WHO, ("client",), []),
        ([BROKER], WHO, ("broker",), ["effect"]),
        ([HOST], WHO, ("host",), []),
        ([HOST, BROKER], WHO, ("host",), ["own", "effect"]),
        ([HOST, BROKER], WHO, (), ["own"]),
        ([HOST, BROKER, Party("client", "other")], WHO, (), []),
        ([HOST, BROKER, Party("client", "other")], WHO._replace(client_id=None), (), ["own"]),
        ([HOST, Party("broker", "b:2")], WHO, ("host",), []),
    ],
)
def test_a_cause_explains_what_concerns_its_parties(
    parties: list[Party], client: Client, by: tuple[str, ...], expected: list[str]
) -> None:
    assert claims(parties, client, by=by) == expected


@pytest.mark.parametrize("about", [{"topic": "x"}, {"group": "x"}, {"txn": "x"}])
def test_a_cause_explains_what_is_about_its_topic_group_or_id(about: dict[str, str]) -> None:
    kind = "id" if "txn" in about else next(iter(about))
    assert claims([Party(kind, "x")], by=(), **about) == ["own"]
    assert claims([Party(kind, "x")], by=(), kind=SymptomKind.LATE, **about) == []


def test_the_first_cause_that_claims_a_symptom_keeps_it() -> None:
    seen = several(40)
    ledger = Ledger(
        [
            Symptom(SymptomKind.ERROR, "a", one, "b:1", seen, 0, 42)
            for one in (WHO, WHO._replace(client_id="z"))
        ]
    )
    first, second = cause(CRASHED, CLIENT, since_s=0), cause(STUCK, CLIENT, since_s=0)
    ledger.claim(first, [ERRORS], [], ())
    ledger.claim(second, [ERRORS], [], ())
    assert list(ledger.claims_on(WHO, "b:1")) == [first]
    assert list(ledger.claims_on(WHO, "b:2")) == []
    assert list(ledger.claims_on(WHO._replace(address="i"), "b:1")) == []
    assert list(ledger.claims_on(WHO._replace(client_id="z"), "b:1")) == []
    assert [one.client.client_id for one in ledger.open(SymptomKind.ERROR)] == ["z"]
    assert ledger.open(SymptomKind.LATE) == []


@pytest.mark.parametrize(
    ("severity", "is_effect"),
    [(Severity.STOPS, True), (Severity.DATA, True), (Severity.DELAYS, False), (Severity.WASTES, False)],
)
def test_what_became_of_records_is_no_effect_of_a_delay(severity: Severity, is_effect: bool) -> None:
    effect = cause("duplicate-writes", BROKER)._replace(severity=Severity.DATA)
    stalled = cause("stalled-broker", BROKER)._replace(severity=severity)
    assert (together(stalled, effect) == [("stalled-broker", ["duplicate-writes"])]) is is_effect


@pytest.mark.parametrize(("broker", "first"), [("b:1", "lossy-network"), ("b:2", "slow-network")])
def test_a_lossy_path_comes_before_its_length(broker: str, first: str) -> None:
    """Also if more time is waited for the way, and if another client of the host meets the loss."""
    slow = cause("slow-network", HOST, CLIENT, BROKER)._replace(cost=Cost(time_ns=50 * SECOND))
    lossy = cause("lossy-network", HOST, Party("client", "other"), Party("broker", broker))
    assert roots_first(in_order([slow, lossy]))[0].id == first
