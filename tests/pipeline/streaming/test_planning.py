"""Offsets, names of capture sets, and what a checkpoint was begun with."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("pyarrow", reason="needs the extra arrow")

from kdissect.pipeline.sink.lock import BusyError
from kdissect.pipeline.streaming.arrivals.known_files import Taken, named_sets
from kdissect.pipeline.streaming.arrivals.offsets import Offset, facts_of, next_offset, tasks_of
from kdissect.pipeline.streaming.checkpoint_pledge import PledgeError, pledged, shards_of
from tests.pipeline.streaming.arriving import arrive, cut, packets_of
from tests.pipeline.streaming.drive import Stream, settings_of


def _entry(file: int, capture_set: int, size: int = 10) -> Taken:
    key = "/captures", f"set{capture_set}"
    return Taken(
        file, f"{file}.pcap", capture_set, key[1], key, file, size, 0, str(file), str(file), file, file, 1
    )


ENTRIES = [_entry(0, 0), _entry(1, 1), _entry(2, 0), _entry(3, 0, 1000), _entry(4, 1)]


def test_a_batch_is_bounded_by_files_and_bytes() -> None:
    ends = []
    offset = Offset()
    while (end := next_offset(offset, ENTRIES, 2, 100)) != offset:
        ends.append(end)
        offset = Offset.of(end.journaled())
        assert offset == end
    assert [end.taken for end in ends] == [2, 3, 4, 5]
    assert [end.batch for end in ends] == [0, 1, 2, 3]


def test_a_capture_set_has_caught_up_when_nothing_of_it_waits() -> None:
    end = next_offset(Offset(), ENTRIES, 4, 10_000)
    assert end.last == {0}
    facts = facts_of(ENTRIES[:4], end)
    assert [(one.set_name, one.is_last, one.first_ns) for one in facts] == [
        ("set0", True, {0: 0, 2: 2, 3: 3}),
        ("set1", False, {1: 1}),
    ]


def test_small_files_are_read_by_one_task() -> None:
    assert [len(task) for task in tasks_of(ENTRIES, 100)] == [3, 1, 1]


def test_capture_sets_keep_their_names() -> None:
    first = named_sets({}, [("/a", "trace"), ("/b", "other")], [("/a", "trace")])
    assert first == {("/a", "trace"): (0, "trace")}
    seen = [("/a", "trace"), ("/b", "trace"), ("/c", "trace")]
    later = named_sets(first, seen, [("/c", "trace")])
    assert later[("/a", "trace")] == (0, "trace")
    assert later[("/c", "trace")] == (1, "c/trace")
    assert ("/b", "trace") not in later


def test_a_checkpoint_has_one_stream_and_its_own_tables(tmp_path: Path) -> None:
    settings = settings_of(tmp_path, tmp_path / "in", shards=3)
    assert shards_of(settings) is None
    with pledged(settings), pytest.raises(BusyError, match="another stream"), pledged(settings):
        pass
    assert shards_of(settings) == 3
    with pledged(settings):
        pass
    with (
        pytest.raises(PledgeError, match="other settings: output, shards"),
        pledged(settings._replace(shards=2, output=str(tmp_path / "elsewhere"))),
    ):
        pass


def test_tables_of_another_checkpoint_are_refused(tmp_path: Path) -> None:
    settings = settings_of(tmp_path, tmp_path / "in")
    arrive(tmp_path / "in", 0, cut(packets_of("tansu_rdk216_acks.pcap"), 1)[0])
    Stream(settings).catch_up()
    other = settings._replace(checkpoint=str(tmp_path / "new"))
    with pytest.raises(PledgeError, match="written with another checkpoint"), pledged(other):
        pass
