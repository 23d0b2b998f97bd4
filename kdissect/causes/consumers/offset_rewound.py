"""`offset-rewound`: a group's committed offset went back, and records are read again."""

from __future__ import annotations

from collections.abc import Iterator

from kdissect.causes.cause import Cause, clients_text, quoted, times
from kdissect.causes.evidence.evidence import Evidence, parties_of
from kdissect.causes.evidence.seen import Seen
from kdissect.model.cause import Cost, FoundCause, Party, Severity
from kdissect.model.wording import plural
from kdissect.stats.client import Client

_OUTSIDE = (
    " The requests name no member of the group: a tool sends such requests, or a consumer without a group."
)


class OffsetRewound(Cause):
    """Commits that are lower than the one before."""

    id = "offset-rewound"
    title = "A group's offset was set back"
    severity = Severity.DATA
    help = (
        "Somebody reset the offsets (kafka-consumer-groups.sh --reset-offsets), a program seeks, or a"
        " member committed"
        " late for partitions it had lost. What lies between is read and worked on again."
    )
    cites = (
        "KIP-289 Motivation",
        "org.apache.kafka.clients.consumer.ConsumerConfig#AUTO_OFFSET_RESET_CONFIG",
    )

    def find(self, seen: Evidence) -> Iterator[FoundCause]:
        """Yield each group."""
        outside = {one.packets for one in seen.gathering.rewinds.set_from_outside}
        found: dict[str, tuple[Seen, dict[Client, None], dict[str, None], int, bool]] = {}
        for back in seen.gathering.rewinds.found:
            at, clients, topics, records, is_outside = found.get(back.group, (Seen(), {}, {}, 0, True))
            at.add(back.packets)
            clients[back.client] = topics[back.topic] = None
            is_outside &= back.packets in outside
            found[back.group] = at, clients, topics, records + back.before - back.after, is_outside
        for group, (at, clients, topics, records, is_outside) in found.items():
            yield self.found(
                f"The offset of group '{group}' on {quoted(topics)} was set back {times(at.times)} by"
                f" {clients_text(clients)}, by {plural(records, 'record', spec=',')} in all."
                + (_OUTSIDE if is_outside else ""),
                f"readers of group '{group}'",
                parties_of(list(clients))
                | {Party("group", group), *(Party("topic", name) for name in topics)},
                at,
                Cost(records=records),
                "offsets {files} --table commits",
            )
