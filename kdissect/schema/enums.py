"""Names of the values that Kafka sends as numbers or short strings, from `enums.table`, read at first use."""

from collections.abc import Iterable
from contextlib import suppress
from functools import cache
from typing import NamedTuple

from kdissect.model.errors import SchemaError
from kdissect.schema.fact_tables import read_rows

TABLE = "enums.table"


class Enumeration(NamedTuple):
    """A set of named values. Keys are ints if the table has numbers, else strings."""

    name: str
    is_open: bool
    """Whether values outside the list are legal (`acks`, a member's epoch)."""
    values: dict[int | str, str]


def enum_name(enum: str, value: int | str) -> str | None:
    """Return the name of a value: `isolationLevel`, 1 -> `READ_COMMITTED`, or None if it is unknown.

    A bool means 0 or 1 (`transactionResult`).
    """
    found = _all().get(enum)
    return found.values.get(value) if found else None


def enumeration(name: str) -> Enumeration | None:
    """Return one enumeration by the name that `@enum(...)` uses in the schema."""
    return _all().get(name)


def all_enumerations() -> tuple[Enumeration, ...]:
    """Return every enumeration, in the order of the table."""
    return tuple(_all().values())


def parse_enums(rows: Iterable[tuple[str, list[str]]]) -> dict[str, Enumeration]:
    """Return rows `[open] enum NAME`, each followed by rows `VALUE [NAME]`.

    Raises SchemaError (`file:line: why`).
    """
    enums: dict[str, Enumeration] = {}
    current: Enumeration | None = None
    for place, words in rows:
        if words[-2:-1] == ["enum"]:
            current = Enumeration(words[-1], words[0] == "open", {})
            if enums.setdefault(current.name, current) is not current:
                raise SchemaError(f"{place}: enum {current.name} stands here twice")
        elif current is None or len(words) > 2:
            raise SchemaError(f"{place}: a row is '[open] enum NAME' or, below one, 'VALUE [NAME]'")
        else:
            _add(current, place, words)
    return enums


def _add(current: Enumeration, place: str, words: list[str]) -> None:
    key: int | str = words[0]
    with suppress(ValueError):  # a string on the wire, or a range of bits
        key = int(words[0])
    if key in current.values:
        raise SchemaError(f"{place}: {key} stands twice in enum {current.name}")
    current.values[key] = words[-1]


@cache
def _all() -> dict[str, Enumeration]:
    return parse_enums(read_rows(TABLE))
