"""Entries of index files of a segment that begins at offset 100: their rows, and where a fault begins."""

from struct import pack
from typing import Any

import pytest
from crc32c import crc32c

from kdissect.engine.segments import index_kinds
from kdissect.engine.segments.batch_positions import AbortedTransaction, SegmentPlaces
from kdissect.engine.segments.index_file import IndexFile
from kdissect.engine.segments.index_kinds import KINDS
from tests.engine.segments.test_batch_positions import batch, places_of

BASE = 100
PLACES = places_of(batch(100, 10, max_timestamp=50) + batch(110, max_timestamp=70), base_offset=BASE)
SECOND = len(batch(100, 10))


def index(suffix: str, *entries: tuple[int, ...]) -> IndexFile:
    """Return a file of entries."""
    kind = KINDS[f".{suffix}"]
    return kind(b"".join(kind.layout.pack(*entry) for entry in entries), BASE)


def faults(file: IndexFile, places: SegmentPlaces | None = None) -> list[str]:
    return [fault for entry in file.entries(places) for fault in entry.told()]


@pytest.mark.parametrize(
    ("suffix", "entry", "row"),
    [
        ("index", (3, 207), {"offset": 103, "position": 207}),
        (
            "timeindex",
            (1_700_000_000_123, 4),
            {"timestamp": "2023-11-14T22:13:20.123000000Z", "timestamp_ms": 1_700_000_000_123, "offset": 104},
        ),
        (
            "txnindex",
            (0, 7, 101, 105, 106),
            {"version": 0, "producer_id": 7, "first_offset": 101, "last_offset": 105,
             "last_stable_offset": 106},
        ),
    ],
)  # fmt: skip
def test_rows_count_from_the_segments_first_offset(
    suffix: str, entry: tuple[int, ...], row: dict[str, Any]
) -> None:
    (found,) = index(suffix, entry).entries(None)
    assert found.row == row
    assert (found.number, found.start, found.faults) == (0, 0, [])


@pytest.mark.parametrize(
    ("entries", "why"),
    [
        ([(0, 0)], ""),
        ([(-1, 0)], "offset 99 and position 0 lie before the segment"),
        ([(0, -1)], "offset 100 and position -1 lie before the segment"),
        ([(3, 138), (4, 139)], ""),
        ([(3, 138), (3, 207)], "offset 103 at 207 does not follow 103 at 138"),
        ([(3, 138), (4, 138)], "offset 104 at 138 does not follow 103 at 138"),
        ([(3, 138), (2, 207)], "offset 102 at 207 does not follow 103 at 138"),
    ],
)
def test_offsets_and_positions_grow(entries: list[tuple[int, int]], why: str) -> None:
    found = [fault.partition(": ")[2] for fault in faults(index("index", *entries))]
    assert found == ([why] if why else [])


@pytest.mark.parametrize(
    ("entry", "why"),
    [
        ((0, 0), ""),
        ((9, 0), ""),
        ((10, 0), ""),
        ((11, 0), "offset 111 is not in the batches from offset 100 on"),
        ((10, SECOND), ""),
        ((9, SECOND), "offset 109 is not in the batches from offset 110 on"),
        ((10, SECOND + 1), f"no batch begins at position {SECOND + 1}"),
    ],
)
def test_an_offset_is_at_its_position(entry: tuple[int, int], why: str) -> None:
    assert faults(index("index", entry), PLACES) == ([f"entry 0 at byte 0: {why}"] if why else [])


@pytest.mark.parametrize(
    ("entries", "why"),
    [
        ([(50, 2), (51, 2)], ""),
        ([(50, 2), (50, 3)], "timestamp 50 for offset 103 does not follow 50 for 102"),
        ([(50, 2), (49, 3)], "timestamp 49 for offset 103 does not follow 50 for 102"),
        ([(50, 2), (51, 1)], "timestamp 51 for offset 101 does not follow 50 for 102"),
        ([(50, 200), (51, 100)], "timestamp 51 for offset 200 does not follow 50 for 300"),
    ],
)
def test_times_grow_and_offsets_do_not_shrink(entries: list[tuple[int, int]], why: str) -> None:
    assert faults(index("timeindex", *entries)) == ([f"entry 1 at byte 12: {why}"] if why else [])


@pytest.mark.parametrize(
    ("entry", "why"),
    [
        ((50, 0), ""),
        ((50, 9), ""),
        ((70, 10), ""),
        ((70, 11), "offset 111 is not in the segment"),
        ((50, -1), "offset 99 is not in the segment"),
        ((50, 10), "timestamp 50: the largest of the batch with offset 110 is 70"),
    ],
)
def test_a_time_is_that_of_its_batch(entry: tuple[int, int], why: str) -> None:
    assert faults(index("timeindex", entry), PLACES) == ([f"entry 0 at byte 0: {why}"] if why else [])


@pytest.mark.parametrize(
    ("entry", "why"),
    [
        ((0, 7, 0, 100, 101), ""),
        ((0, 7, 99, 100, 0), ""),
        ((0, 7, 100, 100, 0), "offsets 100 to 100, last stable offset 0: out of order"),
        ((0, 7, -1, 100, 0), "offsets -1 to 100, last stable offset 0: out of order"),
        ((0, 7, 99, 100, 102), "offsets 99 to 100, last stable offset 102: out of order"),
        ((0, 7, 90, 99, 0), "last offset 99 lies before the segment"),
        ((1, 7, 99, 100, 0), "there is no version 1"),
    ],
)
def test_offsets_of_an_aborted_transaction(entry: tuple[int, ...], why: str) -> None:
    assert faults(index("txnindex", entry)) == ([f"entry 0 at byte 0: {why}"] if why else [])


@pytest.mark.parametrize(("marker", "follows"), [(105, False), (106, False), (107, True)])
def test_markers_grow(marker: int, follows: bool) -> None:
    found = faults(index("txnindex", (0, 7, 101, 106, 0), (0, 8, 102, marker, 0)))
    assert found == ([] if follows else [f"entry 1 at byte 34: last offset {marker} does not follow 106"])


def test_aborted_transactions_are_those_of_the_segment(monkeypatch: pytest.MonkeyPatch) -> None:
    places = SegmentPlaces(BASE)
    places.add_aborted(105, AbortedTransaction(7, 101))
    places.add_aborted(109, AbortedTransaction(8, None))
    right = (0, 7, 101, 105, 0), (0, 8, 107, 109, 0)
    assert faults(index("txnindex", *right), places) == []
    assert index("txnindex").missing(places) == [
        "no entry for the transaction of producer 7 aborted at offset 105"
    ]
    assert index("txnindex", *right).missing(places) == []
    wrong = index("txnindex", (0, 7, 102, 105, 0), (0, 7, 107, 109, 0), (0, 7, 107, 111, 0))
    assert [fault.partition(": ")[2] for fault in faults(wrong, places)] == [
        "the transaction began at offset 101, not at 102",
        "no abort marker of producer 7 is at offset 109",
        "no abort marker of producer 7 is at offset 111",
    ]
    monkeypatch.setattr(index_kinds, "MAX_ABORTED", 3)
    assert len(faults(wrong, places)) == 3
    monkeypatch.setattr(index_kinds, "MAX_ABORTED", 2)
    assert len(faults(wrong, places)) == 2  # a marker that is not kept proves nothing


@pytest.mark.parametrize("suffix", ["index", "timeindex"])
def test_zeros_are_an_entry_alone_or_before_others(suffix: str) -> None:
    """A broker allocates its indexes as zeros; an entry of zeros is possible, for the first batch."""
    kind = KINDS[f".{suffix}"]
    size = kind.layout.size
    some = kind.layout.pack(5, 5)
    for data, count in (
        (bytes(size), 1), (bytes(2 * size), 0), (bytes(size) + some, 2), (some + bytes(size), 1), (b"", 0),
    ):  # fmt: skip
        assert len(list(kind(data, BASE).entries(None))) == count


def snapshot(*entries: tuple[int, ...], base_offset: int = BASE) -> tuple[list[dict[str, Any]], list[str]]:
    """Return rows and faults of a snapshot at an offset."""
    body = pack(">i", len(entries)) + b"".join(pack(">qhiqiqiq", *entry) for entry in entries)
    file = KINDS[".snapshot"](pack(">hI", 1, crc32c(body)) + body, base_offset)
    assert file.faults == []
    found = list(file.entries(None))
    return [entry.row for entry in found], [fault for entry in found for fault in entry.faults]


@pytest.mark.parametrize("rest", [0, 1, 40, 41])
@pytest.mark.parametrize("says", [1, 2, 3])
def test_a_snapshot_says_how_many_entries_it_has(says: int, rest: int) -> None:
    """A part of an entry at the end is no entry."""
    body = pack(">i", says) + 2 * pack(">qhiqiqiq", 7, 0, 4, 5, 0, 0, 0, -1) + bytes(rest)
    file = KINDS[".snapshot"](pack(">hI", 1, crc32c(body)) + body, BASE)
    assert len(list(file.entries(None))) == 2
    count = f"count at byte 6: {says} {'entry' if says == 1 else 'entries'}, room is for 2"
    behind = f"{rest} byte{'s' if rest > 1 else ''} after the last entry at byte 102"
    assert file.faults == [count] * (says != 2) + [behind] * (rest > 0)


def test_a_producer_without_a_batch_has_no_offsets() -> None:
    rows, _ = snapshot((7, 1, -1, -1, 0, -1, -1, -1), (8, 2, 4, 0, 3, 1_700_000_000_000, 6, 0))
    assert rows == [
        {
            "producer_id": 7, "producer_epoch": 1, "coordinator_epoch": -1, "current_txn_first_offset": None,
            "last_timestamp": None, "last_timestamp_ms": None, "first_sequence": None, "last_sequence": None,
            "last_offset": None, "offset_delta": None,
        },
        {
            "producer_id": 8, "producer_epoch": 2, "coordinator_epoch": 6, "current_txn_first_offset": 0,
            "last_timestamp": "2023-11-14T22:13:20.000000000Z", "last_timestamp_ms": 1_700_000_000_000,
            "first_sequence": 1, "last_sequence": 4, "last_offset": 0, "offset_delta": 3,
        },
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("last", "delta", "first"), [(3, 3, 0), (2, 3, 2**31 - 1), (0, 1, 2**31 - 1), (-1, 0, -1), (-1, 3, -4)]
)
def test_sequences_wrap(last: int, delta: int, first: int) -> None:
    """DefaultRecordBatch#decrementSequence: 0 follows 2^31 - 1. A batch without sequences has -1."""
    assert snapshot((7, 0, last, 5, delta, 0, 0, -1))[0][0]["first_sequence"] == first


@pytest.mark.parametrize(
    ("last", "delta", "first", "why"),
    [
        (99, 0, 99, []),
        (100, 0, -1, ["last offset 100 lies behind the snapshot"]),
        (99, 0, 100, ["first offset of a transaction 100 lies behind the snapshot"]),
        (99, -1, -1, ["offset delta -1 is negative"]),
        (0, -1, -1, ["offset delta -1 is negative"]),
        (-1, -1, -1, []),
    ],
)
def test_a_snapshot_ends_at_its_offset(last: int, delta: int, first: int, why: list[str]) -> None:
    assert snapshot((7, 0, 5, last, delta, 0, 0, first))[1] == why
