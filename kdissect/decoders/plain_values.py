"""Which values of a field are plain (`decoders.plain`)."""

from kdissect.schema.enums import enumeration
from kdissect.schema.error_codes import all_codes
from kdissect.schema.types import Array, Field, Primitive

LONGEST_STRING = 0x7FFF  # the length of a classic string is an int16
# ZERO_UUID and METADATA_TOPIC_ID of Apache Kafka (org.apache.kafka.common.Uuid)
SPECIAL_IDS = frozenset({bytes(16), bytes(15) + b"\x01"})
NEVER_NEGATIVE = frozenset(
    {"throttle_time_ms", "timeout_ms", "max_wait_ms", "session_timeout_ms", "index", "partition",
     "partition_index", "partition_id", "partitions", "partition_indexes", "partition_max_bytes"}
)  # fmt: skip
"""Fields of numbers of which a negative one means nothing (the rules BDY021, BDY023, BDY024, FET003)."""


def known_codes(field: Field) -> frozenset[int] | None:
    """The numbers the schema knows for an error code, or for a field of a closed enumeration."""
    return all_codes() if field.is_error else enumerated(field)


def enumerated(field: Field) -> frozenset[int] | None:
    """The values of a closed enumeration of numbers."""
    known = enumeration(field.enum) if field.enum is not None else None
    if known is None or known.is_open:
        return None
    numbers = frozenset(value for value in known.values if isinstance(value, int))
    return numbers or None


def plain_values(field: Field) -> frozenset[int] | frozenset[bytes] | bool | None:
    """What is plain of the values of a fixed width in a field, for the compiled decoder.

    None: all; True: those that are not negative; False: none; a set: these numbers, of ids none of these.
    """
    kind = field.type
    if kind is Primitive.UUID:
        return SPECIAL_IDS if field.entity == "topicId" else None
    if isinstance(kind, Array):
        if kind.element is Primitive.UUID or enumerated(field) is not None:
            return False
    elif (known := known_codes(field)) is not None:
        return known
    return True if field.name in NEVER_NEGATIVE else None
