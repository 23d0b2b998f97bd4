"""`cluster-denied`: a client may not do what it asks of the cluster, or use its transactional id."""

from __future__ import annotations

from collections.abc import Hashable

from kdissect.causes.cause import ErrorCause, clients_text, quoted, times
from kdissect.causes.evidence.evidence import Errors
from kdissect.causes.evidence.exchange_log import ErrorKey
from kdissect.model.cause import Severity
from kdissect.schema.protocol_messages import api_name

_DENIED = frozenset({31, 53, 65})  # cluster, transactional id, delegation token (Errors)


class ClusterDenied(ErrorCause):
    """Errors of authorization about anything but topics and groups."""

    id = "cluster-denied"
    title = "A client may not do what it asks"
    severity = Severity.STOPS
    codes = _DENIED
    help = (
        "Give the user the operation on the cluster or the transactional id (kafka-acls.sh --add --cluster, "
        "--transactional-id)."
    )
    cites = ("org.apache.kafka.common.protocol.Errors#CLUSTER_AUTHORIZATION_FAILED", "KIP-290 Motivation")

    def alike(self, key: ErrorKey) -> Hashable:
        """Return all that a client is refused."""
        return key.client

    def sentence(self, errors: Errors) -> str:
        """Return who, and what."""
        apis = dict.fromkeys(api_name(key.api_key) or str(key.api_key) for key in errors.keys)
        ids = errors.names("txn")
        what = f"transactional id {quoted(ids)}" if ids else f"the cluster: {', '.join(list(apis)[:4])}"
        return (
            f"{clients_text(errors.clients)} was refused {times(errors.seen.times)}: it may not use {what}."
        )
