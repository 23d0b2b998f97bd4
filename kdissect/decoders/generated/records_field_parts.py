"""Which fields of a body say where its records are, and whose: `records_fields`, without what it needs."""

from kdissect.schema.types import Field, Primitive

POSITION = "position"
# By the names of Produce, Fetch, ShareFetch and FetchSnapshot.
_PARTITION = frozenset({"index", "partition", "partition_index"})


def part_of(field: Field) -> str | None:
    """Which part of a records field a field of a fixed width, a text or a blob is."""
    if field.type is Primitive.RECORDS:
        return "records"
    if field.entity == "topicName":
        return "topic"
    if field.type is Primitive.UUID:
        return "topic_id" if field.entity == "topicId" or field.name == "topic_id" else None
    if field.name in _PARTITION:
        return "partition"
    return POSITION if field.name == POSITION else None
