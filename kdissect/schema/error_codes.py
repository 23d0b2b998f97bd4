"""Kafka's error codes (org.apache.kafka.common.protocol.Errors), from `errors.table`, read at first use."""

from collections.abc import Iterable
from functools import cache
from typing import NamedTuple

from kdissect.model.errors import SchemaError
from kdissect.schema.fact_tables import read_rows, whole_number

TABLE = "errors.table"


class ErrorCode(NamedTuple):
    """One error: its int16 code, its name today, and what is known of it."""

    code: int
    name: str
    retriable: bool
    """Whether Apache Kafka's clients try again after it."""
    since: str
    """The first release that knew it."""
    former_names: tuple[str, ...]
    """Names older releases gave the same code."""


def error_name(code: int) -> str:
    """Return `UNKNOWN_TOPIC_OR_PARTITION` for 3, and `ERROR_<code>` for an unknown code."""
    found = _by_code().get(code)
    return found.name if found else f"ERROR_{code}"


@cache
def all_codes() -> frozenset[int]:
    """Return every code of the table."""
    return frozenset(_by_code())


def error(code: int) -> ErrorCode | None:
    """Return the facts about a code, or None for an unknown code."""
    return _by_code().get(code)


def error_by_name(name: str) -> ErrorCode | None:
    """Return an error by its name or a former one, in any case, or None if there is none."""
    return _by_name().get(name.upper())


def all_errors() -> tuple[ErrorCode, ...]:
    """Return every error, by code."""
    return tuple(sorted(_by_code().values()))


def parse_errors(rows: Iterable[tuple[str, list[str]]]) -> dict[int, ErrorCode]:
    """Return rows `CODE NAME since RELEASE [retriable] [formerly NAME ...]`.

    Raises SchemaError (`file:line: why`).
    """
    errors: dict[int, ErrorCode] = {}
    for place, words in rows:
        if len(words) < 4 or words[2] != "since":
            raise SchemaError(f"{place}: a row is 'CODE NAME since RELEASE [retriable] [formerly NAME ...]'")
        row = _parse_row(place, words)
        if row.code in errors:
            raise SchemaError(f"{place}: code {row.code} stands here twice")
        errors[row.code] = row
    return errors


def _parse_row(place: str, words: list[str]) -> ErrorCode:
    rest = words[4:]
    retriable = rest[:1] == ["retriable"]
    former = rest[1:] if retriable else rest
    if former and former[0] != "formerly":
        raise SchemaError(f"{place}: unknown word '{former[0]}'")
    return ErrorCode(whole_number(words[0], place), words[1], retriable, words[3], tuple(former[1:]))


@cache
def _by_code() -> dict[int, ErrorCode]:
    return parse_errors(read_rows(TABLE))


@cache
def _by_name() -> dict[str, ErrorCode]:
    former = {name: row for row in _by_code().values() for name in row.former_names}
    return former | {row.name: row for row in _by_code().values()}
