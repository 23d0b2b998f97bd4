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
    for name, (noun, what) in _COUNTS.items():
        if facts[name]:
            yield f"  {plural(facts[name], noun)} {what}"
    if facts.get("brokers"):
        yield f"  brokers without a connection in the capture: {printable(', '.join(facts['brokers']))}"


_COUNTS = {
    "connections_begun_before": ("connection", "that began before the capture"),
    "connections_in_one_direction": ("connection", "captured in one direction only"),
    "bytes_not_captured": ("byte", "not captured"),
    "bytes_cut_off": ("byte", "that the snapshot length cut off"),
    "cut_frames": ("frame", "captured in part"),
    "exchanges_of_unknown_version": ("exchange", "in a version the schema does not know"),
}
