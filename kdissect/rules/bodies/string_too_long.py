"""BDY014: A string must not be longer than 32767 bytes, compact or not."""

from collections.abc import Iterator

from kdissect.decoders.node import Node
from kdissect.model.wording import plural
from kdissect.rules import pieces
from kdissect.rules.body import Body
from kdissect.rules.kinds import NodeRule
from kdissect.rules.rule import Fault

LIMIT = 0x7FFF  # the length of a classic string is an int16


class StringTooLong(NodeRule):
    """A string must not be longer than 32767 bytes, compact or not.

    A compact length could say more; Apache Kafka refuses it.

    Example: a compact string of 40,000 bytes.

    What to do: shorten it.
    """

    code = "BDY014"
    name = "string-too-long"
    cites = ("org.apache.kafka.message.MessageDataGenerator",)
    nodes = (pieces.STRING,)

    def check(self, node: Node, body: Body) -> Iterator[Fault]:
        """Bytes of the content."""
        content = node.children[-1] if node.children else node
        if content.end - content.start > LIMIT:
            yield Fault(f"at most {LIMIT} bytes", plural(content.end - content.start, "byte"))
