"""Cost of each rule on a capture: how often it receives a subject, and the time it takes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from copy import copy
from time import process_time_ns
from typing import Any

from kdissect.model.wording import plural
from kdissect.rules.kinds import BatchRule, BodyRule, ExchangeRule, NodeRule, RecordRule
from kdissect.rules.rule import Rule, Violation

_GUARDED = BodyRule | NodeRule | ExchangeRule | BatchRule | RecordRule


class RuleCost:
    """`exchanges` that a rule received, `calls` of its check, `time_ns` of the processor in them."""

    def __init__(self, rule: Rule) -> None:
        self.rule = rule
        self.exchanges = 0
        self.calls = 0
        self.time_ns = 0
        self._last: tuple[str, int] | None = None

    @property
    def is_open(self) -> bool:
        """Whether it could have a guard and has none: it receives every subject of its kind."""
        return isinstance(self.rule, _GUARDED) and self.rule.guard is None

    def measured(self) -> Rule:
        """Return the rule, its check measured."""
        made: Any = copy(self.rule)
        made.check = self._measuring(self.rule.check)  # type: ignore[attr-defined]  # every kind has one
        return made  # type: ignore[no-any-return]

    def _measuring(self, check: Callable[..., Iterable[Violation]]) -> Callable[..., Iterable[Violation]]:
        def measured(*subjects: Any) -> Iterable[Violation]:
            start = process_time_ns()
            found = list(check(*subjects))
            self.time_ns += process_time_ns() - start
            self.calls += 1
            place = next(filter(None, map(_place_of, subjects)), None)
            if place != self._last:  # an exchange is judged in one go
                self.exchanges += place is not None
                self._last = place
            return found

        return measured


def costs_of(rules: Sequence[Rule]) -> list[RuleCost]:
    """Return one for each rule, to be judged with as `measured`."""
    return [RuleCost(rule) for rule in rules]


def cost_text(costs: Sequence[RuleCost], exchanges: int, time_ns: int) -> str:
    """Return a table of the rules that ran, the most expensive first; `time_ns` covers reading and
    judging.
    """
    lines = ["rule    shown  of exchanges   calls      ms   share  guard"]
    for cost in sorted(costs, key=lambda cost: (-cost.time_ns, cost.rule.code)):
        if cost.calls:
            guard = "none" if cost.is_open else "yes" if isinstance(cost.rule, _GUARDED) else "-"
            part = 100 * cost.exchanges / exchanges if exchanges else 0.0
            share = 100 * cost.time_ns / time_ns if time_ns else 0.0
            lines.append(
                f"{cost.rule.code} {cost.exchanges:>6} {part:>12.2f} % {cost.calls:>7}"
                f" {cost.time_ns / 1e6:>7.1f} {share:>5.1f} %  {guard}"
            )
    silent = sum(not cost.calls for cost in costs)
    spent = sum(cost.time_ns for cost in costs) / 1e6
    lines.append(
        f"Asked nothing: {plural(silent, 'rule')}. All checks: {spent:.1f} of {time_ns / 1e6:.1f} ms"
    )
    return "\n".join(lines) + "\n"


def _place_of(subject: Any) -> tuple[str, int] | None:
    """Return the exchange that a subject of a rule belongs to."""
    if hasattr(subject, "ordinal"):
        return subject.connection.id, subject.ordinal
    exchange = getattr(subject, "exchange", None) or getattr(getattr(subject, "body", None), "exchange", None)
    return None if exchange is None else (exchange.connection.id, exchange.ordinal)
