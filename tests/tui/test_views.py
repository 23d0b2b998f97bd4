"""The views with a pilot: what is in them, and where their keys lead. Asserted on state and on text."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from kdissect.tui.app import KdissectApp
from kdissect.tui.screens.follow import FollowScreen
from kdissect.tui.views.exchanges import ExchangesView
from kdissect.tui.views.findings import FindingsView
from kdissect.tui.views.records import RecordsView
from kdissect.tui.views.tables import TablesView
from kdissect.tui.widgets.styled_lines import Lines
from tests.support.console import CAPTURES, run
from tests.tui.screens import screen, shows, text_of, until

GROUPS = CAPTURES / "kafka44_java_groups.pcapng"
TRANSACTIONS = CAPTURES / "kafka44_java_transactions.pcapng"
FINDINGS = CAPTURES / "tansu_kp3_groups.pcap"


def view_of(app: KdissectApp) -> Any:
    assert app.view is not None
    return app.view


async def shown(pilot: Any, key: str) -> Any:
    """Show a view, and wait for its rows."""
    await pilot.press(key)
    view = view_of(pilot.app)
    await until(
        pilot,
        lambda: (view.table.rows or view.nothing in text_of(pilot.app)) and not any(view.app.workers),
    )
    await pilot.pause(0.1)
    return view


def test_each_view_shows_what_its_command_prints(monkeypatch: pytest.MonkeyPatch) -> None:
    async def look() -> None:
        async with screen(monkeypatch, TRANSACTIONS, size=(160, 50)) as (_, pilot):
            told = {
                "0": ("2 causes of trouble", "hanging-transaction"),
                "2": ("transactor", "apache-kafka-java 4.4.0", "21 connections"),
                "3": ("ledger", "source", "writes"),
                "4": ("ledger-group", "no member seen"),
                "5": ("ledger-1", "5 producers, 10 transactions"),
                "6": ("commit0-0", "lz4", "key-0"),
                "7": ("the rules report no findings",),
                "8": ("AddPartitionsToTxn", "p99", "response times"),
            }
            for key, texts in told.items():
                await shown(pilot, key)
                await shows(pilot, *texts)

    asyncio.run(look())


@pytest.mark.sampled(6)
@pytest.mark.parametrize(("columns", "lines"), [(80, 24), (120, 40), (200, 60)])
def test_every_size_has_room_for_every_view(
    columns: int, lines: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def look() -> None:
        async with screen(monkeypatch, GROUPS, size=(columns, lines)) as (app, pilot):
            for key in "02345678":
                view = await shown(pilot, key)
                assert view.table.size.height >= 4
                assert view.query_one("#below").size.height >= 3
                assert all(len(line) <= columns for line in text_of(app).splitlines())

    asyncio.run(look())


def test_rebalances_stand_on_a_line_of_time(monkeypatch: pytest.MonkeyPatch) -> None:
    async def look() -> None:
        async with screen(monkeypatch, GROUPS) as (app, pilot):
            view = await shown(pilot, "4")
            text = text_of(app)
            assert "●" in text
            assert "first member cooperative-1" in text
            await pilot.press("d")
            assert "[members 2]" in text_of(app)
            await pilot.press("d")
            assert "high watermark" in text_of(app)
            await pilot.press("enter")
            await until(pilot, lambda: isinstance(view_of(app), ExchangesView))
            await until(pilot, lambda: app.session.filter_text == "group == cooperative")
            assert isinstance(view, TablesView)

    asyncio.run(look())


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("kafka44_java_redelivery", {"[deliveries 2]": ("given up", "hangs")}),
        (
            "kafka44_java_streams",
            {"[tasks 1]": ("active", "0_0, 0_1"), "[statuses 2]": ("MISSING_INTERNAL_TOPICS", "detail")},
        ),
    ],
)
def test_groups_of_newer_kinds_have_tables_of_their_own(
    name: str, parts: dict[str, tuple[str, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def look() -> None:
        async with screen(monkeypatch, CAPTURES / f"{name}.pcapng", size=(200, 60)) as (_, pilot):
            view = await shown(pilot, "4")
            await pilot.press(*["down"] * (len(view.table.rows) - 1))
            await pilot.press("d")  # past the members
            for part, texts in parts.items():
                await pilot.press("d")
                await shows(pilot, part, *texts)

    asyncio.run(look())


def test_follow_stream_tells_the_whole_conversation_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    async def look() -> None:
        async with screen(monkeypatch, GROUPS) as (app, pilot):
            view = await shown(pilot, "2")
            connection = view.table.row["connection"]
            await pilot.press("enter")
            assert isinstance(app.screen, FollowScreen)
            lines = app.screen.query_one(Lines)
            await until(pilot, lambda: len(lines) and not any(app.workers))
            titles = [line for line in lines.text().splitlines() if ">>>" in line or "<<<" in line]
            rows = app.session.log.rows_of(connection)
            assert len(titles) == sum(app.session.log.has_side(row, side) for row in rows
                                      for side in ("request", "response"))  # fmt: skip
            times = [line.split()[3] for line in titles]
            assert times == sorted(times)
            assert "client_software_name" in lines.text()
            await pilot.press("f")
            await until(pilot, lambda: "000000" in lines.text())
            await pilot.press("f")
            await until(pilot, lambda: lines.text().count("\n") == len(titles) - 1)
            await pilot.press("n", "enter")
            await until(pilot, lambda: isinstance(view_of(app), ExchangesView))
            await until(pilot, lambda: app.selected_row == rows[0])

    asyncio.run(look())


def test_the_list_leads_to_the_stream_and_the_stream_to_the_list(monkeypatch: pytest.MonkeyPatch) -> None:
    async def look() -> None:
        async with screen(monkeypatch, GROUPS) as (app, pilot):
            await pilot.press("end", "s")
            assert isinstance(app.screen, FollowScreen)
            await pilot.press("c")
            await until(pilot, lambda: app.session.filter_text)
            connection = app.session.log.connection(len(app.session.log) - 1).id
            assert app.session.filter_text == f'connection == "{connection}"'

    asyncio.run(look())


def test_a_record_inside_a_compressed_batch_leads_to_its_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    async def look() -> None:
        async with screen(monkeypatch, TRANSACTIONS) as (app, pilot):
            view = await shown(pilot, "6")
            assert isinstance(view, RecordsView)
            place = next(at for at, row in enumerate(view.table.rows) if row["value"] == "commit0-2")
            assert view.table.rows[place]["codec"] == "lz4"
            view.table.go_to(place)
            await until(pilot, lambda: "commit0-2" in view.about.text())
            await pilot.press("enter")
            await until(pilot, lambda: isinstance(view_of(app), ExchangesView))
            exchanges = view_of(app)
            await until(pilot, lambda: exchanges.fields.item and exchanges.fields.item.label == "records[2]")
            item = exchanges.fields.item
            assert b"key-2\x12commit0-2" in item.buffer.data[item.start : item.end]
            assert item.buffer.title.startswith("decompressed")
            field = exchanges.chosen_field
            assert field is not None
            assert field.data == item.buffer.data[item.start : item.end]

    asyncio.run(look())


def test_records_are_those_of_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    async def look() -> None:
        async with screen(monkeypatch, TRANSACTIONS) as (_, pilot):
            view = await shown(pilot, "6")
            while not view._reader.is_over:
                await pilot.press("end")
                await until(pilot, lambda: not any(view.app.workers))
            await until(pilot, lambda: not any(view.app.workers))
            printed = run("records", TRANSACTIONS, "-e", "topic,partition,offset,key,value").out.splitlines()
            found = [
                "\t".join("" if row[name] is None else str(row[name])
                          for name in ("topic", "partition", "offset", "key", "value"))
                for row in view.table.rows
            ]  # fmt: skip
            assert len(found) == len(printed) - 1
            plain = [line for line in printed[1:] if not line.endswith("\t")]
            assert [line for line in found if line in plain] == [line for line in plain if line in found]
            assert sum(line in plain for line in found) > 0.8 * len(plain)

    asyncio.run(look())


def test_a_finding_leads_to_its_field(monkeypatch: pytest.MonkeyPatch) -> None:
    async def look() -> None:
        async with screen(monkeypatch, FINDINGS) as (app, pilot):
            view = await shown(pilot, "7")
            assert isinstance(view, FindingsView)
            place = next(at for at, row in enumerate(view.table.rows) if row["finding"].place.start >= 0)
            view.table.go_to(place)
            finding = view.table.rows[place]["finding"]
            await until(pilot, lambda: finding.code in view.about.text() and "cites" in view.about.text())
            text = view.about.text()
            assert f"bytes {finding.place.start} to {finding.place.end} of the {finding.place.side}" in text
            assert "[" in text.partition("bytes ")[2]
            assert "level" in text, "the rule's page stands there, too"
            await pilot.press("enter")
            await until(pilot, lambda: isinstance(view_of(app), ExchangesView))
            exchanges = view_of(app)
            await until(pilot, lambda: exchanges.fields.has_focus)
            item = exchanges.fields.item
            assert item.start <= finding.place.start < finding.place.end <= item.end
            await pilot.press("7", "x")
            await until(pilot, lambda: app.session.filter_text)
            assert app.session.filter_text == f"has finding {finding.code}"

    asyncio.run(look())


def test_a_filter_that_hides_the_exchange_goes_away(monkeypatch: pytest.MonkeyPatch) -> None:
    async def look() -> None:
        async with screen(monkeypatch, FINDINGS) as (app, pilot):
            view = await shown(pilot, "7")
            place = next(at for at, row in enumerate(view.table.rows) if row["finding"].place.start >= 0)
            view.table.go_to(place)
            finding = view.table.rows[place]["finding"]
            app.session.set_filter(f"api_key != {finding.place.api_key}")
            await pilot.press("enter")
            wanted = app.session.log.row_of(finding.place.connection, finding.place.exchange)
            await until(pilot, lambda: app.selected_row == wanted)
            assert app.session.filter_text == ""
            await until(pilot, lambda: view_of(app).fields.has_focus)

    asyncio.run(look())


def test_a_cell_becomes_a_filter_and_the_table_is_counted_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    async def look() -> None:
        async with screen(monkeypatch, TRANSACTIONS) as (app, pilot):
            view = await shown(pilot, "8")
            before = {row["api"] for row in app.session.results["traffic"]["rows"]}
            assert len(before) > 5
            name = view.table.row["api"]
            await pilot.press("equals_sign")
            await until(pilot, lambda: len(app.session.results["traffic"]["rows"]) == 1)
            assert app.session.filter_text == f"api == {name}"
            await until(pilot, lambda: "of the exchanges that the filter takes" in text_of(app))
            await pilot.press("b")
            await until(pilot, lambda: "traffic by client_id" in app.session.final)
            await until(pilot, lambda: "client_id" in text_of(app).splitlines()[4])

    asyncio.run(look())


def test_what_is_no_filter_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    async def look() -> None:
        async with screen(monkeypatch, GROUPS) as (app, pilot):
            view = await shown(pilot, "4")
            while view.table.column.title != "state":
                await pilot.press("right")
            await pilot.press("equals_sign")
            assert app.session.filter_text == ""
            assert any("can be filtered by" in told.message for told in app._notifications)

    asyncio.run(look())


def test_copying_and_saving(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    async def look() -> None:
        async with screen(monkeypatch, TRANSACTIONS) as (app, pilot):
            await pilot.press("down", "down")
            await until(pilot, lambda: app.selected_row == 2)
            await pilot.press("y", "down", "enter")
            await until(pilot, lambda: app.clipboard)
            assert app.clipboard.startswith("kdissect decode --records ")
            await pilot.press("m", "end", "m", "w")
            line: Any = app.screen.query_one("#save-path")
            line.value = str(TRANSACTIONS)
            await pilot.press("enter")
            assert "one of the captures that are open" in text_of(app)
            path = tmp_path / "some.pcapng"
            line.value = str(path)
            await pilot.press("enter")
            await until(pilot, path.exists)
            await until(pilot, lambda: not app.screen.query("#save-path"))
            last = len(app.session.log)
            listed = run("inspect", path, "-e", "api,correlation_id").out.splitlines()[1:]
            wanted = run("inspect", TRANSACTIONS, "-e", "api,correlation_id").out.splitlines()
            assert wanted[3] in listed
            assert wanted[last] in listed

    asyncio.run(look())
