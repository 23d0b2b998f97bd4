"""Values of rows as the text of a cell."""

from typing import Any

import pytest

from kdissect.report.cells import cell, count_cell, number_column, text_column, time_column


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, ""),
        ("a\tb\\", "a\\tb\\\\"),
        (0, "0"),
        (-5, "-5"),
        (True, "true"),
        (False, "false"),
        (1.5, "1.5"),
        ([], ""),
        ([1, None, "a", True], "1,,a,true"),
        ({}, "{}"),
        ({"a": 1, "b": ["ü", None]}, '{"a":1,"b":["ü",null]}'),
        ([{"a": 1}, {}], '{"a":1},{}'),
    ],
)
def test_values(value: Any, text: str) -> None:
    assert cell(value) == text


def test_what_is_not_there_is_empty() -> None:
    assert [count_cell(count).text for count in (0, 1)] == ["", "1"]
    number, text = number_column("n", "n"), text_column("t", "t")
    assert [number.cell({"n": value}).text for value in (None, 0, 7)] == ["", "0", "7"]
    assert [text.cell({"t": value}).text for value in (None, "", "a\x1b")] == ["", "", "a\\x1b"]
    assert (number.right, text.right) == (True, False)


def test_times_have_their_date_where_rows_are_of_several_days() -> None:
    row = {"time": "2026-11-28T08:09:10.123456789Z", "end": None}
    column, of_day = time_column("t", "time"), time_column("t", "time", of_day=True)
    assert column.cell(row).text == "2026-11-28 08:09:10.123"
    assert of_day.cell(row).text == "08:09:10.123"
    assert of_day.dated is not None
    assert of_day.dated(row).text == "2026-11-28 08:09:10.123"
    for is_of_day in (False, True):
        assert time_column("t", "end", of_day=is_of_day, without="-").cell(row).text == "-"
