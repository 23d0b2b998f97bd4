"""Secrets in damaged captures: none is shown."""

import tempfile
from pathlib import Path
from random import Random
from typing import ClassVar

from fuzz.target import Target, demand
from tests.support.packets.damaged import hunt, message_lists


class Secrets(Target):
    """An input is a number, which names a conversation, its damage, and what looks at it."""

    name = "secrets"
    about = "planted secrets: no piece of 8 bytes in any output of a damaged capture, as text, hex or base64"
    modules = (
        "kdissect.schema.secrets",
        "kdissect.decoders.trees.masking",
        "kdissect.engine.secrets.secret_bytes",
        "kdissect.engine.secrets.secret_spans",
        "kdissect.engine.secrets.shown_bytes",
    )
    longest = 4
    # Whole commands run: a report as SARIF has all rules in it, tables are twenty Parquet files.
    free_seconds: ClassVar[float] = 10
    bytes_per_byte = 1 << 26

    def seeds(self) -> list[bytes]:
        """Return each conversation once."""
        return [number.to_bytes(4) for number in range(len(message_lists()))]

    def mutate(self, data: bytes, dice: Random, other: bytes) -> bytes:
        """Another number."""
        return dice.randbytes(4)

    def run(self, data: bytes) -> int:
        """Run two looks at one capture (`tests.support.packets.damaged.looks`)."""
        with tempfile.TemporaryDirectory() as folder:
            leaks = list(hunt(int.from_bytes(data[:4]), Path(folder)))
        demand(not leaks, leaks)
        return 0
