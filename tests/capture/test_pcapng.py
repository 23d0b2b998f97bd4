"""The pcapng parser against captures made by hand from the format's description."""

import struct

import pytest

from kdissect.capture.formats import pcapng
from kdissect.capture.formats.pcapng import PcapngParser
from kdissect.model.anomaly import AnomalyKind
from kdissect.model.limits import DEFAULT_LIMITS
from kdissect.model.packets.commented import is_commented, taken_apart, without_comments
from kdissect.model.packets.packet import Packet, ref_number
from tests.capture.capture_samples import (
    SECOND,
    block,
    enhanced,
    feed,
    interface,
    option,
    pieces,
    sample_pcapng,
    section,
)

TLS_KEY_LOG = 0x544C534B


@pytest.mark.parametrize("order", ["<", ">"])
def test_both_byte_orders(order: str) -> None:
    packets, parser = feed(sample_pcapng([3], order))
    assert packets == [Packet(1, 3 * SECOND, 1, bytes(60), 60)]
    assert (parser.error, parser.anomalies) == (None, [])


def test_sections_have_their_own_byte_order_and_interfaces() -> None:
    capture = b"".join(
        [
            section("<"), interface("<", link=1), enhanced(1_000_000, b"a"),
            section(">"), interface(">", link=113), interface(">", link=276),
            enhanced(2_000_000, b"b", order=">", index=1), enhanced(3_000_000, b"c", order=">"),
            section("<"), interface("<", link=101), enhanced(4_000_000, b"d"),
        ]
    )  # fmt: skip
    packets, parser = feed(capture)
    assert [(p.time_ns // SECOND, p.link_type, p.data) for p in packets] == [
        (1, 1, b"a"), (2, 276, b"b"), (3, 113, b"c"), (4, 101, b"d"),
    ]  # fmt: skip
    assert [ref_number(packet.ref) for packet in packets] == [1, 2, 3, 4]
    assert parser.link_types == {1, 101, 113, 276}
    assert parser.error is None


def test_a_section_begun_within_one_piece_forgets_the_interfaces_before() -> None:
    parser = PcapngParser()
    head = section() + interface(link=1)
    parser.feed(head)
    packets = [
        Packet._make(plain)
        for plain in parser.feed(enhanced(1, b"a") + section() + interface(link=113) + enhanced(1, b"b"))
    ]
    assert [packet.link_type for packet in packets] == [1, 113]


def test_a_fault_behind_a_flaw_is_the_error() -> None:
    _, parser = feed(section() + interface() + enhanced(1, b"x", index=7) + block(6, bytes(40), trailer=48))
    assert len(parser.anomalies) == 2
    assert "two lengths differ" in (parser.error or "")


@pytest.mark.parametrize(
    ("resolution", "stamp", "time_ns"),
    [
        (None, 5, 5_000),
        (0, 5, 5 * SECOND),
        (3, 5, 5_000_000),
        (6, 5, 5_000),
        (9, 5, 5),
        (12, 5_999, 5),
        (127, 5, 0),
        (128, 5, 5 * SECOND),
        (128 + 1, 5, 2_500_000_000),
        (128 + 10, 1, 976_562),
        (128 + 32, 3 << 31, 1_500_000_000),
        (0, 0xFFFFFFFFFFFFFFFF, (1 << 63) - 1),  # held inside int64
        (9, 0xFFFFFFFFFFFFFFFF, (1 << 63) - 1),
    ],
)
@pytest.mark.parametrize("order", ["<", ">"])
def test_resolutions(resolution: int | None, stamp: int, time_ns: int, order: str) -> None:
    options = b"" if resolution is None else option(9, bytes([resolution]), order)
    capture = section(order) + interface(order, options=options) + enhanced(stamp, b"x", order=order)
    (packet,), _ = feed(capture)
    assert packet.time_ns == time_ns


@pytest.mark.parametrize(("offset", "time_ns"), [(1_000, 1_005 * SECOND), (-3, 2 * SECOND)])
def test_time_offset(offset: int, time_ns: int) -> None:
    capture = section() + interface(options=option(14, struct.pack("<q", offset))) + enhanced(5_000_000, b"x")
    (packet,), _ = feed(capture)
    assert packet.time_ns == time_ns


@pytest.mark.parametrize("offset", [-(1 << 63), (1 << 63) - 1])
@pytest.mark.parametrize("stamp", [0, (1 << 64) - 1])
def test_damaged_clocks_stay_inside_int64(offset: int, stamp: int) -> None:
    capture = section() + interface(options=option(14, struct.pack("<q", offset))) + enhanced(stamp, b"x")
    (packet,), _ = feed(capture)
    assert -(1 << 63) <= packet.time_ns < 1 << 63


def test_packet_cut_by_snaplen_and_padding() -> None:
    packets, _ = feed(section() + interface(snaplen=5) + enhanced(1, b"abcde", wire=99) + enhanced(2, b"f"))
    assert [(p.data, p.wire_length) for p in packets] == [(b"abcde", 99), (b"f", 1)]


def test_options_behind_a_packet_are_not_its_data() -> None:
    body = struct.pack("<IIIII", 0, 0, 1, 3, 3) + b"abc\0" + option(1, b"a comment") + bytes(4)
    packets, parser = feed(section() + interface() + block(6, body) + enhanced(2, b"next"))
    assert [without_comments(p.link_type, p.data) for p in packets] == [(1, b"abc"), (1, b"next")]
    assert [is_commented(p.link_type) for p in packets] == [True, False]
    assert taken_apart(packets[0].link_type, packets[0].data).comments() == ["a comment"]
    assert [p.wire_length for p in packets] == [3, 4]
    assert parser.captured_bytes == 7


@pytest.mark.parametrize("order", ["<", ">"])
def test_comments_of_both_kinds_of_packet_block_and_the_direction(order: str) -> None:
    told = (
        option(1, b"one", order) + option(2, struct.pack(order + "I", 0x2A), order) + option(1, b"two", order)
    )
    enhanced_body = struct.pack(order + "IIIII", 0, 0, 1, 3, 9) + b"abc\0" + told
    old_body = struct.pack(order + "HHIIII", 0, 0, 0, 2, 4, 4) + b"abcd" + told
    empty_body = struct.pack(order + "IIIII", 0, 0, 3, 0, 9) + told
    data = b"".join(
        block(kind, body, order) for kind, body in ((6, enhanced_body), (2, old_body), (6, empty_body))
    )
    packets, _ = feed(section(order=order) + interface(order=order) + data)
    parts = [taken_apart(p.link_type, p.data) for p in packets]
    assert [(each.link_type, each.data) for each in parts] == [(1, b"abc"), (1, b"abcd"), (1, b"")]
    assert [each.comments() for each in parts] == [["one", "two"]] * 3
    assert [each.direction() for each in parts] == [2] * 3
    assert [p.wire_length for p in packets] == [9, 4, 9]


def test_options_without_a_comment_leave_a_packet_as_it_is() -> None:
    flags = option(2, struct.pack("<I", 1)) + bytes(4)
    body = struct.pack("<IIIII", 0, 0, 1, 3, 3) + b"abc\0"
    behind_the_end = bytes(4) + option(1, b"no comment")
    beyond = struct.pack("<HH", 1, 400) + b"no"
    for options in (flags, behind_the_end, beyond):
        packets, _ = feed(section() + interface() + block(6, body + options))
        assert [(p.link_type, p.data) for p in packets] == [(1, b"abc")]


def test_simple_packets_take_snaplen_and_time_from_elsewhere() -> None:
    simple = block(3, struct.pack("<I", 10) + b"abcd")
    packets, parser = feed(section() + interface(snaplen=4) + simple + enhanced(7_000_000, b"x") + simple)
    assert [(p.time_ns, p.data, p.wire_length) for p in packets] == [
        (0, b"abcd", 10), (7 * SECOND, b"x", 1), (7 * SECOND, b"abcd", 10),
    ]  # fmt: skip
    assert [ref_number(packet.ref) for packet in packets] == [1, 2, 3]
    assert parser.captured_bytes == 9


def test_a_simple_packet_without_snaplen_ends_before_its_padding() -> None:
    (packet,), _ = feed(section() + interface() + block(3, struct.pack("<I", 3) + b"abc"))
    assert packet.data == b"abc"


def test_obsolete_packet_block_and_its_drops() -> None:
    old = [block(2, struct.pack("<HHIIII", 1, drops, 0, 9, 2, 8) + b"ab") for drops in (3, 0xFFFF, 1)]
    packets, parser = feed(section() + interface() + interface(link=113) + b"".join(old))
    assert packets[0] == Packet(1, 9_000, 113, b"ab", 8)
    assert (len(packets), parser.drops) == (3, 4)


def test_statistics_count_drops_once_per_interface() -> None:
    def statistics(index: int, interface_drops: int, system_drops: int) -> bytes:
        counts = option(5, struct.pack("<Q", interface_drops)) + option(7, struct.pack("<Q", system_drops))
        return block(5, struct.pack("<III", index, 0, 0) + option(4, struct.pack("<Q", 1000)) + counts)

    capture = (
        section()
        + interface()
        + interface()
        + statistics(0, 1, 2)
        + statistics(0, 5, 2)
        + statistics(1, 10, 0)
    )
    _, parser = feed(capture * 3)
    assert parser.drops == 3 * (5 + 2 + 10)
    assert parser.error is None


def test_secrets_are_kept_and_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pcapng, "MAX_SECRET_BYTES", 40)
    capture = section() + b"".join(
        block(10, struct.pack("<II", TLS_KEY_LOG, 15) + b"CLIENT_RANDOM %d" % n) for n in range(5)
    )
    _, parser = feed(capture)
    assert parser.secrets == [(TLS_KEY_LOG, b"CLIENT_RANDOM 0"), (TLS_KEY_LOG, b"CLIENT_RANDOM 1")]
    assert parser.error is None


def test_unknown_blocks_and_comments_are_skipped() -> None:
    unknown = block(0xBAD, b"custom") + block(4, b"names...") + block(0x80000001, b"") + block(7, bytes(300))
    capture = (
        section(options=option(1, b"comment")) + unknown + interface(options=option(2, b"eth0")) + unknown
    )
    packets, parser = feed(capture + enhanced(1, b"x") + unknown)
    assert len(packets) == 1
    assert (parser.error, parser.anomalies) == (None, [])


@pytest.mark.parametrize("size", [1, 2, 3, 5, 12, 31, 32, 33, 100])
@pytest.mark.parametrize("cut", [0, 1, 40])
def test_any_cut_of_the_input_gives_the_same(size: int, cut: int) -> None:
    simple = block(3, struct.pack("<I", 6) + b"simple")
    capture = sample_pcapng(range(20)) + simple + block(0xBAD, b"custom") + sample_pcapng(range(20), ">")
    capture = capture[: len(capture) - cut]
    whole, one = feed(capture)
    cut_up, other = feed(capture, size)
    assert cut_up == whole
    assert (other.anomalies, other.captured_bytes) == (one.anomalies, one.captured_bytes)


def test_a_packet_is_delivered_with_its_last_byte() -> None:
    parser = PcapngParser()
    head, packet = section() + interface(), enhanced(1, b"abcd")
    ends = [i for i, byte in enumerate(pieces(head + packet + packet, 1), 1) if parser.feed(byte)]
    assert ends == [len(head) + len(packet), len(head) + 2 * len(packet)]


@pytest.mark.parametrize("missing", [1, 4, 20, 90])
def test_cut_in_the_last_block_is_an_anomaly_only(missing: int) -> None:
    packets, parser = feed(sample_pcapng()[:-missing])
    assert len(packets) == 4
    assert parser.error is None
    assert [anomaly.kind for anomaly in parser.anomalies] == [AnomalyKind.CUT_CAPTURE]


@pytest.mark.parametrize(
    ("bad", "why"),
    [
        (struct.pack("<II", 6, 8) + bytes(60), "implausible length 8"),
        (struct.pack("<II", 6, 61) + bytes(60), "implausible length 61"),
        (struct.pack("<II", 99, pcapng.MAX_BLOCK + 4) + bytes(60), "implausible length"),
        (block(6, bytes(40), trailer=48), "two lengths differ"),
        (block(99, bytes(40), trailer=0), "two lengths differ"),
        (enhanced(9, b"late")[:-1] + b"\1", "two lengths differ"),
        (block(0x0A0D0D0A, bytes(16)), "byte order"),
        (section(version=2), "version 2"),
    ],
)
@pytest.mark.parametrize("size", [1, 1 << 20])
def test_faults_stop_but_keep_what_came_before(bad: bytes, why: str, size: int) -> None:
    packets, parser = feed(sample_pcapng() + bad + sample_pcapng(), size)
    assert len(packets) == 5
    assert parser.stopped
    assert why in (parser.error or "")
    assert [anomaly.kind for anomaly in parser.anomalies] == [AnomalyKind.CORRUPT_CAPTURE]


@pytest.mark.parametrize(
    ("bad", "why"),
    [
        (enhanced(1, b"x", index=7), "interface 7"),
        (enhanced(1, b"abcd", length=9), "captured length of 9 in 4 bytes"),
        (enhanced(1, b"abcd", length=0xFFFFFFFF), "captured length"),
        (block(2, struct.pack("<HHIIII", 9, 0, 0, 0, 0, 0)), "interface 9"),
        (block(6, bytes(16)), "only 16 bytes"),
        (block(5, struct.pack("<III", 8, 0, 0)), "interface 8"),
        (block(10, struct.pack("<II", 1, 99)), "secrets of 99 bytes in 0"),
        (block(1, bytes(4)), "only 4 bytes"),
    ],
)
def test_flaws_of_one_block_cost_that_block_only(bad: bytes, why: str) -> None:
    packets, parser = feed(sample_pcapng([1, 2]) + bad + enhanced(3_000_000, b"behind"))
    assert [ref_number(packet.ref) for packet in packets] == [1, 2, 3]
    assert packets[-1].data == b"behind"
    assert why in (parser.error or "")
    assert not parser.anomalies[1:]


def test_packet_of_length_zero_is_delivered_and_noted_once() -> None:
    packets, parser = feed(section() + interface() + enhanced(1, b"", wire=60) * 2 + enhanced(2, b"x"))
    assert [(len(p.data), p.wire_length) for p in packets] == [(0, 60), (0, 60), (1, 1)]
    assert "captured length 0" in (parser.error or "")
    assert len(parser.anomalies) == 1


def test_packet_before_any_interface() -> None:
    for early in (enhanced(1, b"x"), block(3, struct.pack("<I", 1) + b"x")):
        packets, parser = feed(section() + early + interface() + enhanced(2, b"y"))
        assert [packet.data for packet in packets] == [b"y"]
        assert "interface 0" in (parser.error or "")


def test_no_section_header() -> None:
    parser = PcapngParser()
    assert parser.feed(enhanced(1, b"x")) == []
    assert "no section header" in (parser.error or "")


def test_anomalies_are_bounded() -> None:
    _, parser = feed(section() + interface() + enhanced(1, b"x", index=7) * (DEFAULT_LIMITS.anomalies + 50))
    assert len(parser.anomalies) == DEFAULT_LIMITS.anomalies


def test_interfaces_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pcapng, "MAX_INTERFACES", 2)
    packets, parser = feed(section() + interface() * 3 + enhanced(1, b"x", index=1))
    assert len(packets) == 1
    assert "more than 2 interfaces" in (parser.error or "")
