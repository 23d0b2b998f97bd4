"""Laws about what a capture lacks."""

from __future__ import annotations

from kdissect.causes.cause import SECOND_NS
from kdissect.causes.consumers.fetch_session_churn import LEAST as CHURN_LEAST
from kdissect.causes.evidence.evidence import Evidence
from kdissect.causes.laws.law import named
from kdissect.causes.producers.leader_moved import LEAST as MOVED_LEAST
from kdissect.causes.time.slow_broker import LEAST as SLOW_LEAST
from kdissect.causes.time.slow_broker import SUM_NS as SLOW_SUM_NS
from kdissect.model.cause import Certainty, FoundCause
from kdissect.model.wording import plural
from kdissect.report.quantities import byte_count, duration

ABSENCES = frozenset(
    {
        "broker-closes",
        "connection-churn",
        "coordinator-unavailable",
        "duplicate-writes",
        "endless-rebalances",
        "flapping-member",
        "member-crashed",
        "offset-rewound",
        "offsets-set-by-tool",
        "records-dropped",
        "requests-unanswered",
        "slow-network",
        "tls-handshake-failed",
        "unanswered-requests",
        "version-refused",
    }
)
"""Causes that conclude from what did not come: a response, a heartbeat, a request to leave or to join.

Or from what came, if it came first: `_WHEN_POOR`.
"""
_WHEN_POOR = frozenset({"offset-rewound", "slow-network", "tls-handshake-failed", "version-refused"})
TIMED = frozenset(
    {
        "broker-closes",
        "broker-restarted",
        "commit-storm",
        "connection-churn",
        "coordinator-unavailable",
        "duplicate-writes",
        "endless-rebalances",
        "fetch-session-churn",
        "flapping-member",
        "hanging-transaction",
        "idle-connection-reset",
        "lag-slow-consumer",
        "lossy-network",
        "member-crashed",
        "metadata-storm",
        "offset-not-passed",
        "offset-rewound",
        "offsets-deleted",
        "offsets-set-by-tool",
        "partition-offline",
        "partitions-not-released",
        "records-dropped",
        "requests-unanswered",
        "responses-late",
        "rolling-restart",
        "session-expired",
        "session-timeout-too-short",
        "slow-broker",
        "slow-client",
        "slow-network",
        "slow-poll",
        "spinning-consumer",
        "stalled-broker",
        "stuck-consumer",
        "tiny-batches",
        "tls-handshake-failed",
        "transaction-timeout",
        "unanswered-requests",
        "unknown-topic",
        "unreadable-bytes",
        "version-refused",
        "version-removed-by-upgrade",
    }
)
"""Causes that conclude from durations, or from the order of connections or requests."""
_SAID = frozenset({"slow-poll", "tls-handshake-failed"})
"""Those that one end names itself, if they are sure."""
_SHORT = frozenset({"slow-network", "unreadable-bytes"})
"""Those that conclude from milliseconds, or from the packet order of one connection."""
# Errors that are normal for a while: this number takes 5 and 10 s, because clients try again after 100 ms
# (org.apache.kafka.clients.CommonClientConfigs#RETRY_BACKOFF_MS_CONFIG).
_AT_LEAST = {"unknown-topic": 50, "coordinator-unavailable": 100}
_FEW = 2
_SESSION_NS = 1_800 * SECOND_NS  # group.max.session.timeout.ms of brokers as it is unless configured
_LEAST = {
    "fetch-session-churn": (CHURN_LEAST, 0),
    "leader-moved": (MOVED_LEAST, 0),
    "slow-broker": (SLOW_LEAST, SLOW_SUM_NS),
}
DOUBLED = frozenset(_LEAST)
"""Causes that begin at a number of occurrences."""
_PATIENCE_NS = 300 * SECOND_NS  # ten times request.timeout.ms of clients as it is unless configured


def packets_were_captured(cause: FoundCause, seen: Evidence) -> str:
    """Return the objection that the missing packets may contain the expected ones."""
    if cause.id == "tls-handshake-failed" and cause.certainty is Certainty.SURE:
        return ""  # one end says why
    lost, captured = seen.lost_bytes
    if cause.id == "coordinator-unavailable":
        return ""
    if seen.is_lossy or seen.is_cut:
        cut = plural(seen.gathering.blind.facts()["cut_frames"], "frame")
        return f"{byte_count(lost)} of {byte_count(captured + lost)} were not captured, {cut} cut"
    if cause.id in _WHEN_POOR:
        return ""
    clients = named(cause, "client")
    links = [link for key, link in seen.gathering.links.items() if key.client_id in clients]
    if lost and (cause.times <= _FEW or any(link.gap_bytes for link in links)):
        return f"{byte_count(lost)} of its connections, or of others at that time, were not captured"
    return ""


def times_can_be_trusted(cause: FoundCause, seen: Evidence) -> str:
    """Object if the times of the capture are wrong: then neither durations nor an order are evidence."""
    clock, late_ns = seen.gathering.clock, seen.gathering.clock.disorder_ns
    if late_ns and cause.id in _SHORT:
        return f"packets stand up to {duration(late_ns)} after their acknowledgments"
    if cause.id == "unreadable-bytes":
        return ""
    if cause.certainty is Certainty.SURE and cause.id in _SAID:
        return ""
    return "" if cause.times >= _AT_LEAST.get(cause.id, cause.times + 1) else clock.flaw


def sessions_last_no_longer(cause: FoundCause, seen: Evidence) -> str:
    """Object to longer absences: a coordinator removes a member when its session is over, half an hour at
    most unless configured.
    """
    lasted_ns = cause.until_ns - cause.since_ns
    if lasted_ns > _SESSION_NS:
        return f"that lasts {duration(lasted_ns)}, longer than brokers let a session or rebalance last"
    return ""


def counts_once(cause: FoundCause, seen: Evidence) -> str:
    """Return the objection that taps on both sides of a NAT capture packets twice."""
    times, time_ns = _LEAST[cause.id]
    if seen.is_doubled and (cause.times < 2 * times or cause.cost.time_ns < 2 * time_ns):
        return "most connections were captured twice, with two addresses of their clients"
    return ""


def clients_wait_no_longer(cause: FoundCause, seen: Evidence) -> str:
    """Object to waits that no client makes: the clock of the capture was set, or its machine was
    suspended.
    """
    late = [at.longest_ns for key, at in seen.late if key.broker in named(cause, "broker")]
    longest_ns = max(late, default=0)
    if longest_ns > _PATIENCE_NS:
        return f"a response came after {duration(longest_ns)}, which no client waits for"
    return ""
