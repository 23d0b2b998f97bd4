"""Rules: bytes and values that the schema does not know."""

from collections.abc import Iterator

from kdissect.decoders.trees.node import Node
from kdissect.model.finding import Claim, Level, Who
from kdissect.rules.guards import NOT_CANONICAL, Fact
from kdissect.rules.kinds import NodeRule
from kdissect.rules.rule import Once, Violation
from kdissect.rules.views import pieces
from kdissect.rules.views.body_view import Body
from kdissect.schema.enums import enumeration
from kdissect.schema.error_codes import error


class OddBoolean(NodeRule):
    """A boolean should be 0 or 1.

    Readers take any other byte for true; writers that copy memory show it.

    Example: `02` in a boolean.

    What to do: write 1 for true.
    """

    code = "BDY015"
    name = "odd-boolean"
    level = Level.SHOULD
    cites = ("org.apache.kafka.common.protocol.types.Type#BOOLEAN",)
    nodes = (pieces.BOOL,)
    guard = NOT_CANONICAL

    def check(self, node: Node, body: Body) -> Iterator[Violation]:
        """The byte."""
        byte = body.data[node.start]
        if byte > 1:
            yield Violation("00 or 01", f"{byte:02x}")


class OddMarker(NodeRule):
    """The marker before a nullable struct should be -1 or 1 (0 or 1 in a tag).

    Java takes any negative byte for null and any other for a struct.

    Example: `02` before a cursor.

    What to do: write 1 before a struct, -1 for null.
    """

    code = "BDY016"
    name = "odd-struct-marker"
    level = Level.SHOULD
    cites = ("org.apache.kafka.message.MessageDataGenerator#generateClassReader",)
    nodes = (pieces.MARKER,)
    guard = NOT_CANONICAL

    def check(self, node: Node, body: Body) -> Iterator[Violation]:
        """The marker's value."""
        allowed = (0, 1) if node.type == "uvarint" else (-1, 1)
        if node.value not in allowed:
            yield Violation(f"{allowed[0]} or {allowed[1]}", str(node.value))


class UnknownEnumValue(NodeRule):
    """An enumerated field has a value this schema does not know.

    No judgement: newer Kafka adds values. Fields where any number is legal are left out.

    Example: isolation_level 7.

    What to do: check the value if the software is not newer than the schema.
    """

    code = "BDY017"
    name = "unknown-enum-value"
    level = Level.INFO
    claim = Claim.DIFFERS
    cites = ("spec/000 The Messages",)
    nodes = (pieces.ENUM,)
    once = Once.VALUE
    guard = (Fact.UNKNOWN_VALUE,)

    def check(self, node: Node, body: Body) -> Iterator[Violation]:
        """The value against the table of enumerations."""
        if node.field is None or node.field.enum is None:
            return
        known = enumeration(node.field.enum)
        if known is not None and not known.is_open and int(node.value) not in known.values:
            seen = (
                f"{body.message.name} {node.field.name} {node.value}, newer than this schema or no such value"
            )
            yield Violation(f"a value of {known.name}", seen)


class UnknownErrorCode(NodeRule):
    """An error code this schema does not know.

    No judgement: newer brokers have more. Clients take unknown codes for UNKNOWN_SERVER_ERROR.

    Example: error code 999.

    What to do: check the code if the broker is not newer than the schema.
    """

    code = "BDY018"
    name = "unknown-error-code"
    level = Level.INFO
    claim = Claim.DIFFERS
    who = Who.BROKER
    cites = ("spec/000 Error Codes", "org.apache.kafka.common.protocol.Errors#forCode")
    nodes = (pieces.ERROR,)
    once = Once.VALUE
    guard = (Fact.UNKNOWN_ERROR,)

    def check(self, node: Node, body: Body) -> Iterator[Violation]:
        """The code against the table of errors."""
        if isinstance(node.value, int) and error(node.value) is None:
            yield Violation("a code of this schema", f"error code {node.value}")
