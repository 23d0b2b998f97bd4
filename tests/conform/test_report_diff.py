"""`kdissect conform diff` with the reports of a client, with a fault and without."""

import json
from pathlib import Path
from typing import Any

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


def changed(path: str, other: Path, **values: Any) -> str:
    """Write a report with other values, and return its path."""
    other.write_text(json.dumps(json.loads(Path(path).read_text()) | values))
    return str(other)


FINDING = {"code": "FRM001", "name": "frame-size", "level": "must", "severity": "error"}


@pytest.mark.parametrize(
    ("severity", "code", "after"), [("error", FINDINGS, "failed"), ("warning", 0, "warning")]
)
def test_a_finding_that_belongs_to_no_version(
    severity: str, code: int, after: str, reports: tuple[str, str], tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    check = json.loads(Path(reports[1]).read_text())["check"]
    check["findings"].append(FINDING | {"severity": severity})
    other = changed(reports[1], tmp_path / "other.json", check=check)
    assert main(["conform", "diff", reports[1], other]) == code
    assert capfd.readouterr().out.splitlines()[1].split(maxsplit=1) == [
        "findings", f"FRM001 frame-size, must  -       {after}",
    ]  # fmt: skip
    assert main(["conform", "diff", other, reports[1]]) == 0


def test_a_report_that_ended_early_is_named(
    reports: tuple[str, str], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    early = changed(reports[1], tmp_path / "early.json", ended_early="it was interrupted")
    assert main(["conform", "diff", reports[1], early]) == UNREADABLE
    assert capfd.readouterr().err == "kdissect: B ended early: it was interrupted\n"
    assert main(["conform", "diff", early, reports[1]]) == 0
    assert capfd.readouterr().err == "kdissect: A ended early: it was interrupted\n"
    assert main(["conform", "diff", early, reports[0]]) == FINDINGS


STATEMENT = {"code": "CNF100", "name": "uses-advertised-versions", "result": "passed"}


@pytest.mark.parametrize(
    "values",
    [
        {"statements": [STATEMENT | {"result": 3}]},
        {"situations": [{"name": [], "result": "passed"}]},
        {"situations": None},
        {"versions": [{"api": "Fetch", "version": "1", "exercised": True, "failures": 0}]},
        {"check": {"findings": [FINDING | {"level": None}]}},
        {"check": []},
        {"ended_early": 1},
    ],
)
def test_only_the_file_with_wrong_types_is_named(
    values: dict[str, Any], reports: tuple[str, str], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    broken = changed(reports[1], tmp_path / "broken.json", **values)
    for words in ([reports[1], broken], [broken, reports[1]]):
        assert main(["conform", "diff", *words]) == UNREADABLE
        said = capfd.readouterr().err
        assert said.startswith(f"kdissect: {broken}: it is no report")
        assert reports[1] not in said
