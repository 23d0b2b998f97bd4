"""The facts of `kdissect upgrade` as a table and a verdict."""

from argparse import Namespace
from collections.abc import Iterable, Sequence
from typing import Any

from kdissect.cli.formats.blind_spots_text import blind_spots_lines
from kdissect.cli.output import Output
from kdissect.cli.printable import printable
from kdissect.cli.tables import Tables
from kdissect.model.wording import plural
from kdissect.report.cells import Cell, TableColumn

Facts = dict[str, Any]
_STYLES = {"breaks": "bad", "may_break": "odd", "unknown": "odd", "deprecated": "odd"}


def upgrade_text(facts: Facts, options: Namespace, output: Output) -> None:
    """Write what does not simply go on working, then one line that sums up."""
    tables = Tables(options, output)
    tables.table(_columns(), _folded(row for row in facts["uses"] if options.all or row["outcome"] != "fine"))
    counts = facts["outcomes"]
    told = [f"{count} {name.replace('_', ' ')}" for name, count in counts.items() if count]
    style = "bad" if counts["breaks"] else "good"
    if any(row["outcome"] != "fine" for row in facts["uses"]) or options.all:
        tables.line("")
    uses = f"{plural(len(facts['uses']), 'API version')} used by {plural(facts['clients'], 'client')}"
    tables.line(f"Kafka {facts['target']}: {uses}: {', '.join(told) or 'nothing to judge'}", style)
    if facts["forgotten"]:
        tables.line(f"{facts['forgotten']} more are left out: there are more than can be kept", "odd")
    unseen = list(blind_spots_lines(facts["not_seen"]))
    if unseen:
        tables.heading("what the capture does not show")
        for line in unseen:
            tables.line(line)


def _columns() -> list[TableColumn]:
    return [
        TableColumn(
            "verdict", lambda row: Cell(row["outcome"].replace("_", " "), _STYLES.get(row["outcome"], ""))
        ),
        TableColumn("software", lambda row: Cell(printable(row["software"] or ""))),
        TableColumn("client id", lambda row: Cell(_some(row["client_ids"]))),
        TableColumn("principal", lambda row: Cell(printable(row["principal"] or ""))),
        TableColumn("address", _addresses, rank=1),
        TableColumn("api", lambda row: Cell(f"{row['api'] or row['api_key']} v{row['api_version']}")),
        TableColumn("exchanges", lambda row: Cell(str(row["exchanges"])), rank=2, right=True),
        TableColumn("why", _why),
    ]


def _folded(uses: Iterable[Facts]) -> list[Facts]:
    """A row for all clients of one software and version that use the same and fare the same."""
    rows: dict[tuple[Any, ...], Facts] = {}
    for use in uses:
        api = use["api_key"], use["api_version"]
        row = rows.setdefault(
            (use["outcome"], use["software"], use["principal"], *api, _why(use).text),
            use | {"client_ids": [], "addresses": [], "more_addresses": 0, "exchanges": 0},
        )
        row["client_ids"].append(use["client_id"] or "-")
        row["addresses"] = list(dict.fromkeys((*row["addresses"], *use["addresses"])))
        row["more_addresses"] += use["more_addresses"]
        row["exchanges"] += use["exchanges"]
    return list(rows.values())


def _addresses(row: Facts) -> Cell:
    return Cell(_some(row["addresses"], row["more_addresses"]))


def _some(names: Sequence[str], more: int = 0) -> str:
    """The first two, and how many more there are."""
    more += max(len(names) - 2, 0)
    return printable(", ".join(names[:2]) + (f" and {more} more" if more else ""))


def _why(row: Facts) -> Cell:
    taken = row["target_takes"]
    takes = "the API is not taken" if taken is None else f"v{taken[0]}-{taken[1]} are taken"
    return Cell(_WHY[row["fate"]].format(release=row["release"], takes=takes) + _limit(row))


def _limit(row: Facts) -> str:
    if row["outcome"] == "may_break" and row["offered"]:
        return f"; its broker offers no more than v{row['offered'][1]}"
    return ""


_WHY = {
    "taken": "{takes}",
    "gone": "gone since {release}: {takes}",
    "deprecated": "goes in {release}",
    "too_new": "comes with {release}: {takes}",
    "unknown": "no release has it",
}
