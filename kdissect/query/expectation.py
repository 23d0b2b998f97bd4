"""What could stand at a place of a filter: what completion offers there."""

from enum import StrEnum
from typing import NamedTuple


class Expected(StrEnum):
    """What the parser waits for."""

    FIELD = "field"
    OPERATOR = "operator"
    VALUE = "value"
    JOINER = "joiner"
    FINDING = "finding"
    CODE = "code"
    CLOSING = "closing"


class Expectation(NamedTuple):
    """What is expected; `field` and `symbol` tell the comparison that a value belongs to."""

    what: Expected
    field: str = ""
    symbol: str = ""
