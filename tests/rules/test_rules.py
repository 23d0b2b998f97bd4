"""Every rule: a citation that resolves, a conversation it finds, one it leaves alone, and its words.

`python -m tests.regenerate findings` writes the golden texts anew.
"""

import os
import re
from pathlib import Path

import pytest

from kdissect.model.finding import Level
from kdissect.report.text import finding_text
from kdissect.rules.registry import ALL_RULES
from kdissect.rules.rule import Rule
from kdissect.schema.citations import is_place
from tests.rules.fixtures import apis, batches, connections, histories, relations, values, wire
from tests.rules.scripted_connection import findings

GOLDEN = Path(__file__).parent / "golden"
CASES = {
    **wire.CASES,
    **values.CASES,
    **apis.CASES,
    **histories.CASES,
    **batches.CASES,
    **connections.CASES,
    **relations.CASES,
}
UPDATE = bool(os.environ.get("KDISSECT_UPDATE"))


def test_codes_and_names_are_unique() -> None:
    assert len({rule.code for rule in ALL_RULES}) == len(ALL_RULES)
    assert len({rule.name for rule in ALL_RULES}) == len(ALL_RULES)


def test_every_fixture_has_a_rule() -> None:
    assert set(CASES) == {rule.code for rule in ALL_RULES}


@pytest.mark.parametrize("rule", ALL_RULES, ids=lambda rule: rule.code)
def test_rule(rule: Rule) -> None:
    assert rule.cites
    for citation in rule.cites:
        assert is_place(citation), f"{rule.code} cites {citation!r}, no place that the table of sources has"
    page = type(rule).__doc__ or ""
    assert "Example:" in page
    verbs = set(re.findall(r"\b(must|should)\b", page.splitlines()[0]))
    assert verbs <= {"must" if rule.level is Level.MUST else "should"}
    assert "What to do:" in page
    case = CASES[rule.code]
    found = findings(case.violating())
    own = [finding for finding in found if finding.code == rule.code]
    assert own, f"not found; others: {found}"
    assert [finding for finding in findings(case.legal()) if finding.code == rule.code] == []
    text = "".join(finding_text(finding, ("capture.pcap",)) + "\n" for finding in own)
    golden = GOLDEN / f"{rule.code}.txt"
    if UPDATE:
        golden.parent.mkdir(exist_ok=True)
        golden.write_text(text)
    assert golden.read_text() == text


@pytest.mark.parametrize("rule", ALL_RULES, ids=lambda rule: rule.code)
def test_one_cause_gives_one_finding_that_counts(rule: Rule) -> None:
    """Beside the rule's own finding none that would fail a build, except those listed with their reason."""
    found = findings(CASES[rule.code].violating())
    others = {f.code for f in found if f.code != rule.code and f.severity != "info"}
    assert others <= TWO_CAUSES.get(rule.code, set())


# fixtures that cannot break one rule without breaking another
TWO_CAUSES: dict[str, set[str]] = {
    "FRM002": {"FRM005"},  # no test sends 100 MiB: the frame is cut as well
    "FRM003": {"FRM005", "SAS004"},
    "MET005": {"MET002", "MET003"},  # brokers and replicas are left out
    "SAS008": {"SAS013"},  # what is used after a failure failed before
    "SAS014": {"SAS001"},  # PLAIN shows who tried, and the password
    "MET006": {"MET002", "MET003"},
    "MET015": {"MET002", "MET003"},
}
