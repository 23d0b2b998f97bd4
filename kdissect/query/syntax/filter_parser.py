"""Tokens to nodes, by recursive descent. docs/filter.md has the grammar."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import NamedTuple

from kdissect.model.limits import in_force
from kdissect.model.wording import plural
from kdissect.query.syntax.filter_errors import FilterError
from kdissect.query.syntax.filter_tokens import Token, TokenKind, tokenize
from kdissect.query.syntax.nodes import And, Compare, HasFinding, Literal, Name, Node, Not, Or, Present
from kdissect.query.values.operators import by_symbol, symbols
from kdissect.query.values.units import DURATIONS, SIZES


class Expected(StrEnum):
    """The token that the parser expects."""

    FIELD = "field"
    OPERATOR = "operator"
    VALUE = "value"
    JOINER = "joiner"
    FINDING = "finding"
    CODE = "code"
    CLOSING = "closing"


class Expectation(NamedTuple):
    """An expectation. `field` and `symbol` are the comparison that a value belongs to."""

    what: Expected
    field: str = ""
    symbol: str = ""


FUNCTIONS = ("any", "all", "count")
JOINERS = ("and", "or")
UNITS = (*DURATIONS, *SIZES)
# Wireshark's names of operators.
_WIRESHARK = {"eq": "==", "ne": "!=", "gt": ">", "lt": "<", "ge": ">=", "le": "<="}


def parse(text: str) -> Node:
    """Parse a filter. Raises FilterError."""
    return Parser(text).whole()


class Parser:
    """Parser of one text. `expected` lists the tokens that could follow its last token, for completion."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = tokenize(text)
        self._at = 0
        self._depth = 0
        self.expected: list[Expectation] = []

    def whole(self) -> Node:
        """Return the whole filter. Raises FilterError."""
        node = self._or()
        if self._now.kind is not TokenKind.END:
            raise self._surplus()
        return node

    # tokens

    @property
    def _now(self) -> Token:
        return self._tokens[self._at]

    def _next(self) -> Token:
        token = self._tokens[self._at]
        self._at += token.kind is not TokenKind.END
        return token

    def _is(self, *texts: str) -> bool:
        token = self._now
        return token.kind is not TokenKind.STRING and token.text.lower() in texts

    def _takes(self, *texts: str) -> bool:
        found = self._is(*texts)
        self._at += found
        return found

    def _may_follow(self, what: Expected, field: str = "", symbol: str = "") -> None:
        """Note what could be here, if this is the end."""
        expectation = Expectation(what, field, symbol)
        if self._now.kind is TokenKind.END and expectation not in self.expected:
            self.expected.append(expectation)

    def _error(self, why: str, token: Token, hint: str = "") -> FilterError:
        return FilterError(why, self._text, token.start, token.end, hint)

    def _surplus(self) -> FilterError:
        token = self._now
        if token.text == ")":
            return self._error("this parenthesis was never opened", token)
        if token.text.lower() in UNITS:
            return self._error(f"{token.text!r} cannot follow here", token, "no space before a unit: 50ms")
        what = "a text" if token.kind is TokenKind.STRING else repr(token.text)
        return self._error(f"{what} cannot follow here", token, "join tests by 'and' or 'or'")

    # grammar

    def _or(self) -> Node:
        return self._joined(self._and, Or, "or", "||")

    def _and(self) -> Node:
        return self._joined(self._not, And, "and", "&&")

    def _joined(self, part: Callable[[], Node], kind: type[And | Or], *words: str) -> Node:
        items = [part()]
        self._may_follow(Expected.JOINER)
        while self._takes(*words):
            items.append(part())
        return items[0] if len(items) == 1 else kind(tuple(items))

    def _not(self) -> Node:
        self._depth += 1
        if self._depth > in_force().filter_depth:
            raise self._error(f"nested deeper than {plural(in_force().filter_depth, 'level')}", self._now)
        node = Not(self._not()) if self._takes("not", "!") else self._test()
        self._depth -= 1
        return node

    def _test(self) -> Node:
        token = self._now
        if self._takes("("):
            return self._parenthesis(token)
        self._may_follow(Expected.FIELD)
        if token.kind is not TokenKind.WORD or self._is(*JOINERS, "in", "contains", "matches"):
            raise self._error(self._no_field(token), token)
        return self._finding() if self._is("has") else self._comparison(self._name())

    def _no_field(self, token: Token) -> str:
        if token.kind is TokenKind.END:
            return "the filter is empty" if len(self._tokens) == 1 else "a field is missing at the end"
        return f"a field must stand here, not {token.text!r}"

    def _parenthesis(self, opened: Token) -> Node:
        node = self._or()
        self._may_follow(Expected.CLOSING)
        if not self._takes(")"):
            if self._now.kind is TokenKind.END:
                raise self._error("this parenthesis is never closed", opened)
            raise self._surplus()
        return node

    def _finding(self) -> Node:
        start = self._next().start
        token = self._now
        self._may_follow(Expected.FINDING)
        if not self._takes("finding"):
            raise self._error("'finding' must follow 'has'", token)
        self._may_follow(Expected.CODE)
        if self._is("("):
            codes, end = self._list(Expectation(Expected.CODE))
            return HasFinding(codes, start, end)
        if not self._is_value() or self._is(*JOINERS):
            return HasFinding((), start, token.end)
        code = self._literal(Expectation(Expected.CODE))
        return HasFinding((code,), start, code.end)

    def _name(self) -> Name:
        token = self._next()
        function = token.text.lower()
        if function not in FUNCTIONS or not self._takes("("):
            return Name(token.text, "", token.start, token.end)
        self._may_follow(Expected.FIELD)
        field = self._now
        if field.kind is not TokenKind.WORD:
            raise self._error(f"{function}() takes a field", field)
        self._next()
        self._may_follow(Expected.CLOSING)
        closing = self._now
        if not self._takes(")"):
            raise self._error(f"{function}( is never closed", token)
        return Name(field.text, function, token.start, closing.end)

    def _comparison(self, name: Name) -> Node:
        symbol = self._operator(name)
        if symbol is None:
            return Present(name)
        expected = Expectation(Expected.VALUE, name.text, symbol)
        if symbol in ("in", "not in") and self._is("("):
            values, end = self._list(expected)
            return Compare(name, symbol, values, name.start, end)
        value = self._literal(expected)
        return Compare(name, symbol, (value,), name.start, value.end)

    def _operator(self, name: Name) -> str | None:
        """Return the first spelling of the operator at the current token, if there is one."""
        token = self._now
        self._may_follow(Expected.OPERATOR, name.text)
        if token.kind is TokenKind.STRING:
            return None
        if self._takes("not"):
            if not self._takes("in"):
                raise self._error("'not' after a field goes with 'in'", token, "write: not FIELD ...")
            return "not in"
        found = by_symbol(token.text.lower())
        if found is None:
            self._check_habit(token)
            return None
        self._next()
        return found.symbol

    def _check_habit(self, token: Token) -> None:
        meant = _WIRESHARK.get(token.text.lower())
        if meant or (token.kind is TokenKind.WORD and not self._is(*JOINERS)):
            hint = f"did you mean {meant}?" if meant else f"operators are {' '.join(symbols())}"
            raise self._error(f"no operator {token.text!r}", token, hint)

    def _is_value(self) -> bool:
        return self._now.kind in (TokenKind.WORD, TokenKind.STRING)

    def _literal(self, expected: Expectation) -> Literal:
        token = self._now
        self._may_follow(*expected)
        if not self._is_value():
            at = "at the end" if token.kind is TokenKind.END else f"before {token.text!r}"
            raise self._error(f"a value is missing {at}", token)
        self._next()
        return Literal(token.text, token.kind is TokenKind.STRING, token.start, token.end)

    def _list(self, expected: Expectation) -> tuple[tuple[Literal, ...], int]:
        opened = self._next()
        values = [self._literal(expected)]
        while self._takes(","):
            values.append(self._literal(expected))
        self._may_follow(Expected.CLOSING)
        closing = self._now
        if not self._takes(")"):
            if closing.kind is TokenKind.END:
                raise self._error("this parenthesis is never closed", opened)
            raise self._error("values are separated by commas", closing)
        return tuple(values), closing.end
