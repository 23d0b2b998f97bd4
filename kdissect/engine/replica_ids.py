"""The replica id of a Fetch: the broker that copies partitions, or a consumer."""

from typing import Any

from kdissect.decoders.generated.values import sent

CONSUMER = -1


def replica_id(fetch: Any) -> int:
    """Return the id of the broker that sends a Fetch, or `CONSUMER`.

    From version 15 on it is in a tag, which consumers do not send (KIP-903).
    """
    state = sent(fetch, "replica_state", None)
    found: int = sent(fetch, "replica_id", CONSUMER) if state is None else state.replica_id
    return found
