"""Ways in which schemas of a topic do not go together."""

from enum import StrEnum


class Conflict(StrEnum):
    """A way in which the schema of a value does not go together with the schemas of other values."""

    UNKNOWN = "unknown schema"
    TWO_SUBJECTS = "two subjects"
    NO_SCHEMA = "no schema"
    INCOMPATIBLE = "incompatible schema"
