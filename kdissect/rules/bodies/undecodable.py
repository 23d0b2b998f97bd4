"""Rules: bodies that the schema cannot read."""

from collections.abc import Iterator

from kdissect.decoders.generated.struct_layout import Layout
from kdissect.decoders.trees.node import Node
from kdissect.decoders.trees.tree_decoder import locate
from kdissect.model.errors import DecodeError, FaultKind
from kdissect.rules.kinds import UndecodableRule
from kdissect.rules.rule import Violation
from kdissect.rules.views.body_view import Body
from kdissect.schema.types import Array, Struct


class BodyTooShort(UndecodableRule):
    """A body must hold every field of its version.

    A field of fixed width runs past the end of the frame, or the frame ends within the last element of an
    array, where the next field begins.

    Example: 2 bytes where an int32 belongs.

    What to do: compare the fields written with `kdissect schema NAME VERSION`.
    """

    code = "BDY001"
    name = "body-too-short"
    cites = (
        "org.apache.kafka.message.MessageDataGenerator#generateClassReader",
        "org.apache.kafka.common.protocol.ByteBufferAccessor#readInt",
    )
    kinds = frozenset({FaultKind.SHORT, FaultKind.OTHER, FaultKind.LENGTH})
    expected = "every field of the version"

    def check(self, body: Body, error: DecodeError) -> Iterator[Violation]:
        """Yield the place where the bytes end."""
        found = _left_out(body, error) if error.kind is FaultKind.LENGTH else error
        if found is not None:
            yield body.undecodable(found, self.expected)


def _left_out(body: Body, error: DecodeError) -> DecodeError | None:
    """Return the field that is left out of the last element, where that and not a count too large is the
    cause.
    """
    found = locate(body.message, body.version, body.data, body.offset, trust_counts=True)
    if found is None or found.kind is not FaultKind.SHORT or found.offset < len(body.data):
        return None
    try:
        array = body.tree.find(error.path.partition(".")[2])
    except KeyError:
        return None
    last = [f"{error.path}[{node.value - 1}]." for node in array.children if node.name == "count"]
    if not last or not found.path.startswith(last[0]):
        return None
    return None if found.path == last[0] + _first_field(body, array) else found  # then all of it is missing


def _first_field(body: Body, array: Node) -> str:
    """Return the name of the field that an element of an array begins with."""
    kind = array.field.type if array.field is not None else None
    element = kind.element if isinstance(kind, Array) else None
    fields = Layout(body.message, body.version).plain_fields(element) if isinstance(element, Struct) else ()
    return fields[0].name if fields else ""


class LengthBeyondFrame(UndecodableRule):
    """A length or count must not exceed the bytes left.

    A string, bytes field or array says it is longer than the remaining frame. Readers that allocate first
    and read later run out of memory; Apache Kafka refuses.

    Example: a count of 1,000,000 in a frame with 40 bytes left.

    What to do: check whether lengths are compact (n + 1) in this version.
    """

    code = "BDY002"
    name = "length-beyond-frame"
    cites = (
        "org.apache.kafka.message.MessageDataGenerator#generateVariableLengthReader",
        "org.apache.kafka.common.protocol.ByteBufferAccessor#readArray",
    )
    kinds = frozenset({FaultKind.LENGTH})
    expected = "at most the bytes left in the frame"


class NullNotAllowed(UndecodableRule):
    """Null must not stand in a field that is not nullable in this version.

    Java brokers fail with "non-nullable field was serialized as null" and close the connection. Metadata v0
    is one case: there an empty list asks for all topics, null only from v1 on (spec/004's example has null in
    v0), and OffsetFetch topics may be null from v2 on.

    Example: length -1 for the topics of Metadata v0.

    What to do: send the empty value.
    """

    code = "BDY003"
    name = "null-not-allowed"
    cites = (
        "org.apache.kafka.message.MessageDataGenerator#generateVariableLengthReader",
        "spec/003 Metadata API",
    )
    kinds = frozenset({FaultKind.NULL})
    expected = "a value, empty if need be"


class NegativeLength(UndecodableRule):
    """A length must not be below -1.

    -1 says null. Java takes any negative length for null, others refuse it or read wild.

    Example: a string of length -2.

    What to do: send -1 for null.
    """

    code = "BDY004"
    name = "negative-length"
    cites = ("spec/000 Variable Length Primitives",)
    kinds = frozenset({FaultKind.NEGATIVE})
    expected = "-1 for null, or more"


class VarintTooLong(UndecodableRule):
    """An unsigned varint must fit 32 bits in at most 5 bytes.

    Example: `ff ff ff ff ff 01` where a compact length belongs.

    What to do: encode lengths and tags as unsigned 32-bit numbers, seven bits a byte, lowest first.
    """

    code = "BDY005"
    name = "varint-too-long"
    cites = (
        "KIP-482 Proposed Changes",
        "org.apache.kafka.common.utils.internals.ByteUtils#readUnsignedVarint",
    )
    kinds = frozenset({FaultKind.VARINT})
    expected = "a varint of at most 32 bits"


class TagSizeMismatch(UndecodableRule):
    """A tagged field must take exactly the bytes its size says.

    The size lets readers skip tags they do not know. A wrong size moves everything after it.

    Example: a tagged int32 with size 5.

    What to do: compute the size from the encoded field.
    """

    code = "BDY006"
    name = "tag-size-mismatch"
    cites = ("KIP-482 Proposed Changes", "org.apache.kafka.message.MessageDataGenerator#generateClassReader")
    kinds = frozenset({FaultKind.TAG_SIZE})
    expected = "the size of the field"
