"""`wrong-cluster`: a client reaches another cluster, or another node, than it expects."""

from __future__ import annotations

from collections.abc import Hashable

from kdissect.causes.cause import ErrorCause, clients_text, joined, times
from kdissect.causes.evidence.evidence import Errors
from kdissect.causes.evidence.exchange_log import ErrorKey
from kdissect.history.api_keys import API_VERSIONS
from kdissect.model.cause import Severity

_REBOOTSTRAP_REQUIRED = 129  # org.apache.kafka.common.protocol.Errors


class WrongCluster(ErrorCause):
    """ApiVersions refused with REBOOTSTRAP_REQUIRED: it names the cluster and node that a client expects."""

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
        """A broker."""
        return key.broker

    def sentence(self, errors: Errors) -> str:
        """Who is sent where."""
        return (
            f"{joined(errors.brokers)} refused {times(errors.seen.times)} to serve"
            f" {clients_text(errors.clients)} (REBOOTSTRAP_REQUIRED): it is of another cluster, or another"
            " node, than the client expects at this address."
        )
