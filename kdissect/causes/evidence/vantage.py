"""Lists of the analyzed parts, and of the parts that could not be analyzed: with every answer, also with
`nothing wrong`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from kdissect.causes.evidence.evidence import Evidence
from kdissect.model.wording import plural
from kdissect.report.quantities import byte_count, duration
from kdissect.session.info import ConnectionKind


def looked_at(seen: Evidence) -> Iterator[str]:
    """Yield how much of what."""
    gathering = seen.gathering
    total = gathering.traffic.total
    yield (
        f"{plural(total.exchanges, 'exchange', spec=',')} on"
        f" {plural(gathering.kafka_connections, 'Kafka connection')} in {duration(seen.span_ns)}"
    )
    counts = (
        (len(seen.groups), "group"),
        (len(seen.producers["producers"]), "idempotent producer"),
        (len(seen.producers["transactional_ids"]), "transactional id"),
        (len(seen.topics), "topic"),
    )
    named = [plural(count, name) for count, name in counts if count]
    if named:
        yield ", ".join(named)
    if seen.is_doubled:
        yield (
            "most clients have two addresses with the same traffic at the same times, as on both sides of a"
            " NAT: then counts are doubled"
        )


def nothing_judged(seen: Evidence) -> str:
    """Return why no part can be judged, as a headline, or an empty text if the capture has Kafka
    exchanges.
    """
    gathering = seen.gathering
    total = sum(gathering.kinds.values())
    if gathering.is_filtered and not gathering.traffic.total.exchanges:
        return "kdissect could not judge anything: no exchange of the capture matches the filter"
    if gathering.traffic.total.exchanges or gathering.kinds[ConnectionKind.KAFKA]:
        return ""
    if not total:
        return "kdissect could not judge anything: no TCP connection can be read in the capture"
    if gathering.kinds[ConnectionKind.NO_DATA] == total:
        if seen.lost_bytes[0]:
            return f"kdissect could not judge anything: the data of {plural(total, 'connection')} are missing"
        return f"kdissect could not judge anything: {plural(total, 'connection')}, all without data"
    if cut := gathering.kinds[ConnectionKind.CUT]:
        share = ("" if cut == total else f"{cut} of ") + plural(total, "connection")
        return f"kdissect could not judge anything: the snapshot length cut off the data of {share}"
    kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(gathering.kinds.items()))
    return f"kdissect could not judge anything: no Kafka was found in {plural(total, 'connection')} ({kinds})"


def partly_judged(seen: Evidence) -> str:
    """Return the connections that may be Kafka and could not be read, or an empty text."""
    kinds = seen.gathering.kinds
    total = plural(sum(kinds.values()), "connection")
    parts = []
    if tls := kinds[ConnectionKind.TLS]:
        parts.append(f"{tls} of {total} could not be decrypted")
    if cut := kinds[ConnectionKind.CUT]:
        parts.append(f"the snapshot length cut off the data of {cut} of {total}")
    return " and ".join(parts)


def not_seen(seen: Evidence) -> Iterator[str]:
    """Yield the gaps that may hide causes."""
    facts = seen.gathering.blind.facts()
    for kind, count in facts["opaque_connections"].items():
        yield from _opaque(kind, count, seen.gathering.blind.tls)
    if count := facts["connections_begun_before"]:
        yield f"{plural(count, 'connection')} began before the capture: their first messages are not known"
    if count := facts["connections_in_one_direction"]:
        yield f"{plural(count, 'connection')} captured in one direction only"
    if count := facts["bytes_not_captured"]:
        yield f"{byte_count(count)} of connections were not captured: exchanges are missing"
    if count := facts["bytes_cut_off"]:
        yield f"{byte_count(count)} of connections were cut off by the snapshot length"
    if flaw := seen.gathering.clock.flaw:
        yield flaw
    if count := facts["cut_frames"]:
        yield f"{plural(count, 'frame')} captured in part, by a snapshot length or for lost packets"
    if count := facts["exchanges_of_unknown_version"]:
        yield f"{plural(count, 'exchange')} of an API or version that is not known"
    yield from _refused_last(seen)
    if not seen.gathering.traffic.total.exchanges:
        yield "no Kafka exchange was found"


def _refused_last(seen: Evidence) -> Iterator[str]:
    """Yield refused batches that may come again after the end of the capture."""
    if count := seen.gathering.log.dropped.undecided(seen.last_ns):
        yield (
            f"{plural(count, 'batch', 'batches')} refused shortly before the end of the capture: whether the"
            " client sent the records again is not known"
        )


def _opaque(kind: str, count: int, tls: Counter[str]) -> Iterator[str]:
    """Yield connections of one kind that were not read, for TLS by the reason."""
    if kind == ConnectionKind.TLS:
        yield from _encrypted(tls)
    elif kind == ConnectionKind.CUT:
        yield f"{plural(count, 'connection')} not read: the snapshot length cut off their data"
    else:
        yield f"{plural(count, 'connection')} not read: {kind}"


def _encrypted(reasons: Counter[str]) -> Iterator[str]:
    """Yield connections over TLS that were not read, by the reason."""
    from kdissect.tls.tls_info import NO_KEY_LOG  # start-up: seldom needed

    for why, count in reasons.most_common():
        told = "without keys (--keylog) kdissect cannot decode it" if why == NO_KEY_LOG else why
        yield f"{plural(count, 'connection')} not read: tls: {told}"
