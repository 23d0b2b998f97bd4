"""What every task needs besides its rows: small, picklable, the same for all."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from kdissect.capture.files import numbers_in_sets
from kdissect.capture.key_logs import KeyLogFile, KeyLogs
from kdissect.engine.analyzer import Analyzer
from kdissect.engine.taps.duplicate_taps import DuplicateTaps
from kdissect.model.endpoint import ANY_PORTS, Ports
from kdissect.model.limits import DEFAULT_LIMITS, Limits, in_force
from kdissect.pipeline.flow_shuffle.sent_to_all import News
from kdissect.pipeline.inputs import Inputs
from kdissect.session.detection.known_brokers import Brokers, End


class Setup(NamedTuple):
    """Settings and names. `set_of_file` is the capture set's number by file index.

    `key_logs` are read already: the paths mean nothing on another machine. A task has `limits` hold in its
    process before anything else: Spark runs the next task, of another job, in the same one.
    """

    files: tuple[str, ...]
    set_of_file: tuple[int, ...]
    capture_sets: tuple[str, ...]
    ports: Ports = ANY_PORTS
    hosts: Mapping[str, str] | None = None
    key_logs: tuple[KeyLogFile, ...] = ()
    limits: Limits = DEFAULT_LIMITS
    brokers: frozenset[End] = frozenset()
    """Ends that were proven to be brokers in a run before this one."""

    @classmethod
    def of(
        cls,
        inputs: Inputs,
        ports: Ports = ANY_PORTS,
        hosts: Mapping[str, str] | None = None,
        key_logs: tuple[str, ...] = (),
    ) -> Setup:
        """The setup for some inputs, with the limits of this process; reads the key logs."""
        logs = KeyLogs(key_logs)
        files = inputs.files
        return cls(
            tuple(file.name for file in files),
            tuple(file.capture_set for file in files),
            inputs.capture_sets,
            ports,
            hosts,
            tuple(logs.files),
            in_force(),
        )

    def analyzer(self, secrets: KeyLogs, brokers: Brokers) -> Analyzer:
        """An analyzer for the packets of one flow."""
        duplicate_taps = DuplicateTaps() if len(self.capture_sets) > 1 else None
        return Analyzer(
            self.ports, self.capture_set_of, secrets, self.hosts, self.limits, duplicate_taps, brokers
        )

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

    def ends_of(self, files: Iterable[int], news: News) -> dict[str, int]:
        """The time of the last packet of each capture set that some files belong to, by the set's name."""
        numbers = sorted({self.set_of_file[file] for file in files})
        return {self.capture_sets[number]: news.last_times[number] for number in numbers}
