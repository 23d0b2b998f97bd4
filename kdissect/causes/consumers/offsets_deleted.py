"""`offsets-deleted`: somebody deleted the committed offsets of a group, and its members find none."""

from __future__ import annotations

from collections.abc import Iterator

from kdissect.causes.cause import Cause, client_text, clients_text, quoted
from kdissect.causes.evidence.deleted_offsets import Missed
from kdissect.causes.evidence.evidence import Evidence, parties_of
from kdissect.causes.evidence.seen import Seen
from kdissect.model.cause import Cost, FoundCause, Party, Severity
from kdissect.model.wording import plural
from kdissect.schema.protocol_messages import api_name


class OffsetsDeleted(Cause):
    """Offsets that a group had committed, that a client deleted, and that a consumer asks for afterwards."""

    id = "offsets-deleted"
    title = "The committed offsets of a group were deleted"
    severity = Severity.DATA
    help = (
        "Ask who deleted the group or its offsets (kafka-consumer-groups.sh --delete, --delete-offsets)."
        " Members then begin where auto.offset.reset says: earliest reads all records again, latest skips"
        " records that no member has read. To begin elsewhere, use --reset-offsets instead."
    )
    cites = (
        "KIP-496 Motivation",
        "org.apache.kafka.clients.consumer.ConsumerConfig#AUTO_OFFSET_RESET_CONFIG",
    )
    explains = ("offset-rewound",)
    explains_by = frozenset({"group"})

    def find(self, seen: Evidence) -> Iterator[FoundCause]:
        """Yield each group and each request that deleted."""
        found: dict[tuple[str, object], list[Missed]] = {}
        for one in seen.gathering.deleted_offsets.missed:
            if seen.reads(one.client):  # a tool that lists the offsets reads no records
                found.setdefault((one.group, one.deletion.packets), []).append(one)
        for (group, _), missed in found.items():
            yield self._found(group, missed)

    def _found(self, group: str, missed: list[Missed]) -> FoundCause:
        at = Seen()
        at.add(missed[0].deletion.packets)
        for packets in dict.fromkeys(one.packets for one in missed):
            at.add(packets)
        at.times = 1
        deletion, topics = missed[0].deletion, list(dict.fromkeys(one.topic for one in missed))
        clients = list(dict.fromkeys(one.client for one in missed))
        partitions = {(one.topic, one.partition) for one in missed}
        return self.found(
            f"{client_text(deletion.client)} deleted offsets that group '{group}' had committed on"
            f" {quoted(topics)} ({api_name(deletion.api_key)}). {clients_text(clients)} then found none for"
            f" {plural(len(partitions), 'partition')}, and begins where its auto.offset.reset says.",
            f"readers of group '{group}'",
            parties_of([deletion.client, *clients])
            | {Party("group", group), *(Party("topic", name) for name in topics)},
            at,
            Cost(),
            "changes {files}",
        )
