"""The meaning of numbers in bodies, their possible values and their relations.

From `domains.table`, read at first use.
"""

from collections.abc import Iterable, Iterator
from functools import cache
from typing import NamedTuple

from kdissect.model.errors import SchemaError
from kdissect.schema.enums import enumeration
from kdissect.schema.fact_tables import read_rows, whole_number
from kdissect.schema.types import Field

TABLE = "domains.table"
_EVERY = "none"  # instead of the least number


class Domain(NamedTuple):
    """The numbers that a meaning has, both ends included; None: there is no such end."""

    meaning: str
    least: int | None
    most: int | None

    def __contains__(self, number: object) -> bool:
        """Return whether an int is one of them."""
        if not isinstance(number, int):
            return False
        return (self.least is None or number >= self.least) and (self.most is None or number <= self.most)

    def __str__(self) -> str:
        return f"{self.least} or more" if self.most is None else f"{self.least} to {self.most}"


class Relation(NamedTuple):
    """A relation between two values of one struct, each a field or a path below the struct.

    `kind` is one of `RELATIONS`; `values` are texts of `other`, for kinds that depend on its value.
    `is_judged`: by the rule about relations.
    """

    kind: str
    field: str
    other: str
    values: frozenset[str]
    is_judged: bool


RELATIONS = frozenset({"below", "among", "apart", "needs", "empty", "given"})
"""Kinds of relations, as the head of the table describes them."""
_OF_VALUES = frozenset({"empty", "given"})


class Domains(NamedTuple):
    """The rows of the table: domains by field, domains of a field in one message, relations by message."""

    by_field: dict[str, Domain]
    by_message: dict[tuple[str, str], Domain]
    relations: dict[str, list[Relation]]


def domain(message: str, field: Field) -> Domain | None:
    """Return the domain of a number, by the name of its message, or None if the table has none."""
    return None if field.is_error else _domain(message, field.name, field.enum)


@cache
def _domain(message: str, name: str, enum: str | None) -> Domain | None:
    if not _is_open(enum):
        return None
    known = domains()
    return known.by_message.get((message, name)) or known.by_field.get(name)


def has_domain(field: Field) -> bool:
    """Return whether a number has a domain in some message."""
    return _has_domain(field.name, field.enum)


@cache
def _has_domain(name: str, enum: str | None) -> bool:
    return name in _names() and _is_open(enum)


def is_inside(message: str, field: Field | None, number: object) -> bool:
    """Return whether a value is in the domain of its field, or the field has none in the message."""
    known = None if field is None else domain(message, field)
    return known is None or number in known


def _is_open(enum: str | None) -> bool:
    """Return whether numbers are of no closed enumeration."""
    known = None if enum is None else enumeration(enum)
    return known is None or known.is_open


@cache
def _names() -> frozenset[str]:
    known = domains()
    return frozenset(known.by_field) | {field for _, field in known.by_message}


def parse_domains(rows: Iterable[tuple[str, list[str]]]) -> Domains:
    """Return rows as the head of the table describes them. Raises SchemaError (`file:line: why`)."""
    by_field: dict[str, Domain] = {}
    by_message: dict[tuple[str, str], Domain] = {}
    relations: dict[str, list[Relation]] = {}
    current: Domain | None = None
    for place, words in rows:
        if words[0] in ("relation", "elsewhere"):
            for message, relation in _relations(words, place):
                relations.setdefault(message, []).append(relation)
        elif words[0] == "meaning" and len(words) in (3, 4):
            current = Domain(words[1], *_ends(words[2:], place))
        elif words[0] == "in" and len(words) in (4, 5) and current is not None:
            key = words[1], words[2]
            if key in by_message:
                raise SchemaError(f"{place}: {words[2]} in {words[1]} stands here twice")
            by_message[key] = Domain(current.meaning, *_ends(words[3:], place))
        elif words[0] in ("meaning", "in") or current is None:
            raise SchemaError(
                f"{place}: a row is 'meaning NAME LEAST [MOST]' or 'in MESSAGE FIELD LEAST [MOST]'"
            )
        else:
            for field in words:
                if by_field.setdefault(field, current) is not current:
                    raise SchemaError(f"{place}: {field} has a meaning already")
    return Domains(by_field, by_message, relations)


def _relations(words: list[str], place: str) -> Iterator[tuple[str, Relation]]:
    if len(words) < 5 or words[1] not in RELATIONS:
        kinds = "|".join(sorted(RELATIONS))
        raise SchemaError(f"{place}: a relation is 'relation {kinds} FIELD OTHER MESSAGE ...'")
    kind, field, (other, has_values, values) = words[1], words[2], words[3].partition("=")
    if bool(has_values) != (kind in _OF_VALUES):
        raise SchemaError(f"{place}: the values of {other} are for {' and '.join(sorted(_OF_VALUES))} alone")
    known = frozenset(values.split("|")) if values else frozenset()
    relation = Relation(kind, field, other, known, words[0] == "relation")
    for message in words[4:]:
        yield message, relation


def _ends(words: list[str], place: str) -> tuple[int | None, int | None]:
    least = None if words[0] == _EVERY else whole_number(words[0], place)
    return least, whole_number(words[1], place) if len(words) > 1 else None


@cache
def domains() -> Domains:
    """Return the whole table."""
    return parse_domains(read_rows(TABLE))
