"""Captures as a snap length leaves them."""

from pathlib import Path

from kdissect.capture.files import open_captures
from tests.support.packets.pcaps import write_pcap


def snapped(source: Path, folder: Path, length: int) -> str:
    """Write a capture of Ethernet with no more than so many bytes of each packet; gives its path.

    Under the same name, so that connections keep their identity.
    """
    packets = open_captures([str(source)]).packets()
    target = folder / f"{source.name.partition('.')[0]}.pcap"
    return write_pcap(target, (packet._replace(data=packet.data[:length]) for packet in packets))
