"""Counts the bytecodes that whole works take on small captures, and compares them with a table.

    python benchmarks/guard.py              # the table of bytecodes.json beside what is counted now
    python benchmarks/guard.py --update     # write what is counted now

Counts are the same on every machine for one version of CPython, whatever else it does, so that they can be
held to a bound where seconds cannot. What C code takes (checksums, decompression, struct) is not seen.
Decoders are compiled and modules imported before the counting begins.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

from kdissect.api import Dissection
from kdissect.cli.formats.json_lines.fast_lines import FastLines
from kdissect.decoders.records.reader import read_records
from kdissect.engine.records.record_sets import record_sets
from kdissect.model.native import is_compiled
from kdissect.rules.judge import Judge

ROOT = Path(__file__).parent.parent
TABLE = Path(__file__).parent / "bytecodes.json"
# Recorded traffic in the repository: many small frames of librdkafka; transactions; a client in Java.
CAPTURES = ("tansu_rdk216_acks.pcap", "kafka44_kp3_transactions.pcapng", "kafka44_java_produce.pcapng")
# A work that takes more than so many times its count is told, and fails the test: what a change may cost
# without anybody looking is a tenth; the rest allows for what is paid for something better.
BOUND = 1.25


class Count(NamedTuple):
    """Bytecodes of one work on one capture, for each exchange."""

    work: str
    capture: str
    bytecodes: int


def main(arguments: Sequence[str]) -> int:
    """Count and compare; the exit code: 1 where a count is beyond the bound."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--update", action="store_true", help="write the table")
    chosen = parser.parse_args(arguments)
    known = {} if chosen.update else table()
    counts = count_all()
    print("| work | capture | bytecodes an exchange | table | ratio |\n|---|---|---:|---:|---:|")
    for count in counts:
        before = known.get(f"{count.work} {count.capture}", count.bytecodes)
        ratio = count.bytecodes / before
        print(f"| {count.work} | {count.capture} | {count.bytecodes} | {before} | {ratio:.2f} |")
    if chosen.update:
        write(counts)
        return 0
    return int(bool(beyond(counts, known)))


def table() -> dict[str, int]:
    """Return the committed counts of this CPython and engine, by work and capture; empty for another one."""
    versions: dict[str, dict[str, int]] = json.loads(TABLE.read_text(encoding="utf-8"))
    return versions.get(version(), {})


def version() -> str:
    """Bytecode is that of a minor version of CPython; the native engine leaves less of it."""
    engine = "native" if is_compiled else "Python"
    return f"{sys.implementation.name} {sys.version_info.major}.{sys.version_info.minor}, {engine} engine"


def write(counts: Sequence[Count]) -> None:
    """Put the counts of this version and engine into the table."""
    versions = json.loads(TABLE.read_text(encoding="utf-8")) if TABLE.exists() else {}
    versions[version()] = {f"{count.work} {count.capture}": count.bytecodes for count in counts}
    TABLE.write_text(json.dumps(versions, indent=1) + "\n", encoding="utf-8")


def beyond(counts: Sequence[Count], known: dict[str, int]) -> list[str]:
    """Return what takes more than the bound allows, in words."""
    found = []
    for work, capture, now in counts:
        before = known.get(f"{work} {capture}")
        if before is not None and now > before * BOUND:
            found.append(f"{work} of {capture}: {now} bytecodes an exchange, {before} in the table")
    return found


def count_all() -> list[Count]:
    """Return every work on every capture."""
    counts = []
    for capture in CAPTURES:
        path = str(ROOT / "captures" / capture)
        for name, work in WORKS.items():
            exchanges = work(path)  # imports and compiles what it needs
            counts.append(Count(name, capture, bytecodes(lambda w=work, p=path: w(p)) // exchanges))
    return counts


def bytecodes(work: Callable[[], Any]) -> int:
    """Return the bytecodes that a call executes in Python code."""
    counted = 0

    def count(frame: FrameType, event: str, _argument: Any) -> Any:
        nonlocal counted
        if event == "opcode":
            counted += 1
        elif event == "call":
            frame.f_trace_opcodes, frame.f_trace_lines = True, False
        return count

    before = sys.gettrace()
    sys.settrace(count)
    try:
        work()
    finally:
        sys.settrace(before)
    return counted


def listed(path: str) -> int:
    """Lines of the list."""
    dissection = Dissection(path)
    lines = FastLines(dissection.file_names, dissection.topics.topics_of)
    return sum(bool(lines.line(exchange)) for exchange in dissection)


def decoded(path: str) -> int:
    """Return both bodies, and every record."""
    number = 0
    for exchange in Dissection(path):
        number += 1
        exchange.bodies()
        for records in record_sets(exchange):
            for batch in records.found.batches:
                read_records(batch)
        exchange.forget_bodies()
    return number


def judged(path: str) -> int:
    """Return all rules."""
    judge = Judge()
    for event in Dissection(path).events():
        judge.add(event)
    judge.finish()
    return judge.coverage.exchanges


WORKS: dict[str, Callable[[str], int]] = {"list": listed, "bodies": decoded, "check": judged}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
