"""`python -m fuzz TARGET... | all`: runs targets, each in a process of its own, and prints a table."""

import argparse
import json
import subprocess
import sys
from pathlib import Path

from fuzz.outcome import Outcome

# Figures of runs that were told in docs/fuzzing.md; `--report` files that are to stay are appended to it.
RUNS = Path(__file__).parent / "runs.jsonl"
_MOST = ("reached", "slowest_ms", "worst_per_mb", "peak_mb")
_HEAD = (
    "target",
    "inputs",
    "CPU s",
    "corpus",
    "lines of its modules",
    "slowest ms",
    "worst s/MB",
    "peak MB",
    "bugs",
)


def main() -> int:
    """Parse, run, print; 1 when a bug was found."""
    options = _parser().parse_args()
    if options.table is not None:
        print(*_table([RUNS, *map(Path, options.table)]), sep="\n")
        return 0
    if options.atheris:
        from fuzz.guided import run_atheris  # before anything imports kdissect

        return run_atheris(options.targets[0], options.runs, options.seconds, options.seed)
    from fuzz.targets import TARGETS

    if options.list:
        for name, kind in TARGETS.items():
            print(f"{name:18} {kind.about}")
        return 0
    names = list(TARGETS) if options.targets == ["all"] else options.targets
    unknown = [name for name in names if name not in TARGETS]
    if unknown or not names:
        print(f"no such target: {', '.join(unknown)}" if unknown else "name targets, or all", file=sys.stderr)
        return 2
    if options.replay:
        print(TARGETS[names[0]]().run(Path(options.replay).read_bytes()), "bytes were added by decompression")
        return 0
    if options.one:
        return _one(names[0], options)
    return _all(names, options)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m fuzz", description=__doc__)
    add = parser.add_argument
    add("targets", nargs="*", metavar="TARGET")
    add("--list", action="store_true", help="name the targets")
    add("--runs", type=int, default=0, metavar="N", help="inputs for each target")
    add("--seconds", type=float, default=0, metavar="S", help="seconds for each target")
    add("--seed", type=int, default=1, metavar="X", help="another seed, other inputs")
    add("--crashes", default="fuzz-crashes", metavar="DIR", help="where inputs that broke something go")
    add("--report", metavar="FILE", help="append the figures of each target to FILE, as JSON lines")
    add(
        "--table",
        nargs="*",
        metavar="FILE",
        help="add up earlier runs (fuzz/runs.jsonl) and those in FILE, as a table for docs/fuzzing.md",
    )
    add("--replay", metavar="FILE", help="run one input that was kept")
    add("--atheris", action="store_true", help="let libFuzzer drive the target (needs the package atheris)")
    add("--one", action="store_true", help=argparse.SUPPRESS)
    return parser


def _one(name: str, options: argparse.Namespace) -> int:
    """In a process of its own, so that the peak of memory is the target's."""
    from fuzz.runner import Runner
    from fuzz.targets import TARGETS

    runner = Runner(TARGETS[name](), options.seed, Path(options.crashes))
    runs = options.runs or (0 if options.seconds else 10_000)

    def tell(outcome: Outcome) -> None:
        print(f"... {outcome.target}: {outcome.inputs} inputs, {len(outcome.bugs)} bugs", flush=True)

    outcome = runner.run(runs, options.seconds, tell)
    if options.report:
        with Path(options.report).open("a") as file:
            file.write(json.dumps(outcome.row() | {"seed": options.seed}) + "\n")
    print("=" + json.dumps(outcome.row()), flush=True)
    return 1 if outcome.bugs else 0


def _all(names: list[str], options: argparse.Namespace) -> int:
    print(" | ".join(_HEAD))
    total = bugs = 0
    for name in names:
        arguments = [sys.executable, "-m", "fuzz", name, "--one", "--runs", str(options.runs)]
        arguments += ["--seconds", str(options.seconds), "--seed", str(options.seed)]
        arguments += ["--crashes", options.crashes, *(["--report", options.report] if options.report else [])]
        with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            row = None
            for line in process.stdout:
                if line.startswith("="):
                    row = json.loads(line[1:])
                else:
                    print(line, end="", flush=True)
        if row is None:
            print(f"{name}: the process died with {process.returncode}")
            bugs += 1
            continue
        total += row["inputs"]
        bugs += len(row["bugs"])
        print(_line(row), flush=True)
    print(f"{total} inputs, {bugs} bugs")
    return 1 if bugs else 0


def _table(reports: list[Path]) -> list[str]:
    """Return the runs of each target added up, as Markdown."""
    sums: dict[str, dict[str, float]] = {}
    for line in "".join(report.read_text() for report in reports).splitlines():
        row = json.loads(line)
        sum_ = sums.setdefault(row["target"], dict.fromkeys(("inputs", "seconds", *_MOST), 0.0))
        sum_["inputs"] += row["inputs"]
        sum_["seconds"] += row["seconds"]
        sum_["lines"] = row["lines"]
        for name in _MOST:  # runs before long inputs were measured have no such time
            sum_[name] = max(sum_[name], row.get(name, 0.0))
    lines = [
        "| target | inputs | CPU s | lines reached | slowest ms | worst s/MB | peak MB |",
        "|---|---|---|---|---|---|---|",
    ]
    for target, row in sums.items():
        cells = (
            target,
            f"{row['inputs']:,.0f}",
            f"{row['seconds']:.0f}",
            f"{row['reached']:.0f} of {row['lines']:.0f}",
        )
        times = f"{row['slowest_ms']:.0f} | {row['worst_per_mb']:.2f}"
        lines.append(f"| {' | '.join(cells)} | {times} | {row['peak_mb']:.0f} |")
    return [*lines, f"| all | {sum(int(row['inputs']) for row in sums.values()):,} | | | | | |"]


def _line(row: dict[str, object]) -> str:
    lines = f"{row['reached']} of {row['lines']}"
    times = f"{row['slowest_ms']} | {row['worst_per_mb']}"
    cells = (row["target"], row["inputs"], row["seconds"], row["corpus"], lines, times, row["peak_mb"])
    return " | ".join(map(str, cells)) + f" | {len(row['bugs'])}"  # type: ignore[arg-type]


if __name__ == "__main__":
    sys.exit(main())
