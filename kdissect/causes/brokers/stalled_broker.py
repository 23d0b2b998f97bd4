"""`stalled-broker`: a broker sends nothing for a while, although requests wait for it."""

from __future__ import annotations

from collections.abc import Iterator

from kdissect.causes.brokers.effects_of_absence import EFFECTS, PARTIES
from kdissect.causes.cause import Cause, clients_text, joined, times
from kdissect.causes.evidence.evidence import Evidence, parties_of
from kdissect.causes.evidence.seen import Seen, packets_of
from kdissect.causes.ledger.symptom import CLIENT, MOVING_ERRORS, Claim, SymptomKind, errors
from kdissect.model.cause import Cost, FoundCause, Party
from kdissect.model.wording import plural
from kdissect.report.quantities import duration
from kdissect.stats.times.silences import Place
from kdissect.stats.times.stalls import Stall, by_brokers

_OTHERS = (
    "all of them stood still at one time: the network, or the machine that they or the capture share, may"
    " have done so instead"
)
_NOBODY = "no other host sent anything then: the network, or the host that captured, may have stood still"
_ONE = "one client or connection alone waited each time: a request that takes long looks the same"
_REPLICAS = (
    "all requests are Produces with acks=all or Fetches of replicas: others may have stood still instead"
)
_BUSY = "a broker whose requests all take long looks the same"
_LOST = "packets are missing from the capture: responses may be among them"


class StalledBroker(Cause):
    """Brokers that sent no response at all, by the time that this took."""

    id = "stalled-broker"
    title = "A broker stood still"
    help = (
        "See what stopped the whole broker at that time: garbage collection of its JVM, a suspended process"
        " or virtual machine, a disk that hangs, no processor for it. Its own log and metrics have a gap"
        " there."
    )
    cites = ("org.apache.kafka.clients.CommonClientConfigs#REQUEST_TIMEOUT_MS_CONFIG",)
    claims = (
        Claim(SymptomKind.LATE),
        Claim(SymptomKind.UNANSWERED, details={CLIENT}),
        errors(MOVING_ERRORS),
    )
    explains = EFFECTS
    explains_by = PARTIES

    def find(self, seen: Evidence) -> Iterator[FoundCause]:
        """Yield each broker, or brokers together if they stalled at one time."""
        for places, moments in by_brokers(seen.stalls):
            yield self._of(seen, places, moments)

    def _of(self, seen: Evidence, places: tuple[Place, ...], moments: list[list[Stall]]) -> FoundCause:
        found = [one for moment in moments for one in moment]
        at = Seen()
        for one in found:
            for wait in one.heads:
                at.add(packets_of(wait.evidence))
        at.first_ns, at.last_ns = found[0].from_ns, max(one.until_ns for one in found)
        at.times = len(moments)
        clients = list(dict.fromkeys(client for one in found for client in one.clients))
        waits = {wait for one in found for wait in one.waits}
        longest_ns = max(one.took_ns for one in found)
        brokers = [broker for _, broker in places]
        took = (
            f"for {duration(longest_ns)}"
            if at.times == 1
            else f"{times(at.times)}, for {duration(longest_ns)} at most"
        )
        names = f"Broker {brokers[0]}" if len(brokers) == 1 else f"Brokers {joined(brokers)}"
        them = "it" if len(brokers) == 1 else "they"
        return self.found(
            f"{names} stood still {took}: {them} sent nothing while {plural(len(waits), 'open request')} of"
            f" {plural(len(clients), 'client')} waited.",
            clients_text(clients),
            parties_of(clients) | {Party("broker", broker) for broker in brokers},
            at,
            Cost(time_ns=sum(one.waited_ns for one in found)),
            "stats {files} --by broker,api --split",
            _not_surer(seen, places, found),
        )


def _not_surer(seen: Evidence, places: tuple[Place, ...], found: list[Stall]) -> str:
    """Return why it is not sure."""
    if len(places) > 1:
        return _OTHERS
    if any(not one.is_seen for one in found):
        return _NOBODY
    if all(one.is_alone or len(one.clients) == 1 for one in found):
        return _ONE
    if all(one.may_wait_for_replicas for one in found):
        return _REPLICAS
    return _LOST if seen.gathering.blind.facts()["bytes_not_captured"] else _BUSY
