"""Two causes at once: faults of one cluster that happen beside each other."""

from captures.faults.fault import two

two("slow-poll", "throttled-produce")
two("member-crashed", "message-too-large")
two("lag-slow-consumer", "metadata-storm")
two("tiny-batches", "unknown-topic")
two("login-refused", "hot-partition")
two("throttled-fetch", "connection-churn")
two("health-probe", "rolling-restart")
two("not-enough-replicas", "followers-not-used")
