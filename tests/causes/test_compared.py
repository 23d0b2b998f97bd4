"""Causes of two captures: new, worse, the same, better, gone; `why --against`, `diff`."""

import json
from pathlib import Path

import pytest

from kdissect.causes.compared import State, against, compared
from kdissect.cli import main
from kdissect.cli.diagnostics import OK
from tests.causes.diagnosing import capture, diagnosed, ids

KILLED, MOVED = capture("kafka44_java_killed"), capture("kafka44_java_leader_moves")


def test_all_states() -> None:
    found = diagnosed(KILLED)
    assert len(found.causes) >= 2
    first, *others = found.causes
    twice = first._replace(cost=first.cost + first.cost, times=2 * first.times)
    more = found._replace(causes=(twice, *others))
    assert {one.state for one in compared(found, found)} == {State.SAME}
    assert [one.state for one in compared(found, more)] == [State.WORSE, *[State.SAME] * len(others)]
    assert [one.state for one in compared(more, found)] == [*[State.SAME] * len(others), State.BETTER]
    gone = compared(found, found._replace(causes=()))
    assert [(one.state, one.bad) for one in gone] == [(State.GONE, None)] * len(found.causes)
    new = compared(found._replace(causes=()), found)
    assert [one.bad for one in new if one.state is State.NEW] == list(found.causes)


def test_parties_go_before_order() -> None:
    """Of two with one id the one about the same group is the same."""
    found = diagnosed(KILLED)
    one, other = (cause for cause in found.causes if cause.id == "member-crashed")
    pairs = compared(found._replace(causes=(one, other)), found._replace(causes=(other, one)))
    assert [(pair.good, pair.bad) for pair in pairs] == [(other, other), (one, one)]


def test_against_leaves_what_is_new_or_worse() -> None:
    good, bad = diagnosed(KILLED), diagnosed(MOVED)
    found = against(good, bad)
    assert set(ids(found)) == set(ids(bad)) - set(ids(good))
    assert found.against == (KILLED,)
    assert any("member-crashed" in line for line in found.looked_at)


def test_why_against(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["why", MOVED, "--against", MOVED]) == OK
    assert capfd.readouterr().out.startswith(f"no cause is worse than in {MOVED}\n")
    assert main(["why", MOVED, "--against", KILLED, "--json"]) == OK
    page = json.loads(capfd.readouterr().out)
    assert f"new or worse than in {KILLED}" in page["summary"]


def test_why_against_what_cannot_be_read(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["why", MOVED, "--against", str(tmp_path / "none.pcap")]) not in (OK, 1)
    captured = capfd.readouterr()
    assert "none.pcap" in captured.err
    assert not captured.out


def test_diff_has_the_causes(capfd: pytest.CaptureFixture[str]) -> None:
    pairs = capture("kafka44_java_pairs")
    sides = ["-Y", 'client_id == "quota-good"', "-Y", 'client_id == "quota-bad"']
    assert main(["diff", pairs, *sides, "--json"]) == OK
    rows = json.loads(capfd.readouterr().out)["causes"]
    # late answers are the quota's: a broker reads nothing of a client that it told to wait (KIP-219)
    assert [(row["id"], row["state"], row["good_times"]) for row in rows] == [("throttled-produce", "new", 0)]
    assert rows[0]["bad_times"] > 1
