"""PAI018: A response must leave out what its request does not ask for."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from kdissect.decoders.generated.values import sent
from kdissect.model.finding import Claim, Severity, Who
from kdissect.model.wording import plural
from kdissect.rules.guards import Above, InRequest, Longer
from kdissect.rules.kinds import BodyRule
from kdissect.rules.rule import BOTH_FRAMES, RESPONSE, Violation
from kdissect.rules.views.body_view import Body

_NOT_ASKED = -(1 << 31)  # KIP-430: operations that nobody asked for


class _Part(NamedTuple):
    """A field of a response that a flag of the request asks for, in a list of the response or at its top."""

    flag: str
    field: str
    lists: tuple[str, ...] = ()


_OF_GROUPS = (_Part("include_authorized_operations", "authorized_operations", ("groups",)),)
_CONFIGS = ("results", "configs")
_PARTS: dict[str, tuple[_Part, ...]] = {
    "Metadata": (
        _Part("include_cluster_authorized_operations", "cluster_authorized_operations"),
        _Part("include_topic_authorized_operations", "topic_authorized_operations", ("topics",)),
    ),
    "DescribeCluster": (_Part("include_cluster_authorized_operations", "cluster_authorized_operations"),),
    "DescribeGroups": _OF_GROUPS,
    "ConsumerGroupDescribe": _OF_GROUPS,
    "ShareGroupDescribe": _OF_GROUPS,
    "StreamsGroupDescribe": (
        *_OF_GROUPS, _Part("include_topology_description", "topology_description", ("groups",))
    ),
    "DescribeConfigs": (
        _Part("include_synonyms", "synonyms", _CONFIGS),
        _Part("include_documentation", "documentation", _CONFIGS),
    ),
}  # fmt: skip


class UnaskedParts(BodyRule):
    """A response must leave out what its request does not ask for.

    Flags of a request ask for authorized operations, for synonyms and documentation of configurations, and
    for the description of a topology. Without the flag the response has -2147483648 for operations, and
    nothing for the other fields. A request of DescribeTopicPartitions limits the number of partitions.

    Example: include_synonyms false, answered with synonyms.

    What to do: look for a response to another request. Clients take such a value for what they asked for.
    """

    code = "PAI018"
    name = "unasked-parts"
    claim = Claim.DIFFERS
    severity = Severity.WARNING
    who = Who.BROKER
    needs = BOTH_FRAMES
    cites = (
        "KIP-430 Public Interfaces",
        "KIP-226 Public Interfaces",
        "KIP-569 Public Interfaces",
        "KIP-966 Public Interfaces",
        "KIP-1071 Public Interfaces",
    )
    on = tuple((api, RESPONSE) for api in (*_PARTS, "DescribeTopicPartitions"))
    guard = (
        Above(
            ("authorized_operations", "cluster_authorized_operations", "topic_authorized_operations"),
            _NOT_ASKED,
        ),
        Longer(("synonyms", "documentation"), 0),
        InRequest(Above(("response_partition_limit",), -1)),
        Above(("topology_description_status",), -1),  # next to a description
    )

    def check(self, body: Body) -> Iterator[Violation]:
        """Yield the first value of each field."""
        asked = body.other()
        if asked is None or sent(body.value, "error_code", 0):
            return
        for part in _PARTS.get(body.api.name, ()):
            if sent(asked, part.flag, True):
                continue
            for path, value in _values(body.value, part):
                yield body.violation(path, f"none, because {part.flag} is false", _shown(value))
                break
        limit = sent(asked, "response_partition_limit", 0)
        count = sum(len(topic.partitions or ()) for topic in body.value.topics or ()) if limit > 0 else 0
        if count > limit:
            yield body.violation("topics", f"{plural(limit, 'partition')} or less", str(count))


def _values(value: Any, part: _Part, lists: int = 0, at: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the values of a part that stand for something, each with its path."""
    if lists == len(part.lists):
        found = sent(value, part.field)
        # Kafka 2.3 has 0, no operation, if the request does not ask (kafka.server.KafkaApis).
        if found and found != _NOT_ASKED:
            yield at + part.field, found
        return
    name = part.lists[lists]
    for index, row in enumerate(sent(value, name) or ()):
        yield from _values(row, part, lists + 1, f"{at}{name}[{index}].")


def _shown(value: Any) -> str:
    return str(value) if isinstance(value, int) else "present"
