"""The two lines at the top: what is read, and which views there are."""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text
from textual import events
from textual.reactive import reactive
from textual.widget import Widget

from kdissect.model.wording import plural
from kdissect.tui.inert import plain
from kdissect.tui.session import Session
from kdissect.tui.views import VIEWS

_BAR = 12


class TopLine(Widget):
    """Name of the input, how far it is read, how many exchanges there are."""

    def __init__(self, session: Session) -> None:
        super().__init__()
        self._session = session

    def render(self) -> Text:
        """One line."""
        session = self._session
        line = Text(no_wrap=True, overflow="ellipsis", end="")
        line.append(" kdissect ", "bold reverse")
        line.append(f" {plain(_name(session))}  ", "bold")
        line.append(f"{plural(len(session.log), 'exchange', spec=',')}  ")
        line.append_text(_progress(session))
        troubles = len(session.troubles) + len(session.unread)
        if troubles:
            line.append(f"  ! {plural(troubles, 'trouble')}", "bold")
        return line


def _name(session: Session) -> str:
    names: Sequence[str] = session.progress.file_names or session.order.paths
    if session.order.live is not None:
        names = session.order.live.interfaces or ["all interfaces"]
    first = names[0].rpartition("/")[2] if names else ""
    more = f" +{len(names) - 1}" if len(names) > 1 else ""
    return ("standard input" if first == "-" else first) + more


def _progress(session: Session) -> Text:
    progress = session.progress
    if session.is_loading and progress.total:
        share = min(progress.done / progress.total, 1.0)
        full = round(share * _BAR)
        return Text(f"reading {'━' * full}{'╌' * (_BAR - full)} {share:4.0%} of {_size(progress.total)}")
    if session.is_loading and session.order.live is None and not progress.done:
        return Text("opening …", "dim")
    if session.is_loading:
        drops = f", {progress.drops:,} dropped" if progress.drops else ""
        return Text(f"live ● {_size(progress.done)}, {plural(progress.packets, 'packet', spec=',')}{drops}")
    return Text("judging …" if session.is_judging else _size(progress.done), "dim")


def _size(count: int) -> str:
    if count < 10_000:
        return f"{count} B"
    return f"{count / 1e6:.1f} MB" if count < 1_000_000_000 else f"{count / 1e9:.2f} GB"


class ViewBar(Widget):
    """The views, each with its key; a click shows it."""

    current: reactive[str] = reactive("")

    def render(self) -> Text:
        """One line, shorter where the terminal is narrow."""
        line = Text(no_wrap=True, end="")
        self._ends: list[tuple[int, str]] = []
        is_narrow = sum(len(spec.title) + 4 for spec in VIEWS) > self.size.width
        for spec in VIEWS:
            title = spec.title[:4] if is_narrow and spec.name != self.current else spec.title
            style = "bold reverse" if spec.name == self.current else ""
            line.append(f" {spec.key} {title} ", style)
            self._ends.append((line.cell_len, spec.name))
        return line

    async def on_click(self, event: events.Click) -> None:
        """Show the view under the mouse."""
        for end, name in self._ends:
            if event.x < end:
                await self.app.run_action(f"view('{name}')")
                return
