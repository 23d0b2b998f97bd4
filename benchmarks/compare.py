"""Compares the cost of whole commands with tshark, with a reader in Go and with another build of kdissect.

    python benchmarks/compare.py --shapes all --mb 30 --results run.json     # every shape, every command
    python benchmarks/compare.py --shapes short,wide --commands list,check --against ../old-checkout
    python benchmarks/compare.py --commands list mtu.pcap                     # a capture of your own
    python benchmarks/compare.py --pair 'sort big.txt' 'sort -n big.txt' --name sort --output-dir out
    python benchmarks/compare.py --docs                                       # the tables of the docs

The cost is the CPU time (user + system) of a process and the children that it waited for. Rounds are
interleaved (A B A B ...), so that a machine that slows down slows all sides. Each capture is in memory before
a command reads it.
With --results a run continues where an earlier run with the same options stopped.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from measure import SCRATCH, Contest, Run, Side, interleave, machine
from shapes import GENERATED_PORT, ROOT, SHAPES, Capture, make
from speed_tables import GO, OTHER, OURS, TSHARK, Measured, detail, tables, update_docs

GO_SOURCE = Path(__file__).parent / "golist"
RESULTS = Path(__file__).parent / "speed.json"
"""The results that the docs show."""

_PASS = "tshark -r {capture} {decode}"
_LIST = f"{_PASS} -T fields -e frame.number -e kafka.api_key -e kafka.api_version -e kafka.correlation_id"
_RECORDS = f"{_PASS} -T fields -e kafka.offset -e kafka.message_key -e kafka.message_value"
_VERBOSE = f"{_PASS} -V -O kafka"


class Task(NamedTuple):
    """A command of kdissect, and the pass of tshark that comes nearest to it."""

    work: str
    peer: str = _LIST


# docs/performance.md says what a command and its pass do not have in common.
TASKS = {
    "list": Task("kdissect inspect --format jsonl {capture}"),
    "stats": Task("kdissect stats {capture}"),
    "extract": Task(
        "kdissect extract {capture} -Y 'api == Produce' --output {scratch}/out.pcapng",
        f"{_PASS} -Y 'kafka.api_key == 0' -w {{scratch}}/out.pcapng",
    ),
    "tsv": Task("kdissect records --format tsv {capture}", _RECORDS),
    "parquet": Task("kdissect records --format parquet --output /dev/null {capture}", _RECORDS),
    "tables": Task("kdissect tables {capture} --output {scratch}/tables"),
    "check": Task("kdissect check --exit-zero {capture}", _VERBOSE),
    "why": Task("kdissect why {capture}", _VERBOSE),
    "tree": Task("kdissect inspect --format tree {capture}", _VERBOSE),
    "bodies": Task("kdissect inspect --bodies --records --format jsonl {capture}", f"{_PASS} -T ek -J kafka"),
    "deep": Task("kdissect info --deep {capture}", _VERBOSE),
    "upgrade": Task("kdissect upgrade --target 4.4 --fail-on never {capture}"),
    **{
        name: Task(f"kdissect {name} {{capture}}")
        for name in ("topics", "groups", "producers", "fetch-sessions", "connections", "delay")
    },
}
MEASURED = ("list", "stats", "extract", "tsv", "parquet", "tables", "check", "why", "tree")
ALL = "all"


class Peers(NamedTuple):
    """The programs next to kdissect; None if a program is not on this machine."""

    tshark: bool
    go: Path | None
    other: Path | None


def command_of(text: str, capture: Capture) -> tuple[str, ...]:
    """Return the words of a command of `TASKS` for a capture."""
    decode = [f"-d tcp.port=={port},kafka" for port in capture.ports]
    decode += [f"-d tls.port=={port},kafka" for port in capture.tls_ports]
    place = shlex.quote(str(capture.path))
    return tuple(shlex.split(text.format(capture=place, decode=" ".join(decode), scratch=SCRATCH)))


def contests(name: str, capture: Capture, commands: list[str], peers: Peers) -> list[Contest]:
    """Return what is measured on a capture: one contest for each command."""
    found = []
    for command in commands:
        work = command_of(TASKS[command].work, capture)
        run = (sys.executable, "-m", *work)
        sides = {OURS: Side(run, ROOT)}
        if peers.tshark:
            sides[TSHARK] = Side(command_of(TASKS[command].peer, capture))
        if peers.go and command == "list" and not capture.tls_ports:
            ports = ",".join(map(str, capture.ports))
            sides[GO] = Side((str(peers.go), "-ports", ports, str(capture.path)))
        if peers.other:
            sides[OTHER] = Side(run, peers.other)
        found.append(Contest(f"{command}.{name}", sides, capture.path))
    return found


def build_go(folder: Path) -> Path | None:
    """Return the reader in Go, built into a folder; None, with a line on stderr, where that cannot
    be done.
    """
    program = folder / "golist"
    path = os.pathsep.join((os.environ.get("PATH", ""), "/usr/local/go/bin"))
    compiler = shutil.which("go", path=path)
    if compiler is None:
        print("compare: Go is not installed: no column for the reader in Go", file=sys.stderr)
        return None
    built = subprocess.run(
        [compiler, "build", "-o", str(program.absolute()), "."],
        cwd=GO_SOURCE,
        capture_output=True,
        text=True,
        check=False,
    )
    if built.returncode:
        why = (built.stderr.strip().splitlines() or ["go build failed"])[-1]
        print(f"compare: the reader in Go cannot be built: {why}", file=sys.stderr)
        return None
    return program.absolute()


def build_of(checkout: Path) -> str:
    """Return the commit of a checkout, and whether its native engine is compiled."""
    shown = subprocess.run(
        ["git", "-C", str(checkout), "describe", "--always", "--dirty", "--abbrev=10"],
        capture_output=True,
        text=True,
        check=False,
    )
    native = any((checkout / "kdissect").glob("_native.*so")) and os.environ.get("KDISSECT_NATIVE") != "0"
    return f"{shown.stdout.strip() or 'no commit'}, {'native' if native else 'Python'} engine"


class Session:
    """Results of one run, and where they are kept between two parts of it."""

    def __init__(self, path: Path | None, facts: dict[str, Any]) -> None:
        self._path = path
        self.content: dict[str, Any] = {**facts, "captures": {}}
        if path is not None and path.exists():
            before = json.loads(path.read_text(encoding="utf-8"))
            differing = [
                name
                for name, value in facts.items()
                if name not in ("date", "note") and before[name] != value
            ]
            if differing:
                raise SystemExit(f"compare: {path} has results of another run: {', '.join(differing)} differ")
            self.content = before

    def missing(self, key: str, commands: list[str]) -> list[str]:
        """Return the commands that are not measured yet on a capture."""
        known = self.content["captures"].get(key, {"commands": {}})["commands"]
        return [command for command in commands if command not in known]

    def add(self, key: str, facts: dict[str, Any], runs: dict[str, dict[str, list[Run]]]) -> None:
        """Keep the runs of a capture, by command and side."""
        known = self.content["captures"].setdefault(key, {**facts, "commands": {}})["commands"]
        for command, sides in runs.items():
            known[command] = {
                side: [[round(run.cpu, 3), round(run.wall, 3), run.rss, run.status] for run in measured]
                for side, measured in sides.items()
            }
        if self._path is not None:
            part = self._path.with_name(self._path.name + ".part")
            part.write_text(_text(self.content), encoding="utf-8")
            part.replace(self._path)


def _text(content: dict[str, Any]) -> str:
    """Return JSON with a line for each command."""
    head = {name: value for name, value in content.items() if name != "captures"}
    lines = [f" {json.dumps(name)}: {json.dumps(value)}," for name, value in head.items()]
    captures = []
    for key, one in content["captures"].items():
        facts = json.dumps({name: value for name, value in one.items() if name != "commands"})
        commands = ",\n".join(
            f"   {json.dumps(name)}: {json.dumps(sides)}" for name, sides in one["commands"].items()
        )
        captures.append(f'  {json.dumps(key)}: {facts[:-1]}, "commands": {{\n{commands}\n  }}}}')
    return "{\n" + "\n".join(lines) + '\n "captures": {\n' + ",\n".join(captures) + "\n }\n}\n"


def parse_arguments(arguments: list[str]) -> argparse.Namespace:
    """Return the command line; exits with 2 on a mistake."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("captures", nargs="*", type=Path, help="captures with a broker on port 9092")
    add("--shapes", default="", help=f"comma-separated, or all: {', '.join(SHAPES)}")
    add("--commands", default="", help=f"comma-separated, or all: {', '.join(TASKS)}")
    add("--mb", type=float, default=30, help="size of each shape (default: 30)")
    add("--folder", type=Path, help="cache of shapes (default: a temporary folder)")
    add("--rounds", type=int, default=3, help="rounds that count (default: 3)")
    add("--warm-ups", type=int, default=1, help="rounds before them that do not count (default: 1)")
    add("--against", type=Path, metavar="CHECKOUT", help="another build of kdissect to compare with")
    add("--results", type=Path, help="JSON file that keeps the runs; an unfinished run continues")
    add("--note", default="", help="a sentence for the docs, such as what else the machine did")
    add("--docs", action="store_true", help=f"write the tables of the docs from {RESULTS.name}")
    add("--pair", nargs=2, action="append", default=[], metavar=("WORK", "AGAINST"), help="two commands")
    add("--name", action="append", default=[], help="of a --pair, in their order")
    add("--output-dir", type=Path, help="keep the commands' output here (default: discarded)")
    chosen = parser.parse_args(arguments)
    chosen.shapes = _names(parser, chosen.shapes, list(SHAPES), [])
    chosen.commands = _names(parser, chosen.commands, list(TASKS), list(MEASURED))
    if chosen.rounds < 1 or chosen.warm_ups < 0:
        parser.error("--rounds must be at least 1 and --warm-ups at least 0")
    if not (chosen.captures or chosen.pair or chosen.shapes or chosen.docs):
        parser.error("requires --shapes, a capture, --pair or --docs")
    if chosen.against and not (chosen.against / "kdissect").is_dir():
        parser.error(f"--against: {chosen.against} contains no kdissect")
    return chosen


def _names(parser: argparse.ArgumentParser, text: str, known: list[str], default: list[str]) -> list[str]:
    if text == ALL:
        return known
    names = text.split(",") if text else default
    unknown = [name for name in names if name not in known]
    if unknown:
        parser.error(f"unknown: {', '.join(unknown)}; choose from {', '.join(known)}, {ALL}")
    return names


def main(arguments: list[str]) -> int:
    """Measure and print; 2 when a command does not exist or failed, as its numbers mean nothing then."""
    chosen = parse_arguments(arguments)
    if chosen.docs:
        update_docs(json.loads(RESULTS.read_text(encoding="utf-8")), ROOT)
        return 0
    if chosen.output_dir:
        chosen.output_dir = chosen.output_dir.absolute()
        chosen.output_dir.mkdir(parents=True, exist_ok=True)
    try:
        with tempfile.TemporaryDirectory() as scratch:
            folder = chosen.folder or Path(scratch)
            folder.mkdir(parents=True, exist_ok=True)
            return max(_pairs(chosen), _captures(chosen, folder))
    except FileNotFoundError as error:
        print(f"compare: no such command: {error.filename}", file=sys.stderr)
        return 2


def _pairs(chosen: argparse.Namespace) -> int:
    asked = []
    for index, (work, against) in enumerate(chosen.pair):
        name = chosen.name[index] if index < len(chosen.name) else f"pair {index + 1}"
        sides = {"work": Side(tuple(shlex.split(work))), OTHER: Side(tuple(shlex.split(against)))}
        asked.append(Contest(name, sides))
    if not asked:
        return 0
    runs = interleave(asked, chosen.rounds, chosen.output_dir, chosen.warm_ups)
    rows = [Measured("", contest.name, sides) for contest, sides in zip(asked, runs, strict=True)]
    print(detail(rows))
    print(f"\nMedians of {chosen.rounds} interleaved rounds; {machine()}.")
    return _status(rows)


def _captures(chosen: argparse.Namespace, folder: Path) -> int:
    if not (chosen.captures or chosen.shapes):
        return 0
    tshark = shutil.which("tshark") is not None
    if not tshark:
        print("compare: tshark is not installed: no ratios to it", file=sys.stderr)
    needs_go = "list" in chosen.commands
    peers = Peers(tshark, build_go(folder) if needs_go else None, chosen.against and chosen.against.resolve())
    session = Session(chosen.results, _facts(chosen, peers))
    measured = []
    for key, facts, capture in _inputs(chosen, folder):
        missing = session.missing(key, chosen.commands)
        asked = contests(key, capture, missing, peers)
        runs = interleave(asked, chosen.rounds, chosen.output_dir, chosen.warm_ups)
        session.add(key, facts, dict(zip(missing, runs, strict=True)))
        measured.append(key)
        print(f"{key}: {len(missing)} commands measured", file=sys.stderr, flush=True)
    print(tables(session.content))
    return _status(
        [Measured.of(session.content, key, command) for key in measured for command in chosen.commands]
    )


def _facts(chosen: argparse.Namespace, peers: Peers) -> dict[str, Any]:
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "machine": machine(),
        "rounds": chosen.rounds,
        "note": chosen.note,
        "build": build_of(ROOT),
        "against": build_of(peers.other) if peers.other else "",
    }


def _inputs(chosen: argparse.Namespace, folder: Path) -> Iterator[tuple[str, dict[str, Any], Capture]]:
    """Name, facts for the tables, and place of each capture, made when its turn comes."""
    for name in chosen.shapes:
        capture = make(name, folder, chosen.mb)
        facts = {"title": SHAPES[name].title, "bytes": capture.bytes, "exchanges": capture.exchanges}
        yield f"{name}_{chosen.mb:g}", facts, capture
    for path in chosen.captures:
        capture = Capture(path.absolute(), [GENERATED_PORT], [], path.stat().st_size, 0)
        yield path.name, {"title": path.name, "bytes": capture.bytes, "exchanges": 0}, capture


def _status(rows: list[Measured]) -> int:
    return 2 if any(run.status for row in rows for runs in row.sides.values() for run in runs) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
