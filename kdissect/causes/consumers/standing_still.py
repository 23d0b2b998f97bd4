"""How long members stand still on a partition while they work on others."""

from __future__ import annotations

from kdissect.causes.consumers.partition_ends import COMMITS_NS, Reading
from kdissect.causes.evidence.evidence import Evidence

_STILL_NS = 2 * COMMITS_NS  # without a commit of what it works on
_UNWORKED = 50  # records
_TIMES = 10  # as many as on partitions that go on


def read_ns(seen: Evidence, one: Reading) -> int:
    """Return when a member read a partition last, as far as requests show it.

    A Fetch session asks for partitions that its requests do not name (KIP-227): it still had this one when
    the last record was written, unless more responses came since then.
    """
    has_sessions = any(
        row["incremental"] and (row["client_id"], row["address"]) == (one.client_id, one.address)
        for row in seen.fetchers
    )
    written_ns = one.written.time_ns if one.written is not None and has_sessions else 0
    return max(one.named_ns, one.moved_ns, one.joined_ns, written_ns)


def left_out_ns(seen: Evidence, one: Reading) -> int:
    """Return how long a member read other partitions only, though records wait in this one; 0 if it did
    not. Without commits its work on records that it was sent does not show.
    """
    if not (one.waiting and one.named_ns and one.moved_ns):
        return 0
    lasted_ns = min(one.fetched_ns, one.until_ns) - read_ns(seen, one)
    return lasted_ns if lasted_ns >= _STILL_NS else 0


def unworked_ns(one: Reading, members: list[Reading]) -> int:
    """Return how long a member committed only for other partitions, though it fetched many records of this
    one; 0 if it did not.
    """
    if not one.moved_ns or one.unworked < _UNWORKED:
        return 0
    on = [each for each in members if each.moved_ns - one.moved_ns >= _STILL_NS]
    if not on or any(_TIMES * each.unworked > one.unworked for each in on):
        return 0
    return max(each.moved_ns for each in on) - one.moved_ns
