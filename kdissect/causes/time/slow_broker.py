"""`slow-broker`: a broker takes long to answer, again and again."""

from __future__ import annotations

from collections.abc import Iterator

from kdissect.causes.cause import SECOND_NS, Cause, clients_text, joined
from kdissect.causes.evidence.evidence import Evidence, parties_of
from kdissect.causes.ledger.symptom import Claim, SymptomKind
from kdissect.causes.time.late_answers import late_by_broker
from kdissect.model.cause import Cost, FoundCause, Party
from kdissect.model.wording import plural
from kdissect.report.quantities import duration
from kdissect.schema.protocol_messages import api_name

_LEAST = 5  # answers
_SUM_NS = 2 * SECOND_NS
_SHARE = 0.08  # of what it was asked of that kind
_DATA = frozenset({"Produce", "ListOffsets", "OffsetCommit", "OffsetFetch", "Heartbeat"})
_APART_NS = SECOND_NS  # from the first to the last: what is over at once is the start of something


class SlowBroker(Cause):
    """Late answers that the network, throttles and waits for records do not explain."""

    id = "slow-broker"
    title = "A broker answers slowly"
    help = (
        "See what the broker waits for: its disks, its processors, garbage collection, other replicas"
        " (acks=all), its"
        " request queue. The metrics RequestQueueTimeMs, LocalTimeMs and RemoteTimeMs tell them apart."
    )
    cites = (
        "org.apache.kafka.clients.producer.ProducerConfig#ACKS_CONFIG",
        "org.apache.kafka.clients.CommonClientConfigs#REQUEST_TIMEOUT_MS_CONFIG",
    )
    claims = (Claim(SymptomKind.LATE),)
    explains = ("unanswered-requests",)
    explains_by = frozenset({"client", "group", "topic", "id", "broker"})

    def find(self, seen: Evidence) -> Iterator[FoundCause]:
        """Each broker."""
        for (_, broker), late in late_by_broker(seen).items():
            at = late.seen
            if at.times < _LEAST or at.time_ns < _SUM_NS or at.span_ns < _APART_NS:
                continue
            if at.times < _SHARE * sum(
                tally.exchanges for key, tally in seen.tallies if key[3] == broker and key[0] in _DATA
            ):
                continue
            mean_ns = at.time_ns // at.times
            apis = sorted(late.apis, key=lambda key: -late.apis[key])
            names = joined([api_name(key) or str(key) for key in apis])
            yield self.found(
                f"Broker {broker} took {duration(mean_ns)} on the mean, {duration(at.longest_ns)} at most,"
                " for"
                f" {plural(at.times, 'answer', spec=',')} ({names}); the way and waits for records do not"
                " count.",
                clients_text(late.worst_clients),
                parties_of(late.worst_clients) | {Party("broker", broker)},
                at,
                Cost(time_ns=at.time_ns),
                "stats {files} --by broker,api --split",
                "from outside, a busy broker, its disks and its other replicas look the same",
            )
