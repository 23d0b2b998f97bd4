"""Conditions that begin an incident: `--when CONDITION`.

A condition is about causes of `why`, about rules of `check`, or about exchanges (`exchange_condition`).
"""

from __future__ import annotations

import re
from contextlib import suppress

from kdissect.causes.capture.capture_too_poor import CaptureTooPoor
from kdissect.causes.groups.rolling_restart import RollingRestart
from kdissect.causes.registry import cause_by
from kdissect.model.cause import Severity
from kdissect.query import FilterError, compile_filter
from kdissect.query.predicate import Predicate
from kdissect.query.values.units import DURATIONS
from kdissect.recorder.exchange_condition import CountCondition, ExchangeCondition, PercentileCondition
from kdissect.recorder.symptom import CAUSE, RULE, Symptom
from kdissect.rules.registry import ALL_RULES
from kdissect.rules.rule import Rule
from kdissect.rules.rule_selection import select

ANY_CAUSE = "cause"
SEVERITIES = tuple(severity.name.lower() for severity in Severity)
# A capture that lacks much is no trouble of the traffic, and a deployment is wanted: both need their id.
_ONLY_BY_ID = (CaptureTooPoor.id, RollingRestart.id)
_TIME = r"([0-9]+(?:\.[0-9]+)?)(ms|s|min|m|h)"
_COUNT = re.compile(rf"(.+),\s*([0-9]{{1,7}})\s+in\s+{_TIME}", re.DOTALL)
_PERCENTILE = re.compile(rf"([A-Za-z_][\w.]*)\s+p([0-9]{{2}}|99[0-9]{{1,2}})\s*(>=?)\s*(\S+)\s+for\s+{_TIME}")
_WORD = re.compile(r"[A-Za-z][\w-]*")


class CauseCondition:
    """Causes of `why`: all (`cause`), of one severity, or of one id. Those of `_ONLY_BY_ID` need their id."""

    def __init__(self, text: str) -> None:
        self.text = text

    def holds(self, symptom: Symptom) -> bool:
        """Return whether it holds for a symptom. A cause that is no more than possible does not count."""
        if symptom.kind != CAUSE or not symptom.is_firm:
            return False
        if self.text in (symptom.name, *symptom.effects):
            return True
        return self.text in (ANY_CAUSE, symptom.level) and symptom.name not in _ONLY_BY_ID


class RuleCondition:
    """Findings of `check`: of a rule by code or name, or of rules with a common prefix of their codes."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.rules: list[Rule] = select(ALL_RULES, [text])
        self._codes = {rule.code for rule in self.rules}

    def holds(self, symptom: Symptom) -> bool:
        """Return whether it holds for a symptom."""
        return symptom.kind == RULE and symptom.name in self._codes


Condition = CauseCondition | RuleCondition | ExchangeCondition


def parse_condition(text: str) -> Condition:
    """Return the condition that a text means. Raises ValueError with the reason.

    A single word is a cause, a severity or a rule. Other texts are filters.
    """
    text = text.strip()
    if _WORD.fullmatch(text):
        if text in (ANY_CAUSE, *SEVERITIES) or cause_by(text) is not None:
            return CauseCondition(text)
        with suppress(ValueError):
            return RuleCondition(text)
        with suppress(ValueError):
            return CountCondition(text, _filter(text), 1, 0)
        known = f"{ANY_CAUSE}, {', '.join(SEVERITIES)}, an id of docs/why.md, a rule of 'kdissect rules'"
        raise ValueError(f"{text!r} is no condition. A condition is {known}, or a filter")
    match = _PERCENTILE.fullmatch(text)
    if match is not None:
        field, digits, operator, value, amount, unit = match.groups()
        above = _filter(f"{field} {operator} {value}")
        below = _filter(f"{field} {'<=' if operator == '>' else '<'} {value}")
        share = int(digits) / 10 ** len(digits)
        if not share:
            raise ValueError(f"p{digits} is no percentile. Use p50, p99 or p999")
        return PercentileCondition(text, above, below, share, _span_ns(amount, unit))
    match = _COUNT.fullmatch(text)
    if match is not None:
        expression, count, amount, unit = match.groups()
        if not int(count):
            raise ValueError(f"{text!r}: a condition needs at least one exchange")
        return CountCondition(text, _filter(expression), int(count), _span_ns(amount, unit))
    return CountCondition(text, _filter(text), 1, 0)


def _filter(text: str) -> Predicate:
    try:
        found = compile_filter(text)
    except FilterError as error:
        raise ValueError(error.render()) from None
    if found.needs_findings:
        raise ValueError(f"{text!r}: findings are not known while packets come. Name the rule as a condition")
    if found.needs_records:
        raise ValueError(f"{text!r}: a condition cannot select records. Select exchanges")
    return found


def _span_ns(amount: str, unit: str) -> int:
    return int(float(amount) * DURATIONS[unit])
