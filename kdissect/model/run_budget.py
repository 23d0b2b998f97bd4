"""Limits on decompression in a whole run: bounds of a batch do not bound a capture with many batches.

Rules:
- Usual data costs no budget: bytes up to `Limits.run_ratio` times those captured, records up to
  `Limits.run_record_ratio` for each captured byte. Only larger growth is counted, up to `Limits.run_bytes`
  and `Limits.run_records` in all. After that, unusual batches are read as far as the usual growth allows, and
  that is reported.
- Fast ways of reading decline batches that are not usual and count nothing, so that what is read does not
  depend on which of them are there.
"""

from kdissect.model.limits import Limits, in_force


class RunBudget:
    """Remaining budget of a run."""

    __slots__ = ("_bytes", "_records", "limits")

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self._bytes = limits.run_bytes
        self._records = limits.run_records

    def bytes_of(self, size: int) -> int:
        """Return the maximum decompressed size of `size` captured bytes."""
        return self.limits.run_ratio * size + self._bytes

    def spend_bytes(self, size: int, output: int) -> None:
        """Count `size` captured bytes that decompressed to `output`."""
        self._bytes -= min(self._bytes, max(0, output - self.limits.run_ratio * size))

    def records_of(self, size: int) -> int:
        """Return the number of records that may be read from a compressed batch with `size` captured
        bytes.
        """
        return self.limits.run_record_ratio * size + self._records

    def spend_records(self, size: int, count: int) -> None:
        """Count `size` captured bytes that had `count` records."""
        self._records -= min(self._records, max(0, count - self.limits.run_record_ratio * size))

    def left(self) -> tuple[int, int]:
        """Return bytes and records that are left of what is not usual."""
        return self._bytes, self._records

    def give_back(self, left: tuple[int, int]) -> None:
        """Reset to `left`: the work since then was in vain, and other code will read the bytes again."""
        self._bytes, self._records = left


_current: list[RunBudget] = []
_met: set[str] = set()


def start_run() -> None:
    """Start a new run with a full budget."""
    _current.clear()


def note_met(limit: str) -> None:
    """One of the limits was reached."""
    _met.add(limit)


def take_met() -> list[str]:
    """Return the names of the limits that were reached since the last call, in this process."""
    met = sorted(_met)
    _met.clear()
    return met


def run_budget() -> RunBudget:
    """Return the budget of the run this process is in, by the limits in force."""
    if not _current or _current[0].limits is not in_force():
        _current[:] = [RunBudget(in_force())]
    return _current[0]
