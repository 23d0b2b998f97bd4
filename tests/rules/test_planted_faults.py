"""Each kind of fault that another author planted is found, or excluded: docs/mutants.md has the table."""

import os
import re
from pathlib import Path

import pytest

from kdissect.api import Dissection
from kdissect.model.finding import Severity
from kdissect.rules.judge import Judge
from kdissect.rules.registry import ALL_RULES
from tests.mutation.planted_faults import PLANTED, Planted, page
from tests.support.console import CAPTURES

PAGE = CAPTURES.parent / "docs" / "mutants.md"
MARK = "<!-- planted -->\n"
UPDATE = bool(os.environ.get("KDISSECT_UPDATE"))
_PLACE = re.compile(r"(org|kafka)\.[\w.]+#\w+")


def test_the_page_has_each_kind() -> None:
    before, _, rest = PAGE.read_text().partition(MARK)
    _, _, behind = rest.partition(MARK)
    text = f"{before}{MARK}{page()}{MARK}{behind}"
    if UPDATE:
        PAGE.write_text(text)
    assert PAGE.read_text() == text


def test_each_kind_has_a_rule_or_a_reason_with_a_source() -> None:
    codes = {rule.code for rule in ALL_RULES}
    for one in PLANTED:
        if one.code:
            assert one.code in codes and not one.reason, one
        else:
            assert one.reason and _PLACE.fullmatch(one.source), one


@pytest.mark.parametrize("kind", [one for one in PLANTED if one.case], ids=lambda one: one.case)
def test_the_reference_case_shows_it(reference: Path, kind: Planted) -> None:
    """An error or a warning where a rule finds the kind, and none where nothing does."""
    path = reference / "cases" / f"{kind.case}.pcap"
    if not path.exists():
        pytest.skip("the reference material lacks the cases")
    judge = Judge()
    for event in Dissection(path).events():
        judge.add(event)
    judge.finish()
    loud = {one.code for one in judge.findings.all() if one.severity is not Severity.INFO}
    assert kind.code in loud if kind.code else not loud
