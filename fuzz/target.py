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
    # CPU that a short input may take whatever its bytes are: what is set up for each run (all rules, 64 steps
    # of numpy), measured at up to 14 ms on a machine with others at work.
    free_seconds: ClassVar[float] = 0.02
    # CPU for a MB of input and all it decompresses to, once for each way in which it is run. A target that
    # takes more says why: what is done once for each exchange or value, however short, makes a MB of them
    # dear.
    seconds_per_mb: ClassVar[float] = 1.0
    long: ClassVar[int] = 1 << 16  # bytes of those that time by length is measured with
    bytes_per_byte: ClassVar[int] = (
        400  # memory that an input byte may take: a Python object each, with links
    )

    @abstractmethod
    def seeds(self) -> list[bytes]:
        """Return valid inputs to begin with. Called once."""

    def mutate(self, data: bytes, dice: Random, other: bytes) -> bytes:
        """Return a mutant of `data`; `other` is another input of the corpus."""
        return mutate_bytes(data, dice, other)

    def grow(self, parts: list[bytes]) -> bytes:
        """Return one long input of several short ones, in which each still means what it does alone."""
        return b"".join(parts)

    @abstractmethod
    def run(self, data: bytes) -> int:
        """Feed the input; whatever it raises is a bug.

        Gives the bytes to be added to those of the input where time is held against bytes: what it
        decompresses to, and the input again for each further way in which it is run.
        """


def demand(holds: bool, what: object = "") -> None:
    """Fail where an invariant does not hold; `assert` would be gone under `python -O`."""
    if not holds:
        raise BrokenInvariantError(what)


class BrokenInvariantError(Exception):
    """An invariant does not hold."""
