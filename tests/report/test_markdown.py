"""Markdown: tables that stay tables, and values that stay values."""

import re
from html import unescape

import pytest

from kdissect.report.markdown import MAX_FOLDS, code, report_markdown
from kdissect.report.printable import printable
from tests.report.test_folds import found_by
from tests.report.verdicts import EVIL, NAMES, verdict_of, verdict_on

# A value in its cell: letters, digits, harmless marks, and everything else by number.
VALUE = re.compile(r"<code>((?:[^\W_]|[-/,=() ]|&#\d+;)*)</code>")


def test_a_summary_has_a_row_and_a_fold_for_each_finding() -> None:
    verdict = verdict_of("kafka44_rdkafka_admin.pcapng")
    text = report_markdown(verdict)
    assert "**1 error, 2 warning in 129 exchanges; capture quality: good**" in text
    folds = len(verdict.folds) + 1  # of what was not exercised
    assert text.count("<details>") == text.count("</details>") == folds
    assert "| :x: | FRM006 trailing-bytes | malformed |" in text
    assert "- no ListOffsets v0: ADM002 old-offsets-order\n" in text


@pytest.mark.parametrize("name", NAMES)
def test_tables_have_as_many_cells_as_their_heads(name: str) -> None:
    width = 0
    for line in report_markdown(verdict_of(name)).splitlines():
        cells = line.count("|") if line.startswith("|") else 0
        assert not cells or not width or cells == width, line
        width = cells


@pytest.mark.parametrize("text", EVIL)
def test_wire_values_are_written_by_number(text: str) -> None:
    report = report_markdown(verdict_on(text))
    assert all(line.isprintable() for line in report.splitlines())
    values = VALUE.findall(report)
    assert any(unescape(value) == printable(text) for value in values)
    rest = VALUE.sub("", report)
    assert re.sub(r"</?(details|summary)>", "", rest).count("<") == 0
    assert "javascript" not in rest and "www" not in rest


def test_long_values_are_cut_and_long_reports_end() -> None:
    assert len(code("x" * 1000)) < 400
    verdict = verdict_of("kafka44_rdkafka_admin.pcapng")
    verdict.findings = [found_by(f"client {number}", verdict.findings[0]) for number in range(MAX_FOLDS + 2)]
    text = report_markdown(verdict)
    assert "more findings stand in the other reports" in text
    assert len(text) < 1 << 20  # what GitHub takes of a step summary
