"""Operations that a broker asks its authorizer for, from `schema/operations.table`, read at first use."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from kdissect.model.errors import SchemaError
from kdissect.schema.fact_tables import read_rows
from kdissect.schema.protocol_messages import api_by_name

TABLE = "operations.table"
CLUSTER_NAME = "kafka-cluster"  # org.apache.kafka.common.resource.Resource#CLUSTER_NAME
# Operations of which one is enough for another one (Apache Kafka documentation, "Authorization and ACLs").
ENOUGH_FOR = {
    "Describe": frozenset({"Read", "Write", "Delete", "Alter"}),
    "DescribeConfigs": frozenset({"AlterConfigs"}),
}
_CONDITIONS = frozenset({"consumer", "follower", "denied"})
_ANY = "any"


class Alternative(NamedTuple):
    """Another operation that is enough, on a resource type. `on_any`: on any one resource of the type."""

    operation: str
    resource: str
    on_any: bool

    def __str__(self) -> str:
        return f"{self.operation} on {'any ' if self.on_any else ''}{self.resource}"


class Need(NamedTuple):
    """An operation on resources that an API needs. `names` are the fields that name these resources.

    `condition` is empty, `consumer`, `follower` or `denied`. `without` is a field that must be null.
    """

    operation: str
    resource: str
    names: str
    versions: range
    condition: str
    without: str | None
    alternatives: tuple[Alternative, ...]


def needs_of(api_key: int) -> tuple[Need, ...]:
    """Return the operations that requests of an API need."""
    return _all().get(api_key, ())


@cache
def _all() -> dict[int, tuple[Need, ...]]:
    found: dict[int, tuple[Need, ...]] = {}
    for place, words in read_rows(TABLE):
        api = api_by_name(words[0])
        if api is None or len(words) < 4:
            raise SchemaError(f"{place}: no row of an API with operation, resource and names")
        found[api.key] = (*found.get(api.key, ()), _need(words, place))
    return found


def _need(words: list[str], place: str) -> Need:
    versions, condition, without = range(1 << 15), "", None
    alternatives: list[Alternative] = []
    for word in words[4:]:
        kind, _, rest = word.partition(":")
        if kind in ("or", _ANY):
            operation, _, resource = rest.partition(":")
            alternatives.append(Alternative(operation, resource, kind == _ANY))
        elif kind == "without":
            without = rest
        elif word in _CONDITIONS:
            condition = word
        elif word.startswith("v"):
            first, _, last = word[1:].rstrip("+").partition("-")
            versions = range(int(first), int(last) + 1 if last else 1 << 15)
        else:
            raise SchemaError(f"{place}: unknown word '{word}'")
    operation, resource, names = words[1:4]
    return Need(operation, resource, names, versions, condition, without, tuple(alternatives))
