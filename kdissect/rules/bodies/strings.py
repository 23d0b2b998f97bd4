"""Rules: strings."""

from collections.abc import Iterator

from kdissect.decoders.trees.node import Node
from kdissect.model.wording import plural
from kdissect.rules.guards import NOT_CANONICAL
from kdissect.rules.kinds import NodeRule
from kdissect.rules.rule import Violation
from kdissect.rules.views import pieces
from kdissect.rules.views.body_view import Body

_LIMIT = 0x7FFF  # the length of a classic string is an int16


class NotUtf8(NodeRule):
    """A string must be valid UTF-8.

    Java readers put replacement characters, so that a name is different afterwards. Other readers refuse.

    Example: a topic name with the byte `ff`.

    What to do: encode strings as UTF-8, without surrogates.
    """

    code = "BDY013"
    name = "not-utf8"
    overrides = ("PAI008", "PAI009")  # the name that comes back is another
    cites = ("spec/000 Variable Length Primitives", "org.apache.kafka.common.protocol.types.Type#STRING")
    nodes = (pieces.STRING,)
    guard = NOT_CANONICAL

    def check(self, node: Node, body: Body) -> Iterator[Violation]:
        """Yield strings that decoded to bytes."""
        if isinstance(node.value, bytes):
            is_near = body.exchange.is_near_secrets
            seen = (
                f"{plural(len(node.value), 'byte that is', 'bytes that are')} not"
                if is_near
                else node.value[:32].hex(" ")
            )
            yield Violation("UTF-8", seen)


class StringTooLong(NodeRule):
    """A string must not be longer than 32767 bytes, compact or not.

    A compact length could say more; Apache Kafka refuses it.

    Example: a compact string of 40,000 bytes.

    What to do: shorten it.
    """

    code = "BDY014"
    name = "string-too-long"
    cites = ("org.apache.kafka.message.MessageDataGenerator#generateVariableLengthReader",)
    nodes = (pieces.STRING,)
    guard = NOT_CANONICAL

    def check(self, node: Node, body: Body) -> Iterator[Violation]:
        """Yield bytes of the content."""
        content = node.children[-1] if node.children else node
        if content.end - content.start > _LIMIT:
            yield Violation(f"at most {_LIMIT} bytes", plural(content.end - content.start, "byte"))
