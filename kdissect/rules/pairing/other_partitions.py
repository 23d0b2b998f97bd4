"""PAI008: A response must speak of the partitions of its request."""

from collections.abc import Iterator
from typing import Any

from kdissect.model.finding import Who
from kdissect.rules.guards import Fact
from kdissect.rules.kinds import BodyRule
from kdissect.rules.rule import BOTH_FRAMES, RESPONSE, Violation
from kdissect.rules.views.body_view import Body

# request topics, its partitions, response topics, its partitions
_SHAPES = {
    "Produce": ("topic_data", "partition_data", "responses", "partition_responses"),
    "ListOffsets": ("topics", "partitions", "topics", "partitions"),
    "OffsetCommit": ("topics", "partitions", "topics", "partitions"),
    "TxnOffsetCommit": ("topics", "partitions", "topics", "partitions"),
    "DeleteRecords": ("topics", "partitions", "topics", "partitions"),
}


class OtherPartitions(BodyRule):
    """A response must speak of the partitions of its request.

    Clients look the result of each partition up; one that is missing is retried or lost, one too many is an
    error to some.

    Example: Produce for partition 0, answered for partition 1.

    What to do: answer each partition once, with an error code if need be.
    """

    code = "PAI008"
    name = "other-partitions"
    who = Who.BROKER
    needs = BOTH_FRAMES
    cites = ("kafka.server.KafkaApis", "spec/000 Common Request and Response Structure")
    on = tuple((name, RESPONSE) for name in _SHAPES)
    guard = (Fact.OTHER_PARTITIONS,)

    def check(self, body: Body) -> Iterator[Violation]:
        """Both sets of topic and partition."""
        asked = body.other()
        if asked is None:
            return
        topics, partitions, answered_topics, answered_partitions = _SHAPES[body.api.name]
        wanted = _pairs(asked, topics, partitions)
        given = _pairs(body.value, answered_topics, answered_partitions)
        if wanted != given:
            yield body.violation(
                answered_topics, _text(wanted - given, "missing"), _text(given - wanted, "not asked for")
            )


def _pairs(value: Any, topics: str, partitions: str) -> set[tuple[object, int]]:
    found = set()
    for topic in getattr(value, topics) or ():
        name = getattr(topic, "name", None)
        key = name if name is not None else bytes(getattr(topic, "topic_id", b"")).hex()
        for partition in getattr(topic, partitions) or ():
            number = getattr(partition, "index", None)
            found.add((key, partition.partition_index if number is None else number))
    return found


def _text(pairs: set[tuple[object, int]], what: str) -> str:
    shown = ", ".join(f"{topic}-{number}" for topic, number in sorted(pairs, key=str)[:3])
    return f"{len(pairs)} {what}: {shown}" if pairs else f"none {what}"
