"""What every task needs besides its rows: small, picklable, the same for all."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from kdissect.capture.files import numbers_in_sets
from kdissect.capture.key_logs import KeyLogFile, KeyLogs
from kdissect.engine.analyzer import Analyzer
from kdissect.pipeline.inputs import Inputs
from kdissect.pipeline.news import News
from kdissect.pipeline.run import capture_set_of_key


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

    @classmethod
    def of(
        cls,
        inputs: Inputs,
        ports: frozenset[int] = frozenset(),
        hosts: Mapping[str, str] | None = None,
        key_logs: tuple[str, ...] = (),
    ) -> Setup:
        """The setup for some inputs; reads the key logs."""
        logs = KeyLogs(key_logs)
        files = inputs.files
        return cls(
            tuple(file.name for file in files),
            tuple(file.capture_set for file in files),
            inputs.capture_sets,
            ports,
            hosts,
            tuple(logs.files),
        )

    def analyzer(self, secrets: KeyLogs) -> Analyzer:
        """An analyzer for the packets of one flow."""
        return Analyzer(self.ports, self.capture_set_of, secrets, self.hosts)

    def capture_set_of(self, file: int) -> str:
        """Name of the capture set a file belongs to."""
        return self.capture_sets[self.set_of_file[file]]

    def numbers(self) -> list[int]:
        """The number of each file within its capture set."""
        return numbers_in_sets(map(self.capture_set_of, range(len(self.files))))

    def secrets(self, news: News) -> KeyLogs:
        """Secrets of the key logs, and of the captures."""
        logs = KeyLogs(captures=(news,))
        logs.files = list(self.key_logs)
        return logs

    def end_of(self, key: bytes, news: News) -> dict[str, int]:
        """The time of the last packet of the capture set of a flow, by the set's name."""
        number = capture_set_of_key(key)
        return {self.capture_sets[number]: news.last_times[number]}
