"""What clients and groups go through while a broker does not respond: effects of several causes."""

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
    "sequence-gap",
)
"""Ids of causes."""
PARTIES = frozenset({"client", "group", "topic", "id", "broker"})
"""Kinds of parties that connect them with the broker."""
