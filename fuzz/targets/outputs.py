"""Commands that write files: packets of any time, outputs that fail, compiled against Python alone."""

import atexit
import resource
import signal
import struct
from collections.abc import Callable
from fractions import Fraction
from functools import cached_property
from io import BytesIO
from random import Random
from typing import ClassVar

from fuzz.commands import Ran, Workplace, run
from fuzz.mutators import NUMBERS, mutate_bytes
from fuzz.target import Target, demand
from fuzz.targets.records import Segments
from fuzz.targets.sessions import CaptureTarget, read_pcap
from kdissect.capture.files import open_captures
from kdissect.capture.formats.packet_file import PacketFile
from kdissect.capture.formats.pcapng import PcapngParser
from kdissect.engine.times import rfc3339
from kdissect.model.anomaly import AnomalyKind
from kdissect.model.packets.packet import MAX_TIME_NS, MIN_TIME_NS, Packet
from tests.capture.capture_samples import enhanced, interface, option, section
from tests.support.python_side import PythonSide

_SECOND = 1_000_000_000
_HEAD = struct.Struct("<BqB")  # resolution, offset in seconds, number of stamps
_STAMP = struct.Struct("<Q")
_MOST_STAMPS = 20
# Seconds since 1970 where something ends: 16, 31, 32 bits, int64 nanoseconds, years of four digits.
_EDGES = (
    0, -1, -10, 1, -86_400, -(1 << 31), 1 << 31, 1 << 32, -(1 << 32), 9_223_372_036, -9_223_372_037,
    253_402_300_799, -62_135_596_800, (1 << 63) - 1, -(1 << 63), 1_700_000_000,
)  # fmt: skip


class Times(Target):
    """Timestamps, resolutions and offsets: what is read is what they say, and is written and read again."""

    name = "times"
    about = "times of pcapng: any stamp, resolution and offset; exact, held in int64, written and read again"
    modules = (
        "kdissect.capture.formats.pcapng",
        "kdissect.capture.formats.packet_file",
        "kdissect.capture.formats.capture_writer",
        "kdissect.capture.whole_file",
    )
    longest = _HEAD.size + _STAMP.size * _MOST_STAMPS
    free_seconds = 0.05  # files that are made, moved and read

    @cached_property
    def _place(self) -> Workplace:
        return Workplace(self.name)

    def seeds(self) -> list[bytes]:
        """Usual clocks and those that were never set."""
        stamps = _STAMP.pack(0) + _STAMP.pack(1) + _STAMP.pack((1 << 64) - 1) + _STAMP.pack(1 << 63)
        return [
            _HEAD.pack(resolution, offset, 4) + stamps
            for resolution in (0, 3, 6, 9, 12, 19, 127, 128, 138, 158, 192, 255)
            for offset in _EDGES
        ]

    def mutate(self, data: bytes, dice: Random, other: bytes) -> bytes:
        """Change a part to another number."""
        if dice.random() < 0.3:
            return mutate_bytes(data, dice, other)
        out = bytearray(data.ljust(_HEAD.size, b"\0"))
        kind = dice.random()
        if kind < 0.2:
            out[0] = int(dice.random() * 256)
        elif kind < 0.4:
            struct.pack_into("<q", out, 1, dice.choice(_EDGES) + int(dice.random() * 3) - 1 & _POSITIVE)
        else:
            out += _STAMP.pack((dice.choice(NUMBERS) + int(dice.random() * 3) - 1) & (1 << 64) - 1)
        return bytes(out)

    def run(self, data: bytes) -> int:
        """Read, compare with exact fractions, write, read again."""
        resolution, offset, _ = _HEAD.unpack(data[: _HEAD.size].ljust(_HEAD.size, b"\0"))
        stamps = [stamp for (stamp,) in _STAMP.iter_unpack(_whole(data[_HEAD.size :]))]
        options = option(9, bytes([resolution])) + option(14, struct.pack("<q", offset)) + option(0, b"")
        blocks = [enhanced(stamp, b"%d" % number, wire=9 + number) for number, stamp in enumerate(stamps)]
        parser = PcapngParser(0)
        read = [
            Packet._make(each)
            for each in parser.feed(section() + interface(options=options) + b"".join(blocks))
        ]
        parser.close()
        units = Fraction(1, 2 ** (resolution & 127) if resolution & 128 else 10**resolution)
        exact = [int(stamp * units * _SECOND // 1) + offset * _SECOND for stamp in stamps]
        wanted = [max(MIN_TIME_NS, min(time_ns, MAX_TIME_NS)) for time_ns in exact]
        demand([packet.time_ns for packet in read] == wanted, "times")
        at_limit = any(time_ns in (MIN_TIME_NS, MAX_TIME_NS) for time_ns in wanted)
        demand(parser.anomaly_counts[AnomalyKind.LIMIT_REACHED] == at_limit, "what is held is told once")
        path = str(self._place.place / "out" / "a.pcapng")
        with PacketFile(path) as file:
            for packet in read:
                file.write(packet)
        again = list(open_captures([path]).packets())
        demand([each[1:] for each in again] == [each[1:] for each in read], "written and read again")
        demand(all(rfc3339(time_ns) for time_ns in wanted), "as text")
        return 200 * len(data)  # a block has ten times the bytes of its stamp, and three readings


_POSITIVE = (1 << 63) - 1


def _whole(data: bytes) -> bytes:
    return data[: len(data) // _STAMP.size * _STAMP.size]


_MARK = b"\0fuzz"  # begins an input that is no capture as it stands
_PREFIX = struct.Struct("<5sBBI")  # mark, command, how times are, seed of times


class WritingTarget(CaptureTarget):
    """A command over a capture whose packets may have any times."""

    longest = 1500
    # A parser of arguments, a report, a file: most of it does not depend on the input.
    free_seconds = 2.0
    seconds_per_mb = 200
    bytes_per_byte = 60_000
    long = 1 << 14
    commands: ClassVar[tuple[tuple[str, ...], ...]]

    @cached_property
    def _place(self) -> Workplace:
        return Workplace(self.name)

    def seeds(self) -> list[bytes]:
        """Return every command over a few of the captures."""
        captures = CaptureTarget.seeds(self)
        step = max(1, len(captures) // 40)
        return [
            _PREFIX.pack(_MARK, number, number % 4, number) + capture
            for number in range(len(self.commands))
            for capture in captures[number % step :: step]
        ]

    def mutate(self, data: bytes, dice: Random, other: bytes) -> bytes:
        """Another command, other times, or another capture."""
        (command, kind, seed), capture = _parts(data)
        foreign = _parts(other)[1]
        chance = dice.random()
        if chance < 0.15:
            command = int(dice.random() * 256)
        elif chance < 0.3:
            kind, seed = int(dice.random() * 4), int(dice.random() * (1 << 32))
        if chance > 0.2:
            capture = self.mutate_content(capture, dice, foreign)
        return _PREFIX.pack(_MARK, command, kind, seed) + capture

    def mutate_content(self, capture: bytes, dice: Random, other: bytes) -> bytes:
        """Another capture."""
        return super().mutate(capture, dice, other)

    def grow(self, parts: list[bytes]) -> bytes:
        """Return all packets, with the command of the first."""
        return parts[0][: _PREFIX.size] + super().grow([_parts(part)[1] for part in parts])

    def input_of(self, data: bytes) -> tuple[tuple[str, ...], bytes]:
        """Return the command and what it reads."""
        (command, kind, seed), capture = _parts(data)
        return self.commands[command % len(self.commands)], self._timed(capture, kind, seed)

    def _timed(self, capture: bytes, kind: int, seed: int) -> bytes:
        """Return the capture as it is, moved to an edge, or with a time of its own for each packet."""
        packets = read_pcap(capture) if kind % 4 else []
        if not packets:
            return capture
        dice = Random(seed)
        moved = dice.choice(_EDGES) * _SECOND - packets[0][1]
        path = self._place.place / "timed"
        with PacketFile(str(path)) as file:
            for ref, time_ns, link_type, content, wire in packets:
                at = (
                    time_ns + moved if kind % 4 == 1 else dice.choice(_EDGES) * _SECOND + dice.getrandbits(30)
                )
                held = max(MIN_TIME_NS, min(at, MAX_TIME_NS))
                file.write(Packet(ref, held, link_type, content, wire))
        return path.read_bytes()

    def check_told(self, ran: Ran, words: tuple[str, ...]) -> None:
        """Check what is true of every run."""
        demand(ran.code in (0, 1, 2, 3, 4), f"exit code {ran.code}")
        demand(ran.code != 1 or words[0] == "check", "exit code 1 of what finds nothing")
        demand(ran.code != 2, f"usage: {words}: {ran.err[-300:]}")
        demand(all(line.startswith("kdissect: ") for line in ran.err.splitlines()), ran.err)
        demand(not [name for name in ran.files if name.endswith(".part")], "half a file")


def _parts(data: bytes) -> tuple[tuple[int, int, int], bytes]:
    if data[:5] != _MARK or len(data) < _PREFIX.size:
        return (0, 0, 0), data
    _, command, kind, seed = _PREFIX.unpack_from(data)
    return (command, kind, seed), data[_PREFIX.size :]


_EXTRACTS: tuple[tuple[str, ...], ...] = (
    ("extract", "IN", "-o", "OUT/a.pcapng"),
    ("extract", "IN", "-o", "OUT/a.pcapng", "--connections"),
    ("extract", "IN", "-o", "OUT/a.pcapng", "--redact"),
    ("extract", "IN", "-o", "OUT/a.pcapng", "--redact=payload"),
    ("extract", "IN", "-o", "OUT/a.pcapng", "--redact=names"),
    ("extract", "IN", "-o", "OUT/a.pcapng", "--decrypted", "--errors"),
)
_EVIDENCE = ("check", "IN", "--evidence", "OUT/evidence", "--exit-zero", "-o", "OUT/a.txt")


class ExcerptFiles(WritingTarget):
    """Excerpts and evidence as files."""

    name = "excerpt-files"
    about = "extract in all its modes and check --evidence over packets of any time: files that read again"
    modules = (
        "kdissect.cli.captures.extract_command",
        "kdissect.cli.captures.extract_command",
        "kdissect.cli.findings.check_evidence",
        "kdissect.excerpt",
        "kdissect.report.evidence_files",
    )
    commands = (*_EXTRACTS, _EVIDENCE)

    def run(self, data: bytes) -> int:
        """Run it; packets that are written have times that were read, and whole connections all of them."""
        words, capture = self.input_of(data)
        self._place.clear()
        ran = self._place.run(words, capture)
        self.check_told(ran, words)
        read = list(open_captures([str(self._place.place / "in")]).packets())
        known = {packet.time_ns for packet in read}
        for name in ran.files:
            if name.endswith(".pcapng"):
                found = open_captures([str(self._place.place / "out" / name)])
                times = {packet.time_ns for packet in found.packets()}
                demand(times <= known, f"times of {name}")
                demand(not found.errors or not times, f"{name}: {found.errors}")
        demand("out" not in ran.files, "nothing but what was asked for")
        return 10 * len(capture)


_OUTPUTS: tuple[tuple[str, ...], ...] = (
    *_EXTRACTS[:3],
    _EVIDENCE,
    ("inspect", "IN", "--format", "jsonl", "--bodies", "-o", "OUT/a"),
    ("inspect", "IN", "--format", "csv", "-o", "OUT/a"),
    ("records", "IN", "--format", "parquet", "-o", "OUT/a"),
    ("info", "IN", "-o", "OUT/a"),
    ("check", "IN", "--report", "html=OUT/a", "--report", "sarif=OUT/b", "-o", "OUT/c"),
    ("check", "IN", "--write-baseline", "OUT/a", "-o", "OUT/c"),
    ("tables", "IN", "--output", "OUT/tables", "--overwrite", "--tables", "exchanges,connections"),
)
_OLD = b"what was there"
_LEAST_LIMIT = 16


class FailingOutputs(WritingTarget):
    """No file may grow beyond some bytes, which the input says: as a disk that is full there."""

    name = "failing-outputs"
    about = "outputs that fail at any byte: the old file or the new one, one line, exit code 3"
    modules = (
        "kdissect.cli.output",
        "kdissect.cli.findings.report_files",
        "kdissect.cli.options.output_options",
        "kdissect.capture.whole_file",
        "kdissect.capture.formats.packet_file",
    )
    commands = _OUTPUTS

    def run(self, data: bytes) -> int:
        """With room, then without: complete and the same, or what was there, told in one line."""
        words, capture = self.input_of(data)
        self._place.clear()
        whole = self._place.run(words, capture)
        self.check_told(whole, words)
        sizes = [len(content) for content in whole.files.values()]
        self._place.clear()
        old = {name: _OLD for name in ("a", "b", "c", "a.pcapng", "a.txt") if name in whole.files}
        for name, content in old.items():
            (self._place.place / "out" / name).write_bytes(content)
        limit = _LEAST_LIMIT + Random(bytes(data)).randrange(max([*sizes, 1]) + 40)
        ran = _limited(
            limit, lambda: run(str(self._place.place / "in"), str(self._place.place / "out"), words)
        )
        self.check_told(ran, words)
        if words[0] == "tables":  # parquet has names of its own in each run
            demand(ran.code == 3 or len(ran.files) == len(whole.files), "tables")
            demand(ran.code != 3 or whole.code == 3 or "too large" in ran.err, ran.err)
            return 10 * len(capture)
        if words == _EVIDENCE and "File too large" in ran.err:
            report = ran.files.get("a.txt", b"").decode()
            demand("/out/evidence/" not in report, "evidence that is not there")
            whole = whole._replace(files={**whole.files, "a.txt": ran.files.get("a.txt", b"")})
        if "--redact" in words:
            whole = whole._replace(files={name: ran.files.get(name, b"") for name in whole.files})
        if max([*sizes, 0]) <= limit:
            demand(ran.code == whole.code and set(ran.files) >= set(whole.files), "there was room")
        elif not sizes or "File too large" in ran.err:
            demand(ran.code == 3, f"exit code {ran.code}")
            demand(ran.err.count("File too large") <= len(sizes), f"a line for an output: {ran.err}")
        for name, content in ran.files.items():
            demand(
                content in (old.get(name), whole.files.get(name)),
                f"{words} {limit}: {name}: neither old nor new",
            )
        return 10 * len(capture)


def _limited(limit: int, act: Callable[[], Ran]) -> Ran:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, hard))
    try:
        return act()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


_REPORTS = ("text", "json", "junit", "sarif", "github", "markdown", "html")
_SEGMENTS: tuple[tuple[str, ...], ...] = (
    ("segments", "IN", "--records", "--format", "parquet", "-o", "OUT/a"),
    ("segments", "IN", "--format", "parquet", "-o", "OUT/a"),
    ("segments", "IN", "--records", "--format", "csv", "-o", "OUT/a"),
)


def _are_same(one: bytes | None, other: bytes | None) -> bool:
    """Return whether two files are: byte by byte, or the same rows of Parquet, whatever its row groups."""
    if one is None or other is None or not one.startswith(b"PAR1"):
        return one == other
    from pyarrow.parquet import read_table

    mine, theirs = read_table(BytesIO(one)), read_table(BytesIO(other))
    return bool(mine.schema == theirs.schema and mine.equals(theirs))


class CompiledFiles(WritingTarget):
    """Two processes, one of them with `KDISSECT_NATIVE=0`. Both are the same where none is compiled."""

    name = "compiled-files"
    about = "commands that write files, compiled against not: the same bytes or rows, lines and exit codes"
    modules = (
        "kdissect.cli",
        "kdissect.engine.records.compiled_tables",
        "kdissect.engine.records.row_tables",
    )
    commands = (
        *_EXTRACTS,
        _EVIDENCE,
        ("records", "IN", "--format", "parquet", "-o", "OUT/a"),
        ("records", "IN", "--format", "parquet", "--value-format", "text", "-o", "OUT/a"),
        ("records", "IN", "--format", "tsv", "-o", "OUT/a"),
        ("records", "IN", "--format", "csv", "-o", "OUT/a"),
        ("records", "IN", "--format", "jsonl", "-o", "OUT/a"),
        ("tables", "IN", "--output", "OUT/tables"),
        ("tables", "IN", "--output", "OUT/tables", "--tables", "records,exchanges", "--partition-by", "day"),
        *(("check", "IN", "--format", name, "--report", f"{name}=OUT/a") for name in _REPORTS),
        ("check", "IN", "--write-baseline", "OUT/a", "--statistics"),
        ("inspect", "IN", "--bodies", "--records", "--format", "csv", "-o", "OUT/a"),
        *_SEGMENTS,
    )

    @cached_property
    def _other(self) -> PythonSide:
        side = PythonSide()
        atexit.register(side.close)
        return side

    def seeds(self) -> list[bytes]:
        """Return captures for all commands, and segments for their commands."""
        segments = Segments().seeds()
        first = len(self.commands) - len(_SEGMENTS)
        return super().seeds() + [
            _PREFIX.pack(_MARK, first + number % len(_SEGMENTS), 0, 0) + segment
            for number, segment in enumerate(segments)
        ]

    def mutate_content(self, capture: bytes, dice: Random, other: bytes) -> bytes:
        """Mutate a segment's bytes, which know of no packets."""
        if capture[:4] in (b"\xd4\xc3\xb2\xa1", b"\x4d\x3c\xb2\xa1"):
            return super().mutate_content(capture, dice, other)
        return Segments.mutate(self, capture, dice, other)  # type: ignore[arg-type]

    def run(self, data: bytes) -> int:
        """Run the command in this process and in another one, in the same folder."""
        words, content = self.input_of(data)
        given = self._place.place / ("00000000000000000000.log" if words[0] == "segments" else "in")
        given.write_bytes(content)
        asked = str(given), str(self._place.place / "out"), words, True
        there: Ran = self._other.call(run, *asked)
        here = run(*asked)
        self.check_told(here, words)
        demand(here.code == there.code, f"{words}: exit code {here.code}, not {there.code}")
        demand(here.out == there.out, f"{words}: standard output")
        demand(here.err == there.err, f"{words}: {here.err!r}, not {there.err!r}")
        names = [
            name
            for name in {*here.files, *there.files}
            if not _are_same(here.files.get(name), there.files.get(name))
        ]
        demand(not names, f"{words}: {names}")
        return 10 * len(content)
