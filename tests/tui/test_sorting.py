"""Tables and the list sorted by a column: the order, what shows it, keys and mouse."""

import asyncio
from typing import Any

import pytest

from kdissect.report.cells import Cell, TableColumn
from kdissect.report.durations import duration
from kdissect.report.quantities import byte_count
from kdissect.tui.widgets.ordering import DOWN, UP, Order, ordered, rank
from tests.support.console import CAPTURES
from tests.tui.screens import screen, shows, text_of, until

TRANSACTIONS = CAPTURES / "kafka44_java_transactions.pcapng"


@pytest.mark.parametrize("form", [duration, byte_count, str])
def test_quantities_rank_by_their_size_and_not_by_their_letters(form: Any) -> None:
    values = [7, 950, 1200, 1_500_000, 34_000_000, 2_000_000_000, 700_000_000_000, 7_000_000_000_000]
    texts = [form(value) for value in values]
    assert sorted(texts[::-1], key=rank) == texts


def test_numbers_in_texts_rank_as_numbers() -> None:
    texts = ["10.0.0.2:9092", "10.0.0.10:9092", "10.0.0.10:10000", "orders-2", "orders-10"]
    assert sorted(texts[::-1], key=rank) == texts
    assert rank("12 (3 unanswered)") > rank("9")
    assert rank("3 x 5.00 ms") < rank("12 x 1.00 ms")
    assert rank("2 h 05 m") < rank("2 h 07 m")


def test_rows_without_a_value_and_sums_come_last_either_way() -> None:
    rows = [{"v": 2}, {"v": None}, {"v": 30}, {"v": 99, "title": "all"}, {"v": 4}]
    columns = [TableColumn("v", lambda row: Cell("" if row["v"] is None else str(row["v"])))]

    def order(is_down: bool) -> list[Any]:
        return [row["v"] for row in ordered(rows, columns, Order("v", is_down), lambda row: "title" in row)]

    assert order(False) == [2, 4, 30, None, 99]
    assert order(True) == [30, 4, 2, None, 99]
    assert ordered(rows, columns, Order("gone"), lambda row: False) is rows


def test_a_key_and_a_click_sort_a_table_and_its_title_shows_it(monkeypatch: pytest.MonkeyPatch) -> None:
    async def look() -> None:
        async with screen(monkeypatch, TRANSACTIONS, size=(160, 50)) as (app, pilot):
            await pilot.press("8")
            table = (app.view).table  # type: ignore[union-attr]
            await until(pilot, lambda: table.rows and "traffic" in app.session.final)
            names = [row.get("api") for row in table.rows]
            last = table.rows[-1]["title"]
            await pilot.press("right", "o")
            counts = [row["exchanges"] for row in table.rows[:-1]]
            assert counts == sorted(counts)
            await shows(pilot, f"{UP}exchanges")
            chosen = table.row
            await pilot.press("o")
            assert [row["exchanges"] for row in table.rows[:-1]] == counts[::-1]
            assert table.rows[-1]["title"] == last
            assert table.row is chosen, "the cursor went to another row"
            await shows(pilot, f"{DOWN}exchanges")
            await pilot.press("o")
            assert [row.get("api") for row in table.rows] == names
            line = text_of(app).splitlines()[table.region.y]
            await pilot.click("#main", offset=(line.index("p99") + 1, 0))
            await shows(pilot, f"{UP}p99")
            times = [row["latency_ns"]["p99"] for row in table.rows[:-1] if row["latency_ns"]]
            assert times == sorted(times)

    asyncio.run(look())
