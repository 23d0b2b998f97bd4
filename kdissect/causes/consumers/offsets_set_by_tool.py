"""`offsets-set-by-tool`: somebody outside a group moved its offsets forward."""

from __future__ import annotations

from collections.abc import Iterator

from kdissect.causes.cause import Cause, client_text, quoted
from kdissect.causes.evidence.evidence import Evidence, parties_of
from kdissect.causes.evidence.rewinds import Moved
from kdissect.causes.evidence.seen import Seen
from kdissect.model.cause import Cost, FoundCause, Party, Severity


class OffsetsSetByTool(Cause):
    """Offsets that a client moved forward which neither is a member of the group nor fetches records."""

    id = "offsets-set-by-tool"
    title = "A tool set the offsets of a group"
    severity = Severity.DATA
    help = (
        "Ask who reset the offsets (kafka-consumer-groups.sh --reset-offsets, or"
        " Admin.alterConsumerGroupOffsets). The group does not read the records in between unless somebody"
        " sets the offsets back."
    )
    cites = ("KIP-122 Motivation",)

    def find(self, seen: Evidence) -> Iterator[FoundCause]:
        """Yield each group and client."""
        found: dict[tuple[str, str | None, str], list[Moved]] = {}
        for one in seen.gathering.rewinds.set_from_outside:
            # A consumer without a subscription sets its own offsets.
            if not seen.reads(one.client) and one.skipped > 0:
                found.setdefault((one.group, one.client.client_id, one.client.address), []).append(one)
        for (group, _, _), sets in found.items():
            yield self._found(group, sets)

    def _found(self, group: str, sets: list[Moved]) -> FoundCause:
        at = Seen()
        for one in sets:
            at.add(one.packets)
        client, topics = sets[0].client, list(dict.fromkeys(one.topic for one in sets))
        skipped = sum(one.skipped for one in sets)
        return self.found(
            f"{client_text(client)}, which does not fetch, moved offsets of group '{group}' on"
            f" {quoted(topics)} forward by {skipped:,} in all: its requests name no member of the group.",
            f"readers of group '{group}'",
            parties_of([client]) | {Party("group", group), *(Party("topic", name) for name in topics)},
            at,
            Cost(records=skipped),
            "changes {files}",
        )
