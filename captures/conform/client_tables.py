"""The part of the page about clients, from the JSON reports of `kdissect conform client`."""

from collections.abc import Iterator, Mapping
from typing import Any

from captures.conform.clients import PROGRAMS
from captures.conform.known_bugs import BUGS
from captures.conform.matrix import CLIENTS_HEAD, Report, bytes_of, shown, table

_HEAD = f"""\
{CLIENTS_HEAD}

`python -m captures.conform --clients` tests new releases of clients with each situation of
`kdissect conform client`, and plays known bugs. `python -m captures.conform --clients NAME` reproduces a row.
Each program writes without end, or reads a topic as a member of a group. A situation counts as played if the
client sent its request.
"""
_PLAYED = ("passed", "failed", "not concluded")
_BUGS_HEAD = """\
### Known bugs

Each bug is in the issue tracker of its client. The bytes are those of the first exchange that shows it.
"""


def client_part(reports: Mapping[str, Any]) -> str:
    """Return the part about clients. `reports` are those of programs and of bugs, by name."""
    parts = [_HEAD, *_programs(reports), "", *_failures(reports), "", _BUGS_HEAD, *_bugs(reports)]
    return "\n".join(parts) + "\n"


def _programs(reports: Mapping[str, Report]) -> Iterator[str]:
    rows = []
    for name, program in PROGRAMS.items():
        report = reports[name]
        played = [row for row in report["situations"][1:] if row["result"] in _PLAYED]
        run = f"{report['run']['seconds']} s, {report['run']['mebibytes']} MiB"
        rows.append([
            f"{program.client} {program.release}", program.about, f"`{name}`", str(len(played)),
            _codes(report, "must"), _codes(report, "should"), run,
        ])  # fmt: skip
    yield from table(
        ["client", "program", "NAME", "situations played", "a must fails", "a should fails",
         "time, peak memory"], rows,
    )  # fmt: skip


def _failed(report: Report) -> list[dict[str, Any]]:
    return [row for row in report["statements"] if row["result"] == "failed"]


def _codes(report: Report, level: str) -> str:
    return ", ".join(row["code"] for row in _failed(report) if row["level"] == level)


def _failures(reports: Mapping[str, Report]) -> Iterator[str]:
    rows = []
    for name, program in PROGRAMS.items():
        report = reports[name]
        for stated in _failed(report):
            found = next(row for row in report["check"]["findings"] if row["code"] == stated["code"])
            rows.append([
                f"{program.client} {program.about}", f"{stated['code']} {stated['name']}",
                shown(found["expected"]), shown(found["seen"]), bytes_of(found["where"]),
            ])  # fmt: skip
    yield from table(["client", "statement", "expected", "seen", "bytes"], rows)


def _bugs(reports: Mapping[str, Any]) -> Iterator[str]:
    rows = []
    for name, bug in BUGS.items():
        found = reports[name]["old"]["finding"]
        rows.append([
            f"{bug.client}: {bug.about} ([issue]({bug.issue}))", f"`{name}`", bug.situation, bug.code,
            f"{bug.old}: {reports[name]['old']['result']}", f"{bug.new}: {reports[name]['new']['result']}",
            shown(found["seen"]) if found else "", bytes_of(found["where"]) if found else "",
        ])  # fmt: skip
    yield from table(
        ["bug", "NAME", "situation", "statement", "older release", "newer release", "seen", "bytes"], rows
    )
