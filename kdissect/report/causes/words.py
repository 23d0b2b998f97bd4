"""Wording that all formats of the page share."""

from __future__ import annotations

from collections.abc import Sequence
from shlex import quote

from kdissect.engine.times import rfc3339
from kdissect.model.cause import Cost, Diagnosis, FoundCause, Packets
from kdissect.model.packets.packet import ref_file, span_text
from kdissect.model.wording import plural
from kdissect.report.quantities import byte_count, duration

_FILES_SHOWN = 3


def headline(diagnosis: Diagnosis) -> str:
    """Return one line: how much is wrong."""
    count = len(diagnosis.causes) + diagnosis.left_out
    than = ", ".join(diagnosis.against)
    names = ", ".join(diagnosis.unread[:_FILES_SHOWN])
    read = f" in what could be read of {names}" if names else ""
    if diagnosis.nothing_judged:
        causes = f": {plural(count, 'cause')} of trouble" if count else ""
        return f"{diagnosis.nothing_judged}{read}{causes}"
    if not count and names:
        return f"no cause of trouble in what could be read: {names} could not be read to the end"
    if not count and diagnosis.partly_judged:
        return f"no cause of trouble in what could be read: {diagnosis.partly_judged}"
    if not count:
        return f"no cause is worse than in {than}" if than else "nothing wrong was found"
    new = f" that {'is' if count == 1 else 'are'} new or worse than in {than}" if than else ""
    return f"{plural(count, 'cause')} of trouble{new}{read}, the worst first"


def clock(time_ns: int) -> str:
    """Return a time as `2026-11-24T13:04:05.678Z`."""
    return f"{rfc3339(time_ns)[:23]}Z" if time_ns else "-"


def since_text(cause: FoundCause) -> str:
    """Since when, for how long, how often."""
    span_ns = cause.until_ns - cause.since_ns
    lasted = f", for {duration(span_ns)}" if span_ns > 0 else ""
    often = plural(cause.times, "time", spec=",")
    return f"{clock(cause.since_ns)}{lasted}, {often}"


def cost_text(cost: Cost) -> str:
    """Return `12.3 s of waits added up, 40 errors`; empty if no cost is known. Waits of several clients or
    requests may overlap.
    """
    parts = []
    if cost.time_ns > 0:
        parts.append(f"{duration(cost.time_ns)} of waits added up")
    for count, noun, many in (
        (cost.errors, "error", ""),
        (cost.retries, "retry", "retries"),
        (cost.records, "record", ""),
    ):
        if count:
            parts.append(f"{plural(count, noun, many, spec=',')}")
    if cost.bytes:
        parts.append(byte_count(cost.bytes))
    return ", ".join(parts)


def certainty_text(cause: FoundCause) -> str:
    """Return how sure it is, and why not surer."""
    return f"{cause.certainty}: {cause.why_not_surer}" if cause.why_not_surer else str(cause.certainty)


def packets_text(packets: Packets, files: Sequence[str]) -> str:
    """`Produce v9, exchange 1f0c.../12, packets 4-6 of a.pcap`."""
    parts = [packets.what]
    if packets.connection:
        exchange = f"/{packets.exchange}" if packets.exchange >= 0 else ""
        parts.append(f"{'exchange' if exchange else 'connection'} {packets.connection}{exchange}")
    if packets.first_ref:
        span = span_text(packets.first_ref, packets.last_ref)
        index = ref_file(packets.first_ref)
        parts.append(f"{span} of {files[index]}" if index < len(files) else span)
    return ", ".join(part for part in parts if part)


def command_text(command: str, files: Sequence[str]) -> str:
    """Return the command that shows more, as it is typed."""
    named = " ".join(quote(path) for path in files[:_FILES_SHOWN])
    more = " ..." if len(files) > _FILES_SHOWN else ""
    return f"kdissect {command.replace('{files}', (named or '-') + more)}"
