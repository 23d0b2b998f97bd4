"""docs/matrix.md: each statement, fault, client and known bug has its row. The page is what reports say."""

from typing import Any

import pytest

from captures.conform.brokers import BROKERS
from captures.conform.client_tables import client_part
from captures.conform.clients import PROGRAMS
from captures.conform.known_bugs import BUGS
from captures.conform.matrix import FAULTS, PAGE, broker_part, fault_part, parts_of
from captures.replay.faults_of_brokers import FAULTS as PLAYED
from kdissect.conform.client.situations import SITUATIONS
from kdissect.rules.broker_statements import BROKER_STATEMENTS
from kdissect.rules.client_statements import CLIENT_STATEMENTS
from tests.conform.small_broker import small_broker
from tests.conform.test_broker_suite import conform

BROKER_TEXT, FAULT_TEXT, CLIENT_TEXT = parts_of(PAGE.read_text())
ROWS = [line.split(" | ") for line in BROKER_TEXT.splitlines() if line.startswith("| ")]


def test_each_statement_has_a_row_with_each_broker() -> None:
    """A broker whose run ended, or that has no such API, has an empty cell."""
    stated = [row for row in ROWS if len(row) == 3 + len(BROKERS)]
    head = ["| code", "statement", "level", *(one.name for one in BROKERS.values())]
    assert [*stated[0][:-1], stated[0][-1].removesuffix(" |")] == head
    wanted = [(f"| {one.code}", one.name, str(one.level)) for one in BROKER_STATEMENTS]
    assert [tuple(row[:3]) for row in stated[1:]] == wanted


def test_apache_kafka_fails_no_must() -> None:
    kafka = {one.name for one in BROKERS.values() if one.name.startswith("Apache Kafka")}
    failures = PAGE.read_text().split("## Failures of a must")[1].split("## ")[0]
    assert len(kafka) == 5
    assert not [name for name in kafka if name in failures]


def test_each_fault_of_a_broker_has_a_row() -> None:
    for one in PLAYED:
        assert f"| {one.code} | {one.says} | " in FAULT_TEXT


def report_of(fault: str, capfd: pytest.CaptureFixture[str]) -> dict[str, Any]:
    with small_broker(fault) as broker:
        _, report = conform(broker.address, capfd)
    return report | {"run": {"seconds": 1, "mebibytes": 40}}


def test_the_page_has_failures_with_their_bytes(capfd: pytest.CaptureFixture[str]) -> None:
    reports: dict[str, Any] = dict.fromkeys(BROKERS, report_of("", capfd))
    reports["kfake"] = report_of("checksum", capfd)
    found = {"rule": "MET002", "says": "Metadata: a stranger leads", "played": 3, "found": ["MET002"]}
    missed = found | {"says": "Metadata: another fault", "found": []}
    rows = [found, missed, missed | {"says": "of no response", "played": 0}]
    text = broker_part(reports) + fault_part({FAULTS: rows})
    (row,) = [line for line in text.splitlines() if line.startswith("| kfake | CNF023")]
    cells = row.split(" | ")[1:]
    assert cells[:4] == ["CNF023 refuses-wrong-checksum", "Produce v5", "CORRUPT_MESSAGE", "NONE"]
    assert cells[4].startswith("`00 00")
    marks = next(line for line in text.splitlines() if line.startswith("| CNF023 ")).split(" | ")[3:]
    assert [mark.strip(" |") for mark in marks] == ["fails" if name == "kfake" else "+" for name in BROKERS]
    assert "Found: 1 of 3." in text
    assert "| MET002 | Metadata: another fault | **not found** |" in text
    assert "| MET002 | of no response | not played: the suite gets no such response |" in text


def test_each_client_has_a_row() -> None:
    for name, program in PROGRAMS.items():
        assert f"| {program.client} {program.release} | {program.about} | `{name}` | " in CLIENT_TEXT


def test_each_known_bug_fails_before_and_passes_after() -> None:
    """The bug is in a public issue tracker, and its situation and statement are of the suite."""
    situations = {one.name: {each.code for each in one.expected} for one in SITUATIONS}
    for name, bug in BUGS.items():
        assert bug.issue.startswith("https://")
        assert bug.code in situations[bug.situation]
        row = f"`{name}` | {bug.situation} | {bug.code} | {bug.old}: failed | {bug.new}: passed | "
        assert row in CLIENT_TEXT
    assert {bug.code for bug in BUGS.values()} <= {one.code for one in CLIENT_STATEMENTS}


def test_the_part_about_clients_has_what_reports_say() -> None:
    where = {"bytes": {"start": 0, "end": 2, "hex": "00 07"}}
    found = {"code": "CNF160", "expected": "no request for 2 s", "seen": "Fetch v4", "where": where}
    passed = {"result": "passed", "finding": None}
    report = {
        "situations": [{"result": result} for result in ("passed", "failed", "passed", "not played")],
        "statements": [
            {"code": "CNF160", "name": "respects-throttle", "level": "should", "result": "failed"},
            {"code": "CNF100", "name": "uses-advertised-versions", "level": "must", "result": "passed"},
        ],
        "check": {"findings": [found]}, "run": {"seconds": 7, "mebibytes": 40},
    }  # fmt: skip
    reports: dict[str, Any] = dict.fromkeys(PROGRAMS, report)
    reports |= {key: {"old": {"result": "failed", "finding": found}, "new": passed} for key in BUGS}
    text = client_part(reports)
    assert "| Java 4.4.0 | producer | `java-producer` | 2 |  | CNF160 | 7 s, 40 MiB |" in text
    shown = "CNF160 respects-throttle | no request for 2 s | Fetch v4 | `00 07` |"
    assert f"| Java producer | {shown}" in text
    assert "| `franz-retries` | leader change at Produce | CNF110 | 1.18.1: failed | 1.19.0: passed |" in text
    assert parts_of("\n".join([BROKER_TEXT, FAULT_TEXT, text]))[2] == text
