"""What a target is: seeds, a mutation that knows their structure, and a run that demands invariants."""

from abc import ABC, abstractmethod
from random import Random
from typing import ClassVar

from fuzz.mutators import mutate_bytes


class Target(ABC):
    """One part of kdissect under fuzzing. An input is `bytes` whatever the part takes, so that it can be
    kept.

    `modules` are those whose lines its coverage is told of, packages with all in them.
    """

    name: ClassVar[str]
    about: ClassVar[str]
    modules: ClassVar[tuple[str, ...]]
    longest: ClassVar[int] = 2048  # bytes of a mutant: short ones are many
    free_seconds: ClassVar[float] = 0.02  # CPU that any input may take: compiling a decoder at its first use
    bytes_per_byte: ClassVar[int] = (
        400  # memory that an input byte may take: a Python object each, with links
    )

    @abstractmethod
    def seeds(self) -> list[bytes]:
        """Valid inputs to begin with. Called once."""

    def mutate(self, data: bytes, dice: Random, other: bytes) -> bytes:
        """A mutant of `data`; `other` is another input of the corpus."""
        return mutate_bytes(data, dice, other)

    @abstractmethod
    def run(self, data: bytes) -> int:
        """Feed the input; gives the bytes that decompression added to it. Whatever it raises is a bug."""


def demand(holds: bool, what: object = "") -> None:
    """Fail where an invariant does not hold; `assert` would be gone under `python -O`."""
    if not holds:
        raise BrokenInvariantError(what)


class BrokenInvariantError(Exception):
    """An invariant does not hold."""
