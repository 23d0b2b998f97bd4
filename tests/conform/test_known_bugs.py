"""The suite for clients finds a known bug in an old release of a client, and not in a newer one."""

import pytest

from captures.conform.known_bugs import BUGS, played_bug
from captures.record import workshop
from captures.record.workshop import MissingProgramError


@pytest.mark.exhaustive
@pytest.mark.rotated(len(BUGS))
@pytest.mark.parametrize("name", BUGS)
def test_a_known_bug_is_found_in_the_old_release_alone(name: str) -> None:
    if not workshop.HOME.exists():
        pytest.skip("no workshop of recordings: python -m captures.conform --clients makes it")
    bug = BUGS[name]
    try:
        for release in (bug.old, bug.new):
            bug.driver(release)
    except (MissingProgramError, RuntimeError) as problem:
        pytest.skip(f"no driver of {bug.client}: {str(problem).splitlines()[0]}")
    found = played_bug(name)
    assert (found["old"]["result"], found["new"]["result"]) == ("failed", "passed")
    assert found["old"]["finding"]["code"] == bug.code
