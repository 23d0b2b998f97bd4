"""Rules: bytes and values that the schema does not know."""

from collections.abc import Collection, Iterator
from typing import Any

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

    Readers take any other byte for true. Writers that copy memory show it.

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
        """Yield the byte."""
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
        """Yield the marker's value."""
        allowed = (0, 1) if node.type == "uvarint" else (-1, 1)
        if node.value not in allowed:
            yield Violation(f"{allowed[0]} or {allowed[1]}", str(node.value))


class UnknownEnumValue(NodeRule):
    """An enumerated field has a value this schema does not know.

    No judgement: newer Kafka adds values. Fields where any number is legal are left out. BDY031 judges
    numbers below 0.

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
        """Yield the value against the table of enumerations."""
        if node.field is None or node.field.enum is None:
            return
        known = enumeration(node.field.enum)
        if known is not None and not known.is_open and _is_newer(node.value, known.values):
            seen = (
                f"{body.message.name} {node.field.name} {node.value}, newer than this schema or no such value"
            )
            yield Violation(f"a value of {known.name}", seen)


class UnknownErrorCode(NodeRule):
    """An error code this schema does not know.

    No judgement: newer brokers have more. Clients take unknown codes for UNKNOWN_SERVER_ERROR. BDY031 judges
    codes below -1.

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
        """Yield the code against the table of errors."""
        if isinstance(node.value, int) and node.value >= 0 and error(node.value) is None:
            yield Violation("a code of this schema", f"error code {node.value}")


class ImpossibleCode(NodeRule):
    """An error code must not be below -1, and a number of an enumeration not below 0.

    Kafka numbers both from 0 on: newer releases add higher numbers. Below 0 only what the schema lists has a
    meaning: -1 is UNKNOWN_SERVER_ERROR, or a value that an old version does not send.

    Example: error code -31000, or isolation_level -7.

    What to do: look for a number that was never set, or was read from other bytes.
    """

    code = "BDY031"
    name = "impossible-code"
    cites = ("spec/000 Error Codes", "org.apache.kafka.common.protocol.Errors#forCode")
    nodes = (pieces.ERROR, pieces.ENUM)
    once = Once.VALUE
    guard = (Fact.UNKNOWN_ERROR, Fact.UNKNOWN_VALUE)

    def check(self, node: Node, body: Body) -> Iterator[Violation]:
        """Yield the number against what the tables have below 0."""
        field, number = node.field, node.value
        if field is None or not isinstance(number, int) or number >= 0:
            return
        if field.is_error and error(number) is None:
            yield Violation("-1 or more", f"error code {number}")
        elif field.enum is not None:
            known = enumeration(field.enum)
            if known is not None and not known.is_open and number not in known.values:
                yield Violation(f"a value of {known.name}", f"{field.name} {number}")


def _is_newer(value: Any, known: Collection[int | str]) -> bool:
    return int(value) >= 0 and int(value) not in known
