"""`kdissect upgrade`: which clients break on another Kafka release."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Sequence
from typing import Any

from kdissect.api import Dissection
from kdissect.cli.diagnostics import FINDINGS, NOTHING, OK
from kdissect.cli.event_loop import read_and_show, read_blocks, read_events
from kdissect.cli.findings.allow_unread import add_allow_unread, green
from kdissect.cli.formats.row_table import RowTable
from kdissect.cli.formats.titled_tables import Tables, add_tables, write_tables
from kdissect.cli.options.argument_types import as_argument
from kdissect.cli.options.command_parser import command_parser
from kdissect.cli.options.filter_option import add_filter, filter_of, open_filtered, takes
from kdissect.cli.options.input_options import add_inputs
from kdissect.cli.options.output_options import printing
from kdissect.cli.output import Output
from kdissect.cli.statistics.blind_spots_text import blind_spots_lines
from kdissect.model.wording import plural
from kdissect.report.cells import Cell, TableColumn
from kdissect.report.printable import printable
from kdissect.schema.acceptance import resolve
from kdissect.session.events import Event
from kdissect.stats.blind_spots import BlindSpots
from kdissect.stats.by_software import uses_by_software
from kdissect.stats.upgrade_audit import UpgradeAudit, upgrade_facts

# Failing outcomes, by the choice of --fail-on.
_FAILING = {
    "breaks": ("breaks",),
    "may-break": ("breaks", "may_break"),
    "deprecated": ("breaks", "may_break", "deprecated"),
    "never": (),
}


def run(arguments: Sequence[str]) -> int:
    """Print the audit and return the exit code: 1 if a client breaks."""
    options = (parser := _parser()).parse_args(arguments)
    dissection = open_filtered(parser, options)
    found: list[dict[str, Any]] = []

    def body(output: Output) -> None:
        audit, unseen = UpgradeAudit(options.target), BlindSpots()
        accepts = filter_of(options, dissection)

        def take(event: Event) -> None:
            unseen.add(event)
            audit.add(event, takes(accepts, event))

        def read() -> None:
            if accepts is None:
                read_blocks(dissection, take, audit.count_block)
            else:
                read_events(dissection, take)

        def show(output: Output) -> None:
            audit.finish()
            facts = upgrade_facts(audit) | {"not_seen": unseen.facts()}
            found.append(facts)
            _write(facts, options, output)

        read_and_show(dissection, options, output, read, show)

    code = printing(parser, options, dissection, body)
    if not found or dissection.guard.has_faults:
        return code
    return _exit_code(found[0], options, code, dissection)


def _write(facts: Facts, options: Namespace, output: Output) -> None:
    """Write the audit, or the rows of its table."""

    def uses() -> list[Facts]:
        return [row for row in facts["uses"] if options.all or row["outcome"] != "fine"]

    tables = [RowTable("uses", uses), RowTable("software", lambda: uses_by_software(uses()))]
    write_tables(options, output, facts, tables, lambda: _write_audit(facts, options, output))
    output.flush()


def _parser() -> ArgumentParser:
    parser = command_parser(
        "upgrade",
        "List the clients that use API versions that a Kafka release rejects or deprecates.",
    )
    add_inputs(parser, live=True)
    add_filter(parser, "judge only exchanges for which EXPR holds")
    add = parser.add_argument_group("what is judged").add_argument
    add(
        "--target",
        metavar="RELEASE",
        type=as_argument(resolve),
        required=True,
        help="the release: 4.0, 3.9, 2.8.1 ...",
    )
    add("--fail-on", choices=tuple(_FAILING), default="breaks", help="exit with 1 (default: breaks)")
    add_allow_unread(add)
    add("--all", action="store_true", help="also list uses that continue to work")
    add_tables(parser, "uses", "software")
    return parser


def _exit_code(facts: dict[str, Any], options: Namespace, reading: int, dissection: Dissection) -> int:
    """Return the code for breaking clients first: it is valid whatever else could not be read.

    Unread inputs are not green.
    """
    if any(facts["outcomes"][outcome] for outcome in _FAILING[options.fail_on]):
        return FINDINGS
    if reading != OK:
        return reading
    return green(options, dissection) if facts["exchanges"] else NOTHING


Facts = dict[str, Any]
_STYLES = {"breaks": "bad", "may_break": "odd", "unknown": "odd", "deprecated": "odd"}


def _write_audit(facts: Facts, options: Namespace, output: Output) -> None:
    """Write what does not simply go on working, then one line that sums up."""
    tables = Tables(options, output)
    tables.table(_columns(), _folded(row for row in facts["uses"] if options.all or row["outcome"] != "fine"))
    counts = facts["outcomes"]
    counted = [f"{count} {name.replace('_', ' ')}" for name, count in counts.items() if count]
    style = "bad" if counts["breaks"] else "good"
    if any(row["outcome"] != "fine" for row in facts["uses"]) or options.all:
        tables.line("")
    uses = f"{plural(len(facts['uses']), 'API version')} used by {plural(facts['clients'], 'client')}"
    tables.line(f"Kafka {facts['target']}: {uses}: {', '.join(counted) or 'nothing to judge'}", style)
    tables.left_out(facts)
    unseen = list(blind_spots_lines(facts["not_seen"]))
    tables.lines("what the capture does not show", unseen)


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
    """Return a row for all clients of one software and version with equal APIs and equal outcomes."""
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
    """Return the first two, and how many more there are."""
    more += max(len(names) - 2, 0)
    return printable(", ".join(names[:2]) + (f" and {more} more" if more else ""))


def _why(row: Facts) -> Cell:
    taken = row["target_takes"]
    takes = "the target lacks the API" if taken is None else f"the target accepts v{taken[0]}-{taken[1]}"
    takes += ", off by default" if row["off_by_default"] else ""
    return Cell(_WHY[row["fate"]].format(release=row["release"], takes=takes) + _limit(row))


def _limit(row: Facts) -> str:
    if row["outcome"] == "may_break" and row["offered"]:
        return f"; its broker offers no more than v{row['offered'][1]}"
    return ""


_WHY = {
    "taken": "{takes}",
    "gone": "removed in {release}: {takes}",
    "deprecated": "works, but {release} removes it",
    "too_new": "new in {release}: {takes}",
    "unknown": "no release has it",
}
