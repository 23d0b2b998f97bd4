"""Why: what is wrong, the worst first, with the packets that show it."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

from textual.binding import Binding, BindingType

from kdissect.model.cause import Diagnosis, FoundCause, Packets, Severity
from kdissect.model.wording import plural
from kdissect.report.causes.text import cause_lines, folded
from kdissect.report.causes.words import clock, cost_text, headline
from kdissect.report.cells import NAME_WIDTH, Cell, TableColumn, number_column
from kdissect.report.printable import printable
from kdissect.tui.view import GoTo, GoToConnection, Notice
from kdissect.tui.views.lines_below import LinesBelowView
from kdissect.tui.views.quick_filters import one_of
from kdissect.tui.widgets.rows_table import Row, RowsTable
from kdissect.tui.widgets.styled_lines import Line

_STYLES = {Severity.STOPS: "bad", Severity.DATA: "bad", Severity.DELAYS: "odd", Severity.WASTES: "dim"}
# The field of the filter for each kind of party, by which a cause's exchanges are found. The first one
# counts.
_FIELDS = {
    "group": "group", "id": "transactional_id", "topic": "topic", "client": "client_id", "host": "host",
}  # fmt: skip
_NAME = 9  # cells before a part of the text
_TITLE = 48  # cells of the longer titles
_NO_PACKETS = "no exchange shows this cause, and packets of a stream are not stored"


class WhyView(LinesBelowView):
    """Enter goes to the packets of the chosen cause; `n` and `N` choose among them."""

    study = "causes"
    waiting = "looking for causes ..."
    below_title = "the cause, its packets, what helps"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "choose", "Its packets", tooltip="The exchange, or the connection, that shows it"),
        Binding("n", "packets(1)", "Next packets", tooltip="The next packets that show it"),
        Binding("N", "packets(-1)", "Packets before", show=False),
        Binding("x", "exchanges", "Exchanges", tooltip="Exchanges of those it concerns"),
    ]
    cell_filters = {  # noqa: RUF012  declared as a class variable above
        "who": lambda row: _of_parties(row["cause"]),
    }

    def __init__(self, id: str | None = None) -> None:  # noqa: A002  Textual's name
        super().__init__(id=id)
        self._diagnosis: Diagnosis | None = None
        self._packets = 0
        self._packets_of: object = None

    def key(self, row: Row) -> object:
        """Return the identity of a cause, which does not change while more of it is seen."""
        cause: FoundCause = row["cause"]
        return cause.id, cause.since_ns, cause.evidence[:1]

    def main(self, facts: Any) -> tuple[Sequence[TableColumn], Sequence[Row]]:
        """Return the causes, the worst first."""
        self._diagnosis = facts
        self.nothing = f"{self._so_far}{headline(facts)}"
        return _COLUMNS, [{"rank": rank, "cause": cause} for rank, cause in enumerate(facts.causes, 1)]

    def summary(self, facts: Any, count: int) -> str:
        """Return the number of causes, and the part of the input that was read."""
        left_out = f"; {facts.left_out} more cost less" if facts.left_out else ""
        looked_at = f"; looked at {'; '.join(facts.looked_at)}" if self.is_whole else ""
        return printable(f"{self._so_far}{headline(facts)}{left_out}{looked_at}")

    @property
    def _so_far(self) -> str:
        return "" if self.is_whole else "so far: "

    def row_filter(self, row: Row) -> str | None:
        """Select the exchanges of the command, or of the cause's parties."""
        words = shlex.split(row["cause"].command)
        if "-Y" in words:
            return words[words.index("-Y") + 1]
        return _of_parties(row["cause"])

    def choose(self, table: RowsTable, row: Row) -> None:
        """Enter."""
        packets = self._chosen_of(row)
        if packets is None or not packets.connection:
            self.post_message(Notice("it is about the whole capture"))
        elif packets.exchange < 0:
            self.post_message(GoToConnection(packets.connection))
        else:
            at = self.session.log.row_of(packets.connection, packets.exchange)
            self.post_message(Notice("its exchange is not read yet") if at is None else GoTo(at))

    def action_packets(self, step: int) -> None:
        """Show the next or the previous packets of the chosen cause."""
        row = self.table.row
        if row is None or self._chosen_of(row) is None:
            return
        self._packets = (self._packets + step) % len(row["cause"].evidence)
        self._tell(row)

    def save(self) -> bool:
        """Ask where to save the exchanges that show the chosen cause, else its connections."""
        row = self.table.row
        if row is None:
            return False
        cause: FoundCause = row["cause"]
        found = (
            self.session.log.row_of(packets.connection, packets.exchange)
            for packets in cause.evidence
            if packets.exchange >= 0
        )
        rows = sorted({at for at in found if at is not None})
        connections = frozenset(packets.connection for packets in cause.evidence if packets.connection)
        if not rows and (self.session.is_stream or not connections):
            self.post_message(Notice(_NO_PACKETS))
            return True
        count = plural(len(rows), "exchange") if rows else plural(len(connections), "connection")
        self.view_app.save_rows(rows, f"{count} of cause {row['rank']} ({cause.id})", connections)
        return True

    def _chosen_of(self, row: Row) -> Packets | None:
        """Return which of its packets are chosen: the first of a cause that the cursor came to."""
        if self._packets_of != self.key(row):
            self._packets, self._packets_of = 0, self.key(row)
        found: tuple[Packets, ...] = row["cause"].evidence
        return found[min(self._packets, len(found) - 1)] if found else None

    def _rested(self) -> None:
        row = self.table.row
        if row is not None:
            self._chosen_of(row)
        super()._rested()

    def lines(self, row: Row) -> Sequence[Line]:
        """Return the lines of a cause, then the checks made."""
        return [*self._cause(row["cause"]), (), *self.lines_of_none()]

    def _cause(self, cause: FoundCause) -> Iterator[Line]:
        yield ((f"{cause.title}  ", "bold"), (f"[{cause.id}]", "dim"))
        number = -1
        for name, text in cause_lines(cause, self._files, self._width + 2, folds_commands=True):
            if name is None:
                yield ((text, ""),)
                continue
            number += name == "packets"
            is_chosen = name == "packets" and number == self._packets
            yield (
                (f"{'> ' if is_chosen else '  '}{name:<{_NAME}} ", "name"),
                (text, "bold" if is_chosen else ""),
            )

    def lines_of_none(self) -> Sequence[Line]:
        """List the checks made and the data not seen, with causes or without."""
        diagnosis = self._diagnosis
        if diagnosis is None or not self.is_whole:  # connections count when they are over
            return ()
        parts = [("looked at", "; ".join(diagnosis.looked_at))]
        parts += [("not seen", line) for line in diagnosis.not_seen]
        lines: list[Line] = []
        for name, text in parts:
            for number, line in enumerate(folded(text, self._width - _NAME - 3)):
                lines.append(((f"  {'' if number else name:<{_NAME}} ", "name"), (line, "")))
        return lines

    @property
    def _files(self) -> Sequence[str]:
        return () if self._diagnosis is None else self._diagnosis.files

    @property
    def _width(self) -> int:
        return max(self.about.scrollable_content_region.width, 20)


def _of_parties(cause: FoundCause) -> str | None:
    for kind, field in _FIELDS.items():
        names = sorted(party.name for party in cause.parties if party.kind == kind)
        if names:
            return one_of(field, names)
    return None


def _who(row: Row) -> Cell:
    return Cell(printable(row["cause"].who.removeprefix("all members of ")))


def _cost(row: Row) -> Cell:
    return Cell(cost_text(row["cause"].cost).replace(" of waits added up", ""))


def _since(row: Row) -> Cell:
    return Cell(clock(row["cause"].since_ns)[11:23])


def _sure(row: Row) -> Cell:
    cause: FoundCause = row["cause"]
    return Cell(str(cause.certainty), "" if not cause.why_not_surer else "dim")


def _does(row: Row) -> Cell:
    severity = row["cause"].severity
    return Cell(severity.name.lower(), _STYLES[severity])


_COLUMNS = (
    number_column("#", "rank"),
    TableColumn("does", _does),
    TableColumn("cause", lambda row: Cell(printable(row["cause"].title), "name"), 24, readable=_TITLE),
    TableColumn("who", _who, 20, readable=NAME_WIDTH),
    TableColumn("since", _since, rank=2),
    TableColumn("times", lambda row: Cell(f"{row['cause'].times:,}"), rank=1, right=True),
    TableColumn("cost", _cost, 20),
    TableColumn("sure", _sure, rank=3),
)
