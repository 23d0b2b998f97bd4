"""The performance data of a JVM, whole and broken."""

import struct

import pytest

from kdissect.tap.jvms import strings


def entry(order: str, name: bytes, value: bytes, kind: bytes = b"B") -> bytes:
    """Return one entry, as HotSpot lays it out."""
    head = struct.calcsize(f"{order}IIIBBBBI")
    name += b"\0"
    length = head + len(name) + len(value)
    vector = len(value) if kind == b"B" else 0
    fields = struct.pack(f"{order}IIIBBBBI", length, head, vector, kind[0], 0, 5, 1, head + len(name))
    return fields + name + value


def data(order: str, *entries: bytes) -> bytes:
    """Return a file of these entries."""
    body = b"".join(entries)
    mark = struct.pack("BBBB", order == "<", 2, 0, 1)
    return (
        b"\xca\xfe\xc0\xc0"
        + mark
        + struct.pack(f"{order}IIqII", 32 + len(body), 0, 0, 32, len(entries))
        + body
    )


@pytest.mark.parametrize("order", ["<", ">"])
def test_texts_are_found_by_name(order: str) -> None:
    entries = entry(order, b"sun.rt.javaCommand", b"kafka.Kafka x\0\0"), entry(order, b"n", bytes(8), b"J")
    more = entry(order, b"java.property.java.version", b"17.0.1\0")
    assert strings(data(order, *entries, more)) == {
        "sun.rt.javaCommand": "kafka.Kafka x",
        "java.property.java.version": "17.0.1",
    }


def test_every_cut_is_read_without_an_error() -> None:
    whole = data("<", entry("<", b"a", b"1\0"), entry("<", b"b", b"2\0"))
    assert strings(whole) == {"a": "1", "b": "2"}
    for end in range(len(whole)):
        assert set(strings(whole[:end])) <= {"a", "b"}


@pytest.mark.parametrize("broken", [b"", b"\xca\xfe", bytes(40), b"\xca\xfe\xc0\xc0" + b"\xff" * 60])
def test_what_is_none_has_none(broken: bytes) -> None:
    assert strings(broken) == {}


def test_entries_that_never_move_on_end() -> None:
    stuck = bytearray(data("<", entry("<", b"a", b"1\0")))
    struct.pack_into("<I", stuck, 28, 0xFFFFFFFF)  # entries, it says
    struct.pack_into("<I", stuck, 32, 0)  # and each is as long as nothing
    assert strings(bytes(stuck)) == {}
