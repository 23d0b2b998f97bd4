"""`hanging-transaction`: a transaction that does not end holds back everybody who reads committed records."""

from __future__ import annotations

from collections.abc import Iterator

from kdissect.causes.cause import SECOND_NS, Cause, clients_text
from kdissect.causes.evidence.evidence import Evidence, Row, parties_of
from kdissect.engine.times import ns_of
from kdissect.model.cause import Cost, FoundCause, Party, Severity
from kdissect.model.wording import plural
from kdissect.report.quantities import duration
from kdissect.session.identities import plain_name

_HELD_NS = 3 * SECOND_NS  # a shorter transaction does not delay readers noticeably


class HangingTransaction(Cause):
    """A last stable offset that stands still, while its partition goes on."""

    id = "hanging-transaction"
    title = "A transaction does not end"
    severity = Severity.STOPS
    help = (
        "See why its producer does not commit or abort. transaction.timeout.ms has the coordinator abort"
        " it. If no coordinator"
        " knows it any more, find and end it with kafka-transactions.sh find-hanging and abort."
    )
    cites = (
        "KIP-664 Motivation",
        "KIP-98 Motivation",
        "org.apache.kafka.clients.producer.ProducerConfig#TRANSACTION_TIMEOUT_CONFIG",
    )
    explains = ("lag-slow-consumer", "stuck-consumer", "spinning-consumer")

    def find(self, seen: Evidence) -> Iterator[FoundCause]:
        """Yield each partition whose readers wait."""
        for key, held in seen.gathering.log.held.items():
            at = held.seen
            if at.span_ns < _HELD_NS:
                continue
            topic = plain_name(key.topic)
            owners = _open_at(seen, f"{topic}-{key.partition}", at.last_ns)
            if (
                owners
                and seen.gathering.topics.is_former(key.scope, key.topic)
                and not any(one["ended"] is None for row in owners for one in row["transactions"])
            ):
                continue  # its readers waited until the topic was deleted, and it ended later
            names = ", ".join(f"'{row['transactional_id']}'" for row in owners)
            whose = f"of transactional id {names} " if owners else ""
            readers = clients_text(list(held.readers)) if held.readers else "whoever reads committed records"
            parties = {Party("topic", topic), *(Party("id", row["transactional_id"]) for row in owners)}
            clients = {Party("client", name) for row in owners for name in row["client_ids"]}
            yield self.found(
                f"A transaction {whose}has been open on {topic}-{key.partition} for"
                f" {duration(at.span_ns)} or more:"
                f" {readers} cannot read beyond offset {key.offset},"
                f" {plural(held.behind, 'record', spec=',')} wait.",
                readers,
                parties | clients | parties_of(list(held.readers)),
                at,
                Cost(time_ns=at.span_ns * max(len(held.readers), 1), records=held.behind),
                "offsets {files} --table held",
                "" if owners else "whose transaction it is does not show",
            )


def _open_at(seen: Evidence, partition: str, time_ns: int) -> list[Row]:
    """Return the transactional ids with a transaction on a partition that was open then."""
    found = []
    for row in seen.producers["transactional_ids"]:
        for one in row["transactions"]:
            began = ns_of(one["began"]) if one["began"] else 0
            ended = ns_of(one["ended"]) if one["ended"] else time_ns + 1
            if partition in one["partitions"] and began <= time_ns < ended:
                found.append(row)
                break
    return found
