"""`share-lock-expired`: a member of a share group acknowledges records that it holds no lock of any more."""

from __future__ import annotations

from collections.abc import Hashable

from kdissect.causes.cause import ErrorCause, clients_text, quoted
from kdissect.causes.evidence.evidence import Errors, Evidence
from kdissect.causes.evidence.exchange_log import ErrorKey
from kdissect.history.api_keys import SHARE_ACKNOWLEDGE, SHARE_FETCH
from kdissect.model.cause import Severity
from kdissect.model.wording import plural

_INVALID_RECORD_STATE = 121  # org.apache.kafka.common.protocol.Errors


class ShareLockExpired(ErrorCause):
    """Acknowledgements that the broker refuses: the member does not hold the records."""

    id = "share-lock-expired"
    title = "A share consumer acknowledges records that it does not hold"
    severity = Severity.DATA
    codes = frozenset({_INVALID_RECORD_STATE})
    apis = frozenset({SHARE_FETCH, SHARE_ACKNOWLEDGE})
    help = (
        "If the lock expired, work less on each poll (max.poll.records), raise"
        " share.record.lock.duration.ms of the group, or renew the lock (AcknowledgeType.RENEW). What is"
        " not acknowledged in time is delivered again, and archived after group.share.delivery.count.limit"
        " deliveries."
    )
    cites = (
        "KIP-932 Motivation",
        "org.apache.kafka.common.protocol.Errors#INVALID_RECORD_STATE",
    )

    explains = ("records-redelivered",)

    def alike(self, key: ErrorKey) -> Hashable:
        """Return a client of a group."""
        return key.client, key.group

    def sentence(self, errors: Errors) -> str:
        """Return which group, and how often."""
        topics, groups = quoted(errors.names("topic")), quoted(errors.names("group"))
        return (
            f"The broker refused {plural(errors.seen.times, 'acknowledgement')} of"
            f" {clients_text(errors.clients)} for records of {topics} in share group {groups}:"
            " it does not hold them, or did acknowledge them before. Records whose lock expired are delivered"
            " again."
        )

    def not_surer(self, errors: Errors, seen: Evidence) -> str:
        """Return the doubt: the error has other reasons, too."""
        return "records that were acknowledged before have the same error as records whose lock expired"

    def command(self, errors: Errors) -> str:
        """Return the story of the group."""
        groups = errors.names("group")
        return f"groups {{files}} --group '{groups[0]}'" if groups else "groups {files}"
