"""`offset-not-passed`: a consumer fetches one offset again and again although responses bring records, on one
connection, or each time after it joined its group again.
"""

from __future__ import annotations

from collections.abc import Hashable

from kdissect.causes.cause import joined, times
from kdissect.causes.general.general_cause import GeneralCause, Together
from kdissect.causes.ledger.symptom import Symptom, SymptomKind
from kdissect.model.cause import Cost, Severity
from kdissect.report.quantities import duration


class OffsetNotPassed(GeneralCause):
    """Fetches of one offset in a row on one connection, each after a response with records, and members that
    begin at one committed offset again and again.
    """

    id = "offset-not-passed"
    title = "A consumer does not get past an offset"
    severity = Severity.STOPS
    kind = SymptomKind.REFETCHED
    explains = ("lag-slow-consumer", "endless-rebalances", "flapping-member", "connection-churn")
    help = (
        "See the client's log for the records at this offset: a wrong checksum, a codec that it lacks, a"
        " batch larger than its fetch limits. Upgrade or configure the client. If it joins its group again"
        " each time, the program may fail at a record: have it put such a record aside (a dead letter topic),"
        " and commit what it has done. The last resort is to set"
        " the group's offset after them (kafka-consumer-groups.sh --reset-offsets), which skips records."
    )
    cites = (
        "KIP-74 Motivation",
        "KIP-110 Compatibility, Deprecation, and Migration Plan",
        "org.apache.kafka.clients.consumer.ConsumerConfig#CHECK_CRCS_CONFIG",
        "org.apache.kafka.clients.consumer.ConsumerConfig#MAX_PARTITION_FETCH_BYTES_CONFIG",
    )

    def alike(self, symptom: Symptom) -> Hashable:
        """Return partitions of one topic, for the same reason."""
        return symptom.client, symptom.topic, symptom.message

    def sentence(self, found: Together) -> str:
        """Return the stuck clients and offsets, and the reason as far as the bytes show it."""
        places = joined(list(dict.fromkeys(one.detail for one in found.symptoms)))
        why = f" {found.first.message[:1].upper()}{found.first.message[1:]}." if found.first.message else ""
        went_on = " It got past them later." if found.goes_on else ""
        if found.first.group:
            return (
                f"{found.who} began again to read topic '{found.first.topic}' at the same place ({places}),"
                f" {times(found.seen.times)} within {duration(found.seen.span_ns)}, and received records that"
                f" it had before: each time it joined group '{found.first.group}', {found.first.message}."
                f"{went_on}"
            )
        return (
            f"{found.who} fetched the same records of topic '{found.first.topic}' ({places}) again and"
            f" again: {times(found.seen.times)} within {duration(found.seen.span_ns)}, each time after a"
            f" response that held them.{why}{went_on}"
        )

    def not_surer(self, found: Together) -> str:
        """Return the doubt: the packets show that the client asks again, not what it thinks of the
        records.
        """
        if found.first.group:
            return "why the program does not commit the records, only its log says"
        return (
            "why the client does not take the records, or whether it seeks back on purpose, only its log says"
        )

    def cost(self, found: Together) -> Cost:
        """Return the time, and what was sent in vain."""
        return Cost(
            time_ns=found.seen.time_ns,
            retries=found.seen.times,
            bytes=sum(one.total for one in found.symptoms),
        )

    def command(self, found: Together) -> str:
        """Return the Fetches of the topic, or the story of the group."""
        if found.first.group:
            return f"groups {{files}} --group '{found.first.group}'"
        return "inspect {files} --bodies -Y 'api == Fetch'"
