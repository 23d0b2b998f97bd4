"""BDY012: A tagged field that holds its default need not be sent."""

from collections.abc import Iterator

from kdissect.decoders.trees.node import Node
from kdissect.model.finding import Claim, Level
from kdissect.rules import pieces
from kdissect.rules.body import Body
from kdissect.rules.kinds import NodeRule
from kdissect.rules.rule import Fault, Once
from kdissect.schema.types import Array, Struct


class TaggedDefault(NodeRule):
    """A tagged field that holds its default need not be sent.

    A missing tag means the default; sending it costs bytes only.

    Example: tag 0 (cluster_id) with null in a Fetch request.

    What to do: leave the tag out.
    """

    code = "BDY012"
    name = "tagged-default"
    level = Level.INFO
    claim = Claim.DIFFERS
    cites = ("KIP-482", "org.apache.kafka.message.FieldSpec")
    nodes = (pieces.TAGS,)
    once = Once.PARTY

    def check(self, node: Node, body: Body) -> Iterator[Fault]:
        """Fields of plain types against their default."""
        for child in node.children:
            field = child.children[-1] if child.children else None
            if field is None or field.field is None or isinstance(field.field.type, Struct | Array):
                continue
            if field.value == field.field.default and type(field.value) is type(field.field.default):
                yield Fault("no tag for a default", f"{field.name} = {field.value!r}")
