"""Times before 1970 and after 2106: what is told, and written, is that of any other time, moved."""

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from kdissect.api import Dissection
from kdissect.capture.files import open_captures
from kdissect.capture.formats.packet_file import PacketFile
from kdissect.cli import main
from kdissect.model.packets.packet import MAX_TIME_NS, MIN_TIME_NS
from tests.support.console import CAPTURES
from tests.support.packets.moved import SECOND, move, relative

DAY = 86_400
# Midnights so far apart that steps of series and slots of rates, which are doubled, begin alike.
STEP = 1024 * DAY
USUAL = 17 * STEP
ODD = {"1967": -STEP, "2107": 49 * STEP}  # before 1970, and behind what 32 bits count to
# A day that goes from before 1970 over it, the edges of 32 bits, of int64 nanoseconds, of four digits.
EDGES = {
    "-10 s": -10, "1901": -(1 << 31) - 5, "1678": -9_223_372_035, "2106": (1 << 32) - 2,
    "2262": 9_223_372_035, "9999": 253_402_300_000, "0001": -62_135_596_800,
}  # fmt: skip
# Timestamps of records stay where they were: of `delay` the columns that need none.
OF_PACKETS = "topic,partition,group,records,delay_ns,broker_ns,poll_ns,commit_ns,committed_ns,lag,lag_ns"
COMMANDS = {
    "inspect": ("inspect", "--format", "jsonl", "--bodies", "--records"),
    "inspect tsv": ("inspect", "--format", "tsv"),
    "inspect csv": ("inspect", "--format", "csv"),
    "inspect table": ("inspect", "--format", "table"),
    "inspect tree": ("inspect", "--bodies", "--format", "tree"),
    "since": ("inspect", "--since", "+1s", "--format", "csv"),
    "until": ("inspect", "--until", "+1s", "--format", "csv"),
    "records": ("records", "--format", "jsonl"),
    "records tsv": ("records", "--format", "tsv"),
    "info": ("info",),
    "info json": ("info", "--format", "json", "--deep"),
    "connections": ("connections", "--format", "jsonl"),
    "connections table": ("connections", "--format", "table"),
    "stats": ("stats", "--format", "json", "--interval", "1"),
    "topics": ("topics", "--format", "json"),
    "groups": ("groups", "--format", "json"),
    "groups table": ("groups",),
    "producers": ("producers", "--format", "json"),
    "fetch-sessions": ("fetch-sessions", "--format", "json"),
    "logins": ("logins", "--format", "json"),
    "changes": ("changes", "--format", "json"),
    "access": ("access", "--format", "json"),
    "offsets": ("offsets", "--format", "json"),
    "delay": ("delay", "--format", "csv", "-e", OF_PACKETS),
    "mirror": ("mirror", "--format", "json"),
    "upgrade": ("upgrade", "--target", "4.0", "--format", "json"),
    "why": ("why", "--format", "json"),
    "check": ("check", "--format", "json", "--exit-zero"),
    "check text": ("check", "--exit-zero"),
    "html": ("check", "--format", "html", "--exit-zero"),
    "sarif": ("check", "--format", "sarif", "--exit-zero"),
    "junit": ("check", "--format", "junit", "--exit-zero"),
}
EXTRACTS: tuple[Sequence[str], ...] = ((), ("--connections",), ("--redact",), ("--redact=payload",))
GROUPS = CAPTURES / "kafka44_sarama_groups.pcapng"
PRODUCE = CAPTURES / "kafka44_java_produce.pcapng"
FAULTY = CAPTURES / "tansu_rdk216_txn.pcap"
# Larger ones say the same more often, and all commands three times over each take minutes.
MOST_BYTES = 130_000
EVERY = [path for path in sorted(CAPTURES.glob("*.pcap*")) if path.stat().st_size < MOST_BYTES]


def told(command: str, capture: str, second: int, capfd: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    """Return what a command says of a capture that was moved to a second."""
    capfd.readouterr()
    name, *options = COMMANDS[command]
    code = main([name, capture, *options])
    out, err = capfd.readouterr()
    return code, relative(out, second), err


def differences(source: Path, folder: Path, capfd: pytest.CaptureFixture[str]) -> list[str]:
    """Commands that say something else of a capture at an odd time."""
    capture = move(source, folder / "c.pcapng", USUAL)
    usual = {command: told(command, capture, USUAL, capfd) for command in COMMANDS}
    found = []
    for name, second in ODD.items():
        move(source, folder / "c.pcapng", second)
        found += [
            f"{command} in {name}"
            for command in COMMANDS
            if told(command, capture, second, capfd) != usual[command]
        ]
    return found


@pytest.mark.exhaustive
@pytest.mark.parametrize("source", [GROUPS], ids=lambda path: path.name)
def test_what_is_told_of_a_capture_does_not_depend_on_its_time(
    source: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert differences(source, tmp_path, capfd) == []


@pytest.mark.exhaustive
@pytest.mark.parametrize("source", EVERY[::6], ids=lambda path: path.name)
def test_what_is_told_of_no_small_capture_depends_on_its_time(
    source: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert differences(source, tmp_path, capfd) == []


def times(path: Path | str) -> list[int]:
    return [packet.time_ns for packet in open_captures([str(path)]).packets()]


def exchange_times(path: Path | str) -> list[tuple[int, int]]:
    return [
        (frame.time_ns, frame.end_time_ns)
        for each in Dissection(str(path))
        for frame in (each.request, each.response)
        if frame is not None
    ]


@pytest.mark.sampled(8)
@pytest.mark.parametrize("options", EXTRACTS, ids=" ".join)
@pytest.mark.parametrize("edge", EDGES)
def test_packets_that_are_extracted_have_their_times(
    edge: str, options: Sequence[str], tmp_path: Path
) -> None:
    capture, out = move(PRODUCE, tmp_path / "c.pcapng", EDGES[edge]), tmp_path / "out.pcapng"
    assert main(["extract", capture, "-o", str(out), *options]) == 0
    assert exchange_times(out) == exchange_times(capture) != []
    if options == ("--connections",):
        assert times(out) == times(capture)


@pytest.mark.parametrize("edge", EDGES)
def test_evidence_has_its_times(edge: str, tmp_path: Path) -> None:
    capture, folder = move(FAULTY, tmp_path / "c.pcapng", EDGES[edge]), tmp_path / "evidence"
    assert main(["check", capture, "--exit-zero", "--evidence", str(folder)]) == 0
    files = list(folder.iterdir())
    assert files
    known = set(times(capture))
    assert all(set(times(file)) <= known for file in files)


@pytest.mark.skipif(shutil.which("tshark") is None, reason="needs tshark")
def test_wireshark_reads_the_same_times(tmp_path: Path) -> None:
    capture, out = move(PRODUCE, tmp_path / "c.pcapng", -2), tmp_path / "out.pcapng"
    assert main(["extract", capture, "-o", str(out), "--connections"]) == 0
    wanted = ["tshark", "-r", str(out), "-T", "fields", "-e", "frame.time_epoch"]
    told = subprocess.run(wanted, check=True, capture_output=True, text=True).stdout.split()
    # It prints the second at or before and the rest, which is never negative: -1.5 s is -2.500000000.
    read = [int(whole) * SECOND + int(rest) for whole, _, rest in (text.partition(".") for text in told)]
    assert read == times(out)
    assert min(read) < 0 < max(read)


def rows_of(folder: Path, table: str) -> list[dict[str, Any]]:
    parquet = pytest.importorskip("pyarrow.parquet", reason="needs the extra arrow")
    return [row for path in sorted((folder / table).rglob("*.parquet")) for row in _rows(parquet, path)]


def _rows(parquet: Any, path: Path) -> list[dict[str, Any]]:
    import pyarrow as pa

    table = parquet.ParquetFile(path).read()
    for number, field in enumerate(table.schema):
        if pa.types.is_timestamp(field.type):
            table = table.set_column(number, field.name, table.column(number).cast(pa.int64()))
    found: list[dict[str, Any]] = table.to_pylist()
    return found


@pytest.mark.parametrize("edge", [*EDGES, *ODD])
def test_tables_have_the_times_and_their_days(edge: str, tmp_path: Path) -> None:
    pytest.importorskip("pyarrow", reason="needs the extra arrow")
    second = {**EDGES, **ODD}[edge]
    capture, out = move(PRODUCE, tmp_path / "c.pcapng", second), tmp_path / "tables"
    assert main(["tables", capture, "--output", str(out), "--partition-by", "day"]) == 0
    wanted = sorted(
        each.request.time_ns if each.request else each.response.time_ns  # type: ignore[union-attr]
        for each in Dissection(capture)
    )
    rows = rows_of(out, "exchanges")
    assert sorted(row["time_ns"] for row in rows) == wanted
    assert sorted(row["time"] for row in rows) == [time_ns // 1000 for time_ns in wanted]
    assert {path.name for path in (out / "exchanges").iterdir()} == {
        f"day={_day(time_ns)}" for time_ns in wanted
    }


def _day(time_ns: int) -> str:
    np = pytest.importorskip("numpy")

    return str(np.datetime64(time_ns // (DAY * SECOND), "D"))


def test_tables_of_times_further_apart_than_64_bits_tell(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow", reason="needs the extra arrow")
    capture, out = tmp_path / "c.pcapng", tmp_path / "tables"
    packets = list(open_captures([str(PRODUCE)]).packets())
    with PacketFile(str(capture)) as file:  # each side of a connection stands at another end of time
        for packet in packets:
            far = MAX_TIME_NS if packet.time_ns % 2 else MIN_TIME_NS
            file.write(packet._replace(time_ns=far))
    assert main(["tables", str(capture), "--output", str(out)]) == 0
    told = [row["latency_ns"] for row in rows_of(out, "exchanges") if row["latency_ns"] is not None]
    wanted = [each.latency_ns for each in Dissection(str(capture)) if each.latency_ns is not None]
    assert max(map(abs, wanted)) > MAX_TIME_NS
    assert told == [max(MIN_TIME_NS - 1, min(latency, MAX_TIME_NS)) for latency in wanted]


def test_a_time_that_nanoseconds_cannot_tell_is_said(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    capture = move(PRODUCE, tmp_path / "c.pcapng", EDGES["9999"])
    assert set(times(capture)) == {MAX_TIME_NS}
    assert main(["info", capture]) == 0
    assert "packet 1: its time is before 1677-09-21 or after 2262-04-11" in capfd.readouterr().out
