"""Fragments of IP packets: what becomes a packet again, and when it is given up."""

import pytest

from kdissect.model.limits import Limits
from kdissect.net.anomaly_log import AnomalyLog
from kdissect.net.headers.datagram import Datagram, Fragment
from kdissect.net.headers.fragments import FragmentTable

SECOND = 1_000_000_000
ENDS = b"\x0a\0\0\1\x0a\0\0\2"
LONGEST = 65535


def fragment(
    offset: int, payload: bytes, *, more: bool = True, length: int | None = None, identification: int = 7
) -> Fragment:
    """`length` bytes of which `payload` was captured."""
    size = len(payload) if length is None else length
    return Fragment(ENDS, 6, identification, offset, more, payload, size, identification)


class Table:
    """A table, its clock in seconds, and what it reports."""

    def __init__(self, **limits: int) -> None:
        self.log = AnomalyLog()
        self._table = FragmentTable(self.log, Limits(**limits))
        self._ref = 0

    def add(self, each: Fragment, seconds: float = 0) -> Datagram | None:
        self._ref += 1
        return self._table.add(each, self._ref, int(seconds * SECOND))

    def close(self) -> list[tuple[str, int]]:
        """Return the anomalies with the packets that they name."""
        self._table.close()
        return [(anomaly.detail, anomaly.ref) for anomaly in self.log.kept]


def whole(data: bytes) -> Datagram:
    return Datagram(ENDS, 6, data, 0, len(data), 7)


FIRST, MIDDLE, LAST = fragment(0, b"01234567"), fragment(8, b"89abcdef"), fragment(16, b"xy", more=False)


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 2, 0), (1, 0, 2)])
def test_whole_with_the_last_one_missing(order: tuple[int, ...]) -> None:
    table = Table()
    given = [table.add((FIRST, MIDDLE, LAST)[index]) for index in order]
    assert given == [None, None, whole(b"0123456789abcdefxy")]
    assert table.close() == []


def test_fragments_of_two_packets_come_at_a_time() -> None:
    """Times are those of captures: ns since 1970."""
    table, now = Table(), 1_700_000_000
    others = [each._replace(identification=8, ip_id=8) for each in (FIRST, MIDDLE, LAST)]
    given = [
        table.add(each, now + at)
        for at, pair in enumerate(zip((FIRST, MIDDLE, LAST), others, strict=True))
        for each in pair
    ]
    data = b"0123456789abcdefxy"
    assert given == [None] * 4 + [whole(data), whole(data)._replace(ip_id=8)]
    assert table.close() == []


def test_bytes_in_the_middle_are_waited_for() -> None:
    """Overlapping fragments may have as many bytes as the packet, and not all of them."""
    table = Table()
    assert table.add(FIRST) is None
    assert table.add(fragment(4, b"456789")) is None
    assert table.add(fragment(16, b"x", more=False)) is None
    assert table.close() == [("3 fragments of IP packet 7, protocol 6", 1)]


def test_of_overlapping_fragments_the_first_bytes_count() -> None:
    table = Table()
    assert table.add(fragment(0, b"0123456789")) is None
    assert table.add(fragment(8, b"XXab", more=False)) == whole(b"0123456789ab")


def test_a_fragment_inside_another_adds_nothing() -> None:
    table = Table()
    assert table.add(fragment(0, b"0123456789abcdef")) is None
    assert table.add(fragment(8, b"89")) is None
    assert table.add(fragment(16, b"x", more=False)) == whole(b"0123456789abcdefx")


def test_a_fragment_that_comes_again_is_not_another_one() -> None:
    table = Table()
    assert table.add(FIRST) is None
    assert table.add(FIRST) is None
    assert table.add(fragment(0, b"other678")) is None
    assert table.add(fragment(8, b"z", more=False)) == whole(b"01234567z")


def test_snapped_fragments_end_what_was_captured() -> None:
    table = Table()
    assert table.add(fragment(0, b"0123", length=8)) is None
    found = table.add(fragment(8, b"89", more=False))
    assert found == Datagram(ENDS, 6, b"0123", 0, 10, 7)


@pytest.mark.parametrize(("length", "fits"), [(LONGEST - 8, True), (LONGEST - 7, False)])
def test_no_packet_is_longer_than_its_length_field_can_say(length: int, fits: bool) -> None:
    table = Table()
    assert table.add(FIRST) is None
    found = table.add(fragment(8, bytes(length), more=False))
    assert (found is not None) is fits
    if found is not None:
        assert found.end == LONGEST


@pytest.mark.parametrize(("seconds", "is_copy"), [(1, True), (1.1, False)])
def test_copies_of_what_was_used_are_no_new_packet(seconds: float, is_copy: bool) -> None:
    table = Table()
    assert table.add(FIRST) is None
    assert table.add(fragment(8, b"z", more=False)) is not None
    assert table.add(FIRST, seconds) is None
    again = table.add(fragment(8, b"z", more=False), seconds)
    assert (again is None) is is_copy
    assert table.close() == []


@pytest.mark.parametrize(("seconds", "waits"), [(30, True), (30.1, False)])
def test_half_a_minute(seconds: float, waits: bool) -> None:
    table = Table()
    assert table.add(FIRST) is None
    found = table.add(fragment(8, b"z", more=False), seconds)
    assert (found is not None) is waits
    lost = "1 fragment of IP packet 7, protocol 6"
    assert table.close() == ([] if waits else [(lost, 1), (lost, 2)])


@pytest.mark.parametrize(("seconds", "waits"), [(30, True), (30.1, False)])
def test_half_a_minute_of_another_packet(seconds: float, waits: bool) -> None:
    table = Table()
    assert table.add(FIRST) is None
    assert table.add(fragment(0, b"x", identification=8), seconds) is None
    assert len(table.log.kept) == (not waits)


@pytest.mark.parametrize(("fragments", "is_whole"), [(3, True), (2, False)])
def test_as_many_fragments_as_allowed(fragments: int, is_whole: bool) -> None:
    table = Table(fragments=fragments)
    found = [table.add(each) for each in (FIRST, MIDDLE, LAST)][-1]
    assert (found is not None) is is_whole


def test_as_many_packets_as_allowed() -> None:
    table = Table(fragmented_packets=2)
    for identification in (1, 2, 3):
        assert table.add(fragment(0, b"x", identification=identification)) is None
        assert len(table.log.kept) == (identification == 3)
    assert table.close()[0] == ("1 fragment of IP packet 1, protocol 6", 1)
    assert len(table.log.kept) == 3
