"""docs/matrix.md: each statement and fault has its row, and the page is what the reports of brokers say."""

from typing import Any

import pytest

from captures.conform.brokers import BROKERS
from captures.conform.matrix import FAULTS, PAGE, page
from captures.replay.faults_of_brokers import FAULTS as PLAYED
from kdissect.rules.broker_statements import BROKER_STATEMENTS
from tests.conform.small_broker import small_broker
from tests.conform.test_broker_suite import conform

ROWS = [line.split(" | ") for line in PAGE.read_text().splitlines() if line.startswith("| ")]


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
    played = PAGE.read_text().split("## Faults of replays")[1]
    for one in PLAYED:
        assert f"| {one.code} | {one.says} | " in played


def report_of(fault: str, capfd: pytest.CaptureFixture[str]) -> dict[str, Any]:
    with small_broker(fault) as broker:
        _, report = conform(broker.address, capfd)
    return report | {"run": {"seconds": 1, "mebibytes": 40}}


def test_the_page_has_failures_with_their_bytes(capfd: pytest.CaptureFixture[str]) -> None:
    reports: dict[str, Any] = dict.fromkeys(BROKERS, report_of("", capfd))
    reports["kfake"] = report_of("checksum", capfd)
    found = {"rule": "MET002", "says": "Metadata: a stranger leads", "played": 3, "found": ["MET002"]}
    missed = found | {"says": "Metadata: another fault", "found": []}
    reports[FAULTS] = [found, missed, missed | {"says": "of no response", "played": 0}]
    text = page(reports)
    (row,) = [line for line in text.splitlines() if line.startswith("| kfake | CNF023")]
    cells = row.split(" | ")[1:]
    assert cells[:4] == ["CNF023 refuses-wrong-checksum", "Produce v5", "CORRUPT_MESSAGE", "NONE"]
    assert cells[4].startswith("`00 00")
    marks = next(line for line in text.splitlines() if line.startswith("| CNF023 ")).split(" | ")[3:]
    assert [mark.strip(" |") for mark in marks] == ["+"] * 5 + ["fails", "+"]
    assert "Found: 1 of 3." in text
    assert "| MET002 | Metadata: another fault | **not found** |" in text
    assert "| MET002 | of no response | not played: the suite gets no such response |" in text
