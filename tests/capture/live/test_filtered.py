"""A capture filter over a stream that nobody filtered before."""

from io import BytesIO
from struct import pack

import pytest

from kdissect.capture.formats.capture_writer import PcapngWriter
from kdissect.capture.formats.pcapng import PcapngParser
from kdissect.capture.live.filtered import narrowing
from kdissect.capture.live.live_settings import BadFilterError, MissingError
from kdissect.model.packets.link_types import LinkType
from kdissect.model.packets.packet import Packet


class Stream:
    """Bytes in pieces."""

    name = "stream"

    def __init__(self, data: bytes, size: int) -> None:
        self._pieces = [data[at : at + size] for at in range(0, len(data), size)]
        self.is_over = False

    def read(self) -> bytes:
        """Return the next piece."""
        assert not self.is_over, "it ended"
        self.is_over = not self._pieces
        return self._pieces.pop(0) if self._pieces else b""

    def stop(self) -> None:
        """Nothing."""

    def failure(self) -> str:
        """None."""
        return ""

    def drops(self) -> int:
        """None but those in the stream."""
        return 0


def packet(port: int) -> bytes:
    """IPv4 and TCP."""
    address = bytes([127, 0, 0, 1])
    network = pack(">BBHHHBBH4s4s", 0x45, 0, 40, 0, 0, 64, 6, 0, address, address)
    return network + pack(">HHIIBBHHH", port, 9092, 1, 1, 0x50, 16, 100, 0, 0)


def stream() -> bytes:
    """Return packets from ports 1, 2, 1, 2, and 7 drops."""
    out = BytesIO()
    writer = PcapngWriter(out)
    interface = writer.interface(LinkType.RAW)
    for number, port in enumerate((1, 2, 1, 2)):
        data = packet(port)
        writer.write_packet(Packet(0, number, LinkType.RAW, data, len(data)), interface=interface)
    writer.statistics(interface, 7, time_ns=5)
    return out.getvalue()


def filtered(expression: str, size: int) -> tuple[list[int], int]:
    """Return the ports and the drops that are left."""
    try:
        source = narrowing(expression)(Stream(stream(), size))
    except MissingError as problem:
        pytest.skip(str(problem))
    parser = PcapngParser()
    packets = []
    while data := source.read():
        packets += [Packet._make(each).data for each in parser.feed(data)]
    assert source.read() == b""
    return [int.from_bytes(each[20:22]) for each in packets], parser.drops


@pytest.mark.parametrize("size", [1, 13, 64, 10_000])
def test_packets_that_are_taken_are_left_and_drops_are_told(size: int) -> None:
    assert filtered("tcp port 2", size) == ([2, 2], 7)
    assert filtered("udp", size) == ([], 7)


def test_without_a_filter_the_source_is_left_alone() -> None:
    source = Stream(b"", 1)
    assert narrowing("")(source) is source


def test_a_filter_that_is_none() -> None:
    with pytest.raises((BadFilterError, MissingError)):
        narrowing("tcp port what")
