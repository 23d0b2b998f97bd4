"""Laws about what a capture lacks."""

from __future__ import annotations

from kdissect.causes.evidence.evidence import Evidence
from kdissect.causes.laws.law import named
from kdissect.model.cause import FoundCause
from kdissect.report.quantities import byte_count

ABSENCES = frozenset(
    {
        "broker-closes",
        "connection-churn",
        "duplicate-writes",
        "endless-rebalances",
        "flapping-member",
        "member-crashed",
        "requests-unanswered",
        "unanswered-requests",
    }
)
"""Causes that conclude from what did not come: a response, a heartbeat, a request to leave or to join."""
_FEW = 2


def packets_were_captured(cause: FoundCause, seen: Evidence) -> str:
    """What did not come may be among the packets that are missing."""
    lost, captured = seen.lost_bytes
    if seen.is_poor:
        cut = seen.gathering.blind.facts()["cut_frames"]
        return f"{byte_count(lost)} of {byte_count(captured + lost)} were not captured, {cut} frames are cut"
    clients = named(cause, "client")
    links = [link for key, link in seen.gathering.links.items() if key.client_id in clients]
    if lost and (cause.times <= _FEW or any(link.gap_bytes for link in links)):
        return f"{byte_count(lost)} of its connections, or of others at that time, were not captured"
    return ""
