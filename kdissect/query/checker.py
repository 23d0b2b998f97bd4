"""Looks up the names of a filter and holds its values to the kinds of the fields."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kdissect.query import plan
from kdissect.query.fields.field_sources import Cost, Source
from kdissect.query.fields.lookup import Apis, UnknownFieldError, look_up
from kdissect.query.fields.named import ERROR, NO_ERROR, suggest
from kdissect.query.fields.row_fields import CLUSTER_FIELD, KIND_FIELDS, NUMBER_FIELD
from kdissect.query.syntax import nodes
from kdissect.query.syntax.filter_errors import FilterError
from kdissect.query.values.operators import Operator, Range, by_symbol, usable
from kdissect.query.values.value_kinds import NUMBER, Flag, ValueKind

# Values of two fields are numbers of one quantity: one operand of `in`, and patterns, are what people write.
_COMPARES_FIELDS = ("==", "!=", "<", "<=", ">", ">=")


class Checker:
    """Checker of one filter. It records the needs of the filter's evaluation."""

    def __init__(self, text: str) -> None:
        self._text = text
        self.needs_findings = False
        self.needs_all = False
        self.needs_topics = False
        self.needs_records = False
        self.is_by_kind = True
        self.cost = Cost.HEADER

    def check(self, node: nodes.Node, apis: Apis = None) -> plan.Node:
        """Return the test of a node, for exchanges of some APIs. Raises FilterError."""
        if isinstance(node, nodes.And):
            narrowed = narrow(node, apis)
            return plan.AllOf([self.check(item, narrowed) for item in node.items])
        if isinstance(node, nodes.Or):
            return plan.AnyOf([self.check(item, apis) for item in node.items])
        if isinstance(node, nodes.Not):
            return plan.Negation(self.check(node.item, apis))
        if isinstance(node, nodes.HasFinding):
            return self._finding(node)
        source = self._source(node.name, apis)
        if isinstance(node, nodes.Present):
            return self._presence(node.name, source)
        return self._comparison(node, source, apis)

    def _finding(self, node: nodes.HasFinding) -> plan.Node:
        from kdissect.rules.registry import ALL_RULES  # start-up: every rule is a module
        from kdissect.rules.rule_selection import select  # start-up

        self.needs_findings = True
        self.is_by_kind = False
        codes: set[str] = set()
        for literal in node.codes:
            try:
                codes.update(rule.code for rule in select(ALL_RULES, [literal.text]))
            except ValueError as error:
                known = [word for rule in ALL_RULES for word in (rule.code, rule.name)]
                message = str(error) + suggest(literal.text, known)
                raise self._wrong(literal, message) from None
        return plan.FindingTest(frozenset(codes))

    def _source(self, name: nodes.Name, apis: Apis) -> Source:
        try:
            source = look_up(name.text, apis)
        except UnknownFieldError as missing:
            start = name.start + (len(name.function) + 1 if name.function else 0)
            end = start + len(name.text)
            raise FilterError(missing.why, self._text, start, end, missing.hint) from None
        self.cost = max(self.cost, source.cost)
        self.needs_all |= source.name in (NUMBER_FIELD, CLUSTER_FIELD)
        self.needs_topics |= source.name in ("topics", "topic")
        self.needs_records |= source.is_of_records
        self.is_by_kind &= source.name in KIND_FIELDS and source.cost is Cost.HEADER
        return source

    def _presence(self, name: nodes.Name, source: Source) -> plan.Node:
        flags = all(isinstance(kind, Flag) for kind in source.kinds)
        if name.function == "count" or (name.function == "all" and not flags):
            why = f"{name.function}() must be compared with a value"
            raise FilterError(why, self._text, name.start, name.end)
        return plan.Presence(source, name.function == "all")

    def _comparison(self, node: nodes.Compare, source: Source, apis: Apis) -> plan.Node:
        operator = by_symbol(node.symbol)
        assert operator is not None
        if node.name.function == "count":
            (values,) = self._values(node, operator, (NUMBER,), source.name)
            assert values is not None
            return plan.CountTest(source, operator, NUMBER, values)
        if any(_is_null(literal) for literal in node.values):
            return self._null(node, source, operator)
        try:
            parsed = self._values(node, operator, source.kinds, source.name)
        except FilterError:
            other = self._other_field(node, source, apis)
            if other is None:
                raise
            return self._of_fields(node, operator, source, other)
        source = source.refined(parsed)
        self.cost = max(self.cost, source.cost)
        return plan.Comparison(source, operator, parsed, _needs_all(node, operator, source, parsed))

    def _other_field(self, node: nodes.Compare, source: Source, apis: Apis) -> Source | None:
        """Return the field that the filter names in place of a value; None if no field has that name."""
        literal = node.values[0]
        is_measured = any(kind.quantity for kind in source.kinds)
        if literal.is_text or node.symbol not in _COMPARES_FIELDS or not is_measured:
            return None
        try:
            look_up(literal.text, apis)
        except UnknownFieldError:
            return None
        return self._source(nodes.Name(literal.text, "", literal.start, literal.end), apis)

    def _of_fields(self, node: nodes.Compare, operator: Operator, source: Source, other: Source) -> plan.Node:
        scales = tuple(
            tuple(one.scale if one.quantity and one.quantity == two.quantity else 0 for two in other.kinds)
            for one in source.kinds
        )
        if not any(map(any, scales)):
            kinds = " and ".join(dict.fromkeys(each.kinds[0].name for each in (source, other)))
            raise self._wrong(node.values[0], f"{source.name} and {other.name} cannot be compared: {kinds}")
        return plan.FieldComparison(source, operator, other, _function(node, operator.negative))

    def _null(self, node: nodes.Compare, source: Source, operator: Operator) -> plan.Node:
        if node.symbol not in ("==", "!="):
            raise self._wrong(node.values[0], "null goes with == and != only")
        needs_all = _function(node, operator.negative)
        return plan.NullTest(source, not operator.negative, needs_all)

    # values

    def _values(
        self, node: nodes.Compare, operator: Operator, kinds: Sequence[ValueKind], name: str
    ) -> list[tuple[Any, ...] | None]:
        """Return the values for each kind, None for kinds that they do not fit, if they fit one."""
        found: list[tuple[Any, ...] | None] = []
        errors: list[FilterError] = []
        for kind in kinds:
            refused = operator.refuses(kind)
            if refused:
                errors.append(self._refused(node, f"{name} {refused}", kind))
                found.append(None)
                continue
            try:
                found.append(self._parse(node, operator, kind))
            except FilterError as error:
                errors.append(error)
                found.append(None)
        if found and all(values is None for values in found):  # no kind: no API asked for has the field
            raise errors[0]
        return found

    def _refused(self, node: nodes.Compare, why: str, kind: ValueKind) -> FilterError:
        known = " ".join(operator.symbol for operator in usable(kind))
        hint = f"operators for it are {known}" if known else kind.doc
        return FilterError(why, self._text, node.start, node.end, "" if isinstance(kind, Flag) else hint)

    def _parse(self, node: nodes.Compare, operator: Operator, kind: ValueKind) -> tuple[Any, ...]:
        values = tuple(self._value(literal, operator, kind) for literal in node.values)
        try:
            operator.check(values)
        except ValueError as error:
            raise self._wrong(node.values[0], str(error)) from None
        return values

    def _value(self, literal: nodes.Literal, operator: Operator, kind: ValueKind) -> Any:
        try:
            if kind.ordered and ".." in literal.text and operator.symbol in ("in", "not in"):
                return _range(kind, literal)
            return operator.value(kind, literal)
        except (ValueError, OverflowError) as error:
            raise self._wrong(literal, str(error)) from None

    def _wrong(self, literal: nodes.Literal, message: str) -> FilterError:
        why, _, hint = message.partition("\n")
        return FilterError(why, self._text, literal.start, literal.end, hint)


def _range(kind: ValueKind, literal: nodes.Literal) -> Range:
    first, _, last = literal.text.partition("..")
    found = Range(kind.parse(literal._replace(text=first)), kind.parse(literal._replace(text=last)))
    if isinstance(found.first, int) and found.last < found.first:
        raise ValueError(f"{literal.text!r} is empty: the first end is the greater one")
    return found


def _is_null(literal: nodes.Literal) -> bool:
    return literal.text == "null" and not literal.is_text


def _function(node: nodes.Compare, default: bool) -> bool:
    return node.name.function == "all" if node.name.function else default


def _needs_all(
    node: nodes.Compare, operator: Operator, source: Source, parsed: Sequence[tuple[Any, ...] | None]
) -> bool:
    """Return whether every value must pass.

    Without any() and all() one value is enough, but a negated value may not occur at all. NONE is not an
    error, and an exchange without errors has no error in any value.
    """
    about_none = node.symbol in ("==", "!=") and any(
        kind is ERROR and values == (NO_ERROR,) for kind, values in zip(source.kinds, parsed, strict=True)
    )
    return _function(node, operator.negative != about_none)


def narrow(node: nodes.And, apis: Apis) -> Apis:
    """Return the APIs that exchanges can have for which all of these tests hold."""
    for item in node.items:
        if isinstance(item, nodes.Compare) and item.symbol in ("==", "in") and not item.name.function:
            found = _apis_of(item)
            if found is not None:
                apis = found if apis is None else apis & found
    return apis


def _apis_of(item: nodes.Compare) -> Apis:
    if item.name.text not in ("api", "api_key"):
        return None
    (kind,) = look_up(item.name.text).kinds
    try:
        return frozenset(kind.parse(literal) for literal in item.values)
    except ValueError:
        return None  # reported by the check of the test itself
