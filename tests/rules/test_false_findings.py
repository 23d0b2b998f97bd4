"""Damage to healthy captures adds no error and no warning: the tables of docs/mutants.md.

`python -m tests.regenerate damage` writes them anew.
"""

import os

import pytest

from captures.faults.damage import DAMAGES
from captures.faults.false_findings import DAMAGED, of_clients, rows, table
from tests.support.console import CAPTURES

PAGE = CAPTURES.parent / "docs" / "mutants.md"
MARK = "<!-- damage -->\n"
UPDATE = bool(os.environ.get("KDISSECT_UPDATE"))


@pytest.mark.exhaustive
def test_the_page_has_what_is_found() -> None:
    found = list(rows())
    assert [row.kind for row in found] == list(DAMAGES)
    assert not [one for row in found for one in row.new]
    before, _, rest = PAGE.read_text().partition(MARK)
    _, _, behind = rest.partition(MARK)
    text = f"{before}{MARK}{table(found)}\n\n{of_clients()}\n{MARK}{behind}"
    if UPDATE:
        PAGE.write_text(text)
    assert PAGE.read_text() == text


def test_the_captures_that_are_damaged_are_of_eight_clients() -> None:
    assert len({name.split("_")[1] for name in DAMAGED}) == len(DAMAGED) == 8
    assert len(DAMAGES) == 23
