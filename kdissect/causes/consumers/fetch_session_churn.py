"""`fetch-session-churn`: fetch sessions are rebuilt again and again, or the broker has no capacity
for them.
"""

from __future__ import annotations

from collections.abc import Iterator

from kdissect.causes.cause import Cause, client_text, joined
from kdissect.causes.evidence.evidence import Evidence, parties_of
from kdissect.causes.evidence.seen import Seen, packets_of
from kdissect.causes.ledger.symptom import errors
from kdissect.model.cause import Cost, FoundCause, Packets, Party, Severity
from kdissect.model.wording import plural
from kdissect.stats.by_fetcher.fetcher import NOTHING_SEEN
from kdissect.stats.client import Client

LEAST = 5
_FACTS = (
    "FetchFact.evicted",
    "FetchFact.epoch_refused",
    "FetchFact.not_created",
    "FetchFact.topic_ids_refused",
    "FetchFact.created",
)
# Reasons for a new session that are not a fault of the broker: the client came back, ended the session, or
# asks for another one with each Fetch, as @platformatic/kafka 1.35.0 does (captures/healthy).
_ROUTINE = frozenset({"new connection", "closed by the client", "no partitions left", NOTHING_SEEN})


class FetchSessionChurn(Cause):
    """Sessions that brokers threw out, or did not give."""

    id = "fetch-session-churn"
    title = "Fetch sessions do not last"
    severity = Severity.WASTES
    help = (
        "Raise max.incremental.fetch.session.cache.slots of the brokers above the number of consumers and"
        " replica"
        " fetchers. Without a session each Fetch names all partitions."
    )
    cites = ("KIP-227 Motivation",)
    claims = (errors({70, 71, 106}),)  # FETCH_SESSION_ID_NOT_FOUND ... (Errors)
    explains = ("spinning-consumer",)

    def find(self, seen: Evidence) -> Iterator[FoundCause]:
        """Yield each broker."""
        lost: dict[str, int] = {}
        clients: dict[str, dict[Client, None]] = {}
        for row in seen.fetchers:
            rebuilt = sum(count for why, count in row["rebuilt"].items() if why not in _ROUTINE)
            count = max(rebuilt, sum(row["refused"].values())) + row["not_created"]
            if count and not row["follower"]:
                lost[row["broker"]] = lost.get(row["broker"], 0) + count
                client = Client(row["principal"], row["client_id"], row["software"], row["address"])
                clients.setdefault(row["broker"], {})[client] = None
        for broker, count in lost.items():
            if count < LEAST:
                continue
            at = Seen()
            for fact, _, where, _ in seen.facts(*_FACTS):
                if where == broker:
                    at.add(packets_of(fact.evidence))
            if not at.times:
                at.add(Packets("", -1, f"broker {broker}", seen.first_ns))
            at.times = count
            who = list(clients[broker])
            yield self.found(
                f"Broker {broker} dropped or refused fetch sessions {plural(count, 'time')}:"
                f" {joined([client_text(one) for one in who])} had to name all partitions again each time.",
                joined([client_text(one) for one in who]),
                parties_of(who) | {Party("broker", broker)},
                at,
                Cost(retries=count),
                "fetch-sessions {files}",
            )
