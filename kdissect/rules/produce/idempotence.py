"""Rules: producer ids, epochs and sequence numbers."""

from collections.abc import Iterable, Iterator

from kdissect.history.fact import Fact
from kdissect.history.producing.producers import ProducerFact
from kdissect.model.finding import Claim, Level, Severity, Who
from kdissect.rules.guards import All, Among, Below
from kdissect.rules.kinds import BodyRule, FactRule
from kdissect.rules.rule import RESPONSE, Violation
from kdissect.rules.views.body_view import Body


class WeakAcks(FactRule):
    """An idempotent Produce must ask for acks -1.

    With less, what was acknowledged may be lost, and idempotence with it. Brokers do not refuse it.

    Example: a batch with a producer id, and acks 1.

    What to do: send acks -1.
    """

    code = "PRD003"
    name = "weak-acks"
    claim = Claim.DIFFERS
    severity = Severity.WARNING
    who = Who.CLIENT
    cites = (
        "KIP-679 Proposed Changes",
        "org.apache.kafka.clients.producer.ProducerConfig#postProcessAndValidateIdempotenceConfigs",
    )
    facts = (ProducerFact.WEAK_ACKS,)


class SequenceGap(FactRule):
    """The sequence numbers of a producer should go on without a gap.

    For each partition, within one epoch. Brokers answer OUT_OF_ORDER_SEQUENCE_NUMBER, unless they have
    forgotten the producer.

    Example: sequence 5 after a batch that ended with 2.

    What to do: number records for each partition. Raise the epoch after an error.
    """

    code = "PRD004"
    name = "sequence-gap"
    level = Level.SHOULD
    claim = Claim.REFUSED
    who = Who.CLIENT
    cites = (
        "KIP-98 Proposed Changes",
        "org.apache.kafka.storage.internals.log.ProducerAppendInfo#checkSequence",
    )
    facts = (ProducerFact.SEQUENCE_GAP, ProducerFact.SEQUENCE_BACK)
    expects = "sequence {}"
    sees = "sequence {}"


class EpochNotFromZero(FactRule):
    """A new epoch must begin with sequence number 0.

    Brokers answer OUT_OF_ORDER_SEQUENCE_NUMBER where the log of the partition has an older epoch of the
    producer. A log without one, such as that of a topic that was deleted and created again, takes any
    sequence. So the rule needs a batch of an older epoch that a broker accepted under the same topic id,
    or the broker's refusal.

    Example: epoch 1 just given after batches of epoch 0, and sequence 3.

    What to do: begin with 0 after InitProducerId.
    """

    code = "PRD005"
    name = "epoch-not-from-zero"
    claim = Claim.REFUSED
    severity = Severity.WARNING
    who = Who.CLIENT
    cites = ("org.apache.kafka.storage.internals.log.ProducerAppendInfo#checkSequence",)
    facts = (ProducerFact.EPOCH_NOT_FROM_ZERO,)
    expects = "sequence {}"
    sees = "sequence {}"


class MixedProducerFields(FactRule):
    """A batch with a producer id must have an epoch and a sequence number.

    Brokers answer INVALID_RECORD.

    Example: producer id 5 with sequence -1.

    What to do: set all three, or none.
    """

    code = "PRD006"
    name = "mixed-producer-fields"
    claim = Claim.REFUSED
    who = Who.CLIENT
    cites = ("KIP-98 Proposed Changes", "org.apache.kafka.storage.internals.log.LogValidator#validateBatch")
    facts = (ProducerFact.MIXED_FIELDS,)
    expects = "producer id, epoch and sequence, or none"
    sees = "epoch and sequence {}"


class OtherTransactionalId(FactRule):
    """A producer id must stay with the transactional id that received it.

    Brokers answer INVALID_PRODUCER_ID_MAPPING.

    Example: id 5 given for `a`, used with `b`.

    What to do: ask InitProducerId for each transactional id.
    """

    code = "PRD007"
    name = "other-transactional-id"
    claim = Claim.REFUSED
    who = Who.CLIENT
    cites = (
        "KIP-98 Proposed Changes",
        "kafka.coordinator.transaction.TransactionCoordinator#handleAddPartitionsToTransaction",
    )
    facts = (ProducerFact.OTHER_TRANSACTIONAL_ID,)


class TooManyInFlight(FactRule):
    """An idempotent producer must not have more than 5 batches of a partition in flight.

    Brokers remember the last 5 batches of a producer and partition, and take a repeated older one for a
    gap. They do not refuse the sixth.

    Example: 6 Produce requests for one partition, none answered yet.

    What to do: limit max.in.flight.requests.per.connection to 5.
    """

    code = "PRD008"
    name = "in-flight-limit"
    claim = Claim.DIFFERS
    severity = Severity.WARNING
    who = Who.CLIENT
    cites = (
        "org.apache.kafka.clients.producer.ProducerConfig#MAX_IN_FLIGHT_REQUESTS_PER_CONNECTION",
        "org.apache.kafka.storage.internals.log.ProducerStateEntry#NUM_BATCHES_TO_RETAIN",
    )
    facts = (ProducerFact.TOO_MANY_IN_FLIGHT,)
    expects = "{} batches at most"
    sees = "{} batches"


class IdNeverGiven(FactRule):
    """A producer should use the id that InitProducerId gave it.

    Reported only if the connection itself returned a different id: the answer with an id may have come on a
    connection that was not captured.

    Example: id 5 given, id 6 used.

    What to do: use the id of the last answer. Do not share ids between producers.
    """

    code = "PRD009"
    name = "producer-id-given"
    level = Level.SHOULD
    claim = Claim.DIFFERS
    severity = Severity.INFO
    who = Who.CLIENT
    cites = ("KIP-98 Proposed Changes",)
    facts = (ProducerFact.NEVER_GIVEN,)
    expects = "producer id {}, which the connection gave"
    sees = "producer id {}"


class OldEpochAppended(FactRule):
    """A leader must refuse batches of an older epoch than it has appended.

    The epoch of a producer id fences who had it before. Brokers answer INVALID_PRODUCER_EPOCH. That a
    producer still has its old epoch is no fault. A topic that was deleted and created again begins again.

    Example: a batch of epoch 4 is accepted, and later one of epoch 3.

    What to do: look at the broker's state of producers.
    """

    code = "PRD010"
    name = "old-epoch-appended"
    claim = Claim.DIFFERS
    severity = Severity.WARNING
    who = Who.BROKER
    cites = (
        "KIP-98 Proposed Changes",
        "org.apache.kafka.storage.internals.log.ProducerAppendInfo#checkProducerEpoch",
    )
    facts = (ProducerFact.OLD_EPOCH_TAKEN,)
    expects = "an error code: epoch {} was accepted"
    sees = "epoch {}, taken"

    def check(self, fact: Fact) -> Iterable[Violation]:
        """Return the violations: the request names the epoch, and the answer takes it."""
        return [fault._replace(path="", side=RESPONSE) for fault in super().check(fact)]


class OffsetGivenBefore(FactRule):
    """A new batch of a producer should receive offsets above its earlier batches'.

    Brokers accepted both with acks=all: consumers read one of them, and the other is lost. A batch that is
    sent again receives its previous offset. Inconclusive up to v12: a topic that was deleted and created
    again under its name has a new log.

    Example: base_offset 500 for a batch of two, and 500 again for the next one.

    What to do: look for an unclean election, or for a broker that lost its log.
    """

    code = "PRD012"
    name = "offset-given-before"
    level = Level.SHOULD
    claim = Claim.DIFFERS
    who = Who.BROKER
    cites = ("KIP-98 Proposed Changes", "spec/001 Writes")
    facts = (ProducerFact.OFFSET_BACK,)
    expects = "{} or more, after the previous batch"
    ids_from = 13  # KIP-516
    sees = "base offset {}"


class GivenTwice(FactRule):
    """A broker must not give a producer id twice.

    InitProducerId gives each producer an id that no producer had, in epoch 0. A producer that asks again
    for its own id gets a higher epoch. Two producers with one id and epoch overtake each other: leaders
    take the batches of one for retries of the other, and drop them. A cluster that was created again at this
    address begins again. The same request on another connection, with its correlation id and client id,
    may be the same packets captured by another tap: it is left out.

    Example: producer id 4000 in epoch 0 for two clients.

    What to do: look at the blocks of ids that the controller gave to brokers (AllocateProducerIds).
    """

    code = "PRD013"
    name = "producer-id-given-twice"
    claim = Claim.DIFFERS
    severity = Severity.WARNING
    who = Who.BROKER
    cites = (
        "KIP-98 Proposed Changes",
        "org.apache.kafka.coordinator.transaction.ProducerIdManager#generateProducerId",
    )
    facts = (ProducerFact.GIVEN_TWICE,)
    expects = "an id that was not assigned before{}"
    sees = "producer id {} in epoch 0 again"


class EpochNotRaised(FactRule):
    """InitProducerId must raise the epoch of a producer id.

    A producer that starts with a transactional id receives the id of its predecessor in a higher epoch, so
    that brokers refuse the predecessor. The rule compares responses of one connection. It skips a request
    with a producer id, which may be a retry, and a request that keeps a prepared transaction.

    Example: InitProducerId gives producer 2 in epoch 3, and later in epoch 3 again.

    What to do: look for a state of the transaction coordinator that was lost.
    """

    code = "PRD015"
    name = "producer-epoch-not-raised"
    claim = Claim.DIFFERS
    severity = Severity.WARNING
    who = Who.BROKER
    cites = ("KIP-98 Proposed Changes", "KIP-360 Proposed Changes")
    facts = (ProducerFact.NOT_RAISED,)
    expects = "an epoch above {}"
    sees = "epoch {}"


class NoProducerId(BodyRule):
    """InitProducerId must give an id and an epoch, or an error.

    -1 says that a batch has no producer: a client that takes it for an id writes without idempotence, or
    fails.

    Example: no error, and producer_id -1.

    What to do: give an id from 0 on, or the error.
    """

    code = "PRD011"
    name = "no-producer-id"
    who = Who.BROKER
    cites = ("KIP-98 Public Interfaces", "spec/003 InitProducerId API")
    on = (("InitProducerId", RESPONSE),)
    guard = (All((Among((".error_code",), frozenset({0})), Below((".producer_id", ".producer_epoch"), 0))),)

    def check(self, body: Body) -> Iterator[Violation]:
        """Yield both numbers, unless there is an error."""
        answer = body.value
        for field in ("producer_id", "producer_epoch") if not answer.error_code else ():
            if getattr(answer, field) < 0:
                yield body.violation(field, "0 or more", str(getattr(answer, field)))
                return
