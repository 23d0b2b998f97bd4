"""A compiled filter."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from kdissect.model.record_batch import Record
from kdissect.query import plan
from kdissect.query.binding import Binding, Context
from kdissect.query.checker import Checker
from kdissect.query.fields.field_sources import Cost
from kdissect.query.fields.row_fields import row_fields
from kdissect.query.syntax.filter_parser import parse
from kdissect.query.values.points_in_time import Moment
from kdissect.session.exchange import Exchange

if TYPE_CHECKING:
    from kdissect.query.syntax.nodes import Node


Test = Callable[[Exchange], bool]
RecordTest = Callable[[Exchange, str | None, Record], bool]
"""Whether a record of a topic, in an exchange, is wanted."""
_NO_CONTEXT = Context()
_OPERATORS = ("==", "!=", "<", "<=", ">", ">=", "in", "not in")


class Predicate:
    """A valid filter. Pickled as its text.

    `needs_findings`: `bind` wants `Context.findings_of`. `needs_all`: the test must see every exchange of the
    input, in order, because it counts them. `needs_topics`: it asks for names of topics. `needs_records`: it
    asks for records (`bind_records`). `needs_bodies`: it reads bodies. `is_by_kind`: it has one result for
    exchanges of one connection, API, version and client id (`KIND_FIELDS`). `pushdown`: tests of headers that
    hold for every exchange it takes.
    """

    def __init__(self, text: str) -> None:
        checker = Checker(text)
        self.text = text
        self.tree: Node = parse(text)
        self._root = checker.check(self.tree)
        self.needs_findings = checker.needs_findings
        self.needs_all = checker.needs_all
        self.needs_topics = checker.needs_topics
        self.needs_records = checker.needs_records
        self.needs_bodies = checker.cost >= Cost.BODY
        self.is_by_kind = checker.is_by_kind

    def bind(self, context: Context = _NO_CONTEXT) -> Test:
        """Return a test of exchanges. It raises no exception. Test one exchange at a time.

        Raises ValueError if the filter needs findings and the context has none.
        """
        self._check(context)
        binding = Binding(context)
        test = self._test(binding)

        def counting(exchange: Exchange) -> bool:
            binding.number += 1  # here: the part of the filter that reads it is not always reached
            return test(exchange)

        return counting if self.needs_all else test

    def bind_records(self, context: Context = _NO_CONTEXT) -> tuple[Test, RecordTest]:
        """Return a test of records, and a function that must receive every exchange before its records and
        returns True.

        Raises what `bind` does.
        """
        self._check(context)
        binding = Binding(context)
        test = self._test(binding)

        def see(_exchange: Exchange) -> bool:
            binding.number += 1
            return True

        def accepts(exchange: Exchange, topic: str | None, record: Record) -> bool:
            binding.record = topic, record
            return test(exchange)

        return see, accepts

    def _check(self, context: Context) -> None:
        if self.needs_findings and context.findings_of is None:
            raise ValueError("the filter asks for findings, which are not known here")

    def _test(self, binding: Binding) -> Test:
        root = self._root
        made: list[Test] = []

        def test(exchange: Exchange) -> bool:
            if not made:  # the first packet is read by now, which times may count from
                made.append(root.test(binding))
            return made[0](exchange)

        return test

    @property
    def pushdown(self) -> tuple[Conjunct, ...]:
        """Tests of headers which every exchange passes that the filter takes."""
        return conjuncts(self._root)

    def __str__(self) -> str:
        return str(self.tree)

    def __repr__(self) -> str:
        return f"Predicate({self.text!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Predicate) and other.text == self.text

    def __hash__(self) -> int:
        return hash(self.text)

    def __reduce__(self) -> tuple[object, ...]:
        return Predicate, (self.text,)


def compile_filter(text: str) -> Predicate:
    """Compile a filter from its text (docs/filter.md). Raises FilterError, which names the place."""
    return Predicate(text)


# Tests that a reader of rows can make, before an exchange exists.
class Conjunct(NamedTuple):
    """A conjunct `field op value`, by the full name of a field. Every exchange that the filter takes passes.

    Null never passes. `value` is an int or a str, for `in` and `not in` a tuple of them. Times are
    nanoseconds since 1970 UTC.
    """

    field: str
    op: str
    value: Any


def conjuncts(node: plan.Node) -> tuple[Conjunct, ...]:
    """Return the tests of headers that follow from a node, empty if there are none."""
    if isinstance(node, plan.AllOf):
        return tuple(found for item in node.items for found in conjuncts(item))
    if isinstance(node, plan.Comparison):
        found = _conjunct(node)
        return () if found is None else (found,)
    return ()


def _conjunct(node: plan.Comparison) -> Conjunct | None:
    entry = row_fields().get(node.source.name)
    symbol = node.operator.symbol
    if entry is None or not entry.header or node.source.is_many or symbol not in _OPERATORS:
        return None
    (values,) = node.values
    plain = [_plain(value) for value in values or ()]
    if not plain or any(value is None for value in plain):
        return None
    return Conjunct(entry.header, symbol, tuple(plain) if symbol in ("in", "not in") else plain[0])


def _plain(value: Any) -> Any:
    """Return an int or str as a file has it, or None for a value that only a run knows."""
    if isinstance(value, Moment):
        return None if value.since else value.ns
    return value if type(value) in (int, str) else None
