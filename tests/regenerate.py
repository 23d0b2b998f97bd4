"""Writes anew what is generated in this repository, and says what changed.

    python -m tests.regenerate              # all of it, a few minutes
    python -m tests.regenerate rules docs   # two parts
    python -m tests.regenerate --list       # the parts, and what each writes

A part is a command: mostly the tests that compare, run with KDISSECT_UPDATE=1, which has them write.
Look at the difference (`git diff`) before you commit it. The exit code is 1 where a part failed.
"""

import argparse
import os
import subprocess
import sys
from collections.abc import Sequence
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple

CHECKOUT = Path(__file__).parent.parent
# In one process: several tests write the same file.
PYTEST = ("-m", "pytest", "-n", "0", "-m", "exhaustive or not exhaustive")
FAILURE_LINES = 30  # of a part's output


class Part(NamedTuple):
    """One part: what it is, the arguments for Python that write it, and the paths that these may change.

    `asked` leaves it out unless it is named.
    """

    name: str
    what: str
    command: tuple[str, ...]
    written: tuple[str, ...]
    asked: bool = False


# In this order: what comes later may show what was written before.
PARTS = (
    Part(
        "registry",
        "the list of rules: files of rules that it lacks go to the end of their family",
        (*PYTEST, "tests/rules/test_registry.py"),
        ("kdissect/rules/registry.py",),
    ),
    Part(
        "findings",
        "what each rule says about its fixture",
        (*PYTEST, "tests/rules/test_rules.py"),
        ("tests/rules/golden",),
    ),
    Part(
        "causes",
        "what each cause of `why` says about its fixture",
        (*PYTEST, "tests/causes/test_fixtures.py::test_it_is_told_where_it_holds_and_not_beside"),
        ("tests/causes/golden",),
    ),
    Part(
        "rules",
        "a page for each rule, from its docstring",
        (*PYTEST, "tests/rules/test_pages.py"),
        ("docs/rules",),
    ),
    Part(
        "mutants",
        "what other rules say about the mutants of a rule",
        (*PYTEST, "tests/mutation/test_mutants.py::test_each_mutator_has_a_row_of_the_page"),
        ("tests/mutation/collateral.md",),
    ),
    Part(
        "fields",
        "which faults of single fields are found, in docs/mutants.md",
        (*PYTEST, "tests/mutation/test_every_field.py::test_the_tables_add_up"),
        ("docs/mutants.md",),
    ),
    Part(
        "damage",
        "errors and warnings that damage adds, in docs/mutants.md",
        (*PYTEST, "tests/rules/test_false_findings.py::test_the_page_has_what_is_found"),
        ("docs/mutants.md",),
    ),
    Part(
        "healthy",
        "errors and warnings in healthy days of client libraries, in docs/mutants.md",
        (*PYTEST, "tests/rules/test_healthy_days.py::test_the_page_has_what_is_found"),
        ("docs/mutants.md",),
    ),
    Part(
        "upgrades",
        "what `upgrade` predicts for clients, and what they did, in docs/statistics.md",
        (*PYTEST, "tests/stats/test_upgrades_of_brokers.py"),
        ("docs/statistics.md",),
    ),
    Part(
        "planted",
        "which kinds of planted faults are found, in docs/mutants.md",
        (*PYTEST, "tests/rules/test_planted_faults.py::test_the_page_has_each_kind"),
        ("docs/mutants.md",),
    ),
    Part(
        "schema",
        "how many APIs and versions there are, in README.md and docs/schema.md",
        (*PYTEST, "tests/schema/test_counts_in_docs.py"),
        ("README.md", "docs/schema.md"),
    ),
    Part(
        "filters",
        "tables of operators and fields in docs/filter.md, messages about wrong filters, values of fields",
        (
            *PYTEST,
            *(f"tests/query/test_{name}.py" for name in ("complete", "docs", "errors", "fields_by_hand")),
        ),
        ("docs/filter.md", "tests/query/errors.txt", "tests/query/field_values.txt"),
    ),
    Part(
        "keys",
        "the keys of the screen in docs/tui.md",
        (*PYTEST, "tests/tui/test_docs.py::test_the_page_lists_every_key"),
        ("docs/tui.md",),
    ),
    Part(
        "docs",
        "output of commands, tables of fields: README.md, docs (output, questions, tls, tour, why ...)",
        (
            *PYTEST,
            "tests/cli/test_docs.py",
            "tests/cli/output/test_format_matrix.py::test_the_matrix_of_the_document",
            "tests/cli/reference/test_wireshark_plugin.py::test_the_page_is_what_tshark_prints",
            "tests/cli/test_tour.py",
            "tests/recorder/test_record_page.py",
            "tests/causes/test_docs.py",
        ),
        (
            "README.md",
            "docs/examples.md",
            "docs/filter.md",
            "docs/native.md",
            "docs/output.md",
            "docs/questions.md",
            "docs/reports.md",
            "docs/personal-data.md",
            "docs/schemas.md",
            "docs/tls.md",
            "docs/tour.md",
            "docs/why.md",
            "docs/wireshark.md",
        ),
    ),
    Part(
        "pages",
        "what reports and tables show, of some captures and of what is made by hand",
        (
            *PYTEST,
            "tests/report/test_html_pages.py",
            "tests/report/test_hand_made_verdict.py",
            "tests/report/test_tables.py",
            "tests/report/columns",
        ),
        ("tests/report/pages", "tests/report/formats", "tests/report/tables", "tests/report/columns/tables"),
    ),
    Part(
        "goldens",
        "what commands print for the captures: a few in full, a digest for each API version of all",
        (*PYTEST, "tests/golden"),
        ("tests/golden",),
    ),
    Part(
        "captures",
        "the tables of captures/README.md and captures/coverage.md",
        ("-m", "captures.record.report"),
        ("captures/README.md", "captures/coverage.md"),
    ),
    Part(
        "speed",
        "the tables of speed in README.md and docs/performance.md, from benchmarks/speed.json",
        ("benchmarks/compare.py", "--docs"),
        ("README.md", "docs/performance.md"),
    ),
    Part(
        "bytecodes",
        "the bytecodes that an exchange may cost; a bound, so only when it is named",
        ("benchmarks/guard.py", "--update"),
        ("benchmarks/bytecodes.json",),
        asked=True,
    ),
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the parts that the arguments name, or all."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.regenerate",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    names = [part.name for part in PARTS]
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(names))
    parser.add_argument("--list", action="store_true", help="show the parts")
    chosen = parser.parse_args(arguments)
    unknown = [name for name in chosen.parts if name not in names]
    if unknown:
        parser.error(f"no such part: {', '.join(unknown)}; --list shows them")
    if chosen.list:
        for part in PARTS:
            print(f"{part.name:10} {part.what}\n{'':10} {' '.join(part.written)}")
        return 0
    wanted = [part for part in PARTS if (part.name in chosen.parts if chosen.parts else not part.asked)]
    done = [regenerate(part) for part in wanted]
    return int(not all(done))


def regenerate(part: Part) -> bool:
    """Write one part and print what changed. Whether its command ended well."""
    before = _state(part)
    ran = subprocess.run(
        [sys.executable, *part.command],
        cwd=CHECKOUT,
        env=os.environ | {"KDISSECT_UPDATE": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    now = _state(part)
    changed = sorted(path for path in before.keys() | now.keys() if before.get(path) != now.get(path))
    print(f"{part.name}: {'unchanged' if not changed else 'changed'}", flush=True)
    for path in changed:
        how = "new" if path not in before else "deleted" if path not in now else "changed"
        print(f"  {how:8} {path}", flush=True)
    if ran.returncode:
        print(f"  failed, exit code {ran.returncode}:", flush=True)
        for line in ran.stdout.splitlines()[-FAILURE_LINES:]:
            print(f"    {line}", flush=True)
    return ran.returncode == 0


def _state(part: Part) -> dict[str, bytes]:
    """Return a digest of each file that a part may write, by its path."""
    roots = [CHECKOUT / name for name in part.written]
    files = [path for root in roots for path in (root.rglob("*") if root.is_dir() else [root])]
    return {
        path.relative_to(CHECKOUT).as_posix(): blake2b(path.read_bytes()).digest()
        for path in files
        if path.is_file() and path.suffix != ".pyc"
    }


if __name__ == "__main__":
    sys.exit(main())
