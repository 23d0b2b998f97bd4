"""Rules: a broker's results for topics and records must agree with the request."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

from kdissect.decoders.generated.summary import NO_TOPIC_ID
from kdissect.history.api_keys import CREATE_TOPICS, DESCRIBE_QUORUM
from kdissect.model.finding import Claim, Level, Severity, Who
from kdissect.rules.guards import Above, All, Below, InRequest
from kdissect.rules.kinds import BodyRule, ExchangeRule
from kdissect.rules.rule import BOTH_FRAMES, REQUEST, RESPONSE, Violation
from kdissect.rules.views.body_view import Body, body_of
from kdissect.rules.views.connection_view import ConnectionView
from kdissect.schema.types import NO_UPPER_BOUND, Versions
from kdissect.session.exchange import Exchange

_FIRST_WITH_IDS = 7  # of CreateTopics (KIP-516)


class CreatedOtherwise(BodyRule):
    """A topic must be created as the request asks.

    The answer repeats the numbers of partitions and replicas, and lists all configs of the topic,
    including the requested configs. -1 asks for the default of the broker, and appears in the response if the
    client may not see it.

    Example: 3 partitions asked for, 7 answered.

    What to do: answer with the created values.
    """

    code = "ADM017"
    name = "created-otherwise"
    claim = Claim.DIFFERS
    severity = Severity.WARNING
    who = Who.BROKER
    needs = BOTH_FRAMES
    cites = ("spec/003 CreateTopics API", "org.apache.kafka.controller.ReplicationControlManager#createTopic")
    on = (("CreateTopics", RESPONSE),)
    versions = Versions(5, NO_UPPER_BOUND)

    def check(self, body: Body) -> Iterator[Violation]:
        """Yield both counts of each topic that was created, and the names of its configs."""
        asked = body.other()
        if asked is None:
            return
        wanted = {topic.name: topic for topic in asked.topics}
        for index, made in enumerate(body.value.topics):
            topic = wanted.get(made.name)
            if made.error_code or topic is None:
                continue
            count = len(topic.assignments) or topic.num_partitions
            replicas = len(topic.assignments[0].broker_ids) if topic.assignments else topic.replication_factor
            for field, expected in (("num_partitions", count), ("replication_factor", replicas)):
                seen = getattr(made, field)
                if expected > 0 and seen not in (-1, expected):
                    yield body.violation(f"topics[{index}].{field}", f"{expected}, as asked for", str(seen))
            known = {config.name for config in made.configs or ()}
            for config in topic.configs if known else ():
                if config.name not in known:
                    wanted_config = f"{config.name!r}, as asked for"
                    yield body.violation(f"topics[{index}].configs", wanted_config, "not among the configs")
                    break


class CreatedWithoutId(ExchangeRule):
    """A topic must be created with an id.

    Controllers with KRaft draw an id for each topic. Brokers with ZooKeeper do so from the inter-broker
    protocol 2.8 on, and send zero before: they are left out. So the broker must have advertised
    DescribeQuorum, which those do not have.

    Example: no error and a zero id.

    What to do: send the id of the topic.
    """

    code = "ADM023"
    name = "created-without-id"
    claim = Claim.DIFFERS
    severity = Severity.WARNING
    who = Who.BROKER
    needs = BOTH_FRAMES
    cites = ("KIP-516 Proposed Changes", "org.apache.kafka.controller.ReplicationControlManager#createTopic")

    def concerns(self, api_key: int | None, api_version: int | None) -> bool:
        """CreateTopics from v7 on, whose answers have ids."""
        return api_key == CREATE_TOPICS and (api_version or 0) >= _FIRST_WITH_IDS

    def check(self, exchange: Exchange, view: ConnectionView) -> Iterator[Violation]:
        """Yield the id of each topic that was created."""
        if not self.concerns(exchange.api_key, exchange.api_version):
            return
        if DESCRIBE_QUORUM not in (view.advertised or ()):
            return
        body = body_of(exchange, RESPONSE)
        asked = body.other() if body is not None and body.fits else None
        if body is None or asked is None or asked.validate_only:
            return
        for index, made in enumerate(body.value.topics):
            if not made.error_code and made.topic_id == NO_TOPIC_ID:
                yield body.violation(f"topics[{index}].topic_id", "the id of the topic", "zero")


class CreatedTwice(BodyRule):
    """A topic that stands twice in a request must not be created.

    It is not known which of the two is meant. Apache Kafka answers INVALID_REQUEST for the topic.

    Example: `a` twice in CreateTopics, answered with error 0.

    What to do: refuse the topic.
    """

    code = "ADM018"
    name = "created-twice"
    claim = Claim.DIFFERS
    severity = Severity.WARNING
    who = Who.BROKER
    needs = BOTH_FRAMES
    cites = ("spec/003 CreateTopics API", "kafka.server.ControllerApis#createTopics")
    on = (("CreateTopics", RESPONSE),)

    def check(self, body: Body) -> Iterator[Violation]:
        """Yield names that stand twice in the request, and their results."""
        asked = body.other()
        named = Counter(() if asked is None else (topic.name for topic in asked.topics))
        for index, made in enumerate(body.value.topics):
            if named[made.name] > 1 and not made.error_code:
                yield body.violation(f"topics[{index}].error_code", f"an error: {made.name!r} twice", "0")


class NoPartitionsAdded(BodyRule):
    """A topic's number of partitions must not be set to 0 or less.

    Apache Kafka answers INVALID_PARTITIONS. The client passes on what its application asked for: wrong is a
    broker that accepts it.

    Example: CreatePartitions with count 0, answered with error 0.

    What to do: refuse it.
    """

    code = "ADM019"
    name = "no-partitions-added"
    claim = Claim.REFUSED
    who = Who.BROKER
    cites = ("spec/003 CreatePartitions API",)
    on = (("CreatePartitions", REQUEST),)
    refusable = True

    def check(self, body: Body) -> Iterator[Violation]:
        """Yield the count of each topic."""
        for index, topic in enumerate(body.value.topics):
            if topic.count <= 0:
                yield body.violation(f"topics[{index}].count", "1 or more", f"{topic.count}, accepted")


class NegativeLogSize(BodyRule):
    """A log must not have a negative size.

    Example: partition_size -5 and no error.

    What to do: send the bytes of the log's segments.
    """

    code = "ADM020"
    name = "negative-log-size"
    claim = Claim.DIFFERS
    severity = Severity.WARNING
    who = Who.BROKER
    cites = ("spec/003 DescribeLogDirs API",)
    on = (("DescribeLogDirs", RESPONSE),)
    guard = (Below(("partition_size",), 0),)

    def check(self, body: Body) -> Iterator[Violation]:
        """Yield each partition of each directory."""
        for at, result in enumerate(body.value.results):
            for number, topic in enumerate(() if result.error_code else result.topics):
                for index, row in enumerate(topic.partitions):
                    if row.partition_size < 0:
                        path = f"results[{at}].topics[{number}].partitions[{index}].partition_size"
                        yield body.violation(path, "0 or more", str(row.partition_size))


class DeletedLess(BodyRule):
    """The low watermark must not be below the offset up to which records were deleted.

    The leader answers when all replicas have deleted what is before the offset. -1 asks for the high
    watermark.

    Example: offset 100 asked for, low_watermark 40 and no error.

    What to do: answer REQUEST_TIMED_OUT where a replica has not deleted yet.
    """

    code = "ADM021"
    name = "deleted-less"
    claim = Claim.DIFFERS
    severity = Severity.WARNING
    who = Who.BROKER
    needs = BOTH_FRAMES
    cites = ("spec/003 DeleteRecords API",)
    on = (("DeleteRecords", RESPONSE),)

    def check(self, body: Body) -> Iterator[Violation]:
        """Yield each partition against its request."""
        asked = body.other()
        wanted = _least(asked, "offset")
        for topic, row, at in body.partitions("topics"):
            offset = wanted.get((topic.name, row.partition_index), -1)
            if not row.error_code and row.low_watermark < offset:
                yield body.violation(f"{at}.low_watermark", f"{offset} or more", str(row.low_watermark))


class OffsetOfEarlierTime(BodyRule):
    """ListOffsets should answer with the offset of a record that is not older than the time asked for.

    It is the first record with that timestamp or a later one.

    Example: 1700000000000 asked for, a record of 1600000000000 answered.

    What to do: look up the time again. Indexes of times may be damaged.
    """

    code = "ADM022"
    name = "offset-of-earlier-time"
    level = Level.SHOULD
    claim = Claim.DIFFERS
    who = Who.BROKER
    needs = BOTH_FRAMES
    cites = ("spec/003 ListOffsets API",)
    on = (("ListOffsets", RESPONSE),)
    versions = Versions(1, NO_UPPER_BOUND)
    guard = (All((Above(("timestamp",), -1), InRequest(Above(("timestamp",), 0)))),)

    def check(self, body: Body) -> Iterator[Violation]:
        """Yield times of the partitions that have an offset."""
        asked = body.other()
        wanted = _least(asked, "timestamp")
        for topic, row, at in body.partitions("topics"):
            time = wanted.get((topic.name, row.partition_index), -1)
            if not row.error_code and row.offset >= 0 and 0 <= row.timestamp < time:
                yield body.violation(f"{at}.timestamp", f"{time} or later", str(row.timestamp))


def _least(asked: Any, field: str) -> dict[tuple[str, int], int]:
    """Return the least value of a requested field for each partition, which may appear twice."""
    found: dict[tuple[str, int], int] = {}
    for topic in () if asked is None else asked.topics:
        for row in topic.partitions:
            key, value = (topic.name, row.partition_index), getattr(row, field)
            found[key] = min(value, found.get(key, value))
    return found
