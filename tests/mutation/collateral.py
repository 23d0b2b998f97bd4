"""The page that lists mutators, their owners, and what other rules say beside them."""

from collections.abc import Sequence

from tests.mutation.mutators import Mutator
from tests.mutation.outcome import outcome_of
from tests.mutation.unreached import UNREACHED

_HEAD = """# Mutants and what is said of them

Each mutator changes one thing in real exchanges of the corpus (`captures`); the rule that owns the change
finds every mutant. *Others* are findings of other rules beside it, with the number of mutants that have them:
those in italics are information only. Most follow from the change itself: a topic name with an odd byte is
also another name than the one that was asked for.

Written by `python -m tests.regenerate mutants`.

| rule | mutator | statement that is broken | mutants | others |
|---|---|---|---:|---|
"""


def row_of(mutator: Mutator) -> str:
    """One line of the table."""
    outcome = outcome_of(mutator)
    others = sorted(outcome.collateral.items(), key=lambda item: (-item[1], item[0]))
    shown = ", ".join(f"*{code}* {n}" if code in outcome.info else f"{code} {n}" for code, n in others)
    return f"| {mutator.owner} | {mutator.name} | {mutator.says} | {outcome.mutants} | {shown} |\n"


def collateral_page(mutators: Sequence[Mutator]) -> str:
    """The whole page."""
    outcomes = [outcome_of(mutator) for mutator in mutators]
    total = sum(outcome.mutants for outcome in outcomes)
    owners = {mutator.owner for mutator in mutators}
    kinds = frozenset[tuple[int | None, int | None]]().union(*(outcome.kinds for outcome in outcomes))
    captures = frozenset[str]().union(*(outcome.captures for outcome in outcomes))
    rows = "".join(row_of(mutator) for mutator in mutators)
    silent = "".join(f"| {code} | {reason} |\n" for code, reason in sorted(UNREACHED.items()))
    return (
        f"{_HEAD}{rows}\n{total} mutants of {len(mutators)} mutators for {len(owners)} rules, "
        f"in exchanges of {len(kinds)} API versions from {len(captures)} captures.\n\n"
        f"## Rules without a mutator\n\n| rule | reason |\n|---|---|\n{silent}"
    )
