"""BDY011: A tagged field should be sent in versions that have it."""

from collections.abc import Iterator

from kdissect.decoders.node import Node
from kdissect.model.finding import Claim, Level
from kdissect.model.wording import plural
from kdissect.rules import pieces
from kdissect.rules.bodies.unknown_tag import all_tags, is_unknown
from kdissect.rules.body import Body
from kdissect.rules.kinds import NodeRule
from kdissect.rules.rule import Fault


class TagOfOtherVersion(NodeRule):
    """A tagged field should be sent in versions that have it.

    The tag exists in other versions of this message. Java writers refuse to send it ("Tag N is not valid for
    version"), readers skip it.

    Example: FetchRequest tag 1 (replica_state, from v15 on) in v12.

    What to do: leave the field out in this version.
    """

    code = "BDY011"
    name = "tag-of-other-version"
    level = Level.SHOULD
    claim = Claim.DIFFERS
    cites = ("org.apache.kafka.message.MessageDataGenerator", "KIP-482")
    nodes = (pieces.TAGS,)

    def check(self, node: Node, body: Body) -> Iterator[Fault]:
        """Tags that were skipped although the message has them elsewhere."""
        known = all_tags(body.message)
        for child in node.children:
            if is_unknown(child) and child.value in known:
                yield Fault(
                    f"no tag {child.value} in version {body.version}",
                    plural(child.end - child.start, "byte"),
                )
