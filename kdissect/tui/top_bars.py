"""The two lines at the top: what is read, and which views there are."""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text
from textual import events
from textual.reactive import reactive
from textual.widget import Widget

from kdissect.model.wording import plural
from kdissect.report.quantities import byte_count
from kdissect.tui.session import CAUSES, Session
from kdissect.tui.views import VIEWS
from kdissect.tui.widgets.safe_text import safe

_BAR = 12


class TopLine(Widget):
    """Name of the input, how far it is read, how many exchanges there are."""

    def __init__(self, session: Session) -> None:
        super().__init__()
        self._session = session

    def render(self) -> Text:
        """Return one line."""
        session = self._session
        line = Text(no_wrap=True, overflow="ellipsis", end="")
        line.append(" kdissect ", "bold reverse")
        line.append(f" {safe(_name(session))}  ", "bold")
        line.append(f"{plural(len(session.log), 'exchange', spec=',')}  ")
        line.append_text(_causes(session))
        line.append_text(_progress(session))
        troubles = len(session.troubles) + len(session.unread)
        if troubles:
            line.append(f"  ! {plural(troubles, 'warning')}", "bold")
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
        return Text(f"reading {'━' * full}{'╌' * (_BAR - full)} {share:4.0%} of {byte_count(progress.total)}")
    if session.is_loading and session.order.live is None and not progress.done:
        return Text("opening …", "dim")
    if session.is_loading:
        drops = f", {progress.drops:,} dropped" if progress.drops else ""
        packets = plural(progress.packets, "packet", spec=",")
        return Text(f"live ● {byte_count(progress.done)}, {packets}{drops}")
    return Text("judging …" if session.is_judging else byte_count(progress.done), "dim")


def _causes(session: Session) -> Text:
    """Return the number of causes, once known, or for a stream the number so far. The view of causes lists
    them.
    """
    diagnosis = session.results.get(CAUSES)
    if diagnosis is None or (CAUSES not in session.final and not diagnosis.causes):
        return Text()
    if not diagnosis.causes:
        return Text("nothing wrong  ", "dim")
    return Text(f"{plural(len(diagnosis.causes) + diagnosis.left_out, 'cause')}: see 0  ", "bold")


class ViewBar(Widget):
    """The views, each with its key. A click shows the view."""

    current: reactive[str] = reactive("")

    def render(self) -> Text:
        """Return one line, shorter if the terminal is narrow."""
        line = Text(no_wrap=True, end="")
        self._ends: list[tuple[int, str]] = []
        gap, titles = self._fitting()
        for spec, title in zip(VIEWS, titles, strict=True):
            style = "bold reverse" if spec.name == self.current else ""
            line.append(f" {spec.key}{title and f' {title}'}{gap}", style)
            self._ends.append((line.cell_len, spec.name))
        return line

    def _fitting(self) -> tuple[str, list[str]]:
        """Return the text between two titles, and the titles: the longest that fit."""
        full, short = [spec.title for spec in VIEWS], [spec.short or spec.title for spec in VIEWS]
        here = [spec.title if spec.name == self.current else spec.short or spec.title for spec in VIEWS]
        alone = [spec.title if spec.name == self.current else "" for spec in VIEWS]
        for gap, titles in ((" ", full), ("", here), ("", short), ("", alone)):
            if sum(len(title) + len(gap) + 3 for title in titles) <= self.size.width:
                return gap, titles
        return "", alone

    async def on_click(self, event: events.Click) -> None:
        """Show the view under the mouse."""
        for end, name in self._ends:
            if event.x < end:
                await self.app.run_action(f"view('{name}')")
                return
