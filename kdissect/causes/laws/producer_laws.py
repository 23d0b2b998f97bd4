"""Laws about producers and leaders."""

from __future__ import annotations

from typing import Any

from kdissect.causes.cause import joined, times
from kdissect.causes.evidence.evidence import Evidence
from kdissect.causes.laws.law import named
from kdissect.causes.producers.fenced_producer import users
from kdissect.causes.producers.sequence_gap import SequenceGap
from kdissect.causes.producers.transaction_timeout import overdue
from kdissect.history.producing.producers import FOLLOWS_TAKEN
from kdissect.model.cause import FoundCause
from kdissect.schema.error_codes import error_name

_PRODUCER_FENCED = 90  # org.apache.kafka.common.protocol.Errors
_OUT_OF_SEQUENCE = frozenset(map(error_name, SequenceGap.codes))
_TOGETHER_NS = 5_000_000_000  # batches of one partition that were in flight together


def another_producer_came(cause: FoundCause, seen: Evidence) -> str:
    """Return the objection that two producers use an id only if brokers assigned it to two.

    A producer is fenced after a timeout, too.
    """
    ids = named(cause, "id")
    for row in seen.producers["transactional_ids"]:
        if row["transactional_id"] in ids and overdue(row, cause.since_ns) is not None:
            return (
                f"transactional id '{row['transactional_id']}' belongs to one producer, whose"
                " transaction was open for longer than its timeout"
            )
    fenced = {key.txn for key, _ in seen.gathering.log.errors.items() if key.code == _PRODUCER_FENCED}
    rows = [row for row in seen.producers["transactional_ids"] if row["transactional_id"] in ids - fenced]
    for row in rows:
        if row["taken"] <= 1 and len(users(row)) <= 1 and len(rows) == len(ids):
            return (
                f"transactional id '{row['transactional_id']}' belongs to one producer: the epoch that "
                "it sends is not the one that it received last"
            )
    return ""


def leader_is_another(cause: FoundCause, seen: Evidence) -> str:
    """Object unless another node leads afterwards: else the leaders did not move."""
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
    """Return the objection that records exist twice only if the broker could write the first ones."""
    clients, topics = named(cause, "client"), named(cause, "topic")
    retries = [
        one
        for one in seen.gathering.resends.retries
        if one.client.client_id in clients and one.topic in topics
    ]
    if not retries or not all(map(seen.is_excluded, retries)):
        return ""
    late = sum(map(seen.is_too_late, retries))
    reasons = []
    if late:
        reasons.append(
            f"the broker closed the connection at the first attempt ({times(late)}) because the SASL session"
            " had ended, and does not process such a request"
        )
    if late < len(retries):
        reasons.append(
            f"the response to each second attempt ({times(len(retries) - late)}) has the next offset after"
            " all that was confirmed before the first attempt"
        )
    return "; ".join(reasons)


def batches_follow(cause: FoundCause, seen: Evidence) -> str:
    """Object if the next batch has the next sequence: the producer left no gap, the broker lost its state."""
    clients = named(cause, "client")
    refused = [
        known.fact
        for known in seen.facts("ProducerFact.refused")
        if known.fact.seen in SequenceGap.codes and known.client and known.client.client_id in clients
    ]
    if not refused or len(refused) < cause.times or any(one.detail != FOLLOWS_TAKEN for one in refused):
        return ""
    return f"each refused batch ({times(len(refused))}) follows one that the broker took"


def batches_before_were_refused(cause: FoundCause, seen: Evidence) -> str:
    """Object if an earlier batch was refused: batches that were sent together are refused together, also
    those after a refused batch.

    KIP-98: a broker accepts the next sequence of a partition only. The client sends all of them again.
    """
    clients = named(cause, "client")
    rows = [row for row in seen.producers["producers"] if clients & set(row["client_ids"])]
    reasons: set[str] = set()
    for row in rows:
        if sum(row["event_counts"].values()) > len(row["events"]):
            return ""  # not all are stored
        for at, event in enumerate(row["events"]):
            if event["what"] != "refused" or event["seen"] not in _OUT_OF_SEQUENCE:
                continue
            before = _refused_before(row["events"][:at], event)
            is_sent_again = any(
                later["what"] == "retried" and later["where"] == event["where"]
                for later in row["events"][at + 1 :]
            )
            if not before or not is_sent_again:
                return ""
            reasons.add(before)
    if not reasons:
        return ""
    return f"batches before were refused with {joined(sorted(reasons))}, and the client sent them again"


def _refused_before(events: list[dict[str, Any]], event: dict[str, Any]) -> str:
    """Return the error of an earlier batch for the same partition, which was refused for another reason just
    before.
    """
    for before in reversed(events):
        if event["time_ns"] - before["time_ns"] > _TOGETHER_NS:
            break
        is_same = before["what"] == "refused" and before["where"] == event["where"]
        if is_same and before["seen"] not in _OUT_OF_SEQUENCE:
            return str(before["seen"])
    return ""


def client_sends_sequences(cause: FoundCause, seen: Evidence) -> str:
    """Object if the client's batches have no producer id, hence no sequence: the broker's answer is
    no gap.
    """
    senders = {name for row in seen.producers["producers"] for name in row["client_ids"]}
    writers = {writer["client_id"] for row in seen.topics for writer in row["writers"] if writer["records"]}
    if not seen.is_poor and named(cause, "client") & writers and not named(cause, "client") & senders:
        return "no batch of the client has a producer id"
    return ""
