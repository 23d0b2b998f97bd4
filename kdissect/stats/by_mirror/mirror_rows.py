"""The facts of `MirrorTraffic` as plain values, for JSON and tables (docs/statistics.md)."""

from __future__ import annotations

from typing import Any

from kdissect.stats.by_mirror.checkpoints import Checkpoint
from kdissect.stats.by_mirror.mirror_link import MOST_PLACES, Place
from kdissect.stats.by_mirror.mirror_traffic import Link, MirrorTraffic

Facts = dict[str, Any]
_COUNTS = (
    "arrived", "missing", "passed_over", "in_transactions", "duplicates", "duplicates_in_transactions",
    "reordered", "unmatched", "waiting", "outside", "early", "left_out", "source_unseen", "target_unseen",
)  # fmt: skip


def mirror_facts(traffic: MirrorTraffic) -> Facts:
    """Return topics with their copies, places of missing and other odd records, and translated offsets."""
    mirrors, places = [], []
    for link in traffic.links():
        found = link.comparison.facts()
        names = _names(link)
        mirrors.append(
            names
            | {
                "partitions": link.partitions,
                "source_records": link.source_records,
                "target_records": link.target_records,
            }
            | {name: getattr(found, name) for name in _COUNTS}
            | {"delay_ns": found.delay.facts()}
        )
        places += [names | _place(place) for place in found.places]
    offsets = [_offset(traffic, *key) for key in sorted(traffic.checkpoints)]
    return {
        "mirrors": mirrors,
        "places": places[:MOST_PLACES],
        "offsets": [row for row in offsets if row is not None],
        "forgotten": len(places) - len(places[:MOST_PLACES]),
        "records_without_offset": traffic.unplaced,
        "fields_without_topic": traffic.unnamed,
        "unreadable": traffic.unreadable,
        "fields_of_further_topics": traffic.topics_left_out,
        "records_before_a_copy": traffic.early_left_out,
    }


def is_different(facts: Facts) -> bool:
    """Return whether the capture shows a mirror that passed over a record, or has one twice or out of order.

    Records that transactions wrote may be aborted, and those of unseen offsets may be equal to others.
    """
    unknown = facts["records_without_offset"]
    return any(
        row["passed_over"]
        or row["reordered"]
        or row["duplicates"] - row["duplicates_in_transactions"] > row["source_unseen"] + unknown
        for row in facts["mirrors"]
    )


def _names(link: Link) -> Facts:
    return {
        "source_cluster": link.source_cluster,
        "source_topic": link.source.name,
        "target_cluster": link.target_cluster,
        "target_topic": link.target.name,
    }


def _place(place: Place) -> Facts:
    return {
        "what": place.what,
        "partition": place.partition,
        "side": "source" if place.what == "missing" else "target",
        "first_offset": place.first,
        "last_offset": place.last,
        "records": place.last - place.first + 1,
    }


def _offset(traffic: MirrorTraffic, scope: str, found: Checkpoint) -> Facts | None:
    link = traffic.link_to(scope, found.topic)
    if link is None:
        return None
    several = link.has_duplicates(found.partition)
    exact = None if several else link.translated(found.partition, found.source_offset)
    return {
        "group": found.group,
        "target_topic": found.topic,
        "partition": found.partition,
        "source_offset": found.source_offset,
        "target_offset": found.target_offset,
        "exact_offset": exact,
        "again": None if exact is None else max(exact - found.target_offset, 0),
        "skipped": None if exact is None else max(found.target_offset - exact, 0),
    }
