"""`kdissect conform diff` with the reports of a client, with a fault and without."""

import json
from pathlib import Path

import pytest

from kdissect.cli import main
from tests.conform.test_client_suite import FINDINGS, UNREADABLE, command
from tests.support.console import CHECKOUT

SITUATIONS = ["--situation", "leader change at Produce", "--situation", "retriable error at Produce"]


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """Return the paths of both reports."""
    folder = tmp_path_factory.mktemp("reports")
    paths = str(folder / "fault.json"), str(folder / "corrected.json")
    for path, fault in zip(paths, ("new sequence", ""), strict=True):
        main(["conform", "client", "-o", path, *SITUATIONS, "--", *command("producer", fault)])
    return paths


def test_the_output_on_the_page_is_that_of_a_run(
    reports: tuple[str, str], capfd: pytest.CaptureFixture[str]
) -> None:
    shown = (CHECKOUT / "docs" / "conform.md").read_text().split("```text\n")[3].split("```")[0]
    line, _, wanted = shown.partition("\n")
    assert line == "$ kdissect conform diff fault.json corrected.json"
    assert main(["conform", "diff", *reports]) == 0
    assert capfd.readouterr().out == wanted


def test_a_new_failure_has_its_exit_code(reports: tuple[str, str], capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["conform", "diff", *reversed(reports), "--json"]) == FINDINGS
    rows = json.loads(capfd.readouterr().out)["changes"]
    found = {row["name"]: (row["before"], row["after"]) for row in rows if row["is_new_failure"]}
    assert found["CNF121 keeps-sequence"] == ("passed", "failed")


def test_equal_reports(reports: tuple[str, str], capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["conform", "diff", reports[0], reports[0]]) == 0
    assert capfd.readouterr().out == "no result changed\n"


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{}", '{"report_version": 1}', '{"report_version": 1, "statements": [3]}', "[" * 100_000],
)
def test_what_is_no_report(
    text: str, reports: tuple[str, str], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    other = tmp_path / "other.json"
    other.write_text(text)
    assert main(["conform", "diff", reports[0], str(other)]) == UNREADABLE
    assert "no report" in (said := capfd.readouterr().err) or "no JSON" in said or "about a" in said
    assert main(["conform", "diff", "/no/such/file", str(other)]) == UNREADABLE
