"""Plain values to characters: layouts of tables, plots, timelines, hex."""

from itertools import pairwise

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from kdissect.query.values.points_in_time import read_moment
from kdissect.report.cells import Cell, TableColumn, software_column
from kdissect.tui.views.groups import Timeline
from kdissect.tui.widgets import plots
from kdissect.tui.widgets.hex_rows import hex_rows
from kdissect.tui.widgets.rows_table import GAP, place_columns
from kdissect.tui.widgets.safe_text import cut


def column(title: str, rank: int = 0, right: bool = False) -> TableColumn:
    return TableColumn(title, lambda row: Cell(row[title]), rank=rank, right=right)


def titles(columns: list[TableColumn], width: int, *rows: list[str]) -> list[str]:
    return [columns[one.column].title for one in place_columns(columns, rows, width)]


def test_columns_of_the_highest_rank_go_first_and_of_equal_ones_the_last() -> None:
    columns = [column("a"), column("b", 2), column("c", 1), column("d", 2)]
    row = ["x" * 10] * 4
    assert titles(columns, 46, row) == ["a", "b", "c", "d"]
    assert titles(columns, 45, row) == ["a", "b", "c"]
    assert titles(columns, 30, row) == ["a", "c"]
    assert titles(columns, 12, row) == ["a"]


def test_long_texts_shrink_before_any_column_goes_and_numbers_never_do() -> None:
    columns = [column("name"), column("count", 3, right=True), column("end", 1)]
    placed = place_columns(columns, [["x" * 50, "1" * 9, "y" * 30]], 46)
    assert [one.column for one in placed] == [0, 1, 2]
    assert placed[1].width == 9
    assert placed[0].width + placed[2].width == 46 - 9 - 2 * GAP


def test_a_column_with_nothing_in_it_takes_no_room() -> None:
    assert titles([column("a"), column("b"), column("c")], 80, ["x", "", "y"], ["", "", "z"]) == ["a", "c"]


def widths(columns: list[TableColumn], width: int, *rows: list[str]) -> dict[str, int]:
    return {columns[one.column].title: one.width for one in place_columns(columns, rows, width)}


def test_lesser_columns_give_way_to_a_name() -> None:
    columns = [column("name")._replace(readable=30), column("size", 2, right=True), column("n", right=True)]
    row = ["x" * 30, "1" * 9, "2" * 9]
    assert widths(columns, 52, row) == {"name": 30, "size": 9, "n": 9}
    assert widths(columns, 51, row) == {"name": 30, "n": 9}
    assert widths(columns, 40, row) == {"name": 18, "size": 9, "n": 9}, "in vain: the name is cut anyway"


def test_a_lesser_text_goes_before_it_is_cut() -> None:
    columns = [column("name"), software_column()]
    row = ["x" * 8, "apache-kafka-java 4.4.0"]
    assert widths(columns, 33, row) == {"name": 8, "software": 23}
    assert widths(columns, 32, row) == {"name": 32}


def test_free_space_shows_long_texts() -> None:
    columns = [column("who"), column("what"), column("n", right=True)]
    row = ["x" * 100, "y" * 90, "1"]
    assert widths(columns, 300, row) == {"who": 100, "what": 90, "n": 1}
    assert widths(columns, 161, row) == {"who": 78, "what": 78, "n": 1}
    assert widths(columns, 125, row) == {"who": 60, "what": 60, "n": 1}


def test_a_number_without_room_is_left_out_and_not_cut() -> None:
    columns = [column("first"), column("second", right=True), column("third", right=True)]
    assert widths(columns, 25, ["x" * 8, "1" * 9, "2" * 9]) == {"first": 8, "second": 9}


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])  # a loaded machine is slow
@given(
    st.lists(st.tuples(st.text("x", max_size=70), st.integers(0, 4), st.booleans()), min_size=1, max_size=9),
    st.integers(1, 200),
)
def test_columns_never_overlap(rows: list[tuple[str, int, bool]], width: int) -> None:
    columns = [column(str(number), rank, right) for number, (_, rank, right) in enumerate(rows)]
    placed = place_columns(columns, [[text for text, _, _ in rows]], width)
    for one, two in pairwise(placed):
        assert one.start + one.width + GAP == two.start
    assert len(placed) <= 1 or placed[-1].start + placed[-1].width <= width


@pytest.mark.parametrize("width", range(8))
def test_cut_text_fits(width: int) -> None:
    assert cell_len(cut("日本語 text", width)) <= width


def test_columns_over_time() -> None:
    assert plots.columns([0, 1, 2, 4], 4, 1) == [" ▂▄█"]
    assert plots.columns([8, 4], 2, 2) == ["█ ", "██"]
    assert plots.columns([1000, 1], 2, 1) == ["█▁"], "what is there is seen, however little"
    assert plots.columns([1, 0, 0, 7], 2, 1) == ["▁█"], "neighbours are joined by the larger"
    assert plots.columns([0, 0], 2, 1) == ["  "]
    assert plots.columns([], 10, 3) == []


def test_bars() -> None:
    assert plots.bar(10, 10, 4) == "━━━━"
    assert plots.bar(5, 10, 3) == "━╸"
    assert plots.bar(1, 1_000_000, 10) == "╸"
    assert plots.bar(0, 10, 10) == ""
    assert plots.bar(0, 0, 10) == ""


def test_percentiles_are_told_in_numbers_too() -> None:
    times = dict.fromkeys(plots.PERCENTILES, 2_000_000) | {"count": 3, "max": 4_000_000}
    lines = ["".join(text for text, _ in line) for line in plots.percentile_plot("x", times, 60)]
    assert lines[0] == "x  3 values"
    assert "2.00 ms" in lines[2]
    assert lines[-1].count("━") == 2 * lines[2].count("━")
    assert list(plots.percentile_plot("x", None, 60)) == []


def test_a_timeline_shows_when_and_how_long() -> None:
    line = Timeline(1000, 2000, 10)
    assert line.line(1000) == "●·········"
    assert line.line(1500, 200) == "·····●━━··"
    assert line.line(1999, 5000) == "·········●"
    assert line.line(0) == "●·········", "before the capture"
    assert Timeline(5, 5, 3).line(5) == "●··"


def test_times_of_rows() -> None:
    from kdissect.engine.times import rfc3339

    for time_ns in (0, 1, 1_763_000_000_123_456_789):
        moment = read_moment(rfc3339(time_ns))
        assert moment is not None and moment.ns == time_ns


def test_marked_bytes_stand_between_brackets() -> None:
    lines = ["".join(text for text, _ in line) for line in hex_rows(bytes(range(40)), 0, 40, (14, 20))]
    assert lines[0].endswith("0c 0d[0e 0f  ................")
    assert lines[1].startswith("000010  10 11 12 13]14")
    whole = ["".join(text for text, _ in line) for line in hex_rows(b"abcdefghijklmnop", 0, 16, (0, 16))]
    assert whole == ["000000 [61 62 63 64 65 66 67 68 69 6a 6b 6c 6d 6e 6f 70] abcdefghijklmnop"]


def test_hidden_bytes_are_not_shown() -> None:
    (line,) = hex_rows(b"secret", 0, 6, hidden=b"\0\1\1\1\1\1")
    text = "".join(part for part, _ in line)
    assert "73 ** ** ** ** **" in text
    assert text.rstrip().endswith("s*****")
