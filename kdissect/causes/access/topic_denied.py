"""`topic-denied`: a client may not use a topic."""

from __future__ import annotations

from collections.abc import Hashable

from kdissect.causes.cause import ErrorCause, clients_text, quoted, times
from kdissect.causes.evidence.evidence import Errors, Evidence
from kdissect.causes.evidence.exchange_log import ErrorKey
from kdissect.causes.ledger.symptom import errors as errors_of
from kdissect.history import api_keys as apis
from kdissect.model.cause import Severity
from kdissect.schema.protocol_messages import api_name

# org.apache.kafka.common.protocol.Errors
_TOPIC_AUTHORIZATION_FAILED, _CLUSTER_AUTHORIZATION_FAILED = 29, 31
# Operations that a request needs on a topic (kafka.server.KafkaApis). All other requests that name topics
# describe them.
_OPERATIONS = {
    "Write": frozenset({apis.PRODUCE, apis.ADD_PARTITIONS_TO_TXN}),
    "Read": frozenset({apis.FETCH, apis.OFFSET_COMMIT, apis.TXN_OFFSET_COMMIT, apis.SHARE_FETCH,
                       apis.SHARE_ACKNOWLEDGE}),
    "Create": frozenset({19}), "Delete": frozenset({20, 21}), "Alter": frozenset({37}),
    "DescribeConfigs": frozenset({32}), "AlterConfigs": frozenset({33, 44}),
}  # fmt: skip
# A client that requests a producer id will write. A client that looks for a coordinator, and does not write,
# will read.
_OF_PRODUCERS = frozenset({apis.PRODUCE, apis.INIT_PRODUCER_ID})
_OF_CONSUMERS = frozenset({apis.FETCH, apis.FIND_COORDINATOR, apis.SHARE_FETCH})


class TopicDenied(ErrorCause):
    """Errors of authorization about topics."""

    id = "topic-denied"
    title = "A client may not use a topic"
    severity = Severity.STOPS
    codes = frozenset({_TOPIC_AUTHORIZATION_FAILED})
    help = (
        "Give the user the operation on the topic (kafka-acls.sh --add --allow-principal User:NAME"
        " --operation OPERATION --topic TOPIC), or have the client use a topic that it may. Read and Write"
        " include Describe. A rule that denies has precedence."
    )
    cites = (
        "org.apache.kafka.common.protocol.Errors#TOPIC_AUTHORIZATION_FAILED",
        "org.apache.kafka.common.acl.AclOperation#WRITE",
        "KIP-290 Motivation",
    )
    # A producer that may write to no topic gets no producer id either (KIP-679).
    claims = (errors_of({_CLUSTER_AUTHORIZATION_FAILED}, {apis.INIT_PRODUCER_ID}),)

    def alike(self, key: ErrorKey) -> Hashable:
        """Return all topics that a client is refused."""
        return key.client

    def sentence(self, errors: Errors) -> str:
        """Return who, and which topics."""
        topics = errors.names("topic")
        named = f"topic {quoted(topics)}" if len(topics) == 1 else f"topics {quoted(topics)}"
        return (
            f"{clients_text(errors.clients)} was refused {times(errors.seen.times)}: it may not use {named}."
        )

    def more(self, errors: Errors, seen: Evidence) -> str:
        """Return the least permission: that of the requests, or of what the client is about to do."""
        which = "the topic" if len(errors.names("topic")) == 1 else "these topics"
        asked = {key.api_key for key in errors.keys}
        needs = [name for name, keys in _OPERATIONS.items() if keys & asked]
        if needs:
            return f"The least permission for these requests is {' and '.join(needs)} on {which}."
        if _sends(seen, errors, _OF_PRODUCERS):
            return f"The least permission for a producer is Write on {which}."
        if _sends(seen, errors, _OF_CONSUMERS):
            return f"The least permission for a consumer is Read on {which}."
        return f"The least permission for these requests is Describe on {which}; Read and Write include it."


def _sends(seen: Evidence, errors: Errors, api_keys: frozenset[int]) -> bool:
    """Return whether one of the clients sent requests of these APIs."""
    sent = {(api_name(key), one.client_id or "", one.address) for key in api_keys for one in errors.clients}
    return any(key[:3] in sent for key, _ in seen.background)
