"""How many mutants of kdissect's source the tests notice: `python -m tests.source_mutants PACKAGE`.

PACKAGE is one of `PACKAGES`. A random sample of all possible changes (`points.py`) is tried on the tests that
run the changed lines. Prints each mutant, and the share that survived.
"""

import argparse
import math
import os
import random
from collections.abc import Sequence
from typing import NamedTuple

import pytest

from tests.source_mutants.points import points_of
from tests.source_mutants.trials import BUDGET_S, CHECKOUT, COLD, OPTIONS, Outcome, Place, Trials, Warmth

# Tests of constants that docs/limits.md lists, of every package.
_LIMITS = "tests/architecture/test_limits.py"


class Tests(NamedTuple):
    """The tests that are tried for a package: its own, and those of the commands that show what it does.

    `with_exhaustive`: also the cases that the short run leaves out. `budget_s`: see `BUDGET_S`. `warmth`:
    what is computed once for all.
    """

    paths: tuple[str, ...]
    with_exhaustive: bool = False
    budget_s: float = BUDGET_S
    warmth: Warmth = COLD


def _gather() -> None:
    """Gather the evidence of the captures of all fixtures."""
    from tests.causes.fixtures import CASES
    from tests.causes.fixtures.case import gathered

    for case in CASES.values():
        for each in (case, *case.also):
            gathered(each.shows)


# Modules that run when evidence is gathered.
_WHILE_GATHERING = tuple(
    str(path.relative_to(CHECKOUT))
    for path in (CHECKOUT / "kdissect/causes/evidence").glob("*.py")
    if path.name not in ("evidence.py", "stalls.py", "unread_records.py", "vantage.py")
)


PACKAGES = {
    "kdissect/report": Tests(
        (
            "tests/report/columns",
            "tests/report/test_baseline.py",
            "tests/report/test_causes_by_hand.py",
            "tests/report/test_cells.py",
            "tests/report/test_ends_of_lines.py",
            "tests/report/test_evidence_asked_for.py",
            "tests/report/test_explained_by_hand.py",
            "tests/report/test_folds.py",
            "tests/report/test_formats.py",
            "tests/report/test_hand_made_verdict.py",
            "tests/report/test_html.py",
            "tests/report/test_junit.py",
            "tests/report/test_limits_of_reports.py",
            "tests/report/test_markdown.py",
            "tests/report/test_printable.py",
            "tests/report/test_quantities.py",
        )
    ),
    # Each cause has its own case of `test_fixtures.py`, which reads a capture first.
    "kdissect/causes": Tests(
        (
            "tests/causes/test_cases.py",
            "tests/causes/test_claims.py",
            "tests/causes/test_compared.py",
            "tests/causes/test_cut_off.py",
            "tests/causes/test_docs.py",
            "tests/causes/test_evidence.py",
            "tests/causes/test_exchange_log.py",
            "tests/causes/test_explain.py",
            "tests/causes/test_fixtures.py::test_it_is_told_where_it_holds_and_not_beside",
            "tests/causes/test_fixtures.py::test_what_is_not_shown_hides_nothing",
            "tests/causes/test_folding.py",
            "tests/causes/test_gathering.py",
            "tests/causes/test_idle_resets.py",
            "tests/causes/test_json.py",
            "tests/causes/test_laws.py",
            "tests/causes/test_ledger.py",
            "tests/causes/test_links.py",
            "tests/causes/test_offset_not_passed.py",
            "tests/causes/test_open_requests.py",
            "tests/causes/test_open_transactions.py",
            "tests/causes/test_resends.py",
            "tests/causes/test_rewinds.py",
            "tests/causes/test_stalled_broker.py",
            "tests/causes/test_stalls.py",
            "tests/causes/test_table.py",
            "tests/causes/test_thresholds.py",
            "tests/causes/test_vantage.py",
            "tests/causes/test_who_did_it.py",
            "tests/report/test_causes_by_hand.py",
            "tests/report/test_explained_by_hand.py",
        ),
        with_exhaustive=True,
        budget_s=20.0,
        warmth=Warmth(_gather, _WHILE_GATHERING),
    ),
    "kdissect/query": Tests(
        (
            "tests/query",
            "tests/cli/options/test_filters.py",
            "tests/cli/output",
            "tests/cli/statistics/test_filtered_statistics.py",
            "tests/stages/test_field_rows.py",
        )
    ),
    "kdissect/engine/segments": Tests(
        (
            "tests/engine/segments",
            "tests/engine/indexes",
            "tests/engine/test_broker_logs.py",
            "tests/cli/log_segments",
        )
    ),
    "kdissect/net/headers": Tests(("tests/net", "tests/capture", "tests/engine/test_ways_in.py")),
}


def main() -> None:
    """Print them."""
    parser = argparse.ArgumentParser(prog="python -m tests.source_mutants", description=__doc__)
    parser.add_argument("package", choices=PACKAGES)
    parser.add_argument("--sample", type=int, default=60, metavar="N", help="mutants (default: 60)")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="of the choice (default: 1)")
    parser.add_argument(
        "--budget", type=float, metavar="S", help="CPU seconds for each mutant (default: of the package)"
    )
    parser.add_argument("--only", metavar="TEXT", help="no sample: all mutants whose line has TEXT")
    options = parser.parse_args()
    package = CHECKOUT / options.package
    population = [
        Place(path, point) for path in sorted(package.rglob("*.py")) for point in points_of(path.read_text())
    ]
    if options.only:
        places = [place for place in population if options.only in str(place)]
    else:
        places = sample_of(population, options.sample, f"{options.package} {options.seed}")
    os.environ["COVERAGE_CORE"] = "ctrace"  # the one that knows which test runs a line
    tests = PACKAGES[options.package]
    trials = Trials(package, places, options.budget or tests.budget_s, tests.warmth)
    chosen = () if tests.with_exhaustive else ("-m", "not exhaustive")
    pytest.main([*tests.paths, _LIMITS, *OPTIONS, *chosen], plugins=[trials])
    _print(options.package, options.seed, len(population), trials.outcomes)


def sample_of(population: Sequence[Place], size: int, seed: str) -> list[Place]:
    """Return a random choice, the same for the same seed, in the order of the source."""
    chosen = random.Random(seed).sample(range(len(population)), min(size, len(population)))
    return [population[at] for at in sorted(chosen)]


def interval(found: int, of: int) -> tuple[float, float]:
    """Return the 95 % interval of a share (Wilson 1927): low and high, from 0 to 1."""
    z = 1.96
    share, denominator = found / of, 1 + z * z / of
    middle = (share + z * z / (2 * of)) / denominator
    half = z * math.sqrt(share * (1 - share) / of + z * z / (4 * of * of)) / denominator
    return max(0.0, middle - half), min(1.0, middle + half)


def _print(package: str, seed: int, population: int, outcomes: Sequence[Outcome]) -> None:
    alive = [outcome for outcome in outcomes if outcome.state != "killed"]
    print("\n" + "\n".join(f"{outcome.state:12} {outcome.place}  [{outcome.by}]" for outcome in alive))
    if outcomes:
        low, high = interval(len(alive), len(outcomes))
        print(
            f"{package}, seed {seed}: {len(alive)} of {len(outcomes)} survive,"
            f" {len(alive) / len(outcomes):.1%} (95 %: {low:.1%} to {high:.1%});"
            f" {population} mutants are possible"
        )


if __name__ == "__main__":
    main()
