"""Findings of one rule about one software are one where people read, and all of them where programs do."""

from copy import copy

import pytest

from kdissect.cli.findings.report_files import render
from kdissect.model.finding import Finding, Severity
from kdissect.report.folds import Fold, folded
from kdissect.report.json import report_row
from kdissect.report.text import MAX_OTHERS, fold_text
from kdissect.report.verdict import Verdict
from tests.report.verdicts import verdict_of

NAME = "kafka44_franz_raw.pcapng"


def found_by(software: str, finding: Finding) -> Finding:
    """Return the same, of another software."""
    other = copy(finding)
    other.party = finding.party._replace(software=software)
    return other


def franz() -> tuple[Verdict, Fold]:
    """AddPartitionsToTxn v4 and v5, both for brokers."""
    verdict = verdict_of(NAME)
    (fold,) = (fold for fold in verdict.folds if fold.first.code == "TXN003")
    return verdict, fold


def test_forms_of_one_rule_and_software_fold() -> None:
    verdict, fold = franz()
    assert [finding.place.api_version for finding in (fold.first, *fold.others)] == [4, 5]
    assert fold.times == 2
    assert sorted(map(id, verdict.findings)) == sorted(
        id(finding) for fold in verdict.folds for finding in (fold.first, *fold.others)
    )


@pytest.mark.parametrize("name", ["text", "github", "markdown", "html", "junit"])
def test_reports_for_people_have_one_entry_with_counts(name: str) -> None:
    verdict, fold = franz()
    report = render(name, verdict).decode()
    place = fold.others[0].place
    if name != "markdown":  # whose column has the number alone
        assert "2 times, in 2 forms" in report
    assert f"1 time, AddPartitionsToTxn v5 request, exchange {place.exchange}" in report
    # the page and the table of rules have it once more
    assert report.count("AddPartitionsToTxn v5 request, exchange") == 1


def test_reports_for_programs_have_all() -> None:
    verdict, _ = franz()
    rows = [row for row in report_row(verdict)["findings"] if row["code"] == "TXN003"]
    assert [row["where"]["api_version"] for row in rows] == [4, 5]


def test_parties_and_severities_stay_apart() -> None:
    _, fold = franz()
    first, loud, known = fold.first, copy(fold.first), copy(fold.first)
    loud.severity, known.known = Severity.ERROR, True
    found = [first, found_by("one", first), found_by("other", first), loud, known]
    assert folded(found) == [Fold(finding) for finding in found]


def test_most_forms_are_counted() -> None:
    _, fold = franz()
    text = fold_text(Fold(fold.first, (*fold.others, *[fold.first] * (MAX_OTHERS + 4))), ("a.pcap",))
    assert text.count("\n  also      ") == MAX_OTHERS + 1
    assert text.endswith("\n  also      5 more forms; --format json has them")
