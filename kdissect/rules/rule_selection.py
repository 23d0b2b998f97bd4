"""Which rules a run applies: by code, prefix or name."""

from collections.abc import Iterable, Sequence
from typing import Protocol

from kdissect.model.finding import Who
from kdissect.rules.rule import Rule

ALL = "ALL"


class Coded(Protocol):
    """Object with a code and a name: a rule, or a finding of it."""

    @property
    def code(self) -> str:
        """`BDY001`."""

    @property
    def name(self) -> str:
        """`tag-order`."""


def select(
    rules: Sequence[Rule], chosen: Iterable[str] = (), ignored: Iterable[str] = (), judge: Who | None = None
) -> list[Rule]:
    """Return the rules to apply. The longest word that fits a rule decides. A tie goes to `ignored`.

    Words are codes (`BDY001`), prefixes of codes (`BDY`) or names (`tag-order`). Without `chosen` all are.
    Raises ValueError for a word that fits no rule.
    """
    wanted, unwanted = list(chosen) or [ALL], list(ignored)
    for word in [*wanted, *unwanted]:
        if not any(fits(word, rule) for rule in rules):
            raise ValueError(no_such_rule(word, rules))
    return [
        rule for rule in rules if _is_on(rule, wanted, unwanted) and rule.who in (None, judge or rule.who)
    ]


def no_such_rule(word: str, rules: Iterable[Coded]) -> str:
    """Return a line that says so, and what was meant."""
    from difflib import get_close_matches  # start-up: only where a name is wrong

    known = [name for rule in rules for name in (rule.code, rule.name)]
    near = get_close_matches(word.upper(), known, 1) or get_close_matches(word.casefold(), known, 1)
    return f"no rule has the code, name or prefix {word!r}" + (f"; did you mean {near[0]}?" if near else "")


def _is_on(rule: Rule, wanted: Sequence[str], unwanted: Sequence[str]) -> bool:
    return _best(rule, wanted) > _best(rule, unwanted)


def _best(rule: Rule, words: Sequence[str]) -> int:
    return max((_weight(word, rule) for word in words), default=0)


def _weight(word: str, rule: Rule) -> int:
    """Return how closely a word names a rule: 0 not at all."""
    if not fits(word, rule):
        return 0
    if word == ALL:
        return 1
    return 100 if word == rule.name else 1 + len(word)


def fits(word: str, rule: Coded) -> bool:
    """Return whether a word (code, prefix of one, name, `ALL`) means a rule."""
    return word in (ALL, rule.name) or (
        bool(word) and rule.code.startswith(word.upper()) and word != rule.name
    )
