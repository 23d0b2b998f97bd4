"""How long members stand still on a partition while they work on others."""

from __future__ import annotations

from typing import NamedTuple

from kdissect.causes.consumers.partition_ends import COMMITS_NS, Reading
from kdissect.causes.evidence.evidence import Evidence

_STILL_NS = 2 * COMMITS_NS  # without a commit of what it works on
_UNWORKED = 50  # records
_TIMES = 10  # as many as on partitions that go on


class Still(NamedTuple):
    """A member and a partition on which it stands still, since when and for how long.

    `records` wait there.
    """

    reading: Reading
    since_ns: int
    lasted_ns: int
    records: int


def left_out(seen: Evidence, members: list[Reading]) -> list[Still]:
    """Return the partitions that a member no longer reads, though records wait there and it reads others.

    Without commits its work on records that it was sent does not show.
    """
    found = []
    for one in members:
        if one.waiting and one.named_ns and one.moved_ns:
            since_ns = _read_ns(seen, one)
            lasted_ns = min(one.fetched_ns, one.until_ns) - since_ns
            if lasted_ns >= _STILL_NS:
                found.append(Still(one, since_ns, lasted_ns, one.waiting))
    return found


def unworked(members: list[Reading], skipped: list[Still]) -> list[Still]:
    """Return the partitions for which a member no longer commits, though it fetched many records there and
    commits for others. Those that it no longer reads either, `skipped`, are not among them.
    """
    found, unread = [], [each.reading for each in skipped]
    for one in members:
        on = [each for each in members if each.moved_ns - one.moved_ns >= _STILL_NS]
        is_many = one.unworked >= _UNWORKED and all(_TIMES * each.unworked <= one.unworked for each in on)
        if on and one.moved_ns and is_many and one not in unread:
            lasted_ns = max(each.moved_ns for each in on) - one.moved_ns
            found.append(Still(one, one.moved_ns, lasted_ns, one.unworked))
    return found


def _read_ns(seen: Evidence, one: Reading) -> int:
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
