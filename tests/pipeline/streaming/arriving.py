"""Captures cut into rotated files, and what a stream made of them against one process, row by row."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from kdissect.capture.files import open_captures
from kdissect.model.packets.packet import Packet
from kdissect.serdes.schemas import Schemas
from tests.pipeline.conftest import CHECKOUT
from tests.pipeline.parquet import of_one_process, of_stream
from tests.pipeline.streaming.drive import ALL
from tests.support.packets.pcaps import write_pcap

CAPTURES = CHECKOUT / "captures"


def packets_of(name: str) -> list[Packet]:
    """Return the packets of a capture that the repository ships."""
    return packets_of_file(CAPTURES / name)


def packets_of_file(path: Path) -> list[Packet]:
    """Return the packets of a file."""
    return list(open_captures([str(path)]).packets())


def rotated_name(number: int, stem: str = "trace") -> str:
    """As tcpdump -C calls the files of one capture."""
    return f"{stem}.pcap{number or ''}"


def cut(packets: Sequence[Packet], files: int) -> list[list[Packet]]:
    """So many files' packets, wherever a connection or a frame is cut by that."""
    share = -(-len(packets) // files)
    return [list(packets[first : first + share]) for first in range(0, len(packets), share)]


def arrive(folder: Path, number: int, packets: Iterable[Packet], stem: str = "trace") -> Path:
    """One of the files is there."""
    folder.mkdir(exist_ok=True)
    path = folder / rotated_name(number, stem)
    write_pcap(path, packets)
    return path


def assert_equal(
    tables: Path, paths: Sequence[Path], keys: Sequence[str] = (), schemas: Schemas | None = None
) -> None:
    """Assert that the tables of a stream equal those of one process over the files."""
    one = of_one_process(paths, keys, schemas)
    for table in ALL:
        assert of_stream(tables, table) == one[table], table
