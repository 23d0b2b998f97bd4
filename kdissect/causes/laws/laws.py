"""All laws: one table."""

from __future__ import annotations

from kdissect.causes.evidence.evidence import Evidence
from kdissect.causes.laws.capture_laws import (
    ABSENCES,
    DOUBLED,
    TIMED,
    clients_wait_no_longer,
    counts_once,
    packets_were_captured,
    sessions_last_no_longer,
    times_can_be_trusted,
)
from kdissect.causes.laws.group_laws import group_has_other_members, lost_members_were_silent
from kdissect.causes.laws.law import Law
from kdissect.causes.laws.login_laws import mechanism_is_listed
from kdissect.causes.laws.network_laws import (
    broker_sent_nothing,
    end_speaks_plaintext,
    handshake_shows_round_trip,
)
from kdissect.causes.laws.producer_laws import (
    another_producer_came,
    batches_before_were_refused,
    batches_follow,
    client_sends_sequences,
    leader_is_another,
    records_have_room,
)
from kdissect.causes.laws.topic_laws import partitions_were_there, records_come
from kdissect.causes.laws.version_laws import version_is_offered
from kdissect.model.cause import FoundCause, RefutedCause

LAWS: tuple[Law, ...] = (
    Law(
        "clock",
        "durations and order are no evidence if the times of the capture are wrong",
        TIMED,
        times_can_be_trusted,
    ),
    Law(
        "captured",
        "what did not come is no evidence if packets are missing from the capture",
        ABSENCES,
        packets_were_captured,
    ),
    Law(
        "patience",
        "no client waits five minutes for a response: a clock was set, or a machine was suspended",
        frozenset({"responses-late", "slow-broker"}),
        clients_wait_no_longer,
    ),
    Law(
        "session",
        "no session or rebalance lasts half an hour: a clock was set, or a machine was suspended",
        frozenset({"member-crashed", "endless-rebalances"}),
        sessions_last_no_longer,
    ),
    Law(
        "once",
        "what was captured on both sides of a NAT counts once",
        DOUBLED,
        counts_once,
    ),
    Law(
        "records-come",
        "a consumer falls behind only if records come while it is there",
        frozenset({"lag-slow-consumer"}),
        records_come,
    ),
    Law(
        "round-trip",
        "the handshake shows the round trip: acknowledgements of data may be delayed",
        frozenset({"slow-network"}),
        handshake_shows_round_trip,
    ),
    Law(
        "silent-broker",
        "a broker that sends responses did not stop",
        frozenset({"broker-restarted"}),
        broker_sent_nothing,
    ),
    Law(
        "version-offered",
        "a broker has the versions that it offers in its response to ApiVersions",
        frozenset({"version-refused", "version-removed-by-upgrade"}),
        version_is_offered,
    ),
    Law(
        "mechanism-offered",
        "a broker offers the SASL mechanisms that its response to SaslHandshake lists",
        frozenset({"mechanism-refused"}),
        mechanism_is_listed,
    ),
    Law(
        "other-members",
        "a member holds up others only if its group has other members",
        frozenset({"flapping-member", "rolling-restart"}),
        group_has_other_members,
    ),
    Law(
        "silent-member",
        "a member that sends heartbeats is not silent",
        frozenset({"session-timeout-too-short", "member-crashed"}),
        lost_members_were_silent,
    ),
    Law(
        "other-producer",
        "two producers use a transactional id only if the broker gave it to two",
        frozenset({"fenced-producer"}),
        another_producer_came,
    ),
    Law(
        "offsets",
        "records are there twice only if the broker processed the first ones and there are offsets for them",
        frozenset({"duplicate-writes"}),
        records_have_room,
    ),
    Law(
        "plaintext-listener",
        "a listener speaks plaintext only if it never answers with TLS",
        frozenset({"tls-to-plaintext"}),
        end_speaks_plaintext,
    ),
    Law(
        "sequences",
        "only batches with a producer id have sequences",
        frozenset({"sequence-gap"}),
        client_sends_sequences,
    ),
    Law(
        "sequence-after-taken",
        "batches that follow one that the broker took are not out of sequence",
        frozenset({"sequence-gap"}),
        batches_follow,
    ),
    Law(
        "sequence-after-refusal",
        "batches are out of sequence only if none before them was refused for another reason and sent again",
        frozenset({"sequence-gap"}),
        batches_before_were_refused,
    ),
    Law(
        "other-leader",
        "leaders moved only if another node leads afterwards",
        frozenset({"leader-moved"}),
        leader_is_another,
    ),
    Law(
        "partitions-there",
        "partitions differ by their keys only if all were there from the start",
        frozenset({"hot-partition"}),
        partitions_were_there,
    ),
)


def refuted_by(cause: FoundCause, seen: Evidence) -> RefutedCause | None:
    """Return the first law that refutes a cause, with what contradicts it; None if the cause survives."""
    for law in LAWS:
        if cause.id in law.causes and (against := law.refutes(cause, seen)):
            return RefutedCause(cause.id, cause.sentence, law.says, against)
    return None
