"""`kdissect conform diff`: compares two reports of `kdissect conform`."""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

from kdissect.cli.diagnostics import FINDINGS, OK, UNREADABLE, say
from kdissect.cli.formats.row_table import Facts, RowTable
from kdissect.cli.formats.titled_tables import add_tables, write_tables
from kdissect.cli.options.command_parser import command_parser
from kdissect.cli.options.output_options import writing
from kdissect.cli.output import Output
from kdissect.conform.report_diff import Change, ReportError, changes, check_report
from kdissect.model.wording import aligned
from kdissect.report.printable import printable


def run(arguments: Sequence[str]) -> int:
    """Compare two reports, print what changed and return the exit code."""
    parser = command_parser(
        "conform diff",
        "Compare two reports of kdissect conform --format json: statements, situations, API versions and "
        "findings that changed. The exit code is 1 if B has a failure that A does not have.",
    )
    parser.add_argument("before", metavar="A.json", help="the report to compare with")
    parser.add_argument("after", metavar="B.json", help="the newer report")
    add_tables(parser, "changes")
    options = parser.parse_args(arguments)
    reports: list[dict[str, Any]] = []
    for path in (options.before, options.after):
        try:
            reports.append(_report(path))
        except ReportError as error:
            say(f"{path}: {error}")
            return UNREADABLE
    try:
        found = changes(*reports)
    except ReportError as error:
        say(f"{options.before}, {options.after}: {error}")
        return UNREADABLE
    code = writing(parser, options, lambda output: _write(options, output, found))
    for name, report in zip("AB", reports, strict=True):
        if report["ended_early"]:
            say(f"{name} ended early: {printable(report['ended_early'])}")
    if code != OK:
        return code
    if any(one.is_new_failure for one in found):
        return FINDINGS
    return UNREADABLE if reports[1]["ended_early"] else OK


def _report(path: str) -> dict[str, Any]:
    """Return the report in a file. Raises ReportError."""
    try:
        report = json.loads(Path(path).read_bytes())
    except OSError as error:
        raise ReportError(error.strerror) from None
    except (ValueError, RecursionError):
        raise ReportError("it is no JSON") from None
    check_report(report)
    return cast("dict[str, Any]", report)


def _write(options: Namespace, output: Output, found: Sequence[Change]) -> None:
    rows: list[Facts] = [one._asdict() | {"is_new_failure": one.is_new_failure} for one in found]
    table = RowTable("changes", lambda: rows)
    write_tables(options, output, {"changes": rows}, [table], lambda: output.write_text(_text(found)))


def _text(found: Sequence[Change]) -> str:
    if not found:
        return "no result changed\n"
    cells = [[one.part, printable(one.name), one.before or "-", one.after or "-"] for one in found]
    return "\n".join(aligned([["part", "name", "before", "after"], *cells])) + "\n"
