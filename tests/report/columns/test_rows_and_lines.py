"""Rows that tables are made of, and the lines that stand around tables."""

from typing import Any

import pytest

from kdissect.report.columns.groups import failure_rows, rows_of
from kdissect.report.columns.one_way import clock_lines
from kdissect.report.columns.time_split import vantage_lines
from kdissect.report.columns.traffic import error_rows, rack_lines, time_rows

MS = 1_000_000
OPEN: dict[str, Any] = {
    "generation": 3, "joined": ["a", "b"], "gave_up": [], "waiting_for": ["c"], "revoking": [], "time": "t",
}  # fmt: skip


def group(name: str = "g", **changes: Any) -> dict[str, Any]:
    """Return a group with one rebalance."""
    made: dict[str, Any] = {"group": name, "kind": "classic", "rebalancing": None, "members": [{"id": 1}]}
    made["rebalances"] = [{"generation": 2, "took_ns": 5}, {"generation": 3, "took_ns": 6}]
    return made | changes


def test_a_converted_group_has_its_members_once_and_all_its_rebalances() -> None:
    groups = [group(), group(kind="consumer"), group("h")]
    assert [(row["group"], row["kind"]) for row in rows_of(groups, "members")] == [
        ("g", "classic"), ("h", "classic"),
    ]  # fmt: skip
    assert [row["kind"] for row in rows_of(groups, "rebalances")] == ["classic"] * 2 + ["consumer"] * 2 + [
        "classic"
    ] * 2


@pytest.mark.parametrize(
    ("under_way", "shown"),
    [
        (None, [(2, 5, None), (3, 6, None)]),
        (OPEN, [(2, 5, None), (3, 6, ["c"])]),
        (OPEN | {"generation": 4}, [(2, 5, None), (3, 6, None)]),
        (OPEN | {"generation": None}, [(2, 5, None), (3, 6, None), (None, None, ["c"])]),
    ],
)
def test_a_rebalance_under_way_is_the_last(under_way: Any, shown: list[Any]) -> None:
    rows = rows_of([group(rebalancing=under_way)], "rebalances")
    assert [(row["generation"], row["took_ns"], row.get("waiting_for")) for row in rows] == shown


def test_the_only_rebalance_is_under_way() -> None:
    rows = rows_of([group(rebalancing=OPEN, rebalances=[{"generation": 3, "took_ns": 6}])], "rebalances")
    assert [(row["generation"], row["waiting_for"]) for row in rows] == [(3, ["c"])]


def test_a_rebalance_under_way_counts_who_joined() -> None:
    rows = rows_of([group(rebalancing=OPEN | {"generation": None}, rebalances=[])], "rebalances")
    assert [(row["members"], row["reasons"]) for row in rows] == [(2, {})]
    assert rows_of([group(rebalancing=OPEN, rebalances=[])], "rebalances") == []


def test_heartbeats_that_ask_to_join_are_no_failures() -> None:
    causes = [
        ("Heartbeat", "REBALANCE_IN_PROGRESS"),
        ("Heartbeat", "FENCED"),
        ("SyncGroup", "REBALANCE_IN_PROGRESS"),
    ]
    found = failure_rows([group(failures=[{"api": api, "error": error} for api, error in causes])])
    assert [(row["api"], row["error"]) for row in found] == causes[1:]


AHEAD = "clocks: b's clock is ahead of a's clock by"
HINT = ": one way alone is not known; --clocks-within TIME says more (0ms: one clock made both)"


@pytest.mark.parametrize(
    ("changed", "line"),
    [
        ({"drift": True, "contradicted": True},
         "clocks of a and b drift apart: one way alone is not known"),
        ({"contradicted": True}, f"{AHEAD} 1.00 ms to 2.00 ms, more than the option allows"),
        ({"told": True}, f"{AHEAD} 1.00 ms to 2.00 ms, by the shortest ways"),
        ({}, f"{AHEAD} 1.00 ms to 2.00 ms, by the shortest ways{HINT}"),
        ({"ahead_least_ns": 0, "ahead_most_ns": 0}, "clocks: a and b have one clock, as the option says"),
        ({"ahead_least_ns": 0, "ahead_most_ns": MS, "told": True},
         f"{AHEAD} 0 us to 1.00 ms, by the shortest ways"),
        ({"ahead_most_ns": MS, "told": True}, f"{AHEAD} 1.00 ms to 1.00 ms, by the shortest ways"),
    ],
)  # fmt: skip
def test_clocks(changed: dict[str, Any], line: str) -> None:
    row = {"near_client": "a", "near_broker": "b", "drift": False, "contradicted": False, "told": False}
    assert list(clock_lines([row | {"ahead_least_ns": MS, "ahead_most_ns": 2 * MS} | changed])) == [line]


def test_racks_that_are_not_known() -> None:
    def lines(clients: list[str], brokers: list[str]) -> list[str]:
        return list(rack_lines({"without_rack": {"client_rack": clients, "broker_rack": brokers}}))

    assert list(rack_lines(None)) == lines([], []) == []
    assert lines(["a"], ["b", "c", "d\x1b"]) == [
        "  1 client sent no group (producers never do): a",
        "  3 brokers without one in what was captured: b, c, d\\x1b",
    ]
    assert lines(["a", "b", "c", "d", "e"], []) == [
        "  5 clients sent no group (producers never do): a, b, c, 2 more"
    ]


def test_round_trips() -> None:
    facts = {"captured_near": {}, "round_trips": {"at_most": 1, "handshake": 2, "not_known": 0}}
    (line,) = vantage_lines(facts)
    assert line == (
        "round trips: known from the handshake (2 connections),"
        " from later acknowledgments, which may have waited (1 connection)"
    )


def test_intervals_without_traffic_have_rows() -> None:
    points = [{"time_ns": 30, "exchanges": 1}, {"time_ns": 10, "exchanges": 2}]
    rows = time_rows({"points": points, "interval_ns": 10})
    assert [row["exchanges"] for row in rows] == [2, 0, 1]
    assert rows[1] == {
        "exchanges": 0, "request_bytes": 0, "response_bytes": 0, "errors": 0,
        "time": "1970-01-01T00:00:00.000000020Z",
    }  # fmt: skip
    assert time_rows({"points": [], "interval_ns": 10}) == []
    assert [row["exchanges"] for row in time_rows({"points": points[1:], "interval_ns": 1})] == [2]


@pytest.mark.parametrize(
    ("rows", "shown"), [(1, "c0 -"), (3, "c0 -, c1 -, c2 -"), (4, "c0 -, c1 -, c2 -, 1 other")]
)
def test_where_an_error_is(rows: int, shown: str) -> None:
    having = [{"client_id": f"c{at}", "api": None, "errors": {"X": 1}} for at in range(rows)]
    facts = {"total": {"errors": {"X": rows}}, "rows": [*having, {"errors": {}}]}
    assert list(error_rows(facts, ["client_id", "api"])) == [{"error": "X", "exchanges": rows, "in": shown}]
