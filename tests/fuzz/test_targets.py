"""A bounded run of every fuzzing target: some mutants each. `python -m fuzz` runs them for hours
(docs/fuzzing.md)."""

from pathlib import Path
from random import Random

import pytest

from fuzz.runner import Runner
from fuzz.target import BrokenInvariantError, Target
from fuzz.targets import TARGETS

MUTANTS = 60


@pytest.mark.sampled(8)
@pytest.mark.parametrize("name", TARGETS)
def test_some_mutants(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from kdissect.rules import judge

    monkeypatch.setattr(judge, "Subjects", judge.Subjects)  # put back what the target of the rules replaces
    target = TARGETS[name]()
    seeds, dice = target.seeds(), Random(name)
    assert seeds
    for _ in range(MUTANTS):
        data = target.mutate(dice.choice(seeds), dice, dice.choice(seeds))[: target.longest]
        target.run(data)


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the runner see the time that targets claim to take, however busy the machine is."""
    Clock.seconds = 0.0
    monkeypatch.setattr("fuzz.runner.time.thread_time", lambda: Clock.seconds)


class Clock:
    """What was taken so far."""

    seconds: float


class Broken(Target):
    """Breaks its invariant at a byte, raises at another, takes long at a third."""

    name = "broken"
    about = ""
    modules = ("kdissect.model.packets.packet",)

    def seeds(self) -> list[bytes]:
        return [b"seed"]

    def run(self, data: bytes) -> int:
        if b"B" in data:
            raise BrokenInvariantError("on purpose")
        if b"R" in data:
            raise IndexError
        if b"T" in data:
            Clock.seconds += 0.1
        return 0


@pytest.mark.exhaustive
def test_the_runner_finds_what_is_broken(tmp_path: Path) -> None:
    outcome = Runner(Broken(), 1, tmp_path).run(4000, 0)
    kinds = [text.split()[0] for text in outcome.bugs]
    assert "IndexError" in kinds
    assert kinds.count("BrokenInvariantError") == 3  # on purpose, and the time of short ones and of long ones
    assert outcome.inputs >= 4000
    assert any(b"R" in path.read_bytes() for path in tmp_path.iterdir() if path.suffix != ".txt")


class Square(Target):
    """Takes time by the square of its length: nothing of a short input."""

    name = "square"
    about = ""
    modules = ("kdissect.model.packets.packet",)
    longest = 200

    def seeds(self) -> list[bytes]:
        return [bytes(100)]

    def run(self, data: bytes) -> int:
        Clock.seconds += len(data) ** 2 * 2e-10
        return 0


def test_time_by_the_square_of_the_length_is_found(tmp_path: Path) -> None:
    outcome = Runner(Square(), 1, tmp_path).run(500, 0)
    assert outcome.slowest_ms < 20  # nothing of short ones is too slow
    assert any("_timed_long" in path.read_text() for path in tmp_path.glob("*.txt"))


def test_the_same_seed_gives_the_same_inputs(tmp_path: Path) -> None:
    runs = [Runner(TARGETS["hex"](), 7, tmp_path).run(300, 0) for _ in "ab"]
    assert runs[0].corpus == runs[1].corpus
    assert runs[0].reached == runs[1].reached > 0
