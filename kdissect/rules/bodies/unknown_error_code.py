"""BDY018: an error code this schema does not know."""

from collections.abc import Iterator

from kdissect.decoders.node import Node
from kdissect.model.finding import Claim, Level, Who
from kdissect.rules import pieces
from kdissect.rules.body import Body
from kdissect.rules.kinds import NodeRule
from kdissect.rules.rule import Fault, Once
from kdissect.schema.error_codes import error


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
    cites = ("spec/000 Error Codes", "org.apache.kafka.common.protocol.Errors")
    nodes = (pieces.ERROR,)
    once = Once.VALUE

    def check(self, node: Node, body: Body) -> Iterator[Fault]:
        """The code against the table of errors."""
        if isinstance(node.value, int) and error(node.value) is None:
            yield Fault("a code of this schema", f"error code {node.value}")
