"""What decompression may give in all of a run: bounds of a batch do not bound a capture of many.

Rules:
- What is usual costs nothing: bytes up to `Limits.run_ratio` times those captured, records up to
  `Limits.run_record_ratio` for each captured byte. Only what is beyond is counted, and may be
  `Limits.run_bytes` and `Limits.run_records` in all; then batches that are not usual are read as far as usual
  ones may go, and that is told.
- Fast ways of reading decline batches that are not usual and count nothing, so that what is read does not
  depend on which of them are there.
"""

from kdissect.model.limits import Limits, in_force


class RunBudget:
    """What is left in a run."""

    __slots__ = ("_bytes", "_records", "limits")

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self._bytes = limits.run_bytes
        self._records = limits.run_records

    def bytes_of(self, size: int) -> int:
        """Return what so many captured bytes may decompress to."""
        return self.limits.run_ratio * size + self._bytes

    def spend_bytes(self, size: int, output: int) -> None:
        """So many captured bytes decompressed to `output`."""
        self._bytes -= min(self._bytes, max(0, output - self.limits.run_ratio * size))

    def records_of(self, size: int) -> int:
        """Return how many records may be read of a compressed batch of so many captured bytes."""
        return self.limits.run_record_ratio * size + self._records

    def spend_records(self, size: int, count: int) -> None:
        """So many captured bytes had `count` records."""
        self._records -= min(self._records, max(0, count - self.limits.run_record_ratio * size))

    def left(self) -> tuple[int, int]:
        """Return bytes and records that are left of what is not usual."""
        return self._bytes, self._records

    def give_back(self, left: tuple[int, int]) -> None:
        """What was spent since `left` was read in vain: others will read it again."""
        self._bytes, self._records = left


_current: list[RunBudget] = []
_met: set[str] = set()


def start_run() -> None:
    """What was spent until now was of another run."""
    _current.clear()


def note_met(limit: str) -> None:
    """One of the limits was reached."""
    _met.add(limit)


def take_met() -> list[str]:
    """Return the names of those that were reached since this was asked last, in this process."""
    met = sorted(_met)
    _met.clear()
    return met


def run_budget() -> RunBudget:
    """That of the run this process is in, by the limits in force."""
    if not _current or _current[0].limits is not in_force():
        _current[:] = [RunBudget(in_force())]
    return _current[0]
