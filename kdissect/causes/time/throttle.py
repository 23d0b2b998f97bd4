"""Common base of causes about quotas: throttle times in the responses of some APIs."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import ClassVar

from kdissect.causes.cause import Cause, client_text, times
from kdissect.causes.evidence.evidence import Evidence, parties_of
from kdissect.causes.evidence.seen import Seen, packets_of
from kdissect.causes.ledger.symptom import Claim, SymptomKind
from kdissect.model.cause import Cost, FoundCause, Party
from kdissect.report.quantities import duration
from kdissect.stats.client import Client

PRODUCE, FETCH = 0, 1
CONTROLLER = frozenset({19, 20, 37})  # CreateTopics, DeleteTopics, CreatePartitions
HEARTBEAT = 12
# The longest throttle of the request quota: one window, a second unless configured
# (ClientRequestQuotaManager#maxThrottleTimeMs). Quotas of bytes have no limit.
_WINDOW_MS = 1_000
_LIGHT = 300  # bytes of a question and its answer, on the mean
CITES = ("KIP-219 Motivation",)


class Throttled(Cause):
    """Clients that a broker throttled, in responses of APIs that `concerns` accepts. `what` they did too
    much.

    `quota` is the name of the quota that holds them back.
    """

    what: ClassVar[str]
    quota: ClassVar[str]
    cites = CITES
    claims = (Claim(SymptomKind.LATE), Claim(SymptomKind.UNANSWERED))
    may_be_missing_packets = False
    # A broker does not read requests of a throttled client: they pile up, and clients abandon them.
    explains = ("lag-slow-consumer", "unanswered-requests", "duplicate-writes", "slow-broker")

    @abstractmethod
    def concerns(self, api_key: int) -> bool:
        """Return whether responses of an API may report this quota's throttle."""

    def find(self, seen: Evidence) -> Iterator[FoundCause]:
        """Yield each client."""
        found: dict[Client, tuple[Seen, dict[str, None], set[str]]] = {}
        facts = seen.facts("ThrottleFact.throttled")
        by_requests = {client for fact, client, *_ in facts if is_of_requests(fact.evidence.api_key or 0)}
        longer = {client for fact, client, *_ in facts if fact.seen > _WINDOW_MS}
        by_requests |= {
            client for _, client, *_ in facts if client is not None and _is_light(seen, client)
        } - longer
        for fact, client, broker, scope in facts:
            api_key = fact.evidence.api_key or 0
            if client in by_requests and api_key not in CONTROLLER:
                api_key = HEARTBEAT  # one quota holds back all its requests
            if client is not None and self.concerns(api_key):
                at, brokers, scopes = found.setdefault(client, (Seen(), {}, set()))
                at.add(packets_of(fact.evidence), fact.seen * 1_000_000)
                brokers[broker] = None
                scopes.add(scope)
        for client, (at, brokers, scopes) in found.items():
            yield self.found(
                f"{client_text(client)} {self.what}: brokers asked it {times(at.times)} to wait,"
                f" {duration(at.time_ns)} in all,"
                f" {duration(at.longest_ns)} at most.{self._which(seen, client, scopes, at.last_ns)}",
                client_text(client),
                parties_of([client]) | {Party("broker", name) for name in brokers},
                at,
                Cost(time_ns=at.time_ns),
                "stats {files} --by client_id,api --sort throttle",
            )

    def _which(self, seen: Evidence, client: Client, scopes: set[str], at_ns: int) -> str:
        """Return the quota that a client had at a time, as a sentence, or an empty text if the capture shows
        none.
        """
        apart = seen.gathering.topics.apart
        clusters = {apart(scope) for scope in scopes}
        found = seen.gathering.log.quotas.of(
            client, self.quota, lambda scope: apart(scope) in clusters, at_ns
        )
        return "" if found is None else f" The quota {found.text} was set by {client_text(found.by)}."


def is_of_requests(api_key: int) -> bool:
    """Return whether a throttle in responses of an API can only come from the request quota."""
    return api_key not in (PRODUCE, FETCH) and api_key not in CONTROLLER


def _is_light(seen: Evidence, client: Client) -> bool:
    """Return whether a client moves so little with each request that no quota of bytes can hold it back."""
    tallies = [
        tally
        for key, tally in seen.background
        if key[0] in ("Produce", "Fetch") and key[1:3] == (client.client_id or "", client.address)
    ]
    exchanges = sum(tally.exchanges for tally in tallies)
    size = sum(tally.bytes or 0 for tally in tallies)
    return exchanges > 0 and not any(tally.unsized for tally in tallies) and size < _LIGHT * exchanges
