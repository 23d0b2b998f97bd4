"""`partition-offline`: a partition has no leader for seconds, so that nobody can write or read it."""

from __future__ import annotations

from collections.abc import Iterable

from kdissect.causes.cause import SECOND_NS, ErrorCause, clients_text, joined
from kdissect.causes.evidence.evidence import Errors, Evidence
from kdissect.causes.evidence.offline_partitions import LEADER_NOT_AVAILABLE, Offline
from kdissect.model.cause import Severity
from kdissect.report.quantities import duration

_LEAST_NS = 5 * SECOND_NS  # a new topic, or an election, takes less


class PartitionOffline(ErrorCause):
    """Partitions that Metadata responses name without a leader."""

    id = "partition-offline"
    title = "A partition has no leader"
    severity = Severity.STOPS
    codes = frozenset({LEADER_NOT_AVAILABLE})
    help = (
        "Bring back the node, or the log directory, that has the offline replica (kafka-topics.sh --describe"
        " --unavailable-partitions, kafka-log-dirs.sh --describe). With one replica no other node can lead."
        " unclean.leader.election.enable lets replicas lead that are not in sync, and loses records."
    )
    cites = (
        "org.apache.kafka.common.protocol.Errors#LEADER_NOT_AVAILABLE",
        "org.apache.kafka.common.config.TopicConfig#UNCLEAN_LEADER_ELECTION_ENABLE_CONFIG",
    )
    explains = (
        "records-dropped",
        "leader-moved",
        "lag-slow-consumer",
        "metadata-storm",
        "not-enough-replicas",
        "stuck-consumer",
    )
    explains_by = frozenset({"client", "group", "topic"})

    def holds(self, errors: Errors, seen: Evidence) -> bool:
        """Return whether a partition of the topic had no leader for long enough."""
        return bool(_offline(errors, seen))

    def sentence(self, errors: Errors) -> str:
        """Return the clients; `more` has the partitions."""
        return (
            f"Responses to Metadata of {clients_text(errors.clients)} name a partition without a leader,"
            " which cannot be written or read."
        )

    def more(self, errors: Errors, seen: Evidence) -> str:
        """Return the partitions, for how long, and why no other replica leads."""
        found = _offline(errors, seen)
        longest_ns = max(one.longest_ns for one in found.values())
        reasons = dict.fromkeys(_reason(one) for one in found.values())
        return (
            f"{joined(list(found))} had no leader for {duration(longest_ns)}."
            f" {' '.join(filter(None, reasons))}"
        ).rstrip()


def _offline(errors: Errors, seen: Evidence) -> dict[str, Offline]:
    """Return the partitions of a topic that had no leader for long enough, by their names."""
    places = {(key.scope, key.topic) for key in errors.keys}
    return {
        f"'{key.topic}' partition {key.partition}": one
        for key, one in sorted(seen.gathering.offline.found.items(), key=lambda item: item[0])
        if (key.scope, key.topic) in places and one.longest_ns >= _LEAST_NS
    }


def _reason(one: Offline) -> str:
    parts = []
    if failed := one.offline - one.down:
        parts.append(
            f"The replica on {_nodes(failed)} is offline although the responses list the node as a broker:"
            " its log directory failed."
        )
    if one.down:
        parts.append(f"The replica on {_nodes(one.down)} is offline, and the responses do not list the node.")
    if one.behind:
        parts.append(f"Replicas on {_nodes(one.behind)} may not lead, because they are not in sync.")
    return " ".join(parts)


def _nodes(ids: Iterable[int]) -> str:
    found = [str(each) for each in sorted(ids)]
    return f"node{'s' * (len(found) > 1)} {joined(found)}"
