"""The page that lists mutators, their owners, and what other rules say beside them."""

from collections.abc import Sequence

from kdissect.schema import protocol_messages
from tests.mutation.mutators import Mutator
from tests.mutation.outcome import outcome_of
from tests.mutation.unreached import UNREACHED

ENOUGH = 3  # captures that a mutator should meet
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
    """Return one line of the table."""
    outcome = outcome_of(mutator)
    others = sorted(outcome.collateral.items(), key=lambda item: (-item[1], item[0]))
    shown = ", ".join(f"*{code}* {n}" if code in outcome.info else f"{code} {n}" for code, n in others)
    return f"| {mutator.owner} | {mutator.name} | {mutator.says} | {outcome.mutants} | {shown} |\n"


def collateral_page(mutators: Sequence[Mutator]) -> str:
    """Return the whole page."""
    rows = "".join(row_of(mutator) for mutator in mutators)
    silent = "".join(f"| {code} | {reason} |\n" for code, reason in sorted(UNREACHED.items()))
    return (
        f"{_HEAD}{rows}\n{figures(mutators)}\n\n"
        f"## Rules without a mutator\n\n| rule | reason |\n|---|---|\n{silent}"
    )


def figures(mutators: Sequence[Mutator]) -> str:
    """Return how many there are, of how much traffic, and how many are found, in a paragraph and a list."""
    outcomes = {mutator.name: outcome_of(mutator) for mutator in mutators}
    total = sum(outcome.mutants for outcome in outcomes.values())
    found = total - sum(len(outcome.missed) for outcome in outcomes.values())
    owners = {mutator.owner for mutator in mutators}
    versions = frozenset[tuple[int | None, int | None]]().union(*(each.kinds for each in outcomes.values()))
    apis = {key for key, _ in versions} & protocol_messages.api_keys()
    captures = frozenset[str]().union(*(outcome.captures for outcome in outcomes.values()))
    few = {name: each.captures for name, each in outcomes.items() if len(each.captures) < ENOUGH}
    return (
        f"{total} mutants of {len(mutators)} mutators for {len(owners)} rules, in exchanges of "
        f"{len(versions)} versions of {len(apis)} APIs (the schema has {len(protocol_messages.api_keys())}) "
        f"from {len(captures)} captures. Of these {found} are found by the rule that owns the change "
        f"({100 * found / total:.2f} %).\n\n"
        f"{len(mutators) - len(few)} mutators change traffic of {ENOUGH} captures or more. For the others "
        f"the corpus has fewer: {', '.join(f'{name} ({len(of)})' for name, of in sorted(few.items()))}."
    )
