"""Rules: tagged fields."""

from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise

from kdissect.decoders.trees.node import Node
from kdissect.model.finding import Claim, Level
from kdissect.model.wording import plural
from kdissect.rules.guards import NOT_CANONICAL
from kdissect.rules.kinds import NodeRule
from kdissect.rules.rule import Once, Violation
from kdissect.rules.views import pieces
from kdissect.rules.views.body_view import Body
from kdissect.schema.types import Array, Message, Struct


class TagOrder(NodeRule):
    """Tags must stand in ascending order.

    KIP-482 demands it, so that equal values have equal bytes. Java readers accept any order.

    Example: tag 1 before tag 0.

    What to do: sort tags when writing, including unknown tags.
    """

    code = "BDY008"
    name = "unordered-tags"
    cites = (
        "KIP-482 Proposed Changes",
        "org.apache.kafka.common.protocol.types.RawTaggedFieldWriter#writeRawTags",
    )
    nodes = (pieces.TAGS,)
    guard = NOT_CANONICAL

    def check(self, node: Node, body: Body) -> Iterator[Violation]:
        """Yield each tag against the one before."""
        tags = [child.value for child in node.children if child.type == "tag"]
        if any(later < earlier for earlier, later in pairwise(tags)):
            yield Violation("ascending tags", f"tags {', '.join(map(str, tags))}")


class DuplicateTag(NodeRule):
    """A tag must not stand twice in a section.

    Which of the two counts depends on the reader.

    Example: tag 0 twice.

    What to do: write each tag once.
    """

    code = "BDY009"
    name = "duplicate-tag"
    cites = ("KIP-482 Proposed Changes",)
    nodes = (pieces.TAGS,)
    guard = NOT_CANONICAL

    def check(self, node: Node, body: Body) -> Iterator[Violation]:
        """Yield the tags of a section."""
        tags = [child.value for child in node.children if child.type == "tag"]
        twice = sorted({tag for tag in tags if tags.count(tag) > 1}) if len(tags) > 1 else []
        if twice:
            yield Violation("each tag once", f"tag {', '.join(map(str, twice))} more than once")


def is_unknown(tag: Node) -> bool:
    """Return whether a tag was skipped: its content is plain bytes, no field of the schema."""
    return tag.type == "tag" and bool(tag.children) and tag.children[-1].field is None


class UnknownTag(NodeRule):
    """A tag this schema does not know in any version.

    Legal: tags are how the protocol grows. Readers keep or skip them.

    Example: tag 10001 of a vendor.

    What to do: update kdissect if the traffic is newer than its schema.
    """

    code = "BDY010"
    name = "unknown-tag"
    level = Level.INFO
    claim = Claim.DIFFERS
    cites = ("KIP-482 Proposed Changes",)
    nodes = (pieces.TAGS,)
    once = Once.PARTY
    guard = NOT_CANONICAL

    def check(self, node: Node, body: Body) -> Iterator[Violation]:
        """Yield tags that were skipped."""
        known = all_tags(body.message)
        for child in node.children:
            if is_unknown(child) and child.value not in known:
                yield Violation(
                    "a tag of this schema", f"tag {child.value}, {plural(child.end - child.start, 'byte')}"
                )


@lru_cache(maxsize=512)  # two messages of each API
def all_tags(message: Message) -> frozenset[int]:
    """Return every tag number that some version of a message has, in whatever struct."""
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
    cites = ("org.apache.kafka.message.MessageDataGenerator#generateClassReader", "KIP-482 Proposed Changes")
    nodes = (pieces.TAGS,)
    guard = NOT_CANONICAL

    def check(self, node: Node, body: Body) -> Iterator[Violation]:
        """Yield tags that were skipped although the message has them elsewhere."""
        known = all_tags(body.message)
        for child in node.children:
            if is_unknown(child) and child.value in known:
                yield Violation(
                    f"no tag {child.value} in version {body.version}", plural(child.end - child.start, "byte")
                )


class TaggedDefault(NodeRule):
    """A tagged field that holds its default need not be sent.

    A missing tag means the default. Sending it costs bytes only.

    Example: tag 0 (cluster_id) with null in a Fetch request.

    What to do: leave the tag out.
    """

    code = "BDY012"
    name = "tagged-default"
    level = Level.INFO
    claim = Claim.DIFFERS
    cites = ("KIP-482 Proposed Changes", "org.apache.kafka.message.FieldSpec#generateNonDefaultValueCheck")
    nodes = (pieces.TAGS,)
    once = Once.PARTY
    guard = NOT_CANONICAL

    def check(self, node: Node, body: Body) -> Iterator[Violation]:
        """Yield fields of plain types against their default."""
        for child in node.children:
            field = child.children[-1] if child.children else None
            if field is None or field.field is None or isinstance(field.field.type, Struct | Array):
                continue
            if field.value == field.field.default and type(field.value) is type(field.field.default):
                yield Violation("no tag for a default", f"{field.name} = {field.value!r}")
