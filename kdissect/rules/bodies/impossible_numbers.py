"""Rules: numbers that are below anything they can be."""

from collections.abc import Iterator
from typing import Any

from kdissect.decoders.generated.values import Value, present
from kdissect.model.finding import Level, Who
from kdissect.rules.guards import Below
from kdissect.rules.kinds import BodyRule
from kdissect.rules.rule import REQUEST, RESPONSE, Violation
from kdissect.rules.views.body_view import Body

_LEAST = {
    "base_offset": -1,
    "high_watermark": -1,
    "last_stable_offset": -1,
    "log_start_offset": -1,
    "low_watermark": -1,
    "offset": -1,
    "leader_id": -1,
    "port": 0,
    "heartbeat_interval_ms": 0,
}
_UNKNOWN = tuple(name for name, least in _LEAST.items() if least < 0)
_COUNTED = tuple(name for name, least in _LEAST.items() if not least)
_APIS = (
    "Produce", "Fetch", "ListOffsets", "Metadata", "DeleteRecords", "DescribeCluster",
    "ConsumerGroupHeartbeat", "ShareGroupHeartbeat", "StreamsGroupHeartbeat",
)  # fmt: skip


class OddReplicaId(BodyRule):
    """replica_id should not be below -2.

    -1 is a consumer, -2 a debugging consumer, 0 and more a broker that follows.

    Example: replica_id -3 in a Fetch request.

    What to do: send -1.
    """

    code = "BDY027"
    name = "odd-replica-id"
    level = Level.SHOULD
    who = Who.CLIENT
    cites = (
        "org.apache.kafka.common.requests.FetchRequest#describeReplicaId",
        "org.apache.kafka.common.requests.ListOffsetsRequest#DEBUGGING_REPLICA_ID",
    )
    on = (("Fetch", REQUEST), ("ListOffsets", REQUEST))
    guard = (Below((".replica_id",), -2),)

    def check(self, body: Body) -> Iterator[Violation]:
        """The field, where the version has it."""
        replica = getattr(body.value, "replica_id", None)
        if replica is not None and replica < -2:
            yield body.violation("replica_id", "-2 or more", str(replica))


class ImpossibleNumber(BodyRule):
    """An offset, a leader or a port in an answer must not be below what it can be.

    Offsets are counted from 0, and so are broker ids, ports and intervals. -1 stands for what is not known or
    not there: no offset, no leader. Nothing stands for less.

    Example: high_watermark -5.

    What to do: look for a number that was never set, or was read from other bytes.
    """

    code = "BDY028"
    name = "impossible-number"
    who = Who.BROKER
    cites = (
        "org.apache.kafka.common.requests.ProduceResponse#INVALID_OFFSET",
        "org.apache.kafka.common.requests.FetchResponse#INVALID_HIGH_WATERMARK",
        "org.apache.kafka.common.requests.ListOffsetsResponse#UNKNOWN_OFFSET",
        "org.apache.kafka.common.requests.DeleteRecordsResponse#INVALID_LOW_WATERMARK",
        "org.apache.kafka.common.requests.MetadataResponse#NO_LEADER_ID",
    )
    on = tuple((name, RESPONSE) for name in _APIS)
    guard = (Below(_UNKNOWN, -1), Below(_COUNTED, 0))

    def check(self, body: Body) -> Iterator[Violation]:
        """Every such field of the answer."""
        for path, least, seen in _too_low(body.value, ""):
            yield body.violation(path, f"{least} or more", str(seen))


def _too_low(value: Any, at: str) -> Iterator[tuple[str, int, int]]:
    """Paths, bounds and values of the fields that are below their bound."""
    for _, name, item in present(value):
        path = f"{at}.{name}" if at else name
        if isinstance(item, Value):
            yield from _too_low(item, path)
        elif isinstance(item, list) and item and isinstance(item[0], Value):
            for index, row in enumerate(item):
                yield from _too_low(row, f"{path}[{index}]")
        elif name in _LEAST and item < _LEAST[name]:
            yield path, _LEAST[name], item
