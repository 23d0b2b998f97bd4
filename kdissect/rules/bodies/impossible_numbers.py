"""Rules: numbers outside what they can be."""

from kdissect.model.finding import Claim, Level, Severity, Who
from kdissect.rules.kinds import DomainRule
from kdissect.rules.rule import REQUEST, RESPONSE

_NUMBERS = frozenset(
    {
        "node", "port", "offset", "lag", "position", "epoch", "memberEpoch", "generation", "partitionEpoch",
        "producer", "sequence", "timestamp", "size", "volume", "count", "defaultCount", "position_in_list",
        "version",
    }
)  # fmt: skip


class OddReplicaId(DomainRule):
    """replica_id should not be below -2.

    -1 is a consumer, -2 a debugging consumer, 0 and more a broker that follows.

    Example: replica_id -3 in a Fetch request.

    What to do: send -1.
    """

    code = "BDY027"
    name = "odd-replica-id"
    level = Level.SHOULD
    cites = (
        "org.apache.kafka.common.requests.FetchRequest#describeReplicaId",
        "org.apache.kafka.common.requests.ListOffsetsRequest#DEBUGGING_REPLICA_ID",
    )
    meanings = frozenset({"replica"})


class ImpossibleNumber(DomainRule):
    """A number in an answer must not be outside what it can be.

    Offsets, broker ids, ports, intervals and sizes are counted from 0. A port is 65535 or less. -1 stands for
    what is not known or not there: no offset, no leader, no epoch. `kdissect/schema/domains.table` has the
    domain of each number of each response, and what Apache Kafka sends below it on purpose.

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
    meanings = _NUMBERS | {"duration"}
    side = RESPONSE


class ImpossibleNumberAsked(DomainRule):
    """A number in a request must not be outside what it can be.

    Offsets, broker ids, ports, counts and sizes are counted from 0. -1 stands for what is not known or not
    there: no producer id, no epoch, no generation. `kdissect/schema/domains.table` has the domain of each
    number of each request. Numbers of which every value has a meaning, such as a negative time of
    ExpireDelegationToken, are left out.

    Example: last_fetched_epoch -5 in a Fetch request.

    What to do: look for a number that was never set, or has more bits than its field.
    """

    code = "BDY029"
    name = "impossible-number-asked"
    claim = Claim.DIFFERS
    severity = Severity.WARNING
    who = Who.CLIENT
    cites = (
        "spec/000 Partitioning and bootstrapping",
        "org.apache.kafka.common.requests.FetchRequest#describeReplicaId",
        "org.apache.kafka.common.requests.MetadataResponse#NO_LEADER_ID",
    )
    meanings = _NUMBERS
    side = REQUEST
