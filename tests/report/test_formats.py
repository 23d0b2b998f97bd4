"""Reports for machines: well formed, and nothing from the wire acts in them."""

import xml.etree.ElementTree as ET

import pytest

from kdissect.cli import main
from kdissect.report.github import report_github
from kdissect.report.junit import report_junit
from kdissect.report.verdict import Verdict
from kdissect.rules.run_coverage.capture_quality import quality_of
from tests.rules.scripted_connection import ScriptedConnection, judged
from tests.support.console import CAPTURES

EVIL = "a\n::error::x\x1b[2J</failure><b>%0A"
ACKS = str(CAPTURES / "tansu_rdk216_acks.pcap")


def evil() -> Verdict:
    talk = ScriptedConnection()
    talk.ask("Produce", 9, {"acks": 7, "timeout_ms": 1, "topic_data": []}, client_id=EVIL)
    judge = judged(talk.answer("Produce", 9, {"responses": []}).close())
    assert any(finding.code == "PRD001" for finding in judge.findings.all())
    return Verdict(judge, quality_of(judge.coverage), (EVIL,))


def test_junit_is_well_formed_whatever_the_wire_says() -> None:
    text = report_junit(evil())
    suite = ET.fromstring(text)[0]
    cases = {case.get("name", "").split()[0]: case for case in suite.iter("testcase")}
    assert suite.get("tests") == str(len(cases))
    assert cases["PRD001"].find("failure") is not None
    assert cases["ADM001"].find("skipped") is not None
    assert "\x1b" not in text


def test_annotations_are_one_line_each() -> None:
    verdict = evil()
    lines = report_github(verdict).splitlines()
    assert len(lines) == len(verdict.folds) + 1
    assert all(line.startswith("::") and "\x1b" not in line for line in lines)


def test_annotations_name_the_capture() -> None:
    verdict = evil()
    lines = report_github(verdict).splitlines()
    file = "a%0A%3A%3Aerror%3A%3Ax\\x1b[2J</failure><b>%250A"
    assert [line.partition("file=")[2].partition(",title=")[0] for line in lines[:-1]] == [file] * (
        len(lines) - 1
    )
    verdict.files = ("-",)
    assert all("file=" not in line for line in report_github(verdict).splitlines())


@pytest.mark.parametrize("name", ["junit", "github"])
def test_formats_of_the_command(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["check", ACKS, "--format", name]) == 1
    assert "PAI004" in capfd.readouterr().out
