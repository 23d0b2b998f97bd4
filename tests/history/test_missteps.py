"""Sequences and fetch sessions used wrongly, as recorded, against what the broker told who did it."""

from collections import Counter

import pytest

from kdissect.cli import main
from tests.stats.truth import Facts, capture, told, truth

NAME = "kafka44_missteps_raw"
TWICE = "kafka011_twice_raw"


def refused(call: str, name: str = NAME) -> Counter[str]:
    """Return the responses to the client, as its own library read them."""
    rows = [row for row in truth(name)["events"] if row["what"] == "answered" and row["call"] == call]
    return Counter(row["error"] for row in rows if row["error"] != "NONE")


def taken(name: str = NAME) -> int:
    rows = [row for row in truth(name)["events"] if row["what"] == "answered" and row["call"] == "produce"]
    return sum(row["error"] == "NONE" for row in rows)


def client(rows: list[Facts], client_id: str = "missteps") -> Facts:
    (found,) = (row for row in rows if client_id in (row.get("client_ids") or [row.get("client_id")]))
    return found


def test_what_the_broker_refused_was_not_sent(capfd: pytest.CaptureFixture[str]) -> None:
    row = client(told(capfd, "producers", NAME)["producers"])
    assert Counter(row["errors"]) == refused("produce") == {"OUT_OF_ORDER_SEQUENCE_NUMBER": 2}
    assert row["batches"] == taken()
    (partition,) = row["partitions"]
    assert partition["next_sequence"] == 7
    # The last batch goes on where the broker is: that is no jump.
    jumps = [(one["what"], one["expected"], one["seen"]) for one in row["events"] if one["what"] != "refused"]
    assert jumps == [("sequence_gap", "6", "9"), ("retried", "10", "5"), ("sequence_back", "6", "0")]


def test_fetch_sessions_used_wrongly(capfd: pytest.CaptureFixture[str]) -> None:
    row = client(told(capfd, "fetch-sessions", NAME)["clients"])
    assert Counter(row["refused"]) == refused("fetch")
    assert row["odd"] == {"epoch differs": 1, "unknown session": 1, "used after close": 1}


def test_each_is_one_finding_and_the_rest_is_none(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["check", capture(NAME), "--fail-on", "never"]) == 0
    out = capfd.readouterr().out
    lines = [line for line in out.splitlines() if line[:3].isupper() and line[3:6].isdigit()]
    told_of = {line.split()[0]: line for line in lines}
    assert set(told_of) == {"PRD004", "FET012", "FET013", "VER003"}  # it asked for no ApiVersions
    assert told_of["PRD004"].endswith("2 times")
    assert "expected  sequence 6\n  seen      sequence 9" in out


def test_filters_find_them(capfd: pytest.CaptureFixture[str]) -> None:
    for error, count in (refused("produce") + refused("fetch")).items():
        assert main(["inspect", capture(NAME), "-Y", f"errors == {error}", "-e", "api", "--no-header"]) == 0
        assert len(capfd.readouterr().out.split()) == count


def test_a_batch_twice_in_one_request(capfd: pytest.CaptureFixture[str]) -> None:
    """Brokers 0.11.0 refuse it, and the next request brings it once more."""
    (began,) = (row for row in truth(TWICE)["events"] if row["what"] == "began")
    row = client(told(capfd, "producers", TWICE)["producers"], "twice")
    assert (row["producer_id"], row["epoch"]) == (began["producer"], began["epoch"])
    told_once = refused("produce", TWICE)
    assert told_once == {"OUT_OF_ORDER_SEQUENCE_NUMBER": 1, "DUPLICATE_SEQUENCE_NUMBER": 1}
    assert row["errors"] == {"OUT_OF_ORDER_SEQUENCE_NUMBER": 1, "DUPLICATE_SEQUENCE_NUMBER": 2}  # by batch
    assert row["duplicates"] == row["errors"]["DUPLICATE_SEQUENCE_NUMBER"]
    assert row["batches"] == taken(TWICE)
    (partition,) = row["partitions"]
    assert partition["next_sequence"] == 3
    for error, count in told_once.items():
        assert main(["inspect", capture(TWICE), "-Y", f"errors == {error}", "-e", "api", "--no-header"]) == 0
        assert capfd.readouterr().out.split() == ["Produce"] * count
