"""`producer-forgotten`: a broker refuses the next batch of a producer although the one before was taken."""

from __future__ import annotations

from collections.abc import Iterator

from kdissect.causes.cause import Cause, clients_text, quoted, times
from kdissect.causes.evidence.evidence import Evidence, refusals
from kdissect.causes.ledger.symptom import errors
from kdissect.history.api_keys import PRODUCE
from kdissect.history.producing.producers import FOLLOWS_TAKEN, STATE_LOST
from kdissect.model.cause import Cost, FoundCause, Party, Severity
from kdissect.schema.error_codes import error_name


class ProducerForgotten(Cause):
    """Batches in sequence that a broker refuses for their sequence."""

    id = "producer-forgotten"
    title = "A broker no longer knows a producer"
    severity = Severity.DATA
    help = (
        "Raise producer.id.expiration.ms and transactional.id.expiration.ms of the brokers above the longest"
        " time that the producer is idle. See also whether its records were deleted, or a leader was elected"
        " that does not have them (unclean.leader.election.enable). A Java client of 2.5 or later goes on"
        " with a new epoch; other clients may have to be started again."
    )
    cites = (
        "KIP-360 Motivation",
        "org.apache.kafka.common.protocol.Errors#OUT_OF_ORDER_SEQUENCE_NUMBER",
    )
    claims = (errors(STATE_LOST, {PRODUCE}),)
    explains = ("sequence-gap",)
    explains_by = frozenset({"client"})

    def find(self, seen: Evidence) -> Iterator[FoundCause]:
        """Each broker and client."""
        known = [one for one in seen.facts("ProducerFact.refused") if one.fact.detail == FOLLOWS_TAKEN]
        clients = {id(one.fact): one.client for one in known}
        for found in refusals(known, lambda fact: clients[id(fact)]):
            refused = seen.errors(STATE_LOST, {PRODUCE})
            of_client = [one for one in refused if set(one.clients) & set(found.clients)]
            topics = list(dict.fromkeys(name for one in of_client for name in one.names("topic")))
            names = " or ".join(dict.fromkeys(error_name(fact.seen) for fact in found.facts))
            yield self.found(
                f"{found.broker} refused batches of {clients_text(found.clients)} for {quoted(topics)}"
                f" {times(found.seen.times)} with {names}, although they follow batches that brokers took: it"
                " does not have that state of the producer.",
                clients_text(found.clients),
                found.parties | {Party("topic", topic) for topic in topics},
                found.seen,
                Cost(errors=found.seen.times, retries=found.seen.times),
                "producers {files} --table events",
            )
