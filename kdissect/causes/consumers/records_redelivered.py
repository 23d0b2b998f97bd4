"""`records-redelivered`: a share group receives the same records again and again."""

from __future__ import annotations

from collections.abc import Iterator

from kdissect.causes.cause import Cause, clients_text, times
from kdissect.causes.evidence.evidence import Evidence, parties_of
from kdissect.causes.evidence.exchange_log import RedeliveredKey
from kdissect.model.cause import Cost, FoundCause, Party, Severity
from kdissect.model.wording import plural
from kdissect.session.identities import plain_name
from kdissect.stats.by_group.delivery_rows import delivery_ends

_ENDS = {
    "expired": ("The lock of {} expired.", "delivery", "deliveries"),
    "released": ("Members released {}.", "delivery", "deliveries"),
    "returned": ("A share session ended before {}.", "acknowledgement", "acknowledgements"),
    "given_up": ("After the last delivery, {} came no more.", "record", "records"),
}


class RecordsRedelivered(Cause):
    """Records that were delivered three times or more."""

    id = "records-redelivered"
    title = "A share group receives records again and again"
    severity = Severity.DATA
    help = (
        "See why no member accepts these records: it releases them (AcknowledgeType.RELEASE), fails at them,"
        " or works longer than share.record.lock.duration.ms. After group.share.delivery.count.limit"
        " deliveries (5 unless configured) the broker archives a record: nobody processes it."
    )
    cites = ("KIP-932 Motivation", "KIP-932 Public Interfaces")

    def find(self, seen: Evidence) -> Iterator[FoundCause]:
        """Each group and topic."""
        for key, found in seen.gathering.log.redelivered.items():
            topic, clients = plain_name(key.topic), list(found.clients)
            group = {Party("group", key.group)} if key.group else set()
            who = f"Share group '{key.group}'" if key.group else "A share group"
            # Without the third delivery of a record its count is not known.
            what = plural(found.records, "record") if found.records else "records"
            yield self.found(
                f"{who} received {what} of topic '{topic}'"
                f" three times or more, {times(found.most)} at most: no member accepted them before."
                f"{_ends(seen, key)}",
                clients_text(clients),
                parties_of(clients) | {Party("broker", key.broker), Party("topic", topic)} | group,
                found.seen,
                Cost(retries=found.seen.times, records=found.records),
                f"groups {{files}} --group '{key.group}'" if key.group else "groups {files}",
            )


def _ends(seen: Evidence, key: RedeliveredKey) -> str:
    """Return how deliveries to the group ended without being accepted; empty if that is not known."""
    groups = seen.gathering.groups
    groups.catch_up()
    ends = delivery_ends(groups, (key.scope, key.group), key.topic)
    return "".join(
        f" {text.format(plural(ends[name], *nouns))}" for name, (text, *nouns) in _ENDS.items() if ends[name]
    )
