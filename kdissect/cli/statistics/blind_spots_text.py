"""Blind spots of the capture, in lines."""

from collections.abc import Iterator
from typing import Any

from kdissect.model.wording import plural
from kdissect.report.printable import printable

Facts = dict[str, Any]


def blind_spots_lines(facts: Facts) -> Iterator[str]:
    """Yield a line for each blind spot, or no lines."""
    opaque = facts["opaque_connections"]
    if opaque:
        kinds = ", ".join(f"{count} {kind}" for kind, count in opaque.items())
        yield f"  {plural(sum(opaque.values()), 'connection')} that cannot be read: {kinds}"
    for name, what in _COUNTS.items():
        if facts[name]:
            yield f"  {facts[name]} {what}"
    if facts.get("brokers"):
        yield f"  brokers without a connection in the capture: {printable(', '.join(facts['brokers']))}"


_COUNTS = {
    "connections_begun_before": "connections that began before the capture",
    "connections_in_one_direction": "connections captured in one direction only",
    "bytes_not_captured": "bytes that were not captured",
    "bytes_cut_off": "bytes that the snapshot length cut off",
    "cut_frames": "frames that were captured in part",
    "exchanges_of_unknown_version": "exchanges in a version the schema does not know",
}
