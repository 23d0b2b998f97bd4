"""Kinds of values that have names: APIs, error codes, enumerations."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from functools import cache
from typing import Any

from kdissect.query.syntax.nodes import Literal
from kdissect.query.values.value_kinds import MAX_DIGITS, Flag, ValueKind, whole
from kdissect.schema.enums import enumeration
from kdissect.schema.error_codes import all_errors, error_by_name, error_name
from kdissect.schema.protocol_messages import api_by_name, api_keys, api_name

NO_ERROR = 0  # org.apache.kafka.common.protocol.Errors#NONE


class ApiName(ValueKind):
    """APIs. Values are their keys."""

    name = "api"
    doc = "an API by its name in any case, or by its key: Produce, fetch, 18"
    example = "Produce"
    textual = True

    def parse(self, literal: Literal) -> int:
        """Return the key. Any number is a key, because a client may send a key that Kafka never had."""
        number = whole(literal.text)
        if number is not None:
            return number
        found = api_by_name(literal.text)
        if found is None:
            raise ValueError(f"no API {literal.text!r}{suggest(literal.text, _api_names())}")
        return found.key

    def text(self, raw: int) -> str:
        """Return the name."""
        return api_name(raw) or str(raw)

    def choices(self) -> Sequence[tuple[str, str]]:
        """Return every API."""
        return tuple((name, f"API key {key}") for key, name in _apis())


class ErrorName(ValueKind):
    """Error codes."""

    name = "error"
    doc = "an error by its name in any case, or by its code: NOT_LEADER_OR_FOLLOWER, 6. NONE means no error"
    example = "NOT_LEADER_OR_FOLLOWER"
    textual = True

    def parse(self, literal: Literal) -> int:
        """Return the code."""
        number = whole(literal.text)
        if number is not None:
            return number
        found = error_by_name(literal.text)
        if found is None:
            names = [row.name for row in all_errors()]
            raise ValueError(f"no error {literal.text!r}{suggest(literal.text, names)}")
        return found.code

    def text(self, raw: int) -> str:
        """Return the name."""
        return error_name(raw)

    def choices(self) -> Sequence[tuple[str, str]]:
        """Return every error."""
        return tuple(
            (row.name, f"code {row.code}{', retriable' if row.retriable else ''}") for row in all_errors()
        )


class Choice(ValueKind):
    """One of some names. `values` maps the field's content to its name. `is_open`: other values are legal."""

    name = "enum"
    textual = True

    def __init__(self, values: Mapping[Any, str], is_open: bool, is_number: bool) -> None:
        self._names: dict[Any, str] = dict(values)
        self._by_name = {name.casefold(): value for value, name in values.items()}
        self._is_open = is_open
        self._is_number = is_number
        self.ordered = is_number
        self.doc = "one of " + ", ".join(self._names.values())
        self.example = next(iter(self._names.values()), "")

    def parse(self, literal: Literal) -> Any:
        """Return the content of the field."""
        found = self._by_name.get(literal.text.casefold())
        if found is not None:
            return found
        number = whole(literal.text) if self._is_number else None
        if number is not None:
            return number
        if self._is_open and not self._is_number:
            return literal.text
        raise ValueError(f"no value {literal.text!r}{suggest(literal.text, self._names.values())}")

    def text(self, raw: Any) -> str:
        """Return the name."""
        name = self._names.get(raw)
        return str(raw) if name is None else name

    def choices(self) -> Sequence[tuple[str, str]]:
        """Return every name."""
        return tuple((name, "" if name == str(value) else str(value)) for value, name in self._names.items())


class NamedFlag(Flag):
    """Truth values that have names too."""

    def __init__(self, names: Mapping[Any, str]) -> None:
        self._names = {name.casefold(): bool(value) for value, name in names.items()}
        self._shown = tuple(names.values())

    def parse(self, literal: Literal) -> bool:
        """Return the value of `true` or `false`."""
        found = self._names.get(literal.text.casefold())
        return super().parse(literal) if found is None else found

    def choices(self) -> Sequence[tuple[str, str]]:
        """Return the names, and the values."""
        return (*((name, "") for name in self._shown), *super().choices())


API, ERROR = ApiName(), ErrorName()


@cache
def flag_kind(name: str) -> NamedFlag:
    """Return the kind of truth values that an enumeration of the schema names."""
    found = enumeration(name)
    return NamedFlag(found.values if found else {})


@cache
def enum_kind(name: str, is_number: bool) -> Choice | None:
    """Return the kind of a schema enumeration, or None if it has no names for such values."""
    found = enumeration(name)
    if found is None:
        return None
    values = {value: text for value, text in found.values.items() if isinstance(value, int) == is_number}
    if not values:
        return None
    return Choice(values, found.is_open or not is_number, is_number)


def members(kind: type[StrEnum]) -> Choice:
    """Return the kind of a field whose values are the members of an enumeration."""
    return Choice({str(member): str(member) for member in kind}, False, False)


def suggest(text: str, names: Iterable[str]) -> str:
    """Return `\\ndid you mean NAME?` if a name is near, else the names if there are at most 12."""
    from difflib import get_close_matches  # start-up: only for what was mistyped

    known = {name.casefold(): name for name in names}
    for near in get_close_matches(text.casefold()[: 2 * MAX_DIGITS], known):  # the nearest first
        return f"\ndid you mean {known[near]}?"
    few = list(known.values())
    return f"\nvalues are {', '.join(few)}" if len(few) <= 12 else ""


@cache
def _apis() -> tuple[tuple[int, str], ...]:
    return tuple((key, api_name(key) or "") for key in sorted(api_keys()))


def _api_names() -> list[str]:
    return [name for _, name in _apis()]
