"""The settings of a stream, which every task of it needs: small and picklable."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from kdissect.capture.key_logs import KeyLogFile
from kdissect.model.endpoint import ANY_PORTS, Ports
from kdissect.model.limits import DEFAULT_LIMITS, Limits
from kdissect.pipeline.streaming.arrivals.candidates import Patience

if TYPE_CHECKING:
    from kdissect.serdes.schemas import Schemas

# Of a micro-batch: what a core analyses in some minutes, and what the tasks of its connections hold in
# memory.
_MAX_FILES = 64
MAX_BYTES = 256 << 20


class Settings(NamedTuple):
    """`output` and `checkpoint` are places as `filesystem_of` takes them; `key_logs` are read already.

    `shards` is how many groups the flows of one capture set are dealt into. Tables, partitions and shards
    cannot change while a checkpoint lives, nor whether there are `schemas`, which decode keys and values.
    Tasks have `limits` hold in their processes.
    """

    paths: tuple[str, ...]
    output: str
    checkpoint: str
    tables: frozenset[str]
    partition_by: tuple[str, ...] = ("day", "broker")
    shards: int = 2
    max_files: int = _MAX_FILES
    max_bytes: int = MAX_BYTES
    recursive: bool = False
    patience: Patience = Patience()
    ports: Ports = ANY_PORTS
    hosts: Mapping[str, str] | None = None
    key_logs: tuple[KeyLogFile, ...] = ()
    topic_ids: Mapping[bytes, str] | None = None
    limits: Limits = DEFAULT_LIMITS
    schemas: Schemas | None = None

    @property
    def own(self) -> str:
        """The directory of our own files in the checkpoint."""
        return f"{self.checkpoint.rstrip('/')}/kdissect"
