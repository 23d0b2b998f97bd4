"""Effects on clients and groups while a broker does not respond, which several causes have."""

EFFECTS = (
    "leader-moved",
    "unanswered-requests",
    "connection-churn",
    "fetch-session-churn",
    "session-timeout-too-short",
    "member-crashed",
    "slow-broker",
    "endless-rebalances",
    "coordinator-unavailable",
    "flapping-member",
    "duplicate-writes",
    "metadata-storm",
    "partition-offline",
    "sequence-gap",
)
"""Ids of causes."""
PARTIES = frozenset({"client", "group", "topic", "id", "broker"})
"""Kinds of parties that connect them with the broker."""
