"""The nodes of a filter as it was written: names and literals, before any lookup."""

from __future__ import annotations

from typing import NamedTuple

from kdissect.query.syntax.filter_tokens import quote, quoted


class Literal(NamedTuple):
    """A value as written. `is_text` if it was in quotes."""

    text: str
    is_text: bool
    start: int
    end: int

    def __str__(self) -> str:
        return quoted(self.text) if self.is_text else quote(self.text)


class Name(NamedTuple):
    """A field, and the function around it: `any`, `all`, `count`, or empty."""

    text: str
    function: str
    start: int
    end: int

    def __str__(self) -> str:
        return f"{self.function}({self.text})" if self.function else self.text


class Compare(NamedTuple):
    """The node `field operator value`. `symbol` is the operator's first spelling. `in` has several values."""

    name: Name
    symbol: str
    values: tuple[Literal, ...]
    start: int
    end: int

    def __str__(self) -> str:
        if self.symbol in ("in", "not in"):
            return f"{self.name} {self.symbol} ({', '.join(map(str, self.values))})"
        (value,) = self.values
        return f"{self.name} {self.symbol} {value}"


class Present(NamedTuple):
    """A field alone: it has a value, or a truth value is true."""

    name: Name

    def __str__(self) -> str:
        return str(self.name)


class HasFinding(NamedTuple):
    """The node `has finding CODE`: one of the codes, or any finding if the filter names no code."""

    codes: tuple[Literal, ...]
    start: int
    end: int

    def __str__(self) -> str:
        if len(self.codes) == 1:
            return f"has finding {self.codes[0]}"
        return "has finding" + (f" ({', '.join(map(str, self.codes))})" if self.codes else "")


class Not(NamedTuple):
    """The opposite."""

    item: Node

    def __str__(self) -> str:
        return f"not {_inside(self.item)}"


class And(NamedTuple):
    """The node of tests that must all pass."""

    items: tuple[Node, ...]

    def __str__(self) -> str:
        return " and ".join(map(_inside, self.items))


class Or(NamedTuple):
    """One of them."""

    items: tuple[Node, ...]

    def __str__(self) -> str:
        return " or ".join(map(_inside, self.items))


Node = Compare | Present | HasFinding | Not | And | Or


def _inside(node: Node) -> str:
    return f"({node})" if isinstance(node, And | Or) else str(node)
