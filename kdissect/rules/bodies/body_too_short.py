"""BDY001: A body must hold every field of its version."""

from collections.abc import Iterator

from kdissect.decoders.generated.struct_layout import Layout
from kdissect.decoders.trees.node import Node
from kdissect.decoders.trees.tree_decoder import locate
from kdissect.model.errors import DecodeError, FaultKind
from kdissect.rules.body import Body
from kdissect.rules.kinds import MisfitRule
from kdissect.rules.rule import Fault
from kdissect.schema.types import Array, Struct


class BodyTooShort(MisfitRule):
    """A body must hold every field of its version.

    A field of fixed width runs past the end of the frame, or the frame ends within the last element of an
    array, where the next field begins.

    Example: 2 bytes where an int32 belongs.

    What to do: compare the fields written with `kdissect schema NAME VERSION`.
    """

    code = "BDY001"
    name = "body-too-short"
    cites = (
        "org.apache.kafka.message.MessageDataGenerator",
        "org.apache.kafka.common.protocol.ByteBufferAccessor",
    )
    kinds = frozenset({FaultKind.SHORT, FaultKind.OTHER, FaultKind.LENGTH})

    def check(self, body: Body, error: DecodeError) -> Iterator[Fault]:
        """The place where the bytes end."""
        found = _left_out(body, error) if error.kind is FaultKind.LENGTH else error
        if found is not None:
            yield misfit(body, found, "every field of the version")


def _left_out(body: Body, error: DecodeError) -> DecodeError | None:
    """The field that is left out of the last element, where that and not a count too large is the cause."""
    found = locate(body.message, body.version, body.data, body.offset, trust_counts=True)
    if found is None or found.kind is not FaultKind.SHORT or found.offset < len(body.data):
        return None
    try:
        array = body.tree.find(_below(error))
    except KeyError:
        return None
    last = [f"{error.path}[{node.value - 1}]." for node in array.children if node.name == "count"]
    if not last or not found.path.startswith(last[0]):
        return None
    return None if found.path == last[0] + _first_field(body, array) else found  # then all of it is missing


def _first_field(body: Body, array: Node) -> str:
    """The name of the field that an element of an array begins with."""
    kind = array.field.type if array.field is not None else None
    element = kind.element if isinstance(kind, Array) else None
    fields = Layout(body.message, body.version).plain_fields(element) if isinstance(element, Struct) else ()
    return fields[0].name if fields else ""


def _below(error: DecodeError) -> str:
    """The path below the message."""
    return error.path.partition(".")[2]


def misfit(body: Body, error: DecodeError, expected: str) -> Fault:
    """A fault at the place where decoding stopped."""
    end = min(error.offset + 16, len(body.data))
    return Fault(expected, error.why, _below(error), error.offset, end, body.side)
