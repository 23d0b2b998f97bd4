"""Damage to healthy captures adds no error and no warning: the tables of docs/mutants.md.

`python -m tests.regenerate damage` writes them anew.
"""

import os

import pytest

from captures.faults.damage import DAMAGES, damaged
from captures.faults.false_findings import DAMAGED, loud, of_clients, packets_of, rows, table
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


_FORMERLY = (
    ("kafka44_rdkafka_groups.pcapng", "many packets lost", "7"),  # an orphan, read as a JoinGroup
    ("kafka44_rdkafka_groups.pcapng", "clocks of directions differ", "6"),
    ("kafka44_kp3_transactions.pcapng", "few packets lost", "6"),  # AddPartitionsToTxn behind a hole
    ("kafka44_kp3_transactions.pcapng", "packets shuffled", "5"),
    ("kafka44_segmentio_produce.pcapng", "packets shuffled", "6"),  # a SYN behind data
    ("kafka44_franz_transactions.pcapng", "packets shuffled", "5"),
)


@pytest.mark.exhaustive
@pytest.mark.parametrize(("name", "kind", "seed"), _FORMERLY)
def test_damage_that_once_added_a_finding_adds_none(name: str, kind: str, seed: str) -> None:
    whole = loud(packets_of(name), name)
    broken = loud(damaged(list(packets_of(name)), kind, f"{name} {seed}"), "")
    assert not set(broken) - set(whole)


def test_the_captures_that_are_damaged_are_of_eight_clients() -> None:
    assert len({name.split("_")[1] for name in DAMAGED}) == len(DAMAGED) == 8
    assert len(DAMAGES) == 23
