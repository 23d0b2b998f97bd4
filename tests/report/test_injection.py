"""No report lets a text act: whatever is in it stays a text, in every format."""

import json
import os
import re
from xml.etree import ElementTree

import html5lib
import pytest

from kdissect.cli.findings.report_files import FORMATS, render
from kdissect.report.printable import printable
from kdissect.report.verdict import Verdict
from tests.report.test_json_report import validated
from tests.report.verdicts import EVIL, verdict_on

# What Python makes of bytes in a path or argument that are no UTF-8.
SURROGATES = os.fsdecode(b"\xff\xfe") + "\ud83d"


def with_surrogates() -> Verdict:
    """Return a verdict with lone surrogates in names of files and labels: the wire cannot have them."""
    verdict = verdict_on("plain", SURROGATES)
    for finding in verdict.findings:
        finding.seen = finding.expected = SURROGATES
        finding.party = finding.party._replace(label=SURROGATES, software=SURROGATES)
        finding.place = finding.place._replace(path=SURROGATES)
    return verdict


@pytest.mark.sampled(12)
@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("text", EVIL)
def test_reports_hold_no_character_that_acts_on_a_terminal(text: str, name: str) -> None:
    report = render(name, verdict_on(text)).decode()
    assert all(line.isprintable() for line in report.split("\n"))


@pytest.mark.parametrize("name", FORMATS)
def test_lone_surrogates_harm_no_report(name: str) -> None:
    report = render(name, with_surrogates()).decode()
    assert "\ud83d" not in report
    if name in ("json", "sarif"):
        json.dumps(json.loads(report), ensure_ascii=False).encode()  # strict readers refuse what is no text
    else:
        assert all(line.isprintable() for line in report.split("\n"))
    if name == "json":
        validated(report)
    if name == "junit":
        ElementTree.fromstring(report)
    if name == "html":
        html5lib.HTMLParser(strict=True).parse(report)


@pytest.mark.parametrize("text", EVIL)
def test_annotations_are_the_only_commands(text: str) -> None:
    verdict = verdict_on(text)
    lines = render("github", verdict).decode().split("\n")
    assert len(lines) == len(verdict.folds) + 2
    commands = [line.split(" ", 1)[0] for line in lines if line]
    assert set(commands) <= {"::error", "::warning", "::notice"}
    properties = [re.findall(r"(\w+)=[^,]*", line.split("::")[1]) for line in lines if line]
    assert properties == [["file", "title"]] * len(verdict.folds) + [["title"]]


@pytest.mark.parametrize("text", EVIL)
def test_no_line_of_the_text_is_a_command(text: str) -> None:
    for line in render("text", verdict_on(text), statistics=True).decode().split("\n"):
        assert not line.strip().startswith("::")
        assert not line.startswith("##[")


@pytest.mark.parametrize("text", EVIL)
def test_values_can_be_read_in_every_report(text: str) -> None:
    verdict = verdict_on(text)
    for name in ("text", "github"):
        shown = printable(text).replace("%", "%25") if name == "github" else printable(text)
        assert shown in render(name, verdict).decode()
