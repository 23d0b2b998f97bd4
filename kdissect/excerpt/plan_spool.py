"""Frame plans in a temporary file, in any number: sorted runs, merged while packets are read again."""

from collections.abc import Callable, Iterator
from heapq import merge
from io import BytesIO
from operator import itemgetter
from struct import Struct
from typing import IO, NamedTuple
from weakref import finalize

from kdissect.excerpt.frame_plans import FramePlan
from kdissect.model.native import is_compiled, native
from kdissect.model.packets.packet import FILE_SHIFT

# Plans in memory until they are sorted and written.
RUN_BYTES = 2 << 20
READ_BYTES = 1 << 14  # of a run at a time
# Plans that wait for a packet which other packets overtook: packets after a hole, at most the number that
# wait there. Packets that are missing, in a file that changed, are not waited for any longer.
MOST_WAITING = 1 << 20
_SIZE = Struct("<I")
_REF = Struct("<q")
_CONNECTION = Struct("<I")
_CONNECTION_AT = _REF.size
_first = itemgetter(0)


class Stretch(NamedTuple):
    """Stretch of one input file's plans in the temporary file, sorted by packet."""

    file: int
    start: int
    end: int


class TemporaryPlans:
    """The temporary file. A small one stays in memory. Raises OSError that names the full disk."""

    def __init__(self) -> None:
        self._file: IO[bytes] = BytesIO()
        self._end = 0

    def write(self, data: bytes) -> int:
        """Write at the end of the file. Return the start."""
        start, self._end = self._end, self._end + len(data)
        if isinstance(self._file, BytesIO) and self._end > RUN_BYTES:
            import tempfile  # start-up: few plans need no file

            before = self._file.getvalue()
            self._file = tempfile.TemporaryFile()  # noqa: SIM115  closed with this
            finalize(self, self._file.close)
            self._write(0, before)
        self._write(start, data)
        return start

    def _write(self, start: int, data: bytes) -> None:
        try:
            self._file.seek(start)
            self._file.write(data)
        except OSError as error:
            raise OSError(error.errno, error.strerror, "temporary file of plans") from error

    def read(self, start: int, size: int) -> bytes:
        """Return the bytes there."""
        self._file.seek(start)
        return self._file.read(size)


class _Runs:
    """Python's `native.PlanRuns`."""

    def __init__(self, write: Callable[[bytes], int], most: int) -> None:
        self._write = write
        self._most = most
        self._plans: list[tuple[int, bytes]] = []
        self._bytes = 0
        self._stretches: list[Stretch] = []

    def add(self, plan: bytes) -> None:
        """Keep a packed plan."""
        self._plans.append((_REF.unpack_from(plan)[0], plan))
        self._bytes += len(plan) + _SIZE.size
        if self._bytes >= self._most:
            self._flush()

    def _flush(self) -> None:
        by_file: dict[int, list[bytes]] = {}
        for ref, plan in sorted(self._plans, key=_first):
            by_file.setdefault(ref >> FILE_SHIFT, []).extend((_SIZE.pack(len(plan)), plan))
        for file, parts in by_file.items():
            data = b"".join(parts)
            start = self._write(data)
            self._stretches.append(Stretch(file, start, start + len(data)))
        self._plans, self._bytes = [], 0

    def finish(self) -> list[tuple[int, int, int]]:
        """Write the remaining plans. Return all stretches in the order of the runs."""
        if self._plans:
            self._flush()
        return list(self._stretches)


class _Merged:
    """Python's `native.MergedPlans`."""

    def __init__(
        self, read: Callable[[int, int], bytes], stretches: list[tuple[int, int, int]], taken: bytes,
        most_waiting: int,
    ) -> None:  # fmt: skip
        self._read = read
        self._stretches = stretches
        self._taken = taken
        self._most_waiting = most_waiting
        self._at: dict[int, Iterator[tuple[int, bytes]]] = {}
        self._next: dict[int, tuple[int, bytes] | None] = {}
        self._waiting: dict[int, list[bytes]] = {}

    def take(self, ref: int) -> list[bytes]:
        """Return and remove the packed plans of frames that begin in a packet."""
        file = ref >> FILE_SHIFT
        if file not in self._at:
            self._at[file] = self._plans(file)
            self._next[file] = next(self._at[file], None)
        while (one := self._next[file]) is not None and one[0] <= ref:
            self._next[file] = next(self._at[file], None)
            if self._is_taken(one[1]):
                self._waiting.setdefault(one[0], []).append(one[1])
        found = self._waiting.pop(ref, [])
        while len(self._waiting) > self._most_waiting:
            del self._waiting[next(iter(self._waiting))]
        return found

    def _is_taken(self, plan: bytes) -> bool:
        return bool(self._taken[_CONNECTION.unpack_from(plan, _CONNECTION_AT)[0]])

    def _plans(self, file: int) -> Iterator[tuple[int, bytes]]:
        runs = [self._run(start, end) for of, start, end in self._stretches if of == file]
        return merge(*runs, key=_first)

    def _run(self, start: int, end: int) -> Iterator[tuple[int, bytes]]:
        data, at = b"", 0
        while True:
            while len(data) - at < _SIZE.size or len(data) - at - _SIZE.size < _SIZE.unpack_from(data, at)[0]:
                if start >= end:
                    return
                more = self._read(start, min(READ_BYTES, end - start))
                data, at, start = data[at:] + more, 0, start + len(more)
            stop = at + _SIZE.size + _SIZE.unpack_from(data, at)[0]
            plan = data[at + _SIZE.size : stop]
            yield _REF.unpack_from(plan)[0], plan
            at = stop


class SpooledFrames:
    """The `Frames` of a `PlanSpool`. `packed` are the same frames, packed."""

    def __init__(self, packed: "native.MergedPlans | _Merged") -> None:
        self.packed = packed

    def take(self, ref: int) -> list[FramePlan]:
        """Return the frames that begin in a packet."""
        return [FramePlan.unpacked(one) for one in self.packed.take(ref)]


class PlanSpool:
    """Spool that takes plans in any order. `runs` are the plans in memory."""

    def __init__(self) -> None:
        self._file = TemporaryPlans()
        self.runs = (native.PlanRuns if is_compiled else _Runs)(self._file.write, RUN_BYTES)

    def add(self, plan: FramePlan) -> None:
        """Keep a plan."""
        self.runs.add(plan.packed())

    def frames(self, taken: bytes) -> SpooledFrames:
        """Return the frames of connections whose byte in `taken`, by number, is not 0. Add no plans
        afterwards.
        """
        stretches = self.runs.finish()
        merged = native.MergedPlans if is_compiled else _Merged
        return SpooledFrames(merged(self._file.read, stretches, taken, MOST_WAITING))
