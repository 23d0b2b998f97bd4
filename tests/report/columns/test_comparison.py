"""The tables of `diff`: what differs, and what each API took."""

from typing import Any

import pytest

from kdissect.report.columns.comparison import difference_columns, step_columns
from kdissect.stats.comparison.sides import BATCH_SIZE, RESPONSE_TIME

ROW: dict[str, Any] = {
    "rank": 1, "kind": "outcome", "clients": ["a", "b", "c"], "api": "Fetch", "what": "error_code",
    "elements": [], "better": False, "good": None, "bad": None,
}  # fmt: skip


def cells(row: dict[str, Any]) -> dict[str, tuple[str, str]]:
    return {column.title: tuple(column.cell(row)) for column in difference_columns()}


def side(*counts: tuple[Any, int]) -> dict[str, Any]:
    values = [{"value": value, "count": count} for value, count in counts]
    return {"count": sum(count for _, count in counts), "values": values}


@pytest.mark.parametrize(
    ("what", "seen", "text"),
    [
        ("error_code", None, "absent"),
        ("error_code", side((0, 5)), "0"),
        ("error_code", side((0, 1), (6, 3)), "0 (1 of 4), 6 (3 of 4)"),
        ("error_code", {"count": 4, "values": [{"value": 6, "count": 3}]}, "6 (3 of 4)"),
        ("flag", side((True, 1), (False, 1), (None, 1), ("", 1)),
         "yes (1 of 4), no (1 of 4), none (1 of 4), (empty) (1 of 4)"),
        (RESPONSE_TIME, {"p50": 3_000_000}, "median 3.00 ms"),
        (BATCH_SIZE, {"p50": 3000}, "median 3.0 kB"),
        ("records", {"p50": 3000}, "median 3000"),
    ],
)  # fmt: skip
def test_what_either_side_has(what: str, seen: dict[str, Any] | None, text: str) -> None:
    found = cells(ROW | {"what": what, "good": seen})
    assert (found["good"], found["bad"]) == ((text, ""), ("absent", "bad"))


@pytest.mark.parametrize(
    ("change", "title", "cell"),
    [
        ({}, "clients", ("a, b, c", "")),
        ({"clients": ["a", "b", "c", "d"]}, "clients", ("a, b, c and 1 more", "")),
        ({"elements": ["x", "y"]}, "what", ("error_code and 2 more", "")),
        ({"better": True}, "what", ("error_code (better)", "")),
        ({"better": True}, "kind", ("outcome", "dim")),
        ({}, "kind", ("outcome", "bad")),
        ({"kind": "request"}, "kind", ("request", "")),
    ],
)
def test_who_and_what(change: dict[str, Any], title: str, cell: tuple[str, str]) -> None:
    assert cells(ROW | change)[title] == cell


def test_steps_of_one_side() -> None:
    took = {"exchanges": 3, "errors": 0, "p50_ns": 2_000_000, "bytes": 1500}
    row = {"good_client": "a", "bad_client": "b", "api": "Fetch", "good": took, "bad": None}
    found = [column.cell(row).text for column in step_columns()]
    assert found == ["a / b", "Fetch", "3", "", "", "", "2.00 ms", "", "1.5 kB", ""]
    failed = row | {"good_client": None, "bad": took | {"errors": 2}}
    assert [column.cell(failed).text for column in step_columns()][:6] == ["b", "Fetch", "3", "3", "", "2"]
