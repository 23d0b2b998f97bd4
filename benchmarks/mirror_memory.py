"""Memory of `kdissect mirror` for many records: `python benchmarks/mirror_memory.py --records 100m`.

Records are not decoded: their sightings go to the comparison as it takes them from exchanges. Of each million
one is lost, one arrives twice and one out of order; copies come `--lag` records after their source.
"""

import argparse
import resource
import time

from kdissect.sketches.offset_runs import OffsetRuns
from kdissect.stats.by_mirror.mirror_link import MirrorLink, Room, Sighting

_PARTITIONS = 12
_MILLION = 1_000_000


def main() -> None:
    """Print what was found, and time and memory."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--records", type=lambda text: int(float(text.lower().removesuffix("m")) * _MILLION), default=_MILLION
    )
    parser.add_argument("--lag", type=int, default=50_000)
    options = parser.parse_args()
    source = {number: OffsetRuns() for number in range(_PARTITIONS)}
    target = {number: OffsetRuns() for number in range(_PARTITIONS)}
    link = MirrorLink(Room(), source, target)
    ends = [0] * _PARTITIONS
    begin = time.process_time()

    def copy(number: int) -> None:
        partition = number % _PARTITIONS
        offset = ends[partition]
        ends[partition] += 1
        target[partition].add(offset, offset)
        link.add_target(Sighting(partition, offset, hash((number, "content")), number * 1_000 + 5_000))

    for number in range(options.records + options.lag):
        if number < options.records:
            partition, offset = number % _PARTITIONS, number // _PARTITIONS
            source[partition].add(offset, offset)
            link.add_source(Sighting(partition, offset, hash((number, "content")), number * 1_000))
        late = number - options.lag
        if late < 0:
            continue
        place = late % _MILLION
        if place == 500_000:
            copy(late + _PARTITIONS)  # before the one that it follows
        elif place == 500_000 + _PARTITIONS:
            copy(late - _PARTITIONS)
        elif place != 100:  # which is lost
            copy(late)
            if place == 200:
                copy(late)
    facts = link.facts()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    took = time.process_time() - begin
    print(
        f"{options.records:,} records: arrived {facts.arrived:,}, missing {facts.missing}, passed over "
        f"{facts.passed_over}, twice {facts.duplicates}, out of order {facts.reordered}, unmatched "
        f"{facts.unmatched}; {took:.0f} s, {took / options.records * 1e6:.2f} us a record, {peak:.0f} MB"
    )


if __name__ == "__main__":
    main()
