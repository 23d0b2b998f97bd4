"""Tokens to nodes, by recursive descent; docs/filter.md has the grammar."""

from __future__ import annotations

from collections.abc import Callable

from kdissect.query.errors import FilterError
from kdissect.query.expectation import Expectation, Expected
from kdissect.query.nodes import And, Compare, HasFinding, Literal, Name, Node, Not, Or, Present
from kdissect.query.operators import by_symbol, symbols
from kdissect.query.tokens import Token, TokenKind, tokenize

# Nobody reads deeper; each level costs some frames of Python's stack, which has 1000.
MAX_DEPTH = 50
FUNCTIONS = ("any", "all", "count")
# Wireshark's names of operators.
_WIRESHARK = {
    "eq": "==",
    "ne": "!=",
    "gt": ">",
    "lt": "<",
    "ge": ">=",
    "le": "<=",
    "any_eq": "==",
    "all_ne": "!=",
}


def parse(text: str) -> Node:
    """What a filter says. Raises FilterError."""
    return _Parser(text).whole()


class _Parser:
    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = tokenize(text)
        self._place = 0
        self._depth = 0

    def whole(self) -> Node:
        node = self._or()
        if self._now.kind is not TokenKind.END:
            self._fail_behind()
        return node

    # tokens

    @property
    def _now(self) -> Token:
        return self._tokens[self._place]

    def _next(self) -> Token:
        token = self._tokens[self._place]
        self._place += token.kind is not TokenKind.END
        return token

    def _is(self, *texts: str) -> bool:
        token = self._now
        return token.kind is not TokenKind.STRING and token.text.lower() in texts

    def _takes(self, *texts: str) -> bool:
        if not self._is(*texts):
            return False
        self._place += 1
        return True

    def _fail(self, why: str, token: Token, expected: Expectation, hint: str = "") -> FilterError:
        return FilterError(why, self._text, token.start, token.end, hint, expected)

    def _fail_behind(self) -> None:
        token = self._now
        if token.text == ")":
            raise self._fail("this parenthesis was never opened", token, Expectation(Expected.JOINER))
        what = "text" if token.kind is TokenKind.STRING else repr(token.text)
        raise self._fail(
            f"{what} cannot follow here", token, Expectation(Expected.JOINER), "join tests by 'and' or 'or'"
        )

    # grammar

    def _or(self) -> Node:
        return self._joined(self._and, Or, "or", "||")

    def _and(self) -> Node:
        return self._joined(self._not, And, "and", "&&")

    def _joined(self, part: Callable[[], Node], kind: type[And | Or], *words: str) -> Node:
        items = [part()]
        while self._takes(*words):
            items.append(part())
        return items[0] if len(items) == 1 else kind(tuple(items))

    def _not(self) -> Node:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise self._fail(
                f"nested deeper than {MAX_DEPTH} levels", self._now, Expectation(Expected.NOTHING)
            )
        node = Not(self._not()) if self._takes("not", "!") else self._test()
        self._depth -= 1
        return node

    def _test(self) -> Node:
        token = self._now
        if self._takes("("):
            return self._parenthesis(token)
        if token.kind is not TokenKind.WORD or self._is("and", "or", "in", "contains", "matches"):
            raise self._fail(self._no_field(token), token, Expectation(Expected.FIELD))
        if self._is("has"):
            return self._finding()
        return self._comparison(self._name())

    def _no_field(self, token: Token) -> str:
        if token.kind is TokenKind.END:
            return "the filter is empty" if len(self._tokens) == 1 else "a field is missing at the end"
        return f"a field must stand here, not {token.text!r}"

    def _parenthesis(self, opened: Token) -> Node:
        node = self._or()
        if not self._takes(")"):
            if self._now.kind is not TokenKind.END:
                self._fail_behind()
            raise FilterError(
                "this parenthesis is never closed",
                self._text,
                opened.start,
                opened.end,
                expected=Expectation(Expected.JOINER),
            )
        return node

    def _finding(self) -> Node:
        start = self._next().start
        token = self._now
        if not self._takes("finding", "findings"):
            raise self._fail("'finding' must follow 'has'", token, Expectation(Expected.FINDING))
        end = token.end
        codes: tuple[Literal, ...] = ()
        if self._is("("):
            codes, end = self._list(Expectation(Expected.CODE))
        elif self._is_value() and not self._is("and", "or"):
            codes = (self._literal(Expectation(Expected.CODE)),)
            end = codes[0].end
        return HasFinding(codes, start, end)

    def _name(self) -> Name:
        token = self._next()
        function = token.text.lower()
        if function not in FUNCTIONS or not self._takes("("):
            return Name(token.text, "", token.start, token.end)
        field = self._now
        if field.kind is not TokenKind.WORD:
            raise self._fail(f"{function}() takes a field", field, Expectation(Expected.FIELD))
        self._next()
        closing = self._now
        if not self._takes(")"):
            raise self._fail(f"{function}( is never closed", token, Expectation(Expected.CLOSING))
        return Name(field.text, function, token.start, closing.end)

    def _comparison(self, name: Name) -> Node:
        operator = self._now
        symbol = self._operator(name)
        if symbol is None:
            return Present(name)
        expected = Expectation(Expected.VALUE, name.text, symbol)
        if symbol in ("in", "not in") and self._is("("):
            values, end = self._list(expected)
        else:
            values = (self._literal(expected),)
            end = values[0].end
        return Compare(name, symbol, values, name.start, end) if operator else Present(name)

    def _operator(self, name: Name) -> str | None:
        """The first spelling of the operator that stands here, if one does."""
        token = self._now
        if token.kind is TokenKind.STRING:
            return None
        if self._takes("not"):
            if not self._takes("in"):
                expected = Expectation(Expected.OPERATOR, name.text)
                raise self._fail(
                    "'not' behind a field goes with 'in'", token, expected, "write: not FIELD ..."
                )
            return "not in"
        found = by_symbol(token.text.lower())
        if found is None:
            self._check_habit(token, name)
            return None
        self._next()
        return found.symbols[0]

    def _check_habit(self, token: Token, name: Name) -> None:
        meant = _WIRESHARK.get(token.text.lower())
        if meant or (token.kind is TokenKind.WORD and not self._is("and", "or")):
            hint = f"did you mean {meant}?" if meant else f"operators are {' '.join(symbols())}"
            expected = Expectation(Expected.OPERATOR, name.text)
            raise self._fail(f"no operator {token.text!r}", token, expected, hint)

    def _is_value(self) -> bool:
        return self._now.kind in (TokenKind.WORD, TokenKind.STRING)

    def _literal(self, expected: Expectation) -> Literal:
        token = self._now
        if not self._is_value():
            at = "at the end" if token.kind is TokenKind.END else f"before {token.text!r}"
            raise self._fail(f"a value is missing {at}", token, expected)
        self._next()
        return Literal(token.text, token.kind is TokenKind.STRING, token.start, token.end)

    def _list(self, expected: Expectation) -> tuple[tuple[Literal, ...], int]:
        opened = self._next()
        values = [self._literal(expected)]
        while self._takes(","):
            values.append(self._literal(expected))
        closing = self._now
        if not self._takes(")"):
            if closing.kind is TokenKind.END:
                raise self._fail("this parenthesis is never closed", opened, Expectation(Expected.CLOSING))
            raise self._fail("values are separated by commas", closing, Expectation(Expected.CLOSING))
        return tuple(values), closing.end
