"""The page of brokers, faults and clients, and its parts about `kdissect conform broker`."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from captures.conform.brokers import BROKERS
from captures.record import workshop
from kdissect.conform.broker_connection import CLOSED
from kdissect.model.wording import runs_text
from kdissect.schema.protocol_messages import api_keys, api_name

PAGE = workshop.REPOSITORY / "docs" / "matrix.md"
FAULTS = "faults"
"""The name of the report about played faults."""
CLIENTS_HEAD = "## Clients"
_FAULTS_HEAD = "## Faults of replays"
_BYTES = 16
_MARKS = {"passed": "+", "failed": "fails", "not tested": ""}
_OF_A_RUN = re.compile(r"kdissect-conform-[0-9a-f]{8}")
_HEAD = """\
# Brokers, clients and statements

This page has results of `kdissect conform broker` ([conform](conform.md)) with real brokers, and of
`kdissect conform client` with real [clients](#clients).
`python -m captures.conform` starts each broker on loopback, and writes the page.
`python -m captures.conform NAME` reproduces the results of one broker.
For a broker that runs already, the command is `kdissect conform broker HOST:PORT --destructive`.
"""
Report = Mapping[str, Any]


def parts_of(text: str) -> list[str]:
    """Return the parts of the page: brokers, faults, clients."""
    begins = [0, *(text.index(f"\n{head}\n") + 1 for head in (_FAULTS_HEAD, CLIENTS_HEAD)), len(text) + 1]
    return [text[begin : end - 1] for begin, end in pairwise(begins)]


def broker_part(reports: Mapping[str, Report]) -> str:
    """Return the part about brokers. `reports` are theirs by name."""
    parts = (
        [_HEAD.rstrip()],
        _runs(reports),
        ["", "## Statements", "", *_statements(reports)],
        ["", "## Failures of a must", "", *_failures(reports)],
        ["", "## API versions that were not exercised", "", *_not_exercised(reports), ""],
    )
    return "\n".join(line for part in parts for line in part)


def fault_part(reports: Mapping[str, Any]) -> str:
    """Return the part about faults of replays. `reports` has the rows of those that were played."""
    return "\n".join([_FAULTS_HEAD, "", *_played(reports[FAULTS]), ""])


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """Yield the lines of a table."""
    yield f"| {' | '.join(head)} |"
    yield "|" + "---|" * len(head)
    yield from (f"| {' | '.join(row)} |" for row in rows)


def _runs(brokers: Mapping[str, Report]) -> Iterator[str]:
    rows = []
    for name, report in brokers.items():
        failed = {row["code"] for row in _errors(report)}
        share = 100 * report["exercised"] // report["advertised"]
        rows.append([
            BROKERS[name].name, BROKERS[name].setup, f"`{name}`", str(report["advertised"]),
            f"{report['exercised']} ({share} %)", str(len(failed) or ""),
            f"{report['run']['seconds']} s, {report['run']['mebibytes']} MiB",
            "to its end" if report["ended_early"] is None else "the broker ended",
        ])  # fmt: skip
    yield ""
    yield from table(
        ["broker", "set up with", "NAME", "versions advertised", "exercised",
         "codes with a failed must", "time, peak memory", "the run"], rows,
    )  # fmt: skip


def _errors(report: Report) -> list[dict[str, Any]]:
    return [row for row in report["check"]["findings"] if row["severity"] == "error"]


def _statements(brokers: Mapping[str, Report]) -> Iterator[str]:
    yield "`+` is passed. An empty cell is not tested: the broker lacks the API, or the run ended before."
    yield ""
    results = {
        name: {row["code"]: row["result"] for row in report["statements"]} for name, report in brokers.items()
    }
    first = next(iter(brokers.values()))
    rows = [
        [
            row["code"],
            row["name"],
            row["level"],
            *(_MARKS[found.get(row["code"], "not tested")] for found in results.values()),
        ]
        for row in first["statements"]
    ]
    yield from table(["code", "statement", "level", *(BROKERS[name].name for name in brokers)], rows)


def _failures(brokers: Mapping[str, Report]) -> Iterator[str]:
    """Yield a row for each code of a broker: versions, and the first exchange that shows it.

    Requests that a broker closes its connection at are left out if it ended: one of them may be the reason.
    """
    rows = []
    for name, report in brokers.items():
        by_code: dict[tuple[str, str], list[dict[str, Any]]] = {}
        for row in _errors(report):
            if report["ended_early"] and row["seen"] == CLOSED:
                continue
            by_code.setdefault((row["code"], row["where"]["api"] or ""), []).append(row)
        for (code, api), found in by_code.items():
            where = found[0]["where"]
            numbers = {row["where"]["api_version"] for row in found} - {None}
            rows.append([
                BROKERS[name].name, f"{code} {found[0]['name']}", f"{api} v{runs_text(sorted(numbers))}",
                shown(found[0]["expected"]), shown(found[0]["seen"]), bytes_of(where),
            ])  # fmt: skip
    yield "The bytes are the first of those that show it, in the first exchange that does."
    yield "Of a broker that ended, requests at which it closed the connection are left out."
    yield ""
    yield from table(["broker", "code", "versions", "expected", "seen", "bytes"], rows)


def shown(text: str) -> str:
    """Return a text as a cell, without the names of one run."""
    return _OF_A_RUN.sub("kdissect-conform-RUN", text).replace("|", "\\|")


def bytes_of(where: Mapping[str, Any]) -> str:
    """Return the first bytes that show a finding, as a cell."""
    digits = (where["bytes"] or {}).get("hex", "").replace(" ", "")
    if not digits:
        return "no response"
    shown = bytes.fromhex(digits[: 2 * _BYTES]).hex(" ")
    return f"`{shown}{' ...' if len(digits) > 2 * _BYTES else ''}`"


def _not_exercised(brokers: Mapping[str, Report]) -> Iterator[str]:
    rows = []
    for name, report in brokers.items():
        by_reason: dict[tuple[str, str], list[int]] = {}
        for row in report["versions"]:
            if row["why_not"]:
                by_reason.setdefault((row["api"], row["why_not"]), []).append(row["version"])
        by_why: dict[str, list[str]] = {}
        for (api, why), numbers in by_reason.items():
            by_why.setdefault(why, []).append(f"{api} v{runs_text(numbers)}")
        rows += [[BROKERS[name].name, ", ".join(what), why] for why, what in by_why.items()]
    yield from table(["broker", "versions", "reason"], rows)
    yield ""
    yield from _never(brokers)


def _never(brokers: Mapping[str, Report]) -> Iterator[str]:
    versions = [row for report in brokers.values() for row in report["versions"]]
    exercised = {row["key"] for row in versions if row["exercised"]}
    why_not = {row["key"]: row["why_not"] for row in versions}
    every = sorted(api_keys())
    missing = [key for key in every if key not in exercised]
    if not missing:
        yield f"Each of the {len(every)} APIs was exercised with at least one broker."
        return
    yield f"Of {len(every)} APIs, {len(exercised)} were exercised with at least one broker. The others:"
    yield ""
    rows = [
        [api_name(key) or str(key), str(key), why_not.get(key) or "none of these listeners advertises it"]
        for key in missing
    ]
    yield from table(["API", "key", "reason"], rows)


def _played(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the faults of replays, each with the codes of the findings that only the run with it has."""
    found = sum(bool(row["found"]) for row in rows)
    yield f"`python -m captures.conform --faults [RULE...]` plays {len(rows)} faults of `captures/replay`:"
    yield "a proxy before Apache Kafka 4.4.0 changes each response of the fault. Codes are those of findings"
    yield f"that the run without the fault does not have. Found: {found} of {len(rows)}."
    yield ""
    cells = [[row["rule"], row["says"], ", ".join(row["found"]) or _why_not(row)] for row in rows]
    yield from table(["fault of", "response", "found by"], cells)


def _why_not(row: Mapping[str, Any]) -> str:
    return "**not found**" if row["played"] else "not played: the suite gets no such response"
