"""What a thread brings when the screen it was for is gone."""

from __future__ import annotations

import asyncio
import threading

import pytest

from kdissect.tui.app import KdissectApp
from kdissect.tui.panes.dissection import Dissected
from kdissect.tui.session import Change
from kdissect.tui.views import exchanges as exchanges_module
from kdissect.tui.views.exchanges import ExchangesView
from kdissect.tui.views.lines_below import LinesBelowView
from tests.support.console import CAPTURES
from tests.support.patience import PATIENCE_S
from tests.tui.screens import screen, until

GROUPS = CAPTURES / "kafka44_java_groups.pcapng"


@pytest.mark.exhaustive
def test_an_answer_that_comes_when_the_screen_is_gone_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    """The thread reads on while the application is taken down below it."""
    asked, gone = threading.Event(), threading.Event()

    def slow(*about: object) -> Dissected:
        asked.set()
        gone.wait(PATIENCE_S)
        return Dissected(*about)

    async def answered(view: ExchangesView) -> None:
        assert not view.query("#list")  # what is in a view is taken down before it
        gone.set()
        await asyncio.sleep(0.2)

    async def look() -> None:
        async with screen(monkeypatch, GROUPS) as (_, pilot):
            monkeypatch.setattr(exchanges_module, "Dissected", slow)
            await pilot.press("end")
            await until(pilot, asked.is_set)
            monkeypatch.setattr(ExchangesView, "on_unmount", answered, raising=False)

    asyncio.run(look())
    assert gone.is_set()


@pytest.mark.exhaustive
def test_timers_and_news_that_come_when_the_screen_is_gone_do_no_harm(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    told: list[str] = []

    def late(view: ExchangesView | LinesBelowView) -> None:
        assert not view.query("#list, #main")
        view._rested()
        app = view.app
        assert isinstance(app, KdissectApp)
        app._session_changed(Change.TROUBLE, "a file is broken")
        app._session_changed(Change.ROWS, "")
        app._pass_on()
        told.append(view.id or "")

    async def look() -> None:
        async with screen(monkeypatch, GROUPS) as (_, pilot):
            await pilot.press("8", "1")
            for kind in (ExchangesView, LinesBelowView):
                monkeypatch.setattr(kind, "on_unmount", late, raising=False)

    asyncio.run(look())
    assert sorted(told) == ["view-exchanges", "view-statistics"]
