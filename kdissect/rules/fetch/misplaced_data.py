"""Rules: data in a wrong place of a Fetch response."""

from collections.abc import Iterator

from kdissect.model.finding import Claim, Level, Who
from kdissect.model.wording import plural
from kdissect.rules.guards import Above, All, Among, InRequest, Longer, Other
from kdissect.rules.kinds import BodyRule
from kdissect.rules.rule import BOTH_FRAMES, RESPONSE, Violation
from kdissect.rules.views.body_view import Body
from kdissect.schema.error_codes import error_name
from kdissect.schema.types import NO_UPPER_BOUND, Versions

_READ_UNCOMMITTED = 0
_RECORDS = Longer(("records",), 0)


class ErrorWithData(BodyRule):
    """A fetch that failed as a whole should bring no data.

    An error code for the whole answer (v7 and later) says that the broker read no records: clients drop
    the data next to it, and end their session. Partitions that have the error too come from brokers of v12
    and before.

    Example: FETCH_SESSION_ID_NOT_FOUND, and a partition without an error.

    What to do: leave partitions out, or the error.
    """

    code = "FET018"
    name = "error-with-data"
    level = Level.SHOULD
    claim = Claim.DIFFERS
    who = Who.BROKER
    cites = (
        "KIP-227 Public Interfaces",
        "org.apache.kafka.common.requests.FetchRequest#getErrorResponse",
    )
    on = (("Fetch", RESPONSE),)
    versions = Versions(7, NO_UPPER_BOUND)
    guard = (Other((".error_code",), frozenset({0})),)

    def check(self, body: Body) -> Iterator[Violation]:
        """Yield partitions next to the error."""
        if not body.value.error_code:
            return
        for _, row, at in body.partitions("responses"):
            if row.records or not row.error_code:
                what = f"{plural(len(row.records or b''), 'byte')} of records, error code {row.error_code}"
                yield body.violation(at, "no partition", what)
                return  # further partitions have the same cause


class RecordsWithError(BodyRule):
    """A partition that could not be read should bring no records.

    Clients use the error and drop the data next to it. Errors of the whole answer are FET018.

    Example: NOT_LEADER_OR_FOLLOWER, and 70 bytes of records.

    What to do: send the error alone.
    """

    code = "FET019"
    name = "records-with-error"
    level = Level.SHOULD
    claim = Claim.DIFFERS
    who = Who.BROKER
    cites = ("spec/000 Fetch API", "kafka.server.ReplicaManager#readFromLog")
    on = (("Fetch", RESPONSE), ("ShareFetch", RESPONSE))
    guard = (All((Other(("error_code",), frozenset({0})), _RECORDS)),)

    def check(self, body: Body) -> Iterator[Violation]:
        """Yield the records of each partition with an error."""
        if getattr(body.value, "error_code", 0):
            return
        for _, row, at in body.partitions("responses"):
            if row.error_code and row.records:
                seen = f"{plural(len(row.records), 'byte')} beside {error_name(row.error_code)}"
                yield body.violation(f"{at}.records", "no records", seen)


class PreferredReplicaWithRecords(BodyRule):
    """A broker that sends a consumer to another replica should give no records.

    The consumer asks the preferred replica for this offset, and reads the records twice if it keeps them.

    Example: preferred_read_replica 2, and 70 bytes of records.

    What to do: name the replica, or give the records.
    """

    code = "FET020"
    name = "preferred-replica-with-records"
    level = Level.SHOULD
    claim = Claim.DIFFERS
    who = Who.BROKER
    cites = ("KIP-392 Proposed Changes", "kafka.server.ReplicaManager#readFromLog")
    on = (("Fetch", RESPONSE),)
    guard = (All((Above(("preferred_read_replica",), -1), _RECORDS)),)

    def check(self, body: Body) -> Iterator[Violation]:
        """Yield the records of each partition with a preferred replica."""
        for _, row, at in body.partitions("responses"):
            if getattr(row, "preferred_read_replica", -1) >= 0 and row.records:
                seen = f"{plural(len(row.records), 'byte')} with replica {row.preferred_read_replica}"
                yield body.violation(f"{at}.records", "no records", seen)


class AbortedUnasked(BodyRule):
    """Aborted transactions should be listed for who reads committed records alone.

    isolation_level says so in the request. Others take aborted records for good, and a client that uses the
    list drops records that it requested.

    Example: isolation_level 0, and one aborted transaction.

    What to do: leave the list null.
    """

    code = "FET021"
    name = "aborted-unasked"
    level = Level.SHOULD
    claim = Claim.DIFFERS
    who = Who.BROKER
    needs = BOTH_FRAMES
    cites = ("KIP-98 Public Interfaces", "kafka.server.ReplicaManager#readFromLog")
    on = (("Fetch", RESPONSE),)
    guard = (
        All(
            (
                Longer(("aborted_transactions",), 0),
                InRequest(Among((".isolation_level",), frozenset({_READ_UNCOMMITTED}))),
            )
        ),
    )

    def check(self, body: Body) -> Iterator[Violation]:
        """Yield the list of each partition."""
        asked = body.other()
        if getattr(asked, "isolation_level", None) != _READ_UNCOMMITTED:
            return
        for _, row, at in body.partitions("responses"):
            if row.aborted_transactions:
                seen = plural(len(row.aborted_transactions), "aborted transaction")
                yield body.violation(f"{at}.aborted_transactions", "none: isolation_level is 0", seen)
