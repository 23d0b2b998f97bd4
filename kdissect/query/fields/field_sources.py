"""Sources of a field's values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import IntEnum, auto
from typing import Any

from kdissect.decoders.bodies import decode_once
from kdissect.decoders.generated.projection import Path
from kdissect.query.binding import Binding
from kdissect.query.values.value_kinds import ValueKind
from kdissect.session.exchange import Exchange

One = Callable[[Exchange], Any]
"""The one value of a field, or None if it has none, or null."""

Many = Callable[[Exchange], Sequence[Any]]
"""All values of a field, None for null."""


RECORD_PARTS = ("key", "value", "header")
"""Parts of records, with which the names of their fields begin."""


class Cost(IntEnum):
    """Cost of testing one exchange, in steps of about ten."""

    HEADER = auto()
    SUMMARY = auto()
    BODY = auto()
    WHOLE_BODY = auto()


class Source:
    """The source of a field that a filter names.

    Values may be of several kinds, if messages have different contents at a place of one name: then there is
    one getter for each kind. `is_many` is False if an exchange has at most one value: then the one getter
    returns it, or None. `is_of_records`: its values are those of records.
    """

    is_of_records = False

    def __init__(self, name: str, kinds: Sequence[ValueKind], is_many: bool, cost: Cost) -> None:
        self.name = name
        self.kinds = tuple(kinds)
        self.is_many = is_many
        self.cost = cost

    def refined(self, values: Sequence[tuple[Any, ...] | None]) -> Source:
        """Return the source to compare with some values (for each kind, None: not of that kind)."""
        return self

    def one(self, binding: Binding) -> One:
        """Return the getter of a field with one value."""
        raise NotImplementedError

    def many(self, binding: Binding) -> tuple[Many, ...]:
        """Return the getters of a field with several values, one for each kind."""
        raise NotImplementedError

    def presence(self, binding: Binding) -> Callable[[Exchange], bool]:
        """Return a test whether there is a value that is not null."""
        if not self.is_many:
            one = self.one(binding)
            return lambda exchange: one(exchange) is not None
        getters = self.many(binding)
        return lambda exchange: any(v is not None for get in getters for v in get(exchange))

    def counter(self, binding: Binding) -> Callable[[Exchange], int]:
        """Return a function that counts the values that are not null."""
        if not self.is_many:
            return self.presence(binding)
        getters = self.many(binding)
        return lambda exchange: sum(v is not None for get in getters for v in get(exchange))


class RowSource(Source):
    """A field of the row schema, or a further field of a row.

    `make` returns the getter. `has` decides whether the field is there, if the values do not. `refine`
    returns the source for some values, None for this one.
    """

    def __init__(
        self,
        name: str,
        kind: ValueKind,
        make: Callable[[Binding], Callable[[Exchange], Any]],
        is_many: bool = False,
        cost: Cost = Cost.HEADER,
        has: Callable[[Exchange], bool] | None = None,
        refine: Callable[[tuple[Any, ...]], RowSource | None] | None = None,
    ) -> None:
        super().__init__(name, (kind,), is_many, cost)
        self._make = make
        self._has = has
        self._refine = refine

    def refined(self, values: Sequence[tuple[Any, ...] | None]) -> Source:
        """Return another source if only that one has some values."""
        (found,) = values
        better = self._refine(found) if self._refine is not None and found is not None else None
        return self if better is None else better

    def named(self, name: str, kind: ValueKind) -> RowSource:
        """Return the same source under another name."""
        return RowSource(name, kind, self._make, self.is_many, self.cost, self._has, self._refine)

    def one(self, binding: Binding) -> One:
        """Return the getter."""
        return self._make(binding)

    def many(self, binding: Binding) -> tuple[Many, ...]:
        """Return the getter."""
        return (self._make(binding),)

    def presence(self, binding: Binding) -> Callable[[Exchange], bool]:
        """Return a test whether there is a value."""
        return self._has or super().presence(binding)

    def counter(self, binding: Binding) -> Callable[[Exchange], int]:
        """Return a function that counts values, 0 if the field is not there."""
        count, has = super().counter(binding), self._has
        return count if has is None else lambda exchange: count(exchange) if has(exchange) else 0


Groups = Mapping[ValueKind, Mapping[str, Mapping[int, Sequence[Path]]]]
"""Paths of a field by kind, side and API."""


class BodySource(Source):
    """Fields of bodies, in any number of APIs.

    `fits_only`: a response that does not fit to its last byte has no such field, because its layout is
    different.
    """

    def __init__(self, name: str, groups: Groups, fits_only: bool) -> None:
        super().__init__(name, tuple(groups), True, Cost.BODY)
        self._fits_only = fits_only
        self._groups = groups

    def many(self, binding: Binding) -> tuple[Many, ...]:
        """Return one getter for each kind."""
        getters = tuple(_body_getter(binding, self._groups[kind]) for kind in self.kinds)
        return tuple(map(_of_fitting, getters)) if self._fits_only else getters

    @property
    def apis(self) -> frozenset[int]:
        """APIs that have the field."""
        return frozenset(key for sides in self._groups.values() for paths in sides.values() for key in paths)


def _of_fitting(getter: Many) -> Many:
    """Return a getter for responses that fit. It checks the fit only for values that are not 0, which are
    few.
    """

    def many(exchange: Exchange) -> Sequence[Any]:
        values = getter(exchange)
        return () if any(values) and not _response_fits(exchange) else values

    return many


def _response_fits(exchange: Exchange) -> bool:
    key, version = exchange.api_key, exchange.api_version
    if key is None or version is None:
        return False
    found = decode_once(exchange.response, exchange.response_body_offset, key, version, True)
    return found is not None and found.fits


def _body_getter(binding: Binding, sides: Mapping[str, Mapping[int, Sequence[Path]]]) -> Many:
    bodies = binding.bodies
    slots = [(side, bodies.want(side, paths)) for side, paths in sides.items()]
    values = bodies.values
    return lambda exchange: [value for side, slot in slots for value in values(exchange, side, slot)]
