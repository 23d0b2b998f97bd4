"""An `overrides` entry that cannot take effect is refused, with the cure."""

import pytest

from kdissect.rules.kinds import (
    BatchRule,
    BodyRule,
    ConnectionRule,
    ExchangeRule,
    FactRule,
    NodeRule,
    ProblemRule,
    UndecodableRule,
)
from kdissect.rules.overrides import refuse_idle_overrides
from kdissect.rules.registry import ALL_RULES
from kdissect.rules.rule import REQUEST, RESPONSE, Rule


def rule(kind: type[Rule], code: str, *overrides: str, **more: object) -> Rule:
    return type(f"Made{code}", (kind,), {"code": code, "overrides": overrides, **more})()


FETCH_REQUEST = {"on": (("Fetch", REQUEST),)}
FETCH_RESPONSE = {"on": (("Fetch", RESPONSE),)}
PRODUCE_REQUEST = {"on": (("Produce", REQUEST),)}


@pytest.mark.parametrize(
    ("rules", "why"),
    [
        ([rule(ExchangeRule, "A", "Z")], "no rule has this code"),
        ([rule(ExchangeRule, "A", "A")], "the rule itself: remove"),
        (
            [rule(ExchangeRule, "B"), rule(ExchangeRule, "A", "B")],
            "B is judged before A; move MadeA in front of MadeB",
        ),
        (
            [rule(BodyRule, "B", **FETCH_REQUEST), rule(BodyRule, "A", "B", **FETCH_REQUEST)],
            "move MadeA in front of MadeB",
        ),
        (
            [rule(BodyRule, "A", "B", **FETCH_RESPONSE), rule(BodyRule, "B", **FETCH_REQUEST)],
            "B is judged before A; exclude the case in the check of B",
        ),
        (
            [rule(NodeRule, "A", "B"), rule(BodyRule, "B", **FETCH_REQUEST)],
            "B is judged before A; exclude the case in the check of B",
        ),
        ([rule(BodyRule, "A", "B", **FETCH_REQUEST), rule(BodyRule, "B", **PRODUCE_REQUEST)], "never judge"),
        ([rule(FactRule, "A", "B"), rule(ExchangeRule, "B")], "B is judged before A; exclude"),
        ([rule(BatchRule, "A", "B"), rule(NodeRule, "B")], "B is judged before A; exclude"),
        ([rule(ConnectionRule, "A", "B"), rule(ExchangeRule, "B")], "never judge the same thing"),
        ([rule(ExchangeRule, "A", "B"), rule(ConnectionRule, "B")], "never judge the same thing"),
        ([rule(ProblemRule, "A", "B"), rule(ProblemRule, "B")], "never judge the same thing"),
        ([rule(UndecodableRule, "A", "B"), rule(NodeRule, "B")], "never judge the same thing"),
    ],
)
def test_an_entry_without_effect_is_refused(rules: list[Rule], why: str) -> None:
    with pytest.raises(ValueError, match=r"^MadeA \(A\): overrides names") as refused:
        refuse_idle_overrides(rules)
    assert why in str(refused.value)


@pytest.mark.parametrize(
    "rules",
    [
        [rule(ExchangeRule, "A", "B"), rule(ExchangeRule, "B")],
        [rule(BodyRule, "B", **FETCH_RESPONSE), rule(BodyRule, "A", "B", **FETCH_REQUEST)],
        [rule(BodyRule, "B", **FETCH_RESPONSE), rule(NodeRule, "A", "B", requests={"Fetch": 0})],
        [rule(NodeRule, "B"), rule(BodyRule, "A", "B", **FETCH_REQUEST)],
        [rule(FactRule, "B"), rule(FactRule, "A", "B")],
        [rule(FactRule, "B"), rule(ExchangeRule, "A", "B")],
        [rule(ConnectionRule, "A", "B"), rule(ConnectionRule, "B")],
    ],
)
def test_one_that_takes_effect_is_not(rules: list[Rule]) -> None:
    refuse_idle_overrides(rules)


def test_an_entry_of_a_shipped_rule_for_an_earlier_one_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """FET001 judges requests of Fetch, as BDY022 does, which is earlier in the registry."""
    one = next(rule for rule in ALL_RULES if rule.code == "FET001")
    monkeypatch.setattr(type(one), "overrides", ("BDY022",))
    with pytest.raises(ValueError, match=r"BDY022 is judged before FET001; move \w+ in front of Repeated"):
        refuse_idle_overrides(ALL_RULES)
