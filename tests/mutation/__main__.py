"""The figures of the mutants: `python -m tests.mutation [--every-api] [--every-field] [--controls]`.

How many kinds there are, in how many captures and APIs, and how many are found. `--every-api` takes each kind
to every API and side that it applies to, once, where the suite takes as many as it has time for.
`--every-field` breaks each field of each API and version. `--controls` says every connection again with
nothing changed, and what rules find that they do not find in its capture.
"""

import argparse
from collections import Counter
from collections.abc import Iterator
from functools import cache

from kdissect.api import Dissection
from kdissect.model.finding import Severity
from kdissect.schema import protocol_messages
from tests.mutation.collateral import figures
from tests.mutation.corpus import Recording, recordings
from tests.mutation.every import every_mutator
from tests.mutation.every_field import bodies, page, report
from tests.mutation.mutators import Mutant, Mutator
from tests.mutation.outcome import is_found
from tests.mutation.talk import Judge, Talk, judged
from tests.support.console import CAPTURES


def main() -> None:
    """Print them."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutation", description=__doc__)
    parser.add_argument("--every-api", action="store_true", help="sweep over all APIs: some minutes")
    parser.add_argument("--every-field", action="store_true", help="each field broken: some minutes")
    parser.add_argument("--controls", action="store_true", help="with nothing changed: some minutes")
    options = parser.parse_args()
    mutators = every_mutator()
    print(figures(mutators))
    if options.every_api:
        sweep(mutators)
    if options.every_field:
        print(f"\n{page(report(bodies()))}")
    if options.controls:
        controls()


def sweep(mutators: list[Mutator]) -> None:
    """Each kind once for each API and side that it applies to."""
    tried: Counter[str] = Counter()
    apis: set[int | None] = set()
    missed: list[str] = []
    for mutator in mutators:
        for mutant in once_each(mutator):
            tried[mutator.name] += 1
            apis.add(mutant.scene.exchange.api_key)
            if not is_found(judged(mutant.talk).findings.all(), mutant, mutator.owner):
                missed.append(f"{mutator.owner} {mutator.name}: {mutant}")
    total = tried.total()
    print(
        f"\nEach kind at every API and side: {total} mutants of {len(tried)} kinds at {len(apis)} APIs of "
        f"{len(protocol_messages.api_keys())}, found {total - len(missed)} "
        f"({100 * (total - len(missed)) / total:.2f} %)"
    )
    print("\n".join(missed))


def once_each(mutator: Mutator) -> Iterator[Mutant]:
    """Yield the first mutant of each API and side."""
    seen: set[tuple[int | None, int | None]] = set()
    for mutant in mutator._replace(limit=1 << 30).mutants():
        key = mutant.scene.exchange.api_key, mutant.side
        if key not in seen:
            seen.add(key)
            yield mutant


def controls() -> None:
    """Every connection that mutants are made of, said again alone, held against its capture.

    What is new may come of connections that are not there: who added a partition to a transaction, say.
    """
    new = [f"{each.capture}: {code}" for each in recordings() for code in sorted(_new_in(each))]
    print(f"\n{len(recordings())} connections said again, each alone: {len(new)} new findings")
    print("\n".join(new))


def _new_in(recording: Recording) -> set[str]:
    return _counting(judged(Talk(recording.exchanges))) - _of_capture(recording.capture)


@cache
def _of_capture(name: str) -> frozenset[str]:
    judge = Judge()
    for event in Dissection(CAPTURES / name).events():
        judge.add(event)
    judge.finish()
    return frozenset(_counting(judge))


def _counting(judge: Judge) -> set[str]:
    """Return codes of findings above information."""
    return {one.code for one in judge.findings.all() if one.severity is not Severity.INFO}


if __name__ == "__main__":
    main()
