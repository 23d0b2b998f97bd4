"""One thing is changed in real exchanges: the rule that owns the change finds it, and nothing raises.

`collateral.md` lists every mutator with what other rules say of its mutants.
`python -m tests.regenerate mutants` writes it anew.
"""

import ast
import os
import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pytest

from kdissect.rules.registry import ALL_RULES
from tests.mutation.collateral import collateral_page, row_of
from tests.mutation.every import every_mutator
from tests.mutation.mutators import Mutator
from tests.mutation.outcome import outcome_of
from tests.mutation.talk import judged
from tests.mutation.unreached import UNREACHED
from tests.support.console import run
from tests.support.packets.pcap_writer import PcapWriter
from tests.support.verdicts import verdict_of

HERE = Path(__file__).parent
PAGE = HERE / "collateral.md"
UPDATE = bool(os.environ.get("KDISSECT_UPDATE"))
EVERY = every_mutator()
LEAST = 2000  # mutants that the suite must have
ON_DISK = ("boolean-2", "negative-size", "acks-2", "other-correlation-id", "isr-not-replicas")


@pytest.mark.sampled(72)
@pytest.mark.parametrize("mutator", EVERY, ids=lambda mutator: mutator.name)
def test_the_owner_finds_each_mutant(mutator: Mutator) -> None:
    outcome = outcome_of(mutator)
    assert outcome.mutants
    assert not outcome.missed, "\n".join(outcome.missed[:3])
    if not UPDATE:
        assert row_of(mutator) in PAGE.read_text(), "python -m tests.regenerate mutants"


@pytest.mark.sampled(80)
@pytest.mark.parametrize("mutator", EVERY, ids=lambda mutator: mutator.name)
def test_guards_leave_nothing_out(mutator: Mutator) -> None:
    """A judge that shows every rule the mutants comes to the same verdict: each third, for time."""
    for mutant in islice(mutator.mutants(), 0, None, 3):
        both = [verdict_of(judged(mutant.talk, guards=guards), pieces=False) for guards in (True, False)]
        assert both[0] == both[1], str(mutant)


def test_each_mutator_has_a_row_of_the_page() -> None:
    """The numbers of a row are compared by `test_the_owner_finds_each_mutant`."""
    if UPDATE:
        PAGE.write_text(collateral_page(EVERY))
    rows = re.findall(r"^\| (\S+) \| (\S+) \| .* \| (\d+) \| .*\|$", PAGE.read_text(), re.MULTILINE)
    assert [(owner, name) for owner, name, _ in rows] == [(one.owner, one.name) for one in EVERY]
    mutants = sum(int(count) for *_, count in rows)
    assert f"\n{mutants} mutants of {len(EVERY)} mutators" in PAGE.read_text()
    assert mutants >= LEAST


def test_every_rule_has_a_mutator_or_a_reason() -> None:
    owned = {mutator.owner for mutator in EVERY}
    assert owned | set(UNREACHED) == {rule.code for rule in ALL_RULES}
    assert not owned & set(UNREACHED)


def test_names_are_unique() -> None:
    assert len({mutator.name for mutator in EVERY}) == len(EVERY)


def _imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom):
            yield node.module or ""
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def test_mutators_import_no_rule() -> None:
    """They know rules by their codes alone; `talk` drives the judge that tells what became of mutants."""
    for path in HERE.rglob("*.py"):
        if path.name not in ("talk.py", Path(__file__).name):
            assert not [name for name in _imports(path) if name.startswith("kdissect.rules")], path.name


@pytest.mark.parametrize("name", ON_DISK)
def test_check_fails_on_a_mutated_capture(name: str, tmp_path: Path) -> None:
    mutator = next(mutator for mutator in EVERY if mutator.name == name)
    mutant = next(mutator.mutants())
    path = tmp_path / "mutant.pcap"
    with path.open("wb") as stream:
        writer = PcapWriter(stream)
        for packet in mutant.talk.packets():
            writer.write_packet(packet)
    ran = run("check", path, "--fail-on", "warning")
    assert ran.code == 1, ran.err
    assert mutator.owner in ran.out
