"""Faults of single fields: which of them are found, by API.

`python -m tests.regenerate fields` writes the tables of docs/mutants.md anew.
"""

import os
from pathlib import Path

import pytest

from tests.mutation.every_field import bodies, faults, is_about, page, report, spoken
from tests.support.console import CAPTURES

PAGE = CAPTURES.parent / "docs" / "mutants.md"
MARK = "<!-- fields -->\n"
UPDATE = bool(os.environ.get("KDISSECT_UPDATE"))
LEAST_PERCENT = 92  # of the faults that can be proven


@pytest.mark.exhaustive
def test_the_page_has_what_is_found() -> None:
    found = report(bodies())
    total = found.total
    assert 100 * total.found >= LEAST_PERCENT * total.provable
    before, _, rest = PAGE.read_text().partition(MARK)
    _, _, behind = rest.partition(MARK)
    text = f"{before}{MARK}{page(found)}{MARK}{behind}"
    if UPDATE:
        PAGE.write_text(text)
    assert PAGE.read_text() == text


def test_a_fault_that_can_be_proven_is_found() -> None:
    """One request: each number outside of its domain is named."""
    body = next(one for one in bodies() if one.api.name == "BrokerHeartbeat")
    provable = [fault for fault in faults([body]) if not fault.why]
    assert provable
    for fault in provable:
        assert any(is_about(one, fault) for one in spoken(fault)), fault.leaf.path


def test_the_generator_reads_no_domain() -> None:
    text = (Path(__file__).parent / "every_field.py").read_text()
    assert "schema.domains" not in text
