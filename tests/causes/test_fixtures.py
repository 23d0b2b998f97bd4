"""Each cause is shown by its fixture and not by the nearest evidence; each condition is wanted by one.

`python -m tests.regenerate causes` writes the golden texts.
"""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from kdissect.causes.diagnose import diagnose
from kdissect.causes.registry import ALL_CAUSES
from kdissect.model.cause import FoundCause, Packets
from tests.causes.diagnosing import broken
from tests.causes.fixtures import CASES, RECORDED
from tests.causes.fixtures.beside import both
from tests.causes.fixtures.boundaries import BOUNDARIES
from tests.causes.fixtures.case import gathered, told
from tests.causes.fixtures.mutants import survivors

GOLDEN = Path(__file__).with_name("golden")
UPDATE = bool(os.environ.get("KDISSECT_UPDATE"))


def test_every_cause_has_a_fixture() -> None:
    assert CASES.keys() == {cause.id for cause in ALL_CAUSES}
    assert all(case.near for case in CASES.values())


@pytest.mark.sampled(6)
@pytest.mark.parametrize("cause_id", CASES)
def test_it_is_told_where_it_holds_and_not_beside(cause_id: str) -> None:
    causes = [cause for cause in ALL_CAUSES if cause.id == cause_id]
    case = CASES[cause_id]
    page = diagnose(gathered(case.shows), [case.shows])
    assert broken(page) == []
    parts = ["\n".join([*page.looked_at, *page.not_seen])]
    for each in (case, *case.also):
        found = told(causes, each.evidence())
        assert found, each.shows
        parts.append(
            "\n".join([f"# {each.shows or 'made'}", *(line for one in found for line in _in_full(one))])
        )
        for what, change in each.near.items():
            assert told(causes, each.evidence(change)) == [], what
    golden, text = GOLDEN / f"{cause_id}.txt", "\n\n".join(dict.fromkeys(parts)) + "\n"
    if UPDATE:
        golden.parent.mkdir(exist_ok=True)
        golden.write_text(text)
    assert golden.read_text() == text


def _in_full(found: FoundCause) -> Iterator[str]:
    """Yield all parts of a cause, but those that docs/why.md lists."""
    yield f"{found.title} ({found.severity.name.lower()}, {found.certainty})"
    yield f"  {found.sentence}"
    if found.why_not_surer:
        yield f"  not surer: {found.why_not_surer}"
    yield f"  who: {found.who}"
    yield f"  parties: {', '.join(sorted(f'{one.kind} {one.name}' for one in found.parties))}"
    yield f"  {found.times} times from {found.since_ns} to {found.until_ns}"
    cost = {name: value for name, value in found.cost._asdict().items() if value}
    yield f"  cost: {', '.join(f'{name} {value}' for name, value in cost.items()) or 'none'}"
    yield f"  {found.command}"
    yield from (f"  {_place(one)}" for one in found.evidence)


def _place(one: Packets) -> str:
    assert one.exchange >= -1, "the exchange of a connection, or -1 for all of it"
    exchange = "" if one.exchange < 0 else f" exchange {one.exchange}"
    packets = f"packets {one.first_ref} to {one.last_ref}"
    return f"{one.connection or 'no connection'}{exchange}: {one.what} at {one.time_ns}, {packets}"


# Of a whole capture, and of a member whose group has others under the other name.
_NOT_APART = {("capture-too-poor", "few bytes"), ("lag-slow-consumer", "another member reads")}


@pytest.mark.parametrize("cause_id", BOUNDARIES)
def test_what_is_not_shown_hides_nothing(cause_id: str) -> None:
    """It stands first in the evidence, under other names."""
    causes = [cause for cause in ALL_CAUSES if cause.id == cause_id]
    for case in BOUNDARIES[cause_id]:
        alone = told(causes, case.evidence())
        for what, change in case.near.items():
            if (cause_id, what) not in _NOT_APART:
                assert told(causes, both(case, change)) == alone, what


@pytest.mark.sampled(10)
@pytest.mark.parametrize("cause_id", CASES)
def test_each_condition_is_wanted(cause_id: str) -> None:
    """A cause with one condition less says something else of its fixtures."""
    assert survivors(cause_id, RECORDED[cause_id]) == []
