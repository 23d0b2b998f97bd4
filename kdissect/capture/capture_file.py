"""One input while it is read: its bytes become packets, its facts are counted, its damage is written down."""

from collections import Counter
from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING

from kdissect.capture.byte_source import FileSource, Source
from kdissect.capture.compression import (
    Compression,
    CorruptStreamError,
    CutStreamError,
    decompress,
    detect_compression,
)
from kdissect.capture.formats.capture_parser import CaptureParser, ListedInterface
from kdissect.capture.formats.file_format import describe_other, is_enough, parser_for
from kdissect.model.anomaly import Anomaly, AnomalyKind
from kdissect.model.errors import CaptureError
from kdissect.model.faults import fault_text
from kdissect.model.packets.packet import PacketBlock
from kdissect.model.wording import plural

if TYPE_CHECKING:
    from kdissect.capture.resume import ResumePoint

# Packets of several queues are milliseconds out of order in a file. A second is a clock that was set.
STEP_NS = 1_000_000_000


class CaptureFile:
    """One input of a capture set, updated while its packets are read.

    `path` is the user's name for it (`-` for the standard input), `size` in bytes on disk (None for a
    stream), `capture_set` is the name of its set of rotated files. `error` is set with the reason when the
    input cannot be read, or not cleanly. Before the first bytes were read `format` is None and the counts are
    0.
    """

    __slots__ = (
        "_is_given_up", "_parser", "capture_set", "clock_ns", "compression", "error", "first_time_ns",
        "index", "is_request_log", "is_stream", "last_time_ns", "path", "size", "source",
    )  # fmt: skip

    def __init__(
        self, path: str, source: Source, size: int | None, error: CaptureError | None = None
    ) -> None:
        self.path = path
        self.source = source
        self.size = size
        self.is_stream = not isinstance(source, FileSource)
        self.index = 0
        self.capture_set = ""
        self.compression = Compression.NONE
        self.error = error
        self.is_request_log = False
        """Whether the file is a broker's request log, once its beginning was read."""
        self.first_time_ns: int | None = None
        self.last_time_ns: int | None = None
        self._parser: CaptureParser | None = None
        self.clock_ns: int | None = None
        """The latest time since the clock last went backwards."""
        self._is_given_up = False

    @property
    def format(self) -> str | None:
        """`pcap`, `pcapng`, or None when unknown."""
        return self._parser.format if self._parser else None

    @property
    def link_types(self) -> list[int]:
        """Link types the file declares, sorted."""
        return sorted(self._parser.link_types) if self._parser else []

    @property
    def interfaces(self) -> list[ListedInterface]:
        """The first interfaces that the file describes."""
        return self._parser.interfaces if self._parser else []

    @property
    def packets(self) -> int:
        """Packets read so far."""
        return self._parser.packets if self._parser else 0

    @property
    def captured_bytes(self) -> int:
        """Captured bytes of the packets read so far, link layer included."""
        return self._parser.captured_bytes if self._parser else 0

    @property
    def drops(self) -> int:
        """Packets the capturing host says it lost (pcapng statistics)."""
        return self._parser.drops if self._parser else 0

    @property
    def forwarded(self) -> int:
        """Requests of a log that are left out: a broker sent them to the controller for a client."""
        return self._parser.forwarded if self._parser else 0

    def anomaly_texts(self, *kinds: AnomalyKind) -> list[str]:
        """Return the anomalies of some kinds, with the file's path, for people."""
        return [f"{self.path}: {anomaly.detail}" for anomaly in self.anomalies if anomaly.kind in kinds]

    @property
    def anomalies(self) -> list[Anomaly]:
        """Damage found so far, at most `Limits.anomalies`, and what the capturing host lost."""
        found = self._parser.anomalies if self._parser else []
        if not self.drops:
            return found
        lost = f"{plural(self.drops, 'packet was', 'packets were')} dropped while capturing"
        return [*found, Anomaly(AnomalyKind.DROPPED_PACKETS, lost)]

    @property
    def anomaly_counts(self) -> Counter[AnomalyKind]:
        """How many anomalies of each kind there were, those beyond the first included."""
        found = Counter(self._parser.anomaly_counts) if self._parser else Counter()
        if self.drops:
            found[AnomalyKind.DROPPED_PACKETS] += 1
        return found

    @property
    def secrets(self) -> list[tuple[int, bytes]]:
        """(type, bytes) of the Decryption Secrets Blocks of a pcapng file."""
        return self._parser.secrets if self._parser else []

    @property
    def can_resume(self) -> bool:
        """Whether reading can begin in the middle: only in a plain file of this machine."""
        return type(self.source) is FileSource and self.compression is Compression.NONE

    @property
    def resume_point(self) -> "ResumePoint | None":
        """The position of reading, or None before the first packet, and if reading cannot begin in the
        middle.
        """
        parser = self._parser
        if parser is None or not self.can_resume or not parser.packets or self.is_request_log:
            return None
        from kdissect.capture.resume import ResumePoint  # only an index of a capture asks

        return ResumePoint(parser.packets, parser.offset, parser.preamble)

    def batches(self) -> Generator[PacketBlock, None, None]:
        """Yield the packets in file order, in non-empty blocks that one chunk completes.

        Raises no exception on bad input. A file may be read again from its start, a stream may not.
        """
        if self._is_given_up or (self.error is not None and self._parser is None):
            return
        self._parser = self.error = None
        self.first_time_ns = self.last_time_ns = self.clock_ns = None
        try:
            yield from self._read()
        except CutStreamError as damage:
            self._stream_ended(str(damage), corrupt=False)
        except CorruptStreamError as damage:
            self._stream_ended(str(damage), corrupt=True)
        except OSError as error:
            self._fail(error.strerror or str(error))
        except Exception as error:
            self.give_up(f"given up behind packet {self.packets}: {fault_text(error)}")
        self._settle()

    def give_up(self, why: str) -> None:
        """Stop using the file, which is not read again.

        A file is still read to its end: the merge of several files must not depend on it, as processes that
        share the work number its packets.
        """
        self._is_given_up = True
        self._fail(why)

    def first_time(self) -> int | None:
        """Return the time of the first packet, found by reading the beginning; None when there is none to be
        found.
        """
        batches = self.batches()
        first = next(batches, None)
        batches.close()
        if (
            self._parser is not None and not self._is_given_up
        ):  # the bytes that were read will be read again, and a file that is no capture stays one
            self._parser = self.error = None
            self.first_time_ns = self.last_time_ns = self.clock_ns = None
        return first[0][1] if first else None

    def _read(self) -> Iterator[PacketBlock]:
        head, chunks = peek(self.source.chunks())
        self.compression = detect_compression(head)
        if self.compression is not Compression.NONE:
            head, chunks = peek(decompress(chunks, self.compression))
        kind = parser_for(head)
        if kind is None:
            return self._fail(describe_other(head))
        parser = self._parser = kind(self.index)
        self.is_request_log = not kind.is_packet_capture
        for chunk in chunks:
            batch = parser.feed_block(chunk)
            if batch:
                self._note_times(batch)
                yield batch
            if parser.stopped or (self._is_given_up and self.is_stream):
                return None
        last = parser.last_block()
        if last:
            self._note_times(last)
            yield last
        parser.close()
        return None

    def _note_times(self, batch: PacketBlock) -> None:
        first, last = batch.span()
        clock_ns = self.clock_ns
        if self.is_request_log:
            pass  # a line has the time of the response, and the request came earlier
        elif last - first > STEP_NS or (clock_ns is not None and first < clock_ns - STEP_NS):
            self._note_steps(batch)
        elif clock_ns is None or last > clock_ns:
            self.clock_ns = last
        if self.first_time_ns is None or first < self.first_time_ns:
            self.first_time_ns = first
        if self.last_time_ns is None or last > self.last_time_ns:
            self.last_time_ns = last

    def _note_steps(self, batch: PacketBlock) -> None:
        """Note each step back of the clock that is larger than a network card's queues explain."""
        assert self._parser is not None
        self.clock_ns, steps = batch.steps_back(self.clock_ns, STEP_NS)
        for ref, time_ns, step_ns in steps:
            self._parser.note_step_back(ref, time_ns, step_ns)

    def _stream_ended(self, why: str, corrupt: bool) -> None:
        if self._parser is None:
            self._fail(why)
        elif corrupt:
            self._parser.note_corrupt(why)
        else:
            self._parser.note_cut(why)

    def _settle(self) -> None:
        """Make the parser's reason an error, unless there is a worse one."""
        if self.error is None and self._parser is not None and self._parser.error is not None:
            self._fail(self._parser.error)

    def _fail(self, why: str) -> None:
        self.error = CaptureError(self.path, why)


def peek(chunks: Iterator[bytes]) -> tuple[bytes, Iterator[bytes]]:
    """Return the first bytes of a stream, enough to recognize its format if it has them, and the stream as it
    was.
    """
    head = b""
    for chunk in chunks:
        head += chunk
        if is_enough(head):
            break
    return head, _behind(head, chunks)


def _behind(head: bytes, chunks: Iterator[bytes]) -> Iterator[bytes]:
    if head:
        yield head
    yield from chunks
