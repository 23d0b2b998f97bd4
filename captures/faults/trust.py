"""Measures how often `kdissect why` is right: `python -m captures.faults.trust [FOLDER...]`.

Runs `why` over every recording whose truth is known, and over damaged copies of healthy ones. A cause is
right if the truth of its recording names it: `*.fault.json` of the laboratory, or `truths.json`. If the truth
names somebody or a time, too, the cause has to be about one of them, and to begin then. A damaged healthy
capture has one right cause: `capture-too-poor`.
"""

import argparse
import os
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from captures.faults.damage import DAMAGES, damaged
from captures.faults.recording import RECORDED, Meant, Recording, Row, Truth, page_of, recordings
from kdissect.capture.files import open_captures
from tests.support.packets.pcaps import write_pcap

CAPTURES = RECORDED.parents[1]
POOR = "capture-too-poor"
CERTAINTIES = ("sure", "likely", "possible")
NOTHING_WRONG = "nothing wrong was found"
DAMAGED_TITLE = "damaged"
SEED = "1"
# Healthy captures of eight client libraries, which are damaged.
DAMAGED = (
    "kafka44_aiokafka_groups", "kafka44_franz_groups", "kafka44_java_kip848", "kafka44_java_produce",
    "kafka44_kafkajs_groups", "kafka44_kp3_transactions", "kafka44_rdkafka_groups",
    "kafka44_rdkafka_transactions", "kafka44_sarama_groups", "kafka44_segmentio_groups",
)  # fmt: skip
HEALTHY_TITLE = "healthy days"
_LIBRARIES = {
    "java": "kafka-clients", "rdkafka": "librdkafka", "franz": "franz-go", "segmentio": "segmentio kafka-go",
    "platformatic": "@platformatic/kafka",
}  # fmt: skip
# Of these `why` must not say that nothing is wrong: half of what was said, or all bodies, are missing.
TOO_POOR = frozenset({"requests alone", "responses alone", "one direction stops", "headers alone"})


class Judged(NamedTuple):
    """What `why` printed of one recording, and the causes that are right."""

    name: str
    truth: Truth
    page: Row
    is_healthy: bool
    is_poor: bool = False
    clients: frozenset[str] = frozenset()
    meant: Mapping[str, Meant] = MappingProxyType({})

    def causes(self, certainty: str) -> list[Row]:
        """Return the causes that were printed with this certainty."""
        return [one for one in self.page["causes"] if one["certainty"] == certainty]

    def wrong(self) -> list[Row]:
        """Return the causes that were printed and are not right."""
        return [one for one in self.page["causes"] if not self.is_right(one)]

    def is_right(self, cause: Row) -> bool:
        """Whether the truth has a cause, about somebody whom it names, if it names anybody."""
        return cause["id"] in self.truth and self.meant.get(cause["id"], Meant()).holds(cause)

    def is_silent(self) -> bool:
        """Whether nothing is called wrong, though something is in sight, or there is too little to judge."""
        shown = [cause for cause in self.truth if not self.meant.get(cause, Meant()).unseen]
        is_wrong = self.is_poor or (bool(shown) and not self.is_healthy)
        return is_wrong and self.page["summary"] == NOTHING_WRONG


def materials(more: Sequence[Path], seed: str) -> Iterator[tuple[str, list[Judged]]]:
    """Measure all material: that of the checkout, the reference material if it is there, and more folders.

    Each recording counts once. Drawn runs that are kept aside do not count.
    """
    folders = {
        "laboratory, in sight": RECORDED,
        "laboratory, kept aside": RECORDED.with_name("aside"),
        "drawn runs, in sight": RECORDED.with_name("drawn") / "recorded",
        "corpus": CAPTURES,
        "cases": CAPTURES.parent / "tests" / "causes" / "cases",
    }
    reference = Path(os.environ.get("KDISSECT_REFERENCE", CAPTURES.parents[1] / "shared"))
    folders |= {f"reference {name}": reference / name for name in ("captures", "cases")}
    folders |= {str(folder): folder for folder in more}
    names: set[str] = set()
    for title, folder in folders.items():
        wanted = [one for one in recordings(folder) if one.name not in names and not one.is_aside]
        names |= {one.name for one in wanted}
        if wanted:
            yield title, of_recordings(wanted)
    yield HEALTHY_TITLE, of_recordings(healthy_days())
    yield DAMAGED_TITLE, of_damaged(product(DAMAGED, DAMAGES), seed)


def healthy_days() -> list[Recording]:
    """Each client library with each release (`captures.healthy`): healthy, if `truths.json` has no cause."""
    return [
        one._replace(truth=one.truth or {}, clients=frozenset({_LIBRARIES.get(client, client)}))
        for one in recordings(CAPTURES / "healthy" / "recorded")
        for client in (one.name.partition("_")[2],)
    ]


def healthy() -> list[str]:
    """Return the captures of the corpus of which no cause is true."""
    return [one.name for one in recordings(CAPTURES) if one.is_healthy]


def of_recordings(wanted: Iterable[Recording]) -> list[Judged]:
    """Ask `why` about each recording. Those whose truth is not known are reported, and do not count."""

    def judged(one: Recording) -> Judged:
        page, truth = page_of(one.path), one.truth or {}
        return Judged(one.name, truth, page, one.is_healthy, clients=one.clients, meant=one.meant)

    wanted = list(wanted)
    known = [one for one in wanted if one.truth is not None]
    if len(known) < len(wanted):
        folder = wanted[0].path.parent
        print(
            f"{folder}: {len(wanted) - len(known)} recordings of unknown truth do not count", file=sys.stderr
        )
    return [judged(one) for one in known]


def of_damaged(wanted: Iterable[tuple[str, str]], seed: str = SEED) -> list[Judged]:
    """Ask `why` about captures of the corpus, each with a damage. Their own causes stay right."""
    there = {one.name: one for one in recordings(CAPTURES)}
    with tempfile.TemporaryDirectory() as folder:

        def judged(one: tuple[str, str]) -> Judged:
            name, kind = one
            packets = damaged(list(open_captures([str(there[name].path)]).packets()), kind, f"{name} {seed}")
            path = Path(folder) / f"{name} {kind}.pcap"
            write_pcap(path, packets)
            right = {**(there[name].truth or {}), POOR: f"damage: {kind}"}
            return Judged(f"{name}, {kind}", right, page_of(path), is_healthy=True, is_poor=kind in TOO_POOR)

        return [judged(one) for one in wanted]


def table(found: Sequence[tuple[str, list[Judged]]]) -> str:
    """Return a row for each material: causes that are right of those that were printed, by certainty."""
    head = ("material", "recordings", *CERTAINTIES, "healthy", "false causes there", "silent")
    everything = [one for _, each in found for one in each]
    rows = [head, tuple("---" for _ in head)]
    rows += [_row(title, judged) for title, judged in (*found, ("all", everything))]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def _row(title: str, judged: Sequence[Judged]) -> tuple[str, ...]:
    shares = []
    for certainty in CERTAINTIES:
        printed = [each.is_right(one) for each in judged for one in each.causes(certainty)]
        shares.append(f"{sum(printed)} of {len(printed)}")
    healthy = [one for one in judged if one.is_healthy]
    false_there = sum(len(one.wrong()) for one in healthy)
    silent = sum(one.is_silent() for one in judged)
    return title, str(len(judged)), *shares, str(len(healthy)), str(false_there), str(silent)


def of_clients(found: Iterable[tuple[str, list[Judged]]]) -> str:
    """Return how many healthy recordings there are, without damaged ones, and how many of each library."""
    healthy = [one for title, each in found for one in each if one.is_healthy and title != DAMAGED_TITLE]
    each = Counter(library for one in healthy for library in one.clients)
    libraries = ", ".join(f"{library} {times}" for library, times in each.most_common())
    return f"{len(healthy)} healthy recordings as they are, of {len(each)} client libraries: {libraries}"


def misses(found: Sequence[tuple[str, list[Judged]]]) -> Iterator[str]:
    """Each cause that is not right, and each recording of which `why` says wrongly that nothing is wrong."""
    for title, judged in found:
        for one in judged:
            for cause in one.wrong():
                yield f"{title}: {one.name}: {cause['id']}, {cause['certainty']}: {cause['sentence']}"
            if one.is_silent():
                yield f"{title}: {one.name}: {NOTHING_WRONG}; true is {', '.join(one.truth)}"
            for cause_id, meant in one.meant.items():
                if meant.unseen:
                    yield f"{title}: {one.name}: {cause_id} is not in sight: {meant.unseen}"


def main() -> int:
    """Print the table and each miss."""
    parser = argparse.ArgumentParser(prog="python -m captures.faults.trust", description=__doc__)
    parser.add_argument("folder", nargs="*", type=Path, metavar="FOLDER", help="more recordings")
    parser.add_argument("--seed", default=SEED, help="of the damage (default: %(default)s)")
    options = parser.parse_args()
    found = list(materials(options.folder, options.seed))
    print(table(found), of_clients(found), *misses(found), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
