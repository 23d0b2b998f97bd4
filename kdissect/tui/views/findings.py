"""Findings: what the rules have to say, with the rule's page and the bytes it speaks of."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from textwrap import wrap
from typing import Any, ClassVar, cast

from textual.binding import Binding, BindingType

from kdissect.engine.secrets.secret_bytes import secret_patches
from kdissect.model.finding import Finding
from kdissect.model.wording import plural
from kdissect.report.cells import Cell, TableColumn, text_column
from kdissect.report.printable import printable
from kdissect.report.text import finding_text, party_text
from kdissect.rules.pages import rule_text
from kdissect.rules.registry import rule_by
from kdissect.tui.view import GoTo, Notice
from kdissect.tui.views.lines_below import LinesBelowView
from kdissect.tui.views.quick_filters import one_of
from kdissect.tui.widgets.hex_rows import BYTES_A_ROW, hex_rows
from kdissect.tui.widgets.rows_table import Row, RowsTable
from kdissect.tui.widgets.styled_lines import Line

_AROUND = 2  # rows of bytes before and after the bytes of a finding
_MOST_ROWS = 16
_TEXT_INDENT, _PAGE_INDENT = 12, 10  # of values after their names, in a finding and in a rule's page
_STYLES = {"error": "bad", "warning": "odd", "info": "dim"}


class FindingsView(LinesBelowView):
    """Enter goes to the field that a finding speaks of, in the tree and in the bytes of its exchange."""

    study = "findings"
    nothing = "the rules report no findings"
    below_title = "the finding, its bytes, its rule"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "choose", "Its field", tooltip="The field in the tree, its bytes marked"),
        Binding("x", "exchanges", "All with it", tooltip="All exchanges with this finding"),
    ]
    cell_filters = {  # noqa: RUF012  declared as a class variable above
        "code": lambda row: f"has finding {row['code']}",
        "rule": lambda row: f"has finding {row['code']}",
        "api": lambda row: None if row["finding"].place.api is None else f"api == {row['finding'].place.api}",
        "who": lambda row: one_of("client_id", [row["finding"].party.client_id or ""]),
    }

    def key(self, row: Row) -> object:
        """Equal findings are folded: what is left of them differs in one of these."""
        return row["code"], row["connection"], row["exchange"], row["finding"].place.path

    def main(self, facts: Any) -> tuple[Sequence[TableColumn], Sequence[Row]]:
        """Return the findings, worst first."""
        order = {"error": 0, "warning": 1, "info": 2}
        found = sorted(facts.findings, key=lambda finding: order.get(finding.severity, 3))
        return _COLUMNS, [_row(finding) for finding in found]

    def summary(self, facts: Any, count: int) -> str:
        """Return the number of findings by severity, and the number of their occurrences."""
        counts: dict[str, int] = {}
        for finding in facts.findings:
            counts[finding.severity] = counts.get(finding.severity, 0) + 1
        counted = ", ".join(f"{counts[name]} {name}" for name in _STYLES if name in counts)
        times = sum(finding.count for finding in facts.findings)
        dropped = f"; {facts.dropped} more are left out" if facts.dropped else ""
        return (
            f"{plural(count, 'finding')} ({counted}), {plural(times, 'time')}{dropped}"
            if counted
            else "no findings"
        )

    def row_filter(self, row: Row) -> str | None:
        """Select all exchanges that the rule covers."""
        return f"has finding {row['code']}"

    def choose(self, table: RowsTable, row: Row) -> None:
        """Enter."""
        self.action_evidence()

    def action_evidence(self) -> None:
        """Show the field in its exchange."""
        row = self.table.row
        if row is None:
            return
        place = row["finding"].place
        at = self.session.log.row_of(place.connection, place.exchange) if place.exchange >= 0 else None
        if at is None:
            self.post_message(Notice("the finding is about a whole connection" if place.exchange < 0 else
                                   "its exchange is not read yet"))  # fmt: skip
            return
        self.post_message(GoTo(at, place.side, place.start, place.end))

    def lines(self, row: Row) -> Sequence[Line]:
        """Return the finding, its bytes and its rule's page."""
        finding = cast(Finding, row["finding"])
        lines: list[Line] = [
            ((part, ""),) for text in self._text(finding) for part in self._folded(text, _TEXT_INDENT)
        ]
        lines += [(), *self._bytes(finding), ()]
        rule = rule_by(finding.code)
        if rule is not None:
            lines += [
                ((part, _page_style(text)),)
                for text in rule_text(rule).splitlines()
                for part in self._folded(printable(text), _page_indent(text))
            ]
        return lines

    def _folded(self, text: str, indent: int) -> list[str]:
        """Return a line in parts that fit, the second and later ones with an indent."""
        width = max(self.about.scrollable_content_region.width, indent + 20)
        return wrap(text, width, subsequent_indent=" " * indent, break_on_hyphens=False) or [""]

    def _text(self, finding: Finding) -> list[str]:
        return finding_text(finding, self.session.progress.file_names).splitlines()

    def _bytes(self, finding: Finding) -> Iterator[Line]:
        """Yield some rows of the frame, with the bytes of the finding between brackets."""
        place = finding.place
        log = self.session.log
        row = log.row_of(place.connection, place.exchange) if place.exchange >= 0 else None
        if row is None or not place.side:
            return
        exchange = log.exchange(row)
        frame = exchange.request if place.side == "request" else exchange.response
        if frame is None or not frame.data:
            return
        hidden = bytearray(len(frame.data))
        for patch in secret_patches(exchange, place.side):
            hidden[patch.start : patch.start + len(patch.data)] = b"\1" * len(patch.data)
        start, end = (place.start, place.end) if place.start >= 0 else (0, len(frame.data))
        first = max(start - _AROUND * BYTES_A_ROW, 0)
        last = min(end + _AROUND * BYTES_A_ROW, first + _MOST_ROWS * BYTES_A_ROW)
        yield ((f"bytes {start} to {end} of the {place.side}", "bold"),)
        yield from hex_rows(frame.data, first, last, (start, end), bytes(hidden))


def _row(finding: Finding) -> Row:
    place = finding.place
    version = "" if place.api_version is None else f" v{place.api_version}"
    return {
        "code": finding.code,
        "connection": place.connection,
        "exchange": place.exchange,
        "api": f"{place.api or ''}{version} {place.side}".strip(),
        "finding": finding,
    }


_COLUMNS = (
    TableColumn("severity", lambda row: Cell(row["finding"].severity, _STYLES[row["finding"].severity])),
    TableColumn("code", lambda row: Cell(row["code"], "name")),
    TableColumn("rule", lambda row: Cell(row["finding"].name)),
    TableColumn("times", lambda row: Cell(str(row["finding"].count)), right=True),
    text_column("api", "api", rank=2),
    TableColumn("who", lambda row: Cell(printable(party_text(row["finding"].party))), 28, 1),
    TableColumn("seen", lambda row: Cell(printable(row["finding"].seen)), rank=3),
)


def _page_indent(text: str) -> int:
    """Return the indent of a fact, whose name is in lower case, and 0 for a sentence."""
    return _PAGE_INDENT if text[:1].islower() and text[_PAGE_INDENT - 1 :][:1] == " " else 0


def _page_style(text: str) -> str:
    return "bold" if text[:6].isupper() or text.endswith(":") else ""
