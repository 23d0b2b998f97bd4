"""Completions of an incomplete filter, for a shell and for the TUI."""

from __future__ import annotations

import re
from collections.abc import Iterable
from contextlib import suppress
from typing import NamedTuple

from kdissect.query.checker import narrow
from kdissect.query.fields.lookup import ENTITIES, Apis, UnknownFieldError, look_up
from kdissect.query.fields.record_sources import RECORD_FILTER_FIELDS
from kdissect.query.fields.row_fields import row_fields
from kdissect.query.fields.schema_fields import SIDES, all_body_fields
from kdissect.query.syntax import nodes
from kdissect.query.syntax.filter_errors import FilterError
from kdissect.query.syntax.filter_parser import FUNCTIONS, Expectation, Expected, Parser, parse
from kdissect.query.syntax.filter_tokens import TokenKind, tokenize
from kdissect.query.values.operators import by_symbol, usable
from kdissect.query.values.value_kinds import TEXT

_PARTIAL = re.compile(r"[A-Za-z0-9_.:/%+*@^$?\[\]\-]*\Z")
_HELP = {
    "any": "one value of the field is enough",
    "all": "every value of the field, and there is one",
    "count": "how many values the field has",
    "not": "the opposite",
    "has finding": "exchanges that `kdissect check` has something to say about",
}


class Candidate(NamedTuple):
    """One way to go on. `kind`: field, function, keyword, operator, value, rule, punctuation."""

    text: str
    kind: str
    help: str


class Completion(NamedTuple):
    """The text from `start` to `end` may be replaced by each of the candidates."""

    start: int
    end: int
    candidates: tuple[Candidate, ...]


def complete(text: str, cursor: int) -> Completion:
    """Return candidates for the cursor (an offset), or none if there are none. Raises no exception."""
    before = text[: max(0, cursor)]
    partial = _PARTIAL.search(before)
    start = partial.start() if partial else len(before)
    word = before[start:]
    base = before[:start]
    found: list[Candidate] = []
    for expectation in _expected(base):
        found += _candidates(expectation, base, word)
    near = word.casefold()
    kept = dict.fromkeys(candidate for candidate in found if candidate.text.casefold().startswith(near))
    return Completion(start, len(before), tuple(kept))


def _expected(base: str) -> list[Expectation]:
    """Return the tokens that could follow a text, or none if it is wrong before its end."""
    try:
        parser = Parser(base)
        with suppress(FilterError):
            parser.whole()
    except FilterError:  # an open quote, or too long
        return []
    return parser.expected


def _candidates(expectation: Expectation, base: str, word: str) -> Iterable[Candidate]:
    what = expectation.what
    if what is Expected.FIELD:
        return _fields(base, word)
    if what is Expected.OPERATOR:
        return _operators(expectation.field)
    if what is Expected.VALUE:
        return _values(expectation)
    if what is Expected.CODE:
        return _rules()
    return [Candidate(text, kind, help_) for text, kind, help_ in _FIXED.get(what, ())]


_FIXED = {
    Expected.JOINER: (("and", "keyword", "both"), ("or", "keyword", "one of both")),
    Expected.CLOSING: ((")", "punctuation", ""),),
    Expected.FINDING: (("finding", "keyword", _HELP["has finding"]),),
}


def _fields(base: str, word: str) -> list[Candidate]:
    side, dot, _ = word.partition(".")
    found = [
        *(Candidate(name, "field", entry.doc) for name, entry in row_fields().items()),
        *(Candidate(name, "field", entity.doc) for name, entity in ENTITIES.items()),
        *(Candidate(field.name, "field", field.doc) for field in RECORD_FILTER_FIELDS),
    ]
    if side in SIDES and dot:
        return found + _body_fields(side, word, _apis_at(base))
    if not base.endswith("(") or not base[:-1].endswith(FUNCTIONS):
        found += [Candidate(f"{name}(", "function", _HELP[name]) for name in FUNCTIONS]
        found += [Candidate(name, "keyword", _HELP[name]) for name in ("not", "has finding")]
    return found


def _body_fields(side: str, word: str, apis: Apis) -> list[Candidate]:
    """Return names of one more step: a message has hundreds."""
    steps = word.count(".")
    found: dict[str, str] = {}
    for field in all_body_fields(side, apis):
        if len(field.path) == steps:
            found.setdefault(field.name, field.kind.name)
    return [Candidate(name, "field", kind) for name, kind in sorted(found.items())]


def _apis_at(base: str) -> Apis:
    """Return the APIs that an exchange can have if the tests before a field hold."""
    try:
        open_ones = [token.text for token in tokenize(base) if token.kind is TokenKind.SYMBOL]
        closing = ")" * (open_ones.count("(") - open_ones.count(")"))
        node = parse(f"{base} number{closing}")
    except FilterError:
        return None
    apis: Apis = None
    while isinstance(node, nodes.And | nodes.Or | nodes.Not):
        if isinstance(node, nodes.And):
            apis = narrow(node, apis)
        node = node.item if isinstance(node, nodes.Not) else node.items[-1]
    return apis


def _operators(name: str) -> list[Candidate]:
    try:
        kinds = look_up(name).kinds
    except UnknownFieldError:
        return []
    found = dict.fromkeys(operator for kind in kinds for operator in usable(kind))
    return [Candidate(operator.symbol, "operator", operator.help) for operator in found]


def _values(expectation: Expectation) -> list[Candidate]:
    try:
        kinds = look_up(expectation.field).kinds
    except UnknownFieldError:
        return []
    operator = by_symbol(expectation.symbol)
    found = [Candidate(text, "value", help_) for kind in kinds for text, help_ in kind.choices()]
    if not found and operator is not None and not operator.takes_text:
        found = [
            Candidate(kind.example, "value", kind.doc) for kind in kinds if kind is not TEXT and kind.example
        ]
    return found


def _rules() -> list[Candidate]:
    from kdissect.rules.registry import ALL_RULES  # start-up: every rule is a module

    return [Candidate(rule.code, "rule", rule.name) for rule in ALL_RULES]
