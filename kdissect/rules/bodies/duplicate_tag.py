"""BDY009: A tag must not stand twice in a section."""

from collections.abc import Iterator

from kdissect.decoders.trees.node import Node
from kdissect.rules import pieces
from kdissect.rules.body import Body
from kdissect.rules.kinds import NodeRule
from kdissect.rules.rule import Fault


class DuplicateTag(NodeRule):
    """A tag must not stand twice in a section.

    Which of the two counts depends on the reader.

    Example: tag 0 twice.

    What to do: write each tag once.
    """

    code = "BDY009"
    name = "duplicate-tag"
    cites = ("KIP-482",)
    nodes = (pieces.TAGS,)

    def check(self, node: Node, body: Body) -> Iterator[Fault]:
        """The tags of a section."""
        tags = [child.value for child in node.children if child.type == "tag"]
        twice = sorted({tag for tag in tags if tags.count(tag) > 1}) if len(tags) > 1 else []
        if twice:
            yield Fault("each tag once", f"tag {', '.join(map(str, twice))} more than once")
