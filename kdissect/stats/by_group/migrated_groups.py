"""A group that went from the classic protocol to the consumer protocol or back (KIP-848): one group.

While it migrates, members of both protocols are in the group, and its generations and epochs are one count.
The state machines know the members of one protocol each.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from kdissect.engine.times import rfc3339
from kdissect.history.groups.classic_group import Cause, ClassicGroup
from kdissect.history.groups.modern_group import SESSION_NS, ModernGroup, ModernKind
from kdissect.model.packets.packet import NEVER_NS
from kdissect.stats.by_group.group_log import GroupLog

Facts = dict[str, Any]
# Causes in a state machine of a generation that members of the other protocol caused.
_UNEXPLAINED = frozenset({Cause.UNKNOWN, Cause.LEADER_REJOINED})


class _Seen(NamedTuple):
    """A generation as one protocol shows it: when it began, when a member first received it, its row."""

    since_ns: int
    shown_ns: int
    row: Facts

    @property
    def over_ns(self) -> int | None:
        """When all members came to it; None if that was not seen."""
        took_ns: int | None = self.row["took_ns"]
        return None if took_ns is None else self.since_ns + took_ns


def is_migrated(modern: ModernGroup) -> bool:
    """Return True if a group with this state and that of classic members went from one to the other."""
    return modern.kind is ModernKind.CONSUMER


def joined_row(
    classic: ClassicGroup, modern: ModernGroup, classic_row: Facts, modern_row: Facts, log: GroupLog
) -> Facts:
    """Return the row of a group with both protocols: the row of the last one, with all rebalances."""
    seen = [
        _Seen(one.since_ns, one.began.answered_ns, row)
        for one, row in zip(classic.rebalances, classic_row["rebalances"], strict=True)
    ]
    seen += [
        _Seen(one.since_ns, one.shown_ns, row)
        for one, row in zip(modern.rebalances, modern_row["rebalances"], strict=True)
    ]
    seen.sort(key=lambda one: one.shown_ns)
    found: list[_Seen] = []
    twice = 0
    for one in seen:
        last = found[-1] if found else None
        if last is not None and _is_same(last, one):
            found[-1] = _both(last, one)
            twice += 1
        else:
            found.append(one)
    rows: list[Facts] = []
    before_ns = NEVER_NS
    for one in found:
        rows.append(one.row | {"members": _there(log, one), "causes": _causes(one, before_ns, log, not rows)})
        before_ns = one.shown_ns
    classic_count, modern_count = (row["generation"] or 0 for row in (classic_row, modern_row))
    is_classic = modern_row["state"] == "empty" and classic_count >= modern_count
    last_row, other = (classic_row, modern_row) if is_classic else (modern_row, classic_row)
    return last_row | {
        "protocol": classic_row["protocol"] if is_classic else None,
        "generation": max(classic_count, modern_count) or None,
        "rebalances": rows,
        "rebalance_count": classic_row["rebalance_count"] + modern_row["rebalance_count"] - twice,
        "rebalancing": last_row["rebalancing"] or other["rebalancing"],
        "state": last_row["state"] if last_row["rebalancing"] or not other["rebalancing"] else other["state"],
    }


def _is_same(one: _Seen, other: _Seen) -> bool:
    """Return whether two protocols show one generation: the number may be used again much later."""
    return one.row["generation"] == other.row["generation"] and other.shown_ns - one.shown_ns < SESSION_NS


def _both(one: _Seen, other: _Seen) -> _Seen:
    """Return a generation that members of both protocols received. It is over when all have it."""
    since_ns = min(one.since_ns, other.since_ns)
    over = [end for end in (one.over_ns, other.over_ns) if end is not None]
    row = one.row | {
        "time": rfc3339(since_ns),
        "took_ns": max(over) - since_ns if len(over) == 2 else None,
        "causes": [*one.row["causes"], *other.row["causes"]],
        "reasons": one.row["reasons"] | other.row["reasons"],
    }
    return _Seen(since_ns, one.shown_ns, row)


def _there(log: GroupLog, seen: _Seen) -> int:
    """Return how many members of both protocols there were when a generation was over."""
    over_ns = seen.shown_ns if seen.over_ns is None else seen.over_ns
    return sum(
        member.joined_ns is not None
        and member.joined_ns <= over_ns
        and (member.left_ns is None or member.left_ns > over_ns)
        for member in log.members
    )


def _causes(seen: _Seen, before_ns: int, log: GroupLog, is_first: bool) -> list[Facts]:
    """Return the causes of a generation, with either protocol of the members that caused it."""
    known = [one for one in seen.row["causes"] if one["cause"] not in _UNEXPLAINED]
    if not is_first:  # the members of the other protocol are there
        known = [one | {"cause": str(_in_mixed(one["cause"]))} for one in known]
    for member in log.members:
        if member.how == "left" and before_ns < (member.left_ns or NEVER_NS) <= seen.shown_ns:
            left = {
                "cause": str(Cause.MEMBER_LEFT), "member": member.name, "member_id": member.member_id,
                "reason": member.reason or None,
            }  # fmt: skip
            if all(one["member_id"] != member.member_id for one in known):
                known.append(left)
    unknown = {"cause": str(Cause.UNKNOWN), "member": None, "member_id": None, "reason": None}
    return known or [unknown]


def _in_mixed(cause: str) -> str:
    return str(Cause.MEMBER_JOINED if cause == Cause.FIRST_MEMBER else cause)
