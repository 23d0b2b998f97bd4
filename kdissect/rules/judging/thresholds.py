"""Numbers that a rule and the looks at usual bodies (`judging.fast_path_bodies`) have in common."""

# FET007: time for the network and quotas beyond max_wait_ms.
LATE_FETCH_SLACK_NS = 1_000_000_000
# GRP008: bytes of a committed offset's metadata, offset.metadata.max.bytes (GroupCoordinatorConfig).
METADATA_LIMIT = 4096
