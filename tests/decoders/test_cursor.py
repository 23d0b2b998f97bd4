"""Primitives at their bounds. The varints are those of Apache Kafka's ByteUtilsTest."""

import pytest

from kdissect.decoders.cursor import Cursor, encode_uvarint, skip_tags, tag_section, uvarint
from kdissect.model.errors import DecodeError

VARINTS = [
    (0, "00"),
    (1, "01"),
    (63, "3f"),
    (127, "7f"),
    (128, "8001"),
    (8191, "ff3f"),
    (16383, "ff7f"),
    (16384, "808001"),
    (2097151, "ffff7f"),
    (2147483647, "ffffffff07"),
    (4294967295, "ffffffff0f"),
]


@pytest.mark.parametrize(("value", "text"), VARINTS)
def test_unsigned_varints(value: int, text: str) -> None:
    data = bytes.fromhex(text)
    assert uvarint(b"x" + data, 1) == (value, 1 + len(data))
    cursor = Cursor(data + b"\x99")
    assert (cursor.pull_uvarint(), cursor.offset) == (value, len(data))
    assert encode_uvarint(value) == data
    for cut in range(len(data)):
        with pytest.raises(IndexError):
            uvarint(data[:cut], 0)
        with pytest.raises(DecodeError, match="varint runs past the end at byte 0"):
            Cursor(data[:cut]).pull_uvarint()


@pytest.mark.parametrize("text", ["ffffffff10", "ffffffff7f", "ffffffff8001", "808080808000"])
def test_varints_of_more_than_32_bits(text: str) -> None:
    data = bytes.fromhex(text)
    with pytest.raises(ValueError, match="32 bits"):
        uvarint(data, 0)
    with pytest.raises(DecodeError, match="32 bits at byte 0"):
        Cursor(data).pull_uvarint()


def test_a_longer_form_of_a_small_number_is_read_like_kafka_does() -> None:
    assert uvarint(b"\x81\x80\x00", 0) == (1, 3)
    assert Cursor(b"\x81\x80\x00").pull_uvarint() == 1


def test_tag_sections() -> None:
    data = bytes.fromhex("ee 03 05 00 8101 02 6162 07 01 63 ff")
    assert skip_tags(data, 1) == len(data) - 1
    assert tag_section(data, 1) == ({5: b"", 129: b"ab", 7: b"c"}, len(data) - 1)
    with pytest.raises(IndexError):
        skip_tags(data[:6], 1)


def test_what_does_not_fit_consumes_nothing() -> None:
    cursor = Cursor(b"\x00\x01\x02")
    with pytest.raises(DecodeError, match="int32 of 4 bytes runs past the end, 3 left at byte 0"):
        cursor.pull_int32()
    assert cursor.pull_int16() == 1
    with pytest.raises(DecodeError, match="bytes of 2 bytes runs past the end, 1 left at byte 2"):
        cursor.pull_bytes(2, "bytes")
    assert cursor.pull_int8() == 2
    assert cursor.offset == cursor.end
