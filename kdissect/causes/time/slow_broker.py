"""`slow-broker`: a broker takes long to answer, again and again."""

from __future__ import annotations

from collections.abc import Iterator

from kdissect.causes.cause import SECOND_NS, Cause, client_text, clients_text, joined, times
from kdissect.causes.evidence.evidence import Evidence, parties_of
from kdissect.causes.evidence.seen import Seen
from kdissect.causes.ledger.symptom import Claim, SymptomKind
from kdissect.causes.time.late_answers import PROMPT, late_by_broker, phases_help, phases_text
from kdissect.model.cause import Cost, FoundCause, Packets, Party
from kdissect.model.wording import plural
from kdissect.report.quantities import duration
from kdissect.schema.protocol_messages import api_name
from kdissect.stats.client import Client

LEAST = 5  # answers
SUM_NS = 2 * SECOND_NS  # that pass while at least one of them is at the broker
_SHARE = 0.08  # of the requests that it received
_ASKED = frozenset(filter(None, map(api_name, PROMPT)))
_TIME_SHARE = 0.1  # from the first of them to the last: less is now and then
_WINDOWS = 5  # that a broker closes
_OUTSIDE = "from outside, a busy broker, its disks and its other replicas look the same"
_BYTES = 1_000_000  # for each: who takes much has no room for a moment


class SlowBroker(Cause):
    """Late answers that the network, throttles and waits for records do not explain."""

    id = "slow-broker"
    title = "A broker answers slowly"
    help = (
        "See what the broker waits for: its disks, its processors, garbage collection, other replicas"
        " (acks=all), its"
        " request queue. The metrics RequestQueueTimeMs, LocalTimeMs and RemoteTimeMs distinguish them."
    )
    cites = (
        "org.apache.kafka.clients.producer.ProducerConfig#ACKS_CONFIG",
        "org.apache.kafka.clients.CommonClientConfigs#REQUEST_TIMEOUT_MS_CONFIG",
    )
    claims = (Claim(SymptomKind.LATE),)
    explains = ("unanswered-requests",)
    explains_by = frozenset({"client", "group", "topic", "id", "broker"})

    def find(self, seen: Evidence) -> Iterator[FoundCause]:
        """Yield each broker."""
        for (_, broker), late in late_by_broker(seen).items():
            at = late.seen
            filled_ns, _, span_ns = at.filled_ns
            if at.times < LEAST or filled_ns < max(SUM_NS, _TIME_SHARE * span_ns):
                continue
            if at.times < _SHARE * sum(
                tally.exchanges for key, tally in seen.background if key[3] == broker and key[0] in _ASKED
            ):
                continue
            mean_ns = at.time_ns // at.times
            apis = sorted(late.apis, key=lambda key: -late.apis[key])
            names = joined([api_name(key) or str(key) for key in apis])
            logged = at.phases
            phases = "" if logged is None else phases_text(logged)
            found = self.found(
                f"Broker {broker} took {duration(mean_ns)} on the mean, {duration(at.longest_ns)} at most,"
                f" for {plural(at.times, 'answer', spec=',')} ({names}). The network, time in line and waits"
                f" for records do not count.{phases}",
                clients_text(late.worst_clients),
                parties_of(late.worst_clients) | {Party("broker", broker)},
                at,
                Cost(time_ns=at.time_ns),
                "stats {files} --by broker,api --split",
                _OUTSIDE
                if logged is None
                else "a log has the phase in which the time passed, not the reason",
            )
            yield found if logged is None else found._replace(help=phases_help(logged))


class BrokerDoesNotRead(Cause):
    """Connections on which the broker had no room left."""

    id = SlowBroker.id
    title = "A broker does not read what it is sent"
    help = (
        "See whether a quota holds the producer back: with acks=0 no response says so, and the broker stops"
        " reading. Else see what keeps the broker's request threads busy: its disks, its request queue."
    )
    cites = ("KIP-219 Motivation", "RFC 9293 section 3.8.6")
    claims = SlowBroker.claims
    explains = ("unanswered-requests", "lag-slow-consumer")
    explains_by = frozenset({"client"})

    def find(self, seen: Evidence) -> Iterator[FoundCause]:
        """Yield each client and broker."""
        for key, link in seen.gathering.links.items():
            count = link.zero_windows_of_broker
            if count < max(_WINDOWS, link.bytes // _BYTES):
                continue
            at = Seen()
            start_ns, connection = link.starts[0] if link.starts else (seen.first_ns, link.first_id)
            at.add(Packets(connection, -1, f"{key.host} > {key.broker}", start_ns))
            at.times, at.last_ns = count, max(at.last_ns, link.last_ns)
            client = Client(None, key.client_id, None, key.host)
            yield self.found(
                f"Broker {key.broker} closed its TCP window {times(count)} on connections of"
                f" {client_text(client)}: it did not read what it was sent, and the client had to wait.",
                client_text(client),
                parties_of([client]) | {Party("broker", key.broker)},
                at,
                Cost(retries=count),
                "connections {files} -e client,broker,zero_windows",
                "a busy broker and one that holds the client back by a quota look the same",
            )
