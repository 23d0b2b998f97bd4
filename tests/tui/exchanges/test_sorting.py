"""Tables and the list sorted by a column: the order, what shows it, keys and mouse."""

import asyncio
from typing import Any

import pytest

from kdissect.report.cells import Cell, TableColumn
from kdissect.report.quantities import byte_count, duration
from kdissect.tui.panes import exchange_order
from kdissect.tui.panes.exchange_columns import COLUMNS
from kdissect.tui.panes.exchange_order import Ordered, next_flagged
from kdissect.tui.panes.exchange_order import ordered as ordered_rows
from kdissect.tui.panes.shown_exchanges import Shown
from kdissect.tui.view import UseFilter
from kdissect.tui.views.exchanges import ExchangesView
from kdissect.tui.widgets.row_order import DOWN, UP, Order, ordered, rank
from kdissect.tui.widgets.rows_table import RowsTable
from tests.support.console import CAPTURES
from tests.tui.inline import Loaded
from tests.tui.screens import screen, shows, text_of, until

TRANSACTIONS = CAPTURES / "kafka44_java_transactions.pcapng"


@pytest.mark.parametrize("form", [duration, byte_count, str])
def test_quantities_rank_by_their_size_and_not_by_their_letters(form: Any) -> None:
    values = [7, 950, 1200, 1_500_000, 34_000_000, 2_000_000_000, 700_000_000_000, 7_000_000_000_000]
    texts = [form(value) for value in values]
    assert sorted(texts, key=rank, reverse=True) == texts[::-1]


def test_numbers_in_texts_rank_as_numbers() -> None:
    texts = ["10.0.0.2:9092", "10.0.0.10:9092", "10.0.0.10:10000", "orders-2", "orders-10"]
    assert sorted(texts, key=rank, reverse=True) == texts[::-1]
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


def test_the_list_is_sorted_by_its_columns_and_filters_keep_the_order(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def look() -> None:
        async with screen(monkeypatch, TRANSACTIONS, size=(160, 50)) as (app, pilot):
            view = app.view
            assert isinstance(view, ExchangesView)
            log, rows = app.session.log, view.rows

            def latencies() -> list[int | None]:
                return [log.latency_ns(rows.shown[place]) for place in range(len(rows.shown))]

            names = [column.name for column, _ in rows._widths]
            rows.column = names.index("latency")
            rows.go_to(7)
            row = rows.row
            await pilot.press("o")
            await until(pilot, lambda: isinstance(rows.shown, Ordered))
            found = latencies()
            told = [value for value in found if value is not None]
            assert told == sorted(told)
            assert found[len(told) :] == [None] * (len(found) - len(told))
            assert rows.row == row, "the cursor went to another exchange"
            await shows(pilot, f"{UP}Latency")
            await pilot.press("o")
            await until(pilot, lambda: latencies()[0] == told[-1])
            app.post_message(UseFilter("api == Produce"))
            await until(pilot, lambda: not app.session.shown.is_busy and len(rows.shown) < len(found))
            told = sorted((value for value in latencies() if value is not None), reverse=True)
            await until(pilot, lambda: [value for value in latencies() if value is not None] == told)
            assert isinstance(rows.shown, Ordered)
            assert {log.api_key(rows.shown[place]) for place in range(len(rows.shown))} == {0}
            await pilot.press("o")
            await until(pilot, lambda: rows.shown is app.session.shown)

    asyncio.run(look())


@pytest.mark.parametrize("column", [column.name for column in COLUMNS])
@pytest.mark.parametrize("is_down", [False, True])
def test_every_column_gives_an_order_of_all_rows(column: str, is_down: bool) -> None:
    with Loaded(TRANSACTIONS) as loaded:
        shown = Shown(loaded.log)
        plain = ordered_rows(shown, column, is_down, lambda: False)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(exchange_order, "PART", 7)
            found = ordered_rows(shown, column, is_down, lambda: False)
        assert sorted(found) == list(range(len(loaded.log)))
        assert list(found) == list(plain), "parts make a difference"
        assert [found.position_of(found[place]) for place in range(len(found))] == list(range(len(found)))


def test_rows_that_come_later_stand_behind_the_sorted_ones() -> None:
    with Loaded(TRANSACTIONS) as loaded:
        shown = Shown(loaded.log)
        shown.frozen_at = 50
        found = ordered_rows(shown, "latency", True, lambda: False)
        shown.frozen_at = None
        assert len(found) == len(loaded.log)
        assert sorted(found[place] for place in range(50)) == list(range(50))
        assert [found[place] for place in range(50, 60)] == list(range(50, 60))
        assert found.near(55) == 55


def test_next_error_follows_the_order() -> None:
    with Loaded(TRANSACTIONS) as loaded:
        found = ordered_rows(Shown(loaded.log), "latency", True, lambda: False)
        flags = bytearray(len(loaded.log))
        flags[found[10]] = flags[found[90]] = 1
        assert next_flagged(flags, found, 10, 1) == 90
        assert next_flagged(flags, found, 90, -1) == 10
        assert next_flagged(flags, found, 90, 1) is None


def test_the_cursor_stays_above_until_it_is_moved_and_with_its_row_then(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    columns = [TableColumn("v", lambda row: Cell(str(row["v"])))]

    async def look() -> None:
        async with screen(monkeypatch, TRANSACTIONS, size=(120, 40)) as (_, pilot):
            await pilot.press("8")
            table = RowsTable(lambda row: row["v"])
            await pilot.app.screen.mount(table)
            table.show(columns, [{"v": "all"}])
            table.show(columns, [{"v": "a"}, {"v": "b"}, {"v": "all"}])
            assert table.row == {"v": "a"}
            table.go_to(1)
            table.show(columns, [{"v": "new"}, {"v": "a"}, {"v": "b"}, {"v": "all"}])
            assert table.row == {"v": "b"}

    asyncio.run(look())
