"""Drives the app without a terminal."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from textual.pilot import Pilot

from kdissect.tui import session as sessions
from kdissect.tui.app import KdissectApp
from kdissect.tui.filter_bar import FilterBar, FilterInput
from kdissect.tui.panes.exchange_list import ExchangeList
from kdissect.tui.panes.field_tree import FieldTree
from kdissect.tui.panes.hex_pane import HexPane
from kdissect.tui.processes.worker_messages import Order
from kdissect.tui.user_state import State
from tests.support.patience import PATIENCE_S
from tests.tui.inline import ThreadWorker

# Far more than anything takes; a test that waits for so long has failed.


class Driven:
    """An app that runs, and what tests want of it."""

    def __init__(self, app: KdissectApp, pilot: Pilot[None]) -> None:
        self.app = app
        self.pilot = pilot
        self.session = app.session

    @property
    def rows(self) -> ExchangeList:
        """The list."""
        return self.app.query_one(ExchangeList)

    @property
    def fields(self) -> FieldTree:
        """The tree."""
        return self.app.query_one(FieldTree)

    @property
    def bytes(self) -> HexPane:
        """The bytes."""
        return self.app.query_one(HexPane)

    @property
    def bar(self) -> FilterBar:
        """The filter."""
        return self.app.query_one(FilterBar)

    async def press(self, *keys: str) -> None:
        """Press keys, and let what they cause happen."""
        await self.pilot.press(*keys)
        await self.pilot.pause()

    async def until(self, holds: Callable[[], Any], what: str = "") -> None:
        """Wait for something that comes from a worker or a thread."""
        for _ in range(int(PATIENCE_S * 50)):
            if holds():
                await self.pilot.pause()
                return
            await asyncio.sleep(0.02)
        raise AssertionError(f"waited in vain {what}")

    async def loaded(self) -> None:
        """Wait until everything is read and judged, and the first exchange is shown."""
        await self.until(lambda: not self.session.is_loading, "for the end of the input")
        await self.until(lambda: not self.session.is_judging, "for the findings")
        await self.settled()

    async def settled(self) -> None:
        """Wait until the fields are those of the exchange under the cursor."""
        wanted = lambda: self.rows.row  # noqa: E731
        await self.until(lambda: wanted() is None or self.shown_row == wanted(), "for the fields")

    @property
    def shown_row(self) -> int | None:
        """The exchange whose fields are shown."""
        dissected = self.fields.dissected
        return None if dissected is None else dissected.row

    async def go_to(self, row: int) -> None:
        """Select an exchange."""
        self.rows.go_to(self.session.shown.near(row))
        await self.pilot.pause()
        await self.settled()

    async def use_filter(self, expression: str) -> None:
        """Type a filter."""
        await self.press("slash")
        self.app.query_one(FilterInput).value = expression
        await self.press("enter")

    def screen(self) -> list[str]:
        """Return the text on screen, line by line."""
        width, height = self.app.size
        lines = self.app.screen._compositor.render_strips()
        return ["".join(segment.text for segment in line)[:width] for line in lines[:height]]


def drive(
    play: Callable[[Driven], Awaitable[None]],
    *paths: object,
    size: tuple[int, int] = (120, 40),
    monkeypatch: Any = None,
    state: State | None = None,
    studies: tuple[str, ...] = (),
    may_use_files: bool = True,
    **order: Any,
) -> None:
    """Run the app on some captures while `play` plays. Workers are threads where a monkeypatch is given."""
    if monkeypatch is not None:
        monkeypatch.setattr(sessions, "WorkerProcess", ThreadWorker)

    async def run() -> None:
        session = sessions.Session(Order(tuple(map(str, paths)))._replace(**order))
        session.start(studies)
        app = KdissectApp(session, state, may_use_files)
        async with app.run_test(size=size) as pilot:
            await play(Driven(app, pilot))

    asyncio.run(run())
