"""`wrong-cluster`: a client reaches another cluster, or another node, than it expects."""

from __future__ import annotations

from collections.abc import Hashable, Iterator

from kdissect.causes.cause import ErrorCause, clients_text, joined, times
from kdissect.causes.evidence.evidence import Errors, Evidence, parties_of
from kdissect.causes.evidence.exchange_log import ErrorKey
from kdissect.causes.evidence.seen import Seen
from kdissect.history.api_keys import API_VERSIONS
from kdissect.model.cause import Cost, FoundCause, Packets, Party, Severity
from kdissect.session.info import ConnectionInfo
from kdissect.stats.client import client_named

_REBOOTSTRAP_REQUIRED = 129  # org.apache.kafka.common.protocol.Errors


class WrongCluster(ErrorCause):
    """Addresses that one cluster advertises and that are in another one.

    A client that names the cluster and node that it expects is refused (ApiVersions, REBOOTSTRAP_REQUIRED).
    Others work with the wrong cluster.
    """

    id = "wrong-cluster"
    title = "A client is sent to another cluster"
    severity = Severity.STOPS
    codes = frozenset({_REBOOTSTRAP_REQUIRED})
    apis = frozenset({API_VERSIONS})
    help = (
        "See who advertised this address: advertised.listeners of each broker must lead to that broker, and"
        " bootstrap.servers to brokers of one cluster."
    )
    cites = (
        "org.apache.kafka.common.protocol.Errors#REBOOTSTRAP_REQUIRED",
        "org.apache.kafka.clients.CommonClientConfigs#BOOTSTRAP_SERVERS_CONFIG",
    )
    explains = ("broker-closes", "connection-churn", "metadata-storm")

    def alike(self, key: ErrorKey) -> Hashable:
        """Return a broker."""
        return key.broker

    def sentence(self, errors: Errors) -> str:
        """Return the client, and the broker to which it is sent."""
        return (
            f"{joined(errors.brokers)} refused {times(errors.seen.times)} to serve"
            f" {clients_text(errors.clients)} (REBOOTSTRAP_REQUIRED): it is of another cluster, or another"
            " node, than the client expects at this address."
        )

    def find(self, seen: Evidence) -> Iterator[FoundCause]:
        """Yield refused clients, and clients that work with the other cluster."""
        refused = set[tuple[str | None, str]]()
        for errors in seen.errors(self.codes, self.apis, self.alike):
            refused.update((one.client_id, one.address) for one in errors.clients)
        yield from super().find(seen)
        found: dict[tuple[str, str, str], list[ConnectionInfo]] = {}
        for one in seen.gathering.mixups.misled():
            if (one.info.client_id, one.info.client.host) not in refused:
                key = one.advertised_by, one.leads_to, one.info.broker_text
                found.setdefault(key, []).append(one.info)
        for (advertised_by, leads_to, broker), infos in found.items():
            clients = list(dict.fromkeys(client_named(info, info.client_id) for info in infos))
            at = Seen()
            for info in sorted(infos, key=_start_ns):
                where = f"{info.client_text} > {info.broker_text}"
                at.add(Packets(info.id, -1, where, info.start_ns), info.end_ns - info.start_ns)
            yield self.found(
                f"Brokers of cluster '{advertised_by}' advertise {broker}, where a broker of cluster"
                f" '{leads_to}' answers: {clients_text(clients)} went there from '{advertised_by}', and what"
                f" is written or read there is in '{leads_to}'.",
                clients_text(clients),
                parties_of(clients) | {Party("broker", broker)},
                at,
                Cost(),
                "connections {files} -e client_id,broker,cluster",
            )


def _start_ns(info: ConnectionInfo) -> int:
    return info.start_ns
