"""Rows by software against the rows they add up, through the commands."""

import json
from collections import Counter
from typing import Any

import pytest

from kdissect.cli import main
from tests.support.console import CAPTURES

NAMES = ["kafka44_java_groups.pcapng", "tansu_rdk216_txn.pcap", "kafka44_java_errors.pcapng"]
Rows = list[dict[str, Any]]


def rows(capfd: pytest.CaptureFixture[str], *arguments: str) -> Rows:
    assert main([*arguments, "--format", "jsonl"]) == 0
    return [json.loads(line) for line in capfd.readouterr().out.splitlines()]


@pytest.mark.parametrize("target", ["4.0", "0.10.0"])
def test_upgrade(target: str, capfd: pytest.CaptureFixture[str]) -> None:
    line = ["upgrade", *(str(CAPTURES / name) for name in NAMES), "--target", target, "--all"]
    line += ["--fail-on", "never"]
    uses, found = rows(capfd, *line, "--table", "uses"), rows(capfd, *line, "--table", "software")
    assert len(found) == len({(use["outcome"], use["software"]) for use in uses}) > 1
    for row in found:
        of_it = [
            use for use in uses if (use["outcome"], use["software"]) == (row["outcome"], row["software"])
        ]
        assert row["exchanges"] == sum(use["exchanges"] for use in of_it)
        assert row["clients"] == len({(use["principal"], use["client_id"]) for use in of_it})
        assert set(row["apis"]) == {f"{use['api']} v{use['api_version']}" for use in of_it}
    concerned = rows(capfd, *line[:-3], "--fail-on", "never", "--table", "software")
    assert concerned == [row for row in found if row["outcome"] != "fine"]


def test_groups(capfd: pytest.CaptureFixture[str]) -> None:
    line = ["groups", *(str(CAPTURES / name) for name in NAMES)]
    members, found = rows(capfd, *line, "--table", "members"), rows(capfd, *line, "--table", "software")
    there, gone = Counter[Any](), Counter[Any]()
    for member in members:
        (gone if member["gone"] else there)[member["group"], member["software"]] += 1
    assert {(row["group"], row["software"]) for row in found} == {*there, *gone}
    for row in found:
        key = row["group"], row["software"]
        assert (row["members"], row["gone"]) == (there[key], gone[key])


def test_a_table_without_rows_says_so(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["groups", str(CAPTURES / "tansu_rdk216_txn.pcap"), "--table", "rejoins"]) == 0
    assert "the table rejoins has no rows here" in capfd.readouterr().err
