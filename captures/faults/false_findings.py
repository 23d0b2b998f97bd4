"""Measures untrue findings of `kdissect check`: `python -m captures.faults.false_findings`.

Damages healthy captures of client libraries in all ways of `damage`, and counts errors and warnings
that `check` does not report for the whole capture. Then lists the errors and warnings for all recordings of
each client library against Apache Kafka 2.8 to 4.4: docs/found-in-the-wild.md proves each by its bytes.
"""

import argparse
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from itertools import chain
from typing import NamedTuple

from captures.faults.damage import DAMAGES, Packets, damaged
from captures.faults.trust import CAPTURES, SEED
from kdissect.capture.files import open_captures
from kdissect.engine.analyzer import Analyzer
from kdissect.model.finding import Finding, Severity
from kdissect.model.packets.packet import Packet
from kdissect.model.wording import plural
from kdissect.rules.judge import Judge
from kdissect.session.events import Event
from kdissect.session.exchange import Exchange

# Captures of eight clients: groups, transactions, what is produced and fetched.
DAMAGED = (
    "kafka44_aiokafka_groups.pcapng", "kafka44_franz_transactions.pcapng", "kafka44_java_kip848.pcapng",
    "kafka44_kafkajs_groups.pcapng", "kafka44_kp3_transactions.pcapng", "kafka44_rdkafka_groups.pcapng",
    "kafka44_sarama_transactions.pcapng", "kafka44_segmentio_produce.pcapng",
)  # fmt: skip


# Client libraries, by a part of names: Apache Kafka's own, librdkafka, franz-go, sarama, kafka-go,
# kafka-python, aiokafka and kafkajs. `captures.healthy` has each, and platformatic, with each release.
CLIENTS = ("java", "rdkafka", "franz", "sarama", "segmentio", "kp3", "aiokafka", "kafkajs")


class Row(NamedTuple):
    """One kind of damage: how many captures were damaged, and the findings that are new."""

    kind: str
    captures: int
    new: tuple[str, ...]


def rows(kinds: Iterable[str] = DAMAGES, seed: str = SEED) -> Iterator[Row]:
    """Judge each capture with each kind of damage."""
    for kind in kinds:
        new: list[str] = []
        for name in DAMAGED:
            whole = loud(packets_of(name), name)
            broken = loud(damaged(list(packets_of(name)), kind, f"{name} {seed}"), "")
            new += [f"{name}, {kind}: {one}" for code, one in broken.items() if code not in whole]
        yield Row(kind, len(DAMAGED), tuple(new))


@cache
def packets_of(name: str) -> Packets:
    """Return the packets of a capture."""
    return list(open_captures([str(CAPTURES / name)]).packets())


_whole: dict[str, Mapping[str, Finding]] = {}


def loud(packets: Packets, name: str) -> Mapping[str, Finding]:
    """Errors and warnings by code; those of a named capture are kept."""
    if name in _whole:
        return _whole[name]
    _, found = judged(packets)
    if name:
        _whole[name] = found
    return found


def judged(packets: Iterable[Packet]) -> tuple[int, Mapping[str, Finding]]:
    """How many exchanges packets have, and the errors and warnings by code."""
    analyzer, judge, exchanges = Analyzer(), Judge(), 0
    for event in chain(chain.from_iterable(map(analyzer.feed, packets)), _closed(analyzer)):
        exchanges += isinstance(event, Exchange)
        judge.add(event)
    judge.finish()
    return exchanges, {one.code: one for one in judge.findings.all() if one.severity is not Severity.INFO}


def _closed(analyzer: Analyzer) -> Iterator[Event]:
    """Yield the events that remain after all packets."""
    yield from analyzer.close()


def table(found: Iterable[Row]) -> str:
    """Return a row for each kind of damage, and their sum."""
    lines = ["| damage | captures | new errors and warnings |", "|---|---:|---:|"]
    captures = new = 0
    for row in found:
        captures, new = captures + row.captures, new + len(row.new)
        lines.append(f"| {row.kind} | {row.captures} | {len(row.new)} |")
    return "\n".join([*lines, f"| all | {captures} | {new} |"])


def of_clients() -> str:
    """Return a row for each client library: its captures, and the codes of errors and warnings in them."""
    lines = ["| client | captures | errors and warnings |", "|---|---:|---|"]
    for client in CLIENTS:
        names = sorted(path.name for path in CAPTURES.glob(f"kafka*_{client}_*.pcapng*"))
        codes = Counter(code for name in names for code in loud(packets_of(name), name))
        counted = ", ".join(f"{code} in {plural(count, 'capture')}" for code, count in sorted(codes.items()))
        lines.append(f"| {client} | {len(names)} | {counted or 'none'} |")
    return "\n".join(lines)


def main() -> int:
    """Print the table and each new finding; the exit code is 1 if there are any."""
    parser = argparse.ArgumentParser(prog="python -m captures.faults.false_findings", description=__doc__)
    parser.add_argument("--seed", default=SEED, help="of the damage (default: %(default)s)")
    found = list(rows(seed=parser.parse_args().seed))
    print(table(found), *(one for row in found for one in row.new), of_clients(), sep="\n")
    return int(any(row.new for row in found))


if __name__ == "__main__":
    sys.exit(main())
