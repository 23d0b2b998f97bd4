"""Laws about topics and their partitions."""

from __future__ import annotations

from kdissect.causes.cause import joined
from kdissect.causes.evidence.evidence import Evidence
from kdissect.causes.laws.law import named
from kdissect.history.api_keys import METADATA
from kdissect.model.cause import FoundCause
from kdissect.model.wording import plural


def partitions_were_there(cause: FoundCause, seen: Evidence) -> str:
    """Object if the partition was added in the capture, and is empty for that reason."""
    for topic in sorted(named(cause, "topic")):
        listed: dict[int, int] = {}
        for known in seen.facts("LeaderFact.learned"):
            fact = known.fact
            if fact.key[1] == topic and fact.evidence.api_key == METADATA:
                listed[fact.key[2]] = fact.evidence.answered_ns
        first_ns = min(listed.values(), default=0)
        added = sorted(number for number, at_ns in listed.items() if at_ns > first_ns)
        if added:
            numbers = joined([str(number) for number in added])
            count = plural(len(added), "partition")
            return f"Metadata listed {count} of topic '{topic}' ({numbers}) later than the others"
    return ""


def records_come(cause: FoundCause, seen: Evidence) -> str:
    """Object if nobody wrote after the consumer came: one that works off the records that were there does not
    fall behind.
    """
    topics = named(cause, "topic")
    writers = {
        (writer["client_id"] or "", writer["address"])
        for row in seen.topics
        if (row["topic"] or row["topic_id"]) in topics
        for writer in row["writers"]
    }
    wrote_ns = [
        tally.last_ns or 0 for key, tally in seen.background if key[0] == "Produce" and key[1:3] in writers
    ]
    if wrote_ns and max(wrote_ns) <= cause.since_ns:
        return "no producer wrote to its topics after it came"
    return ""
