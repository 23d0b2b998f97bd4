"""Traffic that two hosts captured, whose files come in any order: the tables are those of one process."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

pytest.importorskip("pyarrow", reason="needs the extra arrow")

from kdissect.model.packets.packet import Packet
from tests.pipeline.conftest import CHECKOUT
from tests.pipeline.parquet import of_stream
from tests.pipeline.streaming.arriving import arrive, assert_equal, cut, packets_of
from tests.pipeline.streaming.drive import Stream, settings_of

NAME = "kafka44_sarama_transactions.pcapng"
TAPPED = CHECKOUT / "tests" / "engine" / "taps" / "captures"
FILES = 3
SECOND_NS = 10**9
Visit = tuple[str, int]
ORDERS: dict[str, Sequence[Sequence[Visit]]] = {
    "in turns": [[("a", n), ("b", n)] for n in range(FILES)],
    "the first tap earlier": [[(host, n)] for n in range(FILES) for host in "ab"],
    "the first tap later": [[(host, n)] for n in range(FILES) for host in "ba"],
    "the first tap when all is over": [[(host, n)] for host in "ba" for n in range(FILES)],
    "the second tap when all is over": [[(host, n)] for host in "ab" for n in range(FILES)],
    "at once": [[(host, n) for host in "ab" for n in range(FILES)]],
    "crosswise": [[("b", 0)], [("b", 1), ("a", 0)], [("a", 1)], [("a", 2)], [("b", 2)]],
}


def _shifted(packets: Sequence[Packet], shift_ns: int, keeps: Callable[[int], bool]) -> list[Packet]:
    """Return what another host saw: its clock is off, and it lost some."""
    return [
        packet._replace(time_ns=packet.time_ns + shift_ns)
        for number, packet in enumerate(packets)
        if keeps(number)
    ]


def _all(_number: int) -> bool:
    return True


def _lossy(number: int) -> bool:
    return number % 20 != 7


def _later(number: int) -> bool:
    return number > 20


@pytest.mark.sampled(8)
@pytest.mark.parametrize("order", ORDERS)
def test_two_taps_file_by_file(order: str, tmp_path: Path) -> None:
    _compare(tmp_path, NAME, ORDERS[order], 300_000_000, _lossy)


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("shift_ns", "keeps"),
    [(2_000, _later), (-20 * 60 * SECOND_NS, _all), (90 * 60 * SECOND_NS, _later)],
)
def test_clocks_that_differ(shift_ns: int, keeps: Callable[[int], bool], tmp_path: Path) -> None:
    assert len(_compare(tmp_path, NAME, ORDERS["the first tap later"], shift_ns, keeps)) > 3


@pytest.mark.exhaustive
def test_a_larger_capture_crosswise(tmp_path: Path) -> None:
    _compare(tmp_path, "mock_rdk216_txn.pcap", ORDERS["crosswise"], 250_000_000, _all)


def _compare(
    tmp_path: Path, name: str, order: Sequence[Sequence[Visit]], shift_ns: int, keeps: Callable[[int], bool]
) -> list[str]:
    """Check the tables after each batch, and return the connections that do not count."""
    packets = packets_of(name)
    parts = {"a": cut(packets, FILES), "b": cut(_shifted(packets, shift_ns, keeps), FILES)}
    folders = {host: tmp_path / host for host in parts}
    for folder in folders.values():
        folder.mkdir()
    stream = Stream(settings_of(tmp_path, *folders.values()))
    for visits in order:
        for host, number in visits:
            arrive(folders[host], number, parts[host][number], f"{host}_trace")
        assert len(stream.catch_up()) == 1
    assert_equal(tmp_path / "tables", list(folders.values()))
    same = [row["same_as"] for row in of_stream(tmp_path / "tables", "connections") if row["same_as"]]
    assert same
    return same


def test_a_batch_names_a_capture_of_kdissect_tap(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """A stream compares sequence numbers, which a tap invents: it says so once for each capture set."""
    pytest.importorskip("pyspark", reason="needs the extra spark")
    from kdissect.cli.parquet_tables.watch_run import _WatchLine

    folder = tmp_path / "in"
    folder.mkdir()
    stream = Stream(settings_of(tmp_path, folder))
    line = _WatchLine(sys.stderr)
    for part, taps in (("client", ("client",)), ("packets", ())):
        data = (TAPPED / f"tap_and_packets.{part}.pcapng.gz").read_bytes()
        (folder / f"{part}.pcapng.gz").write_bytes(data)
        (done,) = stream.catch_up()
        assert done.taps == taps
        line.batch(done, 0.0)
        line.batch(done, 0.0)
    said = [text for text in capfd.readouterr().err.splitlines() if "kdissect tap" in text]
    assert said == [
        "kdissect: warning: client is a capture of kdissect tap: its connections count twice if another "
        "capture set contains them. kdissect pipeline run recognises them (docs/streaming.md)"
    ]
