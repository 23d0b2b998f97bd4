"""The targets under libFuzzer, by way of atheris: coverage decides what is kept, our mutations take turns
with its own.

kdissect must be imported by `atheris.instrument_imports`, so this is run before anything else imports it.
"""

import sys
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory


def run_atheris(name: str, runs: int, seconds: float, seed: int) -> int:
    """Fuzz until `runs` or `seconds` are over; libFuzzer ends the process itself, with 77 for a bug."""
    import atheris

    with atheris.instrument_imports(include=["kdissect"]):
        from fuzz.targets import TARGETS
    if name not in TARGETS:
        print(f"no such target: {name}", file=sys.stderr)
        return 2
    target = TARGETS[name]()
    seeds = target.seeds()
    dice = Random(seed)

    def mutate(data: bytes, longest: int, number: int) -> bytes:
        if number & 1:
            return bytes(atheris.Mutate(data, longest))
        return target.mutate(data, Random(number), dice.choice(seeds))[:longest]

    with TemporaryDirectory() as corpus:
        for index, data in enumerate(seeds):
            (Path(corpus) / str(index)).write_bytes(data)
        arguments = [
            sys.argv[0],
            f"-seed={seed}",
            f"-max_len={target.longest}",
            "-rss_limit_mb=2048",
            "-timeout=20",
        ]
        arguments += [f"-runs={runs}"] if runs else []
        arguments += [f"-max_total_time={int(seconds)}"] if seconds else []
        atheris.Setup([*arguments, corpus], lambda data: _run(target, data), custom_mutator=mutate)
        atheris.Fuzz()
    return 0


def _run(target: object, data: bytes) -> None:
    target.run(bytes(data))  # type: ignore[attr-defined]
