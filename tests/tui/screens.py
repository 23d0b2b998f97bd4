"""The application with workers in threads, and what stands on its screen."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest
from textual.pilot import Pilot

from kdissect.model.endpoint import ANY_PORTS, Ports
from kdissect.tui import session as session_module
from kdissect.tui.app import KdissectApp
from kdissect.tui.processes.worker_messages import Order
from kdissect.tui.session import Session
from kdissect.tui.user_state import State
from tests.support.patience import PATIENCE_S
from tests.tui.inline import ThreadWorker


class WorkerThread(ThreadWorker):
    """In the place of a `WorkerProcess`, without half a second of start."""

    def stop(self) -> None:
        """Nothing of it is heard any more. It is not waited for: what it tells goes through this thread."""
        self.is_stopped = True


@asynccontextmanager
async def screen(
    monkeypatch: pytest.MonkeyPatch,
    *paths: object,
    size: tuple[int, int] = (120, 40),
    state: State | None = None,
    ports: Ports = ANY_PORTS,
) -> AsyncIterator[tuple[KdissectApp, Pilot[None]]]:
    """Run the application on captures, read to their end and judged."""
    monkeypatch.setattr(session_module, "WorkerProcess", WorkerThread)
    session = Session(Order(tuple(map(str, paths)), ports))
    session.start()
    app = KdissectApp(session, state)
    async with app.run_test(size=size) as pilot:
        await until(pilot, lambda: not session.is_loading and "findings" in session.final)
        yield app, pilot


async def until(pilot: Pilot[None], holds: Callable[[], object]) -> None:
    """Let the application go on until something holds."""
    async with asyncio.timeout(PATIENCE_S):
        while not holds():
            await pilot.pause(0.02)


async def shows(pilot: Pilot[None], *texts: str) -> None:
    """Wait until all of these stand on the screen."""
    app = pilot.app
    assert isinstance(app, KdissectApp)
    try:
        await until(pilot, lambda: all(text in text_of(app) for text in texts))
    except TimeoutError:
        missing = [text for text in texts if text not in text_of(app)]
        raise AssertionError(f"{missing} not on screen:\n{text_of(app)}") from None


def text_of(app: KdissectApp) -> str:
    """Return the text of the screen, line by line."""
    return "\n".join(
        "".join(segment.text for segment in strip) for strip in app.screen._compositor.render_strips()
    )
