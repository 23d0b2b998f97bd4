"""Faults of single fields: which of them are found, by API.

`python -m tests.regenerate fields` writes the tables of docs/mutants.md.
"""

import os
import re
from pathlib import Path

import pytest

from tests.mutation.every_field import bodies, faults, is_about, page, report, rows_of, spoken
from tests.support.console import CAPTURES

PAGE = CAPTURES.parent / "docs" / "mutants.md"
MARK = "<!-- fields -->\n"
UPDATE = bool(os.environ.get("KDISSECT_UPDATE"))
LEAST_PERCENT = 92  # of the faults that can be proven


BODIES = bodies()
APIS = sorted({body.api.name for body in BODIES})


@pytest.mark.exhaustive
@pytest.mark.parametrize("api", APIS)
def test_the_page_has_what_is_found(api: str) -> None:
    """The rows of an API are those of the page. All rows together are its totals."""
    found = report(body for body in BODIES if body.api.name == api)
    rows = rows_of(found)
    text = _tables()
    assert rows <= set(text.splitlines())
    listed = {line for line in text.splitlines() if line.startswith((f"| {api} |", f"| {api} re"))}
    assert listed <= rows, "the page has more"


def test_the_tables_add_up() -> None:
    if UPDATE:
        before, _, rest = PAGE.read_text().partition(MARK)
        _, _, after = rest.partition(MARK)
        PAGE.write_text(f"{before}{MARK}{page(report(BODIES))}{MARK}{after}")
    first, *tables = _tables().split("\n\n")
    provable, faults_of_all, found = map(int, re.findall(r"\b\d+\b(?! ?\.)", first)[:3])
    by_api, by_value, reasons, missed = (_counts(table) for table in tables)
    assert set(by_api) == set(APIS)
    for counts in (by_api, by_value):
        assert [sum(row[column] for row in counts.values()) for column in (0, 1, 3)] == [
            provable,
            found,
            faults_of_all - provable,
        ]
    assert sum(row[0] for row in reasons.values()) == faults_of_all - provable
    assert sum(row[0] for row in missed.values()) == provable - found
    assert 100 * found >= LEAST_PERCENT * provable


def _tables() -> str:
    """Return the tables of the page."""
    return PAGE.read_text().split(MARK)[1].strip()


def _counts(table: str) -> dict[str, list[float]]:
    """Return the numbers of each row of a table, without its head."""
    rows = (line.strip("| ").split(" | ") for line in table.splitlines()[2:])
    return {name: [float(cell or 0) for cell in cells] for name, *cells in rows}


def test_a_fault_that_can_be_proven_is_found() -> None:
    """One request: each number outside of its domain is named."""
    body = next(one for one in BODIES if one.api.name == "BrokerHeartbeat")
    provable = [fault for fault in faults([body]) if not fault.why]
    assert provable
    for fault in provable:
        assert any(is_about(one, fault) for one in spoken(fault)), fault.leaf.path


def test_the_generator_reads_no_domain() -> None:
    text = (Path(__file__).parent / "every_field.py").read_text()
    assert "schema.domains" not in text
