"""BDY010: A tag this schema does not know in any version."""

from collections.abc import Iterator
from functools import lru_cache

from kdissect.decoders.node import Node
from kdissect.model.finding import Claim, Level
from kdissect.model.wording import plural
from kdissect.rules import pieces
from kdissect.rules.body import Body
from kdissect.rules.kinds import NodeRule
from kdissect.rules.rule import Fault, Once
from kdissect.schema.types import Array, Message, Struct


def is_unknown(tag: Node) -> bool:
    """Whether a tag was skipped: its content is plain bytes, no field of the schema."""
    return tag.type == "tag" and bool(tag.children) and tag.children[-1].field is None


class UnknownTag(NodeRule):
    """A tag this schema does not know in any version.

    Legal: tags are how the protocol grows. Readers keep or skip them.

    Example: tag 10001 of a vendor.

    What to do: nothing; update kdissect if the traffic is newer than its schema.
    """

    code = "BDY010"
    name = "unknown-tag"
    level = Level.INFO
    claim = Claim.DIFFERS
    cites = ("KIP-482",)
    nodes = (pieces.TAGS,)
    once = Once.PARTY

    def check(self, node: Node, body: Body) -> Iterator[Fault]:
        """Tags that were skipped."""
        known = all_tags(body.message)
        for child in node.children:
            if is_unknown(child) and child.value not in known:
                yield Fault(
                    "a tag of this schema", f"tag {child.value}, {plural(child.end - child.start, 'byte')}"
                )


@lru_cache(maxsize=512)  # two messages of each API
def all_tags(message: Message) -> frozenset[int]:
    """Every tag number that some version of a message has, in whatever struct."""
    found: set[int] = set()
    stack = [message.root]
    while stack:
        for field in stack.pop().fields:
            if field.tag is not None:
                found.add(field.tag)
            inner = field.type.element if isinstance(field.type, Array) else field.type
            if isinstance(inner, Struct):
                stack.append(inner)
    return frozenset(found)
