"""Rules: requests that change configurations, records and leaders."""

from collections.abc import Iterator

from kdissect.model.finding import Claim, Who
from kdissect.rules.kinds import BodyRule
from kdissect.rules.rule import REQUEST, Violation
from kdissect.rules.views.body_view import Body
from kdissect.schema.types import NO_UPPER_BOUND, Versions

_DELETE = 1  # alterConfigOp


class ConflictingConfig(BodyRule):
    """IncrementalAlterConfigs must name a key once, with a value unless it is deleted.

    Apache Kafka answers INVALID_REQUEST; wrong is a broker that accepts it.

    Example: `retention.ms` twice for one topic.

    What to do: refuse it.
    """

    code = "ADM010"
    name = "conflicting-config"
    claim = Claim.REFUSED
    who = Who.BROKER
    cites = (
        "KIP-339 Proposed Changes",
        "org.apache.kafka.controller.ConfigurationControlManager#incrementalAlterConfigs",
    )
    on = (("IncrementalAlterConfigs", REQUEST),)
    refusable = True

    def check(self, body: Body) -> Iterator[Violation]:
        """Yield the keys of each resource."""
        for at, resource in enumerate(body.value.resources):
            seen: set[str] = set()
            for index, config in enumerate(resource.configs):
                path = f"resources[{at}].configs[{index}]"
                if config.name in seen:
                    yield body.violation(path, "each key once", f"{config.name!r} again, accepted")
                elif config.value is None and config.config_operation != _DELETE:
                    yield body.violation(path, "a value unless deleted", f"{config.name!r} null, accepted")
                seen.add(config.name)


class OddDeleteOffset(BodyRule):
    """The offset of DeleteRecords must be -1 or more.

    -1 means the high watermark. Others below 0 are refused with OFFSET_OUT_OF_RANGE.

    Example: offset -2.

    What to do: send -1 to delete everything.
    """

    code = "ADM011"
    name = "odd-delete-offset"
    claim = Claim.REFUSED
    who = Who.CLIENT
    cites = ("spec/003 DeleteRecords API", "kafka.cluster.Partition#deleteRecordsOnLeader")
    on = (("DeleteRecords", REQUEST),)

    def check(self, body: Body) -> Iterator[Violation]:
        """Yield each partition's offset."""
        for _, partition, at in body.partitions("topics"):
            if partition.offset < -1:
                yield body.violation(f"{at}.offset", "-1 or more", str(partition.offset))


class BadElection(BodyRule):
    """The type of an election must be 0 or 1.

    Preferred or unclean. Brokers refuse other types.

    Example: election_type 2.

    What to do: send 0 or 1.
    """

    code = "ADM012"
    name = "bad-election"
    claim = Claim.REFUSED
    who = Who.CLIENT
    cites = ("org.apache.kafka.common.ElectionType#valueOf",)
    on = (("ElectLeaders", REQUEST),)
    versions = Versions(1, NO_UPPER_BOUND)
    overrides = ("BDY017", "BDY031")

    def check(self, body: Body) -> Iterator[Violation]:
        """Yield the field."""
        if body.value.election_type not in (0, 1):
            yield body.violation("election_type", "0 or 1", str(body.value.election_type))
