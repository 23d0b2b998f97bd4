"""The setup that every task needs besides its share: picklable, and equal for all tasks."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from kdissect.capture.capture_file import CaptureFile
from kdissect.capture.files import CaptureSet
from kdissect.capture.key_logs import KeyLogFile, KeyLogs
from kdissect.model import faults
from kdissect.model.endpoint import ANY_PORTS, Ports
from kdissect.model.errors import CaptureError
from kdissect.model.limits import DEFAULT_LIMITS, Limits, in_force, use
from kdissect.model.packets.packet import PlainPacket
from kdissect.pipeline.inputs import Inputs

if TYPE_CHECKING:
    from kdissect.serdes.schemas import Schemas


class Setup(NamedTuple):
    """Settings and inputs.

    `key_logs` are read already: the paths mean nothing on another machine. A task has `limits` hold in its
    process before anything else: Spark runs the next task, of another job, in the same one. `fields` are the
    columns of the table `fields`. `schemas` decode keys and values in the table `records`.
    """

    inputs: Inputs
    ports: Ports = ANY_PORTS
    hosts: Mapping[str, str] | None = None
    key_logs: tuple[KeyLogFile, ...] = ()
    limits: Limits = DEFAULT_LIMITS
    listener: faults.Listener | None = None
    fields: tuple[str, ...] = ()
    schemas: Schemas | None = None

    @classmethod
    def of(
        cls,
        inputs: Inputs,
        ports: Ports = ANY_PORTS,
        hosts: Mapping[str, str] | None = None,
        key_logs: tuple[str, ...] = (),
    ) -> Setup:
        """Make the setup for some inputs, with the limits of this process. Reads the key logs."""
        logs = KeyLogs(key_logs)
        return cls(inputs, ports, hosts, tuple(logs.files), in_force(), faults.in_force())

    @property
    def file_names(self) -> tuple[str, ...]:
        """Names of the inputs by file index, as rows have them."""
        return tuple(file.name for file in self.inputs.files)

    def begin(self) -> None:
        """Have the settings of the driver hold in the process of a task."""
        use(self.limits)
        faults.use(self.listener)

    def with_secrets(self, blocks: Sequence[bytes]) -> Setup:
        """Return the setup with secrets from captures, which other capture sets may need."""
        if not blocks:
            return self
        found = KeyLogFile("")
        for data in blocks:
            found.log.feed(data)
        found.log.close()
        return self._replace(key_logs=(*self.key_logs, found))


class OwnCaptures:
    """The files of some capture sets among all: packets of the others do not come.

    `files` are all, in canonical order, so that the index of a file is its number in the run.
    """

    is_live = False

    def __init__(self, inputs: Inputs, capture_sets: Collection[int]) -> None:
        self.files: list[CaptureFile] = [file.open() for file in inputs.files]
        self._numbers = [file.number for file in inputs.files if file.capture_set in capture_sets]
        self._own = CaptureSet(self.own)
        for file, found in zip(self.files, inputs.files, strict=True):
            file.index = found.number

    @property
    def own(self) -> list[CaptureFile]:
        """The files of these sets."""
        return [self.files[number] for number in self._numbers]

    @property
    def joined_logs(self) -> list[CaptureFile]:
        """As of `CaptureSet`."""
        return self._own.joined_logs

    @property
    def errors(self) -> list[CaptureError]:
        """As of `CaptureSet`."""
        return self._own.errors

    @property
    def total_bytes(self) -> int | None:
        """As of `CaptureSet`."""
        return self._own.total_bytes

    def batches(self) -> Iterator[Sequence[PlainPacket]]:
        """Yield the packets, as `CaptureSet` does."""
        return self._own.batches()
