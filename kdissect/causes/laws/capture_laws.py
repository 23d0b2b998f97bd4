"""Laws about what a capture lacks."""

from __future__ import annotations

from kdissect.causes.cause import SECOND_NS
from kdissect.causes.evidence.evidence import Evidence
from kdissect.causes.laws.law import named
from kdissect.model.cause import FoundCause
from kdissect.report.quantities import byte_count, duration

ABSENCES = frozenset(
    {
        "broker-closes",
        "connection-churn",
        "duplicate-writes",
        "endless-rebalances",
        "flapping-member",
        "member-crashed",
        "requests-unanswered",
        "slow-network",
        "unanswered-requests",
    }
)
"""Causes that conclude from what did not come: a response, a heartbeat, a request to leave or to join.

Or, as `slow-network`, from a handshake of which a part may be missing.
"""
_FEW = 2
_PATIENCE_NS = 300 * SECOND_NS  # ten times request.timeout.ms of clients as it is unless configured


def packets_were_captured(cause: FoundCause, seen: Evidence) -> str:
    """What did not come may be among the packets that are missing."""
    lost, captured = seen.lost_bytes
    if seen.is_poor:
        cut = seen.gathering.blind.facts()["cut_frames"]
        return f"{byte_count(lost)} of {byte_count(captured + lost)} were not captured, {cut} frames are cut"
    if cause.id == "slow-network":
        return ""
    clients = named(cause, "client")
    links = [link for key, link in seen.gathering.links.items() if key.client_id in clients]
    if lost and (cause.times <= _FEW or any(link.gap_bytes for link in links)):
        return f"{byte_count(lost)} of its connections, or of others at that time, were not captured"
    return ""


def clients_wait_no_longer(cause: FoundCause, seen: Evidence) -> str:
    """No client waits that long: the clock of the capture was set, or its machine was suspended."""
    late = [at.longest_ns for key, at in seen.late() if key.broker in named(cause, "broker")]
    longest_ns = max(late, default=0)
    if longest_ns > _PATIENCE_NS:
        return f"a response came after {duration(longest_ns)}, which no client waits for"
    return ""
