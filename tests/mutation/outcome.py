"""What became of the mutants of a mutator."""

from collections import Counter
from collections.abc import Iterable
from functools import cache
from typing import NamedTuple

from kdissect.model.finding import Finding, Severity
from tests.mutation.corpus import codes_before
from tests.mutation.mutators import Mutant, Mutator
from tests.mutation.talk import judged
from tests.support.messages.traffic import CLIENT

Codes = Counter[str]


class Outcome(NamedTuple):
    """`mutants` in all, descriptions of those the owner `missed`, and how often other rules spoke beside it.

    `collateral` counts mutants by code; `info` holds the codes among them that were only information. `kinds`
    are API keys and versions of the exchanges that were changed, `captures` the files they come from.
    """

    mutants: int
    missed: tuple[str, ...]
    collateral: Codes
    info: frozenset[str]
    kinds: frozenset[tuple[int | None, int | None]]
    captures: frozenset[str]


@cache
def outcome_of(mutator: Mutator) -> Outcome:
    """Judge every mutant of a mutator."""
    count, missed = 0, []
    collateral: Codes = Counter()
    loud: set[str] = set()
    kinds, captures = set(), set()
    for mutant in mutator.mutants():
        count += 1
        kinds.add((mutant.scene.exchange.api_key, mutant.scene.exchange.api_version))
        captures.add(mutant.scene.capture)
        found = judged(mutant.talk).findings.all()
        if not is_found(found, mutant, mutator.owner):
            missed.append(f"{mutant}: {', '.join(map(repr, found)) or 'nothing'}")
        known = codes_before(mutant.scene) | {mutator.owner}
        others = [f for f in found if f.code not in known]
        collateral.update({f.code for f in others})
        loud |= {f.code for f in others if f.severity is not Severity.INFO}
    info = frozenset(collateral) - loud
    return Outcome(count, tuple(missed), collateral, info, frozenset(kinds), frozenset(captures))


def is_found(found: Iterable[Finding], mutant: Mutant, owner: str) -> bool:
    """Return whether the owner found what was changed."""
    return any(finding.code == owner and is_there(finding, mutant) for finding in found)


def is_there(finding: Finding, mutant: Mutant) -> bool:
    """Return whether a finding speaks of what was changed."""
    if mutant.exchange is not None and finding.place.exchange != mutant.exchange:
        return False
    side = "request" if mutant.side == CLIENT else "response"
    return mutant.side is None or finding.place.side in ("", side)
