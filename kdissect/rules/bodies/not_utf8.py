"""BDY013: A string must be valid UTF-8."""

from collections.abc import Iterator

from kdissect.decoders.node import Node
from kdissect.model.wording import plural
from kdissect.rules import pieces
from kdissect.rules.body import Body
from kdissect.rules.kinds import NodeRule
from kdissect.rules.rule import Fault


class NotUtf8(NodeRule):
    """A string must be valid UTF-8.

    Java readers put replacement characters, so that a name is another one afterwards; others refuse.

    Example: a topic name with the byte `ff`.

    What to do: encode strings as UTF-8, without surrogates.
    """

    code = "BDY013"
    name = "not-utf8"
    cites = ("spec/000 Variable Length Primitives", "org.apache.kafka.common.protocol.types.Type")
    nodes = (pieces.STRING,)

    def check(self, node: Node, body: Body) -> Iterator[Fault]:
        """Strings that decoded to bytes."""
        if isinstance(node.value, bytes):
            is_near = body.exchange.is_near_secrets
            seen = (
                f"{plural(len(node.value), 'byte that is', 'bytes that are')} not"
                if is_near
                else node.value[:32].hex(" ")
            )
            yield Fault("UTF-8", seen)
