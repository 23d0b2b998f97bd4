"""The operators: each a class that carries its help and makes the test of one value."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

from kdissect.query.syntax.nodes import Literal
from kdissect.query.values.patterns import searcher
from kdissect.query.values.value_kinds import NUMBER, Flag, Structure, Test, ValueKind

STRUCT = "is a struct, it has no value to compare"


class Operator(ABC):
    """An operator. `symbols` are its spellings. Filters are printed with the first one.

    `negative`: true only if no value of the field has what the values name.
    """

    symbols: tuple[str, ...] = ()
    help = ""
    example = ""
    negative = False
    takes_text = False
    """Whether the value is a text whatever the field holds."""

    def refuses(self, kind: ValueKind) -> str:
        """Return why the operator cannot be used on a kind of field, or an empty text if it can."""
        return STRUCT if isinstance(kind, Structure) else ""

    def value(self, kind: ValueKind, literal: Literal) -> Any:
        """Return the value of a literal. Raises ValueError."""
        return kind.parse(literal)

    @property
    def symbol(self) -> str:
        """The first spelling."""
        return self.symbols[0]

    @abstractmethod
    def test(self, kind: ValueKind, values: Sequence[Any]) -> Test:
        """Return the test of one field value, which is not null."""

    def holds(self, values: Sequence[Any], others: Sequence[Any], needs_all: bool) -> bool:
        """Return whether any value of a field and any of another one pass, or each two of them.

        Both fields have values, which are numbers of one unit.
        """
        raise NotImplementedError

    def check(self, values: Sequence[Any]) -> None:  # noqa: B027  most operators use all values
        """Raise ValueError for values that cannot be used."""


class Equal(Operator):
    """Operator `==`."""

    symbols: tuple[str, ...] = ("==",)
    help = "is equal to the value"
    example = "api == Produce"

    def test(self, kind: ValueKind, values: Sequence[Any]) -> Test:
        """Equality as the kind defines it."""
        (value,) = values
        return kind.equals(value)

    def holds(self, values: Sequence[Any], others: Sequence[Any], needs_all: bool) -> bool:
        """Equality."""
        return len({*values, *others}) == 1 if needs_all else not {*values}.isdisjoint(others)


class NotEqual(Equal):
    """Operator `!=`."""

    symbols: tuple[str, ...] = ("!=",)
    help = "is not equal to the value"
    example = "client_id != admin"
    negative = True

    def test(self, kind: ValueKind, values: Sequence[Any]) -> Test:
        """Return the opposite of `==`."""
        equals = super().test(kind, values)
        return lambda raw: not equals(raw)

    def holds(self, values: Sequence[Any], others: Sequence[Any], needs_all: bool) -> bool:
        """Return the opposite of `==`."""
        return not super().holds(values, others, not needs_all)


class _Ordering(Operator):
    def refuses(self, kind: ValueKind) -> str:
        """Accept only kinds with an order."""
        return "" if kind.ordered else super().refuses(kind) or "has no order"

    def holds(self, values: Sequence[Any], others: Sequence[Any], needs_all: bool) -> bool:
        """Order: of the two values that pass first or last."""
        up, down = (max, min) if needs_all == self.symbol.startswith("<") else (min, max)
        return self.test(NUMBER, [down(others)])(up(values))


class Less(_Ordering):
    """Operator `<`."""

    symbols = ("<",)
    help = "is less than the value, or earlier"
    example = "api_version < 4"

    def test(self, kind: ValueKind, values: Sequence[Any]) -> Test:
        """Order of the values."""
        (limit,) = values
        return lambda raw: bool(raw < limit)


class LessOrEqual(_Ordering):
    """Operator `<=`."""

    symbols = ("<=",)
    help = "is at most the value"
    example = "time <= +10s"

    def test(self, kind: ValueKind, values: Sequence[Any]) -> Test:
        """Order of the values."""
        (limit,) = values
        return lambda raw: bool(raw <= limit)


class Greater(_Ordering):
    """Operator `>`."""

    symbols = (">",)
    help = "is greater than the value, or later"
    example = "latency > 50ms"

    def test(self, kind: ValueKind, values: Sequence[Any]) -> Test:
        """Order of the values."""
        (limit,) = values
        return lambda raw: bool(raw > limit)


class GreaterOrEqual(_Ordering):
    """Operator `>=`."""

    symbols = (">=",)
    help = "is at least the value"
    example = "response.bytes >= 1MiB"

    def test(self, kind: ValueKind, values: Sequence[Any]) -> Test:
        """Order of the values."""
        (limit,) = values
        return lambda raw: bool(raw >= limit)


class _Textual(Operator):
    takes_text = True

    def refuses(self, kind: ValueKind) -> str:
        """Accept only kinds whose values are texts, or have names."""
        return "" if kind.textual else super().refuses(kind) or "is no text"

    def value(self, kind: ValueKind, literal: Literal) -> Any:
        """Return the text."""
        return literal.text


class Matches(_Textual):
    """Operator `~`."""

    symbols: tuple[str, ...] = ("~", "matches")
    help = "has a match of the regular expression somewhere"
    example = 'topic ~ "^orders-[0-9]+$"'

    def check(self, values: Sequence[Any]) -> None:
        """Refuses patterns that are wrong or could take for ever."""
        (pattern,) = values
        searcher(pattern)

    def test(self, kind: ValueKind, values: Sequence[Any]) -> Test:
        """Return the search in the value's text."""
        (pattern,) = values
        search, text = searcher(pattern), kind.text
        return lambda raw: search(text(raw))


class NotMatches(Matches):
    """Operator `!~`."""

    symbols: tuple[str, ...] = ("!~",)
    help = "has no match of the regular expression"
    example = 'topic !~ "^__"'
    negative = True

    def test(self, kind: ValueKind, values: Sequence[Any]) -> Test:
        """Return the opposite of `~`."""
        matches = super().test(kind, values)
        return lambda raw: not matches(raw)


class Contains(_Textual):
    """Operator `contains`."""

    symbols = ("contains",)
    help = "has the text somewhere"
    example = "client_id contains consumer"

    def value(self, kind: ValueKind, literal: Literal) -> Any:
        """Return the text, or the bytes."""
        return kind.piece(literal)

    def test(self, kind: ValueKind, values: Sequence[Any]) -> Test:
        """Return the search in the value's text or bytes."""
        (piece,) = values
        return kind.contains(piece)


class In(Operator):
    """Operator `in`."""

    symbols = ("in",)
    help = "is one of the values. Ranges like 3..7 have both ends"
    example = "api in (Produce, Fetch)"

    def refuses(self, kind: ValueKind) -> str:
        """Two truth values need no list."""
        return "has only two values: use ==" if isinstance(kind, Flag) else super().refuses(kind)

    def test(self, kind: ValueKind, values: Sequence[Any]) -> Test:
        """Return a test for one of single values, or a value within a range."""
        ranges = tuple(value for value in values if isinstance(value, Range))
        single = kind.one_of([value for value in values if not isinstance(value, Range)])
        if not ranges:
            return single
        return lambda raw: single(raw) or any(r.first <= raw <= r.last for r in ranges)


class NotIn(In):
    """Operator `not in`."""

    symbols = ("not in",)
    help = "is not one of the values"
    example = "client_id not in (admin, monitor)"
    negative = True

    def test(self, kind: ValueKind, values: Sequence[Any]) -> Test:
        """Return the opposite of `in`."""
        inside = super().test(kind, values)
        return lambda raw: not inside(raw)


class Range:
    """Range `3..7` in a list."""

    __slots__ = ("first", "last")

    def __init__(self, first: Any, last: Any) -> None:
        self.first = first
        self.last = last


OPERATORS: tuple[Operator, ...] = (
    Equal(), NotEqual(), Less(), LessOrEqual(), Greater(), GreaterOrEqual(), Matches(), NotMatches(),
    Contains(), In(), NotIn(),
)  # fmt: skip
_BY_SYMBOL = {symbol: operator for operator in OPERATORS for symbol in operator.symbols}


def by_symbol(symbol: str) -> Operator | None:
    """Return the operator of a spelling."""
    return _BY_SYMBOL.get(symbol)


def symbols() -> tuple[str, ...]:
    """Return the first spelling of every operator."""
    return tuple(operator.symbol for operator in OPERATORS)


def usable(kind: ValueKind) -> tuple[Operator, ...]:
    """Return the operators for a kind of field."""
    return tuple(operator for operator in OPERATORS if not operator.refuses(kind))
