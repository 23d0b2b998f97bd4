"""Filters: what they take, completion, history, and errors in place."""

from __future__ import annotations

import pytest

from kdissect.api import Dissection
from kdissect.query import Context, compile_filter
from kdissect.schema.protocol_messages import api_name
from kdissect.tui.filter_bar import FilterInput
from kdissect.tui.panes.exchange_columns import COLUMNS
from kdissect.tui.panes.shown_exchanges import Shown
from kdissect.tui.views.exchanges import quick_filter
from tests.support.console import CAPTURES
from tests.tui.driving import Driven, drive

GROUPS = CAPTURES / "kafka44_java_groups.pcapng"


def rows_taken(expression: str) -> list[int]:
    """Return the rows that the filter takes of the exchanges themselves."""
    dissection = Dissection(str(GROUPS))
    exchanges = list(dissection)
    start = min(file.first_time_ns or 0 for file in dissection.captures.files)
    context = Context(lambda: start, dissection.topics.topics_of, None, dissection.file_names)
    test = compile_filter(expression).bind(context)
    return [row for row, exchange in enumerate(exchanges) if test(exchange)]


def is_done(shown: Shown) -> bool:
    """Return whether the filter was asked about everything."""
    return not shown.is_searching if shown.needs_worker else shown.looked_at == len(shown.log)


HEADERS = (
    "api == Fetch and latency > 1ms",
    "errors and not api in (Produce, Metadata)",
    "topics ~ \"^__\" or client_id ~ \"consumer\"",
    "request.bytes > 100 or state == unanswered",
    "time > +1s and number > 20",
    "anomalies",
)  # fmt: skip
BODIES = ("response.**.error_code != NONE", "api == JoinGroup and request.group_id ~ \".\"")  # fmt: skip


@pytest.mark.exhaustive
def test_the_list_shows_what_the_language_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    async def play(driven: Driven) -> None:
        await driven.loaded()
        for expression in (*HEADERS, *BODIES):
            await driven.use_filter(expression)
            shown = driven.session.shown
            assert shown.predicate is not None, expression
            assert shown.needs_worker == (expression in BODIES)
            await driven.until(lambda shown=shown: is_done(shown), expression)
            assert [shown[place] for place in range(len(shown))] == rows_taken(expression), expression
        await driven.press("backspace")
        assert len(driven.session.shown) == len(driven.session.log)

    drive(play, GROUPS, monkeypatch=monkeypatch)


def test_errors_stand_in_place(monkeypatch: pytest.MonkeyPatch) -> None:
    async def play(driven: Driven) -> None:
        await driven.loaded()
        await driven.use_filter("api == Fetch and latncy > 5ms")
        assert driven.bar.has_class("-wrong")
        line = next(text for text in driven.screen() if "^^^^^^" in text)
        above = driven.screen()[driven.screen().index(line) - 1]
        assert above[line.index("^") :].startswith("latncy")
        assert "latency" in line  # the suggestion
        assert driven.session.shown.predicate is None, "the filter before stays"
        assert driven.app.query_one(FilterInput).has_focus
        await driven.press("escape")
        assert driven.app.query_one(FilterInput).value == ""
        assert not driven.bar.has_class("-wrong")
        assert driven.rows.has_focus

    drive(play, GROUPS, monkeypatch=monkeypatch)


def test_completion_and_history(monkeypatch: pytest.MonkeyPatch) -> None:
    async def play(driven: Driven) -> None:
        await driven.loaded()
        await driven.press("slash", *"api_v")
        assert driven.bar.has_class("-completing")
        await driven.press("tab")
        line = driven.app.query_one(FilterInput)
        assert line.value == "api_version "
        await driven.press(*">= 3", "enter")
        assert driven.session.filter_text == "api_version >= 3"
        await driven.use_filter("api == Metadata")
        await driven.press("slash", "escape", "slash", "up")
        assert line.value == "api == Metadata"
        await driven.press("up")
        assert line.value == "api_version >= 3"
        await driven.press("down", "down")
        assert line.value == "api == Metadata"
        await driven.press("enter")
        assert driven.bar.history == ["api_version >= 3", "api == Metadata"]
        assert driven.app.state.history == driven.bar.history

    drive(play, GROUPS, monkeypatch=monkeypatch)


def test_quick_filters_from_every_column(monkeypatch: pytest.MonkeyPatch) -> None:
    async def play(driven: Driven) -> None:
        await driven.loaded()
        session, log = driven.session, driven.session.log
        session.set_filter("errors and topics")
        session.shown.advance(9)
        row = session.shown[0]
        for column in COLUMNS:
            if column.value is None or column.name == "findings":
                continue
            value = column.value(log, row)
            assert value is not None
            for negated in (False, True):
                session.set_filter(quick_filter(column.field, value, negated))
                session.shown.advance(9)
                assert (session.shown.position_of(row) is None) is negated, column.name
        session.set_filter("")
        await driven.pilot.pause()
        driven.rows.choose_columns(("api",))
        driven.rows.column = 0
        await driven.go_to(row)
        await driven.press("equals_sign")
        assert session.filter_text == f"api == {api_name(log.api_key(row) or 0)}"
        driven.rows.choose_columns(("client",))
        await driven.press("minus")
        assert session.filter_text.endswith(f"and client != {log.connection(row).client}")

    drive(play, GROUPS, monkeypatch=monkeypatch)


def test_follow_a_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    async def play(driven: Driven) -> None:
        await driven.loaded()
        log = driven.session.log
        await driven.go_to(len(log) // 2)
        wanted = log.connection(len(log) // 2).id
        await driven.press("c")
        await driven.until(lambda: driven.session.shown.looked_at == len(log))
        shown = driven.session.shown
        assert [shown[place] for place in range(len(shown))] == sorted(log.rows_of(wanted))

    drive(play, GROUPS, monkeypatch=monkeypatch)
