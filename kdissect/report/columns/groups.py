"""The tables of groups: the groups, their members, rebalances and partitions."""

from collections import Counter
from typing import Any

from kdissect.report.cells import (
    Cell,
    TableColumn,
    cluster_column,
    name_column,
    number_column,
    text_column,
    time_column,
)
from kdissect.report.printable import printable
from kdissect.report.quantities import duration

Facts = dict[str, Any]
# Reasons that say no more than the rebalance itself; JSON has them
# (org.apache.kafka.clients.consumer.internals.AbstractCoordinator, KIP-394).
_ROUTINE = ("need to re-join with the given member-id", "group is already rebalancing")
_OPEN = ("joined", "gave_up", "waiting_for", "revoking")  # of a rebalance that is not over
_TOLD_TO_JOIN = ("Heartbeat", "REBALANCE_IN_PROGRESS")


def rows_of(groups: list[Facts], field: str) -> list[Facts]:
    """Return the rows of all groups. Facts that a converted group has in common appear once."""
    shown: set[tuple[str, str | None]] = set()
    rows = []
    for group in groups:
        identity = group["group"], group.get("cluster")
        if field == "rebalances" or identity not in shown:
            shown.add(identity)
            found = _rebalance_rows(group) if field == "rebalances" else group[field]
            rows += [row | _named(group) for row in found]
    return rows


def _named(group: Facts) -> Facts:
    """Return the columns that the rows of a group have in common."""
    return {name: group[name] for name in ("cluster", "group", "kind") if name in group}


def _rebalance_rows(group: Facts) -> list[Facts]:
    """Return the rebalances of a group, the current one after those that led to a generation."""
    open_one = group["rebalancing"]
    rows = list(group["rebalances"])
    if open_one is None:
        return rows
    if open_one["generation"] is None:
        return [*rows, open_one | {"took_ns": None, "members": len(open_one["joined"]), "reasons": {}}]
    if rows and rows[-1]["generation"] == open_one["generation"]:
        rows[-1] = rows[-1] | {name: open_one[name] for name in _OPEN}
    return rows


def group_name_columns() -> list[TableColumn]:
    """Return the name of a group, and its cluster if the captures have several."""
    return [name_column("group", "group"), cluster_column()]


def group_columns() -> list[TableColumn]:
    """Return a row for each kind a group has been."""
    return [
        *group_name_columns(),
        text_column("kind", "kind"),
        text_column("protocol", "protocol", rank=2),
        TableColumn("state", _state),
        number_column("generation", "generation", rank=1),
        TableColumn("members", _members, right=True),
        TableColumn("rebalances", lambda row: Cell(str(row["rebalance_count"] or "")), right=True),
        number_column("lag", "lag"),
        text_column("coordinator", "coordinator", rank=2),
        TableColumn("named by", _named_by, rank=1),
        TableColumn("errors", _errors),
        TableColumn("denied to", _denied),
    ]


def member_columns() -> list[TableColumn]:
    """Return the columns of present and former members of a group."""
    return [
        *group_name_columns(),
        text_column("member", "member_id"),
        name_column("client id", "client_id"),
        text_column("instance", "instance_id"),
        text_column("principal", "principal"),
        text_column("address", "address", rank=2),
        time_column("joined", "joined", rank=1, of_day=True),
        number_column("epoch", "epoch", rank=1),
        TableColumn("gone", _gone),
        time_column("gone at", "gone_at", rank=2, of_day=True),
        TableColumn("heartbeats", lambda row: Cell(str(row["heartbeats"] or "")), rank=1, right=True),
        TableColumn("longest gap", _gap, rank=1, right=True),
        TableColumn("assigned", lambda row: Cell(printable(", ".join(row["assigned"] or ())))),
    ]


def rebalance_columns() -> list[TableColumn]:
    """Return when, which generation came of it, why."""
    return [
        *group_name_columns(),
        text_column("kind", "kind", rank=3),
        time_column("time", "time"),
        number_column("generation", "generation"),
        number_column("members", "members"),
        TableColumn("took", _took, right=True),
        TableColumn("because", _because),
    ]


def failure_rows(groups: list[Facts]) -> list[Facts]:
    """Return failures, except heartbeats that asked members to join again, which are among the rebalances."""
    return [row for row in rows_of(groups, "failures") if (row["api"], row["error"]) != _TOLD_TO_JOIN]


def failure_columns() -> list[TableColumn]:
    """Return the columns of members' failed requests, with their frequency."""
    return [
        *group_name_columns(),
        name_column("client id", "client_id"),
        text_column("address", "address", rank=2),
        text_column("api", "api"),
        TableColumn("error", lambda row: Cell(row["error"], "bad")),
        *_rhythm(),
    ]


def _rhythm() -> list[TableColumn]:
    """Return how often, from when to when."""
    return [
        number_column("count", "count"),
        time_column("first", "first", of_day=True),
        time_column("last", "last", of_day=True),
        TableColumn(
            "every",
            lambda row: Cell("" if row["every_ns"] is None else duration(row["every_ns"])),
            right=True,
        ),
    ]


def rejoin_columns() -> list[TableColumn]:
    """Return the columns of members that left and joined again, with their frequency."""
    return [
        *group_name_columns(),
        name_column("client id", "client_id"),
        text_column("address", "address", rank=2),
        TableColumn("after it", _after),
        *_rhythm(),
    ]


def _after(row: Facts) -> Cell:
    what = "was replaced" if row["after"] == "replaced" else row["after"]
    return Cell(printable(what + (f" ({row['reason']})" if row["reason"] else "")), "odd")


def partition_columns() -> list[TableColumn]:
    """Return the columns of partitions, their members and their positions."""
    return [
        *group_name_columns(),
        name_column("topic", "topic"),
        number_column("partition", "partition"),
        text_column("member", "member"),
        number_column("fetch offset", "fetch_offset", rank=1),
        number_column("high watermark", "high_watermark", rank=2),
        number_column("lag", "lag"),
        number_column("committed", "committed"),
        number_column("committed lag", "committed_lag"),
    ]


def _state(row: Facts) -> Cell:
    styles = dict.fromkeys(("rebalancing", "reconciling", "syncing", "unassigned"), "odd")
    style = (styles | {"join unanswered": "bad", "stable": "good"}).get(row["state"], "")
    return Cell(row["state"], style)


def _members(row: Facts) -> Cell:
    there = sum(member["gone"] is None for member in row["members"])
    gone = len(row["members"]) - there
    return Cell(f"{there} ({gone} gone)" if gone else str(there) if there else "")


def _named_by(row: Facts) -> Cell:
    if row["kind"] is not None:
        return Cell("")
    apis: dict[str, list[str]] = {}
    for named in row["named_by"]:
        apis.setdefault(named["client_id"] or "-", []).append(named["api"])
    return Cell(printable(", ".join(f"{client} ({' '.join(held)})" for client, held in apis.items())))


def _errors(row: Facts) -> Cell:
    return Cell(", ".join(f"{name} {count}" for name, count in row["errors"].items()), "bad")


def _denied(row: Facts) -> Cell:
    names = dict.fromkeys(denied["principal"] or denied["client_id"] or "-" for denied in row["denied"])
    return Cell(printable(", ".join(names)), "bad")


def _gone(row: Facts) -> Cell:
    if row["gone"] is None:
        return Cell("")
    reason = f" ({row['reason']})" if row["reason"] else ""
    style = "" if row["gone"] == "left" else "bad"
    return Cell(printable(f"{row['gone']}{reason}"), style)


def _gap(row: Facts) -> Cell:
    gaps = row["heartbeat_gap_ns"]
    return Cell("" if gaps is None else duration(gaps["max"]))


def _took(row: Facts) -> Cell:
    if "waiting_for" in row:
        return Cell("not over", "odd")
    return Cell("" if row["took_ns"] is None else duration(row["took_ns"]))


def _because(row: Facts) -> Cell:
    """`member left c-1 (the consumer is being closed), member joined c-2 x 3; c-3 says: ...`."""
    named = Counter(
        f"{cause['cause'].replace('_', ' ')} {cause['member'] or ''}".strip()
        + (f" ({cause['reason']})" if cause["reason"] else "")
        for cause in row["causes"]
    )
    causes = ", ".join(what if count == 1 else f"{what} x {count}" for what, count in named.items())
    says = "; ".join(
        f"{member} says: {reason}"
        for member, reason in row["reasons"].items()
        if not reason.startswith(_ROUTINE)
    )
    return Cell(printable("; ".join(part for part in (causes, says, *_under_way(row)) if part)))


def _under_way(row: Facts) -> list[str]:
    """Of a rebalance that has not ended: who has joined, who gave up, who is waited for."""
    if "waiting_for" not in row:
        return []
    parts = []
    if row["joined"]:
        parts.append(f"joined and not answered: {', '.join(row['joined'])}")
    if row["gave_up"]:
        left = ", ".join(f"{one['member'] or '-'} {one['at'][11:23]}" for one in row["gave_up"])
        parts.append(f"gave up: {left}")
    if row["waiting_for"]:
        held = {
            one["member"]: f" (has not revoked {', '.join(one['partitions'])})" for one in row["revoking"]
        }
        waited = (f"{member}{held.get(member, '')}" for member in row["waiting_for"])
        parts.append(f"waiting for {', '.join(waited)}")
    return parts
