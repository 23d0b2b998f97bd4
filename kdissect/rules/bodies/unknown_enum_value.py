"""BDY017: an enumerated field has a value this schema does not know."""

from collections.abc import Iterator

from kdissect.decoders.trees.node import Node
from kdissect.model.finding import Claim, Level
from kdissect.rules import pieces
from kdissect.rules.body import Body
from kdissect.rules.kinds import NodeRule
from kdissect.rules.rule import Fault, Once
from kdissect.schema.enums import enumeration


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

    def check(self, node: Node, body: Body) -> Iterator[Fault]:
        """The value against the table of enumerations."""
        if node.field is None or node.field.enum is None:
            return
        known = enumeration(node.field.enum)
        if known is not None and not known.is_open and int(node.value) not in known.values:
            seen = (
                f"{body.message.name} {node.field.name} {node.value}, newer than this schema or no such value"
            )
            yield Fault(f"a value of {known.name}", seen)
