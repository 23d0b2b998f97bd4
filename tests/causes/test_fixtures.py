"""Each cause is shown by its fixture and not by the nearest evidence; each condition is wanted by one."""

import pytest

from kdissect.causes.diagnose import diagnose
from kdissect.causes.registry import ALL_CAUSES
from tests.causes.diagnosing import broken
from tests.causes.fixtures import CASES
from tests.causes.fixtures.case import gathered, told
from tests.causes.fixtures.mutants import survivors


def test_every_cause_has_a_fixture() -> None:
    assert CASES.keys() == {cause.id for cause in ALL_CAUSES}
    assert all(case.near for case in CASES.values())


@pytest.mark.sampled(6)
@pytest.mark.parametrize("cause_id", CASES)
def test_it_is_told_where_it_holds_and_not_beside(cause_id: str) -> None:
    causes = [cause for cause in ALL_CAUSES if cause.id == cause_id]
    case = CASES[cause_id]
    assert broken(diagnose(gathered(case.shows), [case.shows])) == []
    for each in (case, *case.also):
        assert told(causes, each.evidence()), each.shows
        for what, change in each.near.items():
            assert told(causes, each.evidence(change)) == [], what


@pytest.mark.sampled(10)
@pytest.mark.parametrize("cause_id", CASES)
def test_each_condition_is_wanted(cause_id: str) -> None:
    """A cause with one condition less says something else of its fixtures."""
    assert survivors(cause_id, CASES[cause_id]) == []
