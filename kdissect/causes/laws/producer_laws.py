"""Laws about producers and leaders."""

from __future__ import annotations

from kdissect.causes.cause import times
from kdissect.causes.evidence.evidence import Evidence
from kdissect.causes.laws.law import named
from kdissect.causes.producers.fenced_producer import users
from kdissect.causes.producers.transaction_timeout import overdue
from kdissect.model.cause import FoundCause

_PRODUCER_FENCED = 90  # org.apache.kafka.common.protocol.Errors


def another_producer_came(cause: FoundCause, seen: Evidence) -> str:
    """Two producers use an id only if it was given to two. A producer is fenced after a timeout, too."""
    ids = named(cause, "id")
    for row in seen.producers["transactional_ids"]:
        if row["transactional_id"] in ids and overdue(row, cause.since_ns) is not None:
            return (
                f"transactional id '{row['transactional_id']}' was given to one producer, whose"
                " transaction was open for longer than its timeout"
            )
    fenced = {key.txn for key, _ in seen.gathering.log.errors.items() if key.code == _PRODUCER_FENCED}
    rows = [row for row in seen.producers["transactional_ids"] if row["transactional_id"] in ids - fenced]
    for row in rows:
        if row["taken"] <= 1 and len(users(row)) <= 1 and len(rows) == len(ids):
            return (
                f"transactional id '{row['transactional_id']}' was given to one producer:"
                " the epoch that it sends is not the one that it received last"
            )
    return ""


def leader_is_another(cause: FoundCause, seen: Evidence) -> str:
    """Leaders moved only if another node leads afterwards."""
    topics = named(cause, "topic")
    leaders: dict[tuple[object, ...], set[int]] = {}
    later = False
    for known in seen.facts("LeaderFact.learned", "LeaderFact.changed"):
        fact = known.fact
        if fact.key[1] not in topics:
            continue
        later |= fact.evidence.answered_ns >= cause.since_ns
        if fact.seen[0] >= 0:
            leaders.setdefault(fact.key, set()).add(fact.seen[0])
    if not later or not leaders or any(len(nodes) > 1 for nodes in leaders.values()):
        return ""
    nodes = sorted(set().union(*leaders.values()))
    return f"no other node leads afterwards than before: node {', '.join(map(str, nodes))}"


def records_have_room(cause: FoundCause, seen: Evidence) -> str:
    """Records are there twice only if there are offsets for the first ones."""
    clients, topics = named(cause, "client"), named(cause, "topic")
    retries = [
        one
        for one in seen.gathering.resends.retries
        if one.client.client_id in clients and one.topic in topics
    ]
    if retries and all(one.has_no_room for one in retries):
        return (
            f"the response to each second attempt ({times(len(retries))}) has the next offset after all that"
            " was confirmed before the first attempt"
        )
    return ""


def client_sends_sequences(cause: FoundCause, seen: Evidence) -> str:
    """A batch without a producer id has no sequence: what the broker answers is no gap."""
    senders = {name for row in seen.producers["producers"] for name in row["client_ids"]}
    writers = {writer["client_id"] for row in seen.topics for writer in row["writers"] if writer["records"]}
    if not seen.is_poor and named(cause, "client") & writers and not named(cause, "client") & senders:
        return "no batch of the client has a producer id"
    return ""
