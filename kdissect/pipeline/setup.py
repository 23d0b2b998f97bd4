"""What every task needs besides its rows: small, picklable, the same for all."""

from collections.abc import Mapping
from typing import NamedTuple

from kdissect.capture.key_logs import KeyLogFile, KeyLogs
from kdissect.engine.analyzer import Analyzer
from kdissect.pipeline.news import News


class Setup(NamedTuple):
    """Settings and names. `set_of_file` is the capture set's number by file index.

    `key_logs` are read already: the paths mean nothing on another machine.
    """

    files: tuple[str, ...]
    set_of_file: tuple[int, ...]
    capture_sets: tuple[str, ...]
    ports: frozenset[int] = frozenset()
    hosts: Mapping[str, str] | None = None
    key_logs: tuple[KeyLogFile, ...] = ()

    def analyzer(self, secrets: KeyLogs) -> Analyzer:
        """An analyzer for the packets of one flow."""
        return Analyzer(self.ports, self.capture_set_of, secrets, self.hosts)

    def capture_set_of(self, file: int) -> str:
        """Name of the capture set a file belongs to."""
        return self.capture_sets[self.set_of_file[file]]

    def secrets(self, news: News) -> KeyLogs:
        """Secrets of the key logs, and of the captures."""
        logs = KeyLogs(captures=(news,))
        logs.files = list(self.key_logs)
        return logs

    def last_times(self, news: News) -> dict[str, int]:
        """Time of the last packet of each capture set."""
        return {self.capture_sets[number]: last for number, last in news.last_times.items()}
