"""A filter with its names looked up: each node makes a function over exchanges."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

from kdissect.query.binding import Binding
from kdissect.query.fields.field_sources import Cost, Many, Source
from kdissect.query.values.operators import Operator, Range
from kdissect.query.values.value_kinds import Flag, ValueKind
from kdissect.session.exchange import Exchange

Test = Callable[[Exchange], bool]
Values = tuple[Any, ...]


class Node(ABC):
    """A test of a filter. `cost` orders the tests of an `and`."""

    cost = Cost.HEADER

    @abstractmethod
    def test(self, binding: Binding) -> Test:
        """Return the function of the test."""


class Several(Node):
    """Several tests as one. No test has a side effect, so cheap ones may go first."""

    def __init__(self, items: Sequence[Node]) -> None:
        self.items = tuple(items)
        self.cost = max(item.cost for item in items)


class AllOf(Several):
    """Test for `and`."""

    def test(self, binding: Binding) -> Test:
        """Return a test that runs the cheap ones first."""
        tests = _cheap_first(self.items, binding)
        if len(tests) == 2:
            first, second = tests
            return lambda exchange: first(exchange) and second(exchange)
        return lambda exchange: all(test(exchange) for test in tests)


class AnyOf(Several):
    """Test for `or`."""

    def test(self, binding: Binding) -> Test:
        """Return a test that runs the cheap ones first."""
        tests = _cheap_first(self.items, binding)
        if len(tests) == 2:
            first, second = tests
            return lambda exchange: first(exchange) or second(exchange)
        return lambda exchange: any(test(exchange) for test in tests)


def _cheap_first(items: Sequence[Node], binding: Binding) -> list[Test]:
    return [item.test(binding) for item in sorted(items, key=lambda item: item.cost)]


class Negation(Node):
    """Test for `not`."""

    def __init__(self, item: Node) -> None:
        self.item = item
        self.cost = item.cost

    def test(self, binding: Binding) -> Test:
        """Return the opposite test."""
        test = self.item.test(binding)
        return lambda exchange: not test(exchange)


class Presence(Node):
    """A field alone. A truth value must be true: one of them, or with `needs_all` all."""

    def __init__(self, source: Source, needs_all: bool) -> None:
        self.source = source
        self.cost = source.cost
        self._needs_all = needs_all

    def test(self, binding: Binding) -> Test:
        """Return a test whether the field is there, or true."""
        if not all(isinstance(kind, Flag) for kind in self.source.kinds):
            return self.source.presence(binding)
        elements = tuple(bool for _ in self.source.kinds)
        return _quantified(self.source.many(binding), elements, self._needs_all)


class Comparison(Node):
    """Test for `field operator value`. `values` are for each kind of the source, None if they do not fit
    it.
    """

    def __init__(
        self, source: Source, operator: Operator, values: Sequence[Values | None], needs_all: bool
    ) -> None:
        self.source = source
        self.operator = operator
        self.values = tuple(values)
        self.needs_all = needs_all
        self.cost = source.cost

    def test(self, binding: Binding) -> Test:
        """Return the comparison of one value, of any value, or of all."""
        elements = [
            self._element(kind, values, binding)
            for kind, values in zip(self.source.kinds, self.values, strict=True)
        ]
        if self.source.is_many:
            return _quantified(self.source.many(binding), elements, self.needs_all)
        one, (element,) = self.source.one(binding), elements

        def single(exchange: Exchange) -> bool:
            value = one(exchange)
            return value is not None and element(value)

        return single

    def _element(self, kind: ValueKind, values: Values | None, binding: Binding) -> Callable[[Any], bool]:
        if values is None:  # a value of another kind is never equal
            negative = self.operator.negative
            return lambda _: negative
        if self.operator.takes_text:
            return self.operator.test(kind, values)
        start_ns = binding.context.start_ns
        return self.operator.test(kind, [_bound(kind, value, start_ns) for value in values])


class FieldComparison(Node):
    """Test for `field operator field`: of any two of their values, or with `needs_all` of each two.

    Values of one quantity are compared in its smallest unit, others never.
    """

    def __init__(self, source: Source, operator: Operator, other: Source, needs_all: bool) -> None:
        self.source = source
        self.operator = operator
        self.other = other
        self.needs_all = needs_all
        self.cost = max(source.cost, other.cost)

    def test(self, binding: Binding) -> Test:
        """Return the comparison. It is false if one of the fields has no value."""
        getters, others = (
            list(zip(each.kinds, _getters(each, binding), strict=True)) for each in (self.source, self.other)
        )
        quantities = dict.fromkeys(kind.quantity for kind, _ in getters if kind.quantity)
        holds, needs_all = self.operator.holds, self.needs_all
        passes = all if needs_all else any

        def test(exchange: Exchange) -> bool:
            pairs = [
                (_of(quantity, getters, exchange), _of(quantity, others, exchange)) for quantity in quantities
            ]
            found = [holds(*pair, needs_all) for pair in pairs if all(pair)]
            return bool(found) and passes(found)

        return test


def _of(quantity: str, getters: Sequence[tuple[ValueKind, Many]], exchange: Exchange) -> list[Any]:
    """Return the values of a quantity, in its smallest unit."""
    return [
        value * kind.scale
        for kind, get in getters
        if kind.quantity == quantity
        for value in get(exchange)
        if value is not None
    ]


def _getters(source: Source, binding: Binding) -> Sequence[Many]:
    if source.is_many:
        return source.many(binding)
    one = source.one(binding)
    return (lambda exchange: (one(exchange),),)


def _bound(kind: ValueKind, value: Any, start_ns: Callable[[], int]) -> Any:
    if isinstance(value, Range):
        return Range(kind.bind(value.first, start_ns), kind.bind(value.last, start_ns))
    return kind.bind(value, start_ns)


def _quantified(getters: Sequence[Many], elements: Sequence[Callable[[Any], bool]], needs_all: bool) -> Test:
    """Return a test whether one value passes, or all do and there is one. Null never passes, and is not
    counted.
    """
    if len(getters) == 1 and not needs_all:
        (get,), (element,) = getters, elements
        return lambda exchange: any(v is not None and element(v) for v in get(exchange))
    pairs = tuple(zip(getters, elements, strict=True))
    if not needs_all:
        return lambda exchange: any(v is not None and test(v) for get, test in pairs for v in get(exchange))

    def every(exchange: Exchange) -> bool:
        seen = False
        for get, test in pairs:
            for value in get(exchange):
                if value is not None:
                    if not test(value):
                        return False
                    seen = True
        return seen

    return every


class NullTest(Node):
    """Test for `field == null`, `field != null`: whether the value is null."""

    def __init__(self, source: Source, is_null: bool, needs_all: bool) -> None:
        self._source = source
        self.cost = source.cost
        self._is_null = is_null
        self._needs_all = needs_all

    def test(self, binding: Binding) -> Test:
        """Return a test for a null among the values. A row's field without a value is null."""
        wanted, needs_all = self._is_null, self._needs_all
        if not self._source.is_many:
            one = self._source.one(binding)
            return lambda exchange: (one(exchange) is None) is wanted
        getters = self._source.many(binding)

        def test(exchange: Exchange) -> bool:
            nulls = [(value is None) is wanted for get in getters for value in get(exchange)]
            return bool(nulls) and (all(nulls) if needs_all else any(nulls))

        return test


class CountTest(Node):
    """Test for `count(field) operator number`."""

    def __init__(self, source: Source, operator: Operator, kind: ValueKind, values: Values) -> None:
        self._source = source
        self._operator = operator
        self._kind = kind
        self._values = values
        self.cost = source.cost

    def test(self, binding: Binding) -> Test:
        """Return a test that counts the values that are not null."""
        element = self._operator.test(self._kind, self._values)
        count = self._source.counter(binding)
        return lambda exchange: element(count(exchange))


class FindingTest(Node):
    """Test for `has finding`: one of some codes, or any finding if there are none."""

    def __init__(self, codes: frozenset[str]) -> None:
        self.codes = codes

    def test(self, binding: Binding) -> Test:
        """Asks who knows the findings."""
        findings_of, codes = binding.context.findings_of, self.codes
        assert findings_of is not None, "Predicate.bind has looked"
        if not codes:
            return lambda exchange: bool(findings_of(exchange))
        return lambda exchange: not codes.isdisjoint(findings_of(exchange))
