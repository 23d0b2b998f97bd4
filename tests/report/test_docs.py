"""docs/reports.md shows what the reports hold."""

import re

import pytest

from kdissect.cli import main
from kdissect.cli.findings.report_files import FORMATS
from tests.support.console import CHECKOUT

TEXT = (CHECKOUT / "docs" / "reports.md").read_text()
EXCERPT = re.compile(r"<!-- excerpt: (\w+) -->\n```\w+\n(.*?)\n```", re.DOTALL)
CAPTURE = "captures/tansu_rdk216_acks.pcap"


def test_every_format_has_an_excerpt() -> None:
    assert [name for name, _ in EXCERPT.findall(TEXT)] == list(FORMATS)
    assert f"check {CAPTURE} --label broker=tansu" in TEXT


@pytest.mark.parametrize(("name", "shown"), EXCERPT.findall(TEXT))
def test_excerpts_are_real(
    name: str, shown: str, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(CHECKOUT)
    assert main(["check", CAPTURE, "--label", "broker=tansu", "--format", name]) == 1
    report, at = capfd.readouterr().out, 0
    for piece in re.split(r"^\.\.\.\n", shown + "\n", flags=re.MULTILINE):
        at = report.find(piece.rstrip("\n"), at)
        assert at >= 0, piece
