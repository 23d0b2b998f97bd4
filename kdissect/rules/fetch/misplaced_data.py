"""Rules: data in a Fetch response that does not belong there, or that its request contradicts."""

from collections.abc import Iterator
from typing import Any

from kdissect.decoders.generated.values import sent
from kdissect.model.finding import Claim, Level, Severity, Who
from kdissect.model.wording import plural
from kdissect.rules.guards import Above, All, Among, InRequest, Longer, Other
from kdissect.rules.kinds import BodyRule
from kdissect.rules.rule import BOTH_FRAMES, RESPONSE, Violation
from kdissect.rules.views.body_view import Body
from kdissect.schema.error_codes import error_name
from kdissect.schema.types import NO_UPPER_BOUND, Versions

_READ_UNCOMMITTED = 0
_OFFSET_OUT_OF_RANGE, _FENCED_LEADER_EPOCH = 1, 74  # org.apache.kafka.common.protocol.Errors
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


class ContradictsFetch(BodyRule):
    """A response must not contradict what its request says of a partition.

    A broker refuses an offset as out of range if it is not from the start of the log to its end. It fences a
    leader epoch that is lower than its own. It names a diverging epoch to a replica that names the epoch of
    its last batch, and no later epoch than that one. It keeps no session for a request of epoch -1.

    Example: offset 5 is fetched, and OFFSET_OUT_OF_RANGE comes with log start 0 and high watermark 9.

    What to do: look for a response to another request, or for numbers that were read at two times.
    """

    code = "FET032"
    name = "contradicts-request"
    claim = Claim.DIFFERS
    severity = Severity.WARNING
    who = Who.BROKER
    needs = BOTH_FRAMES
    cites = (
        "KIP-227 FetchRequest Metadata meaning",
        "KIP-320 Proposed Changes",
        "KIP-595 Proposed Changes",
        "kafka.cluster.Partition#checkCurrentLeaderEpoch",
    )
    on = (("Fetch", RESPONSE),)
    versions = Versions(7, NO_UPPER_BOUND)
    guard = (
        Among(("error_code",), frozenset({_OFFSET_OUT_OF_RANGE, _FENCED_LEADER_EPOCH})),
        Above((".responses.partitions.diverging_epoch.epoch",), -1),
        All(
            (Other((".session_id",), frozenset({0})), InRequest(Among((".session_epoch",), frozenset({-1}))))
        ),
    )

    def check(self, body: Body) -> Iterator[Violation]:
        """Yield the session, and each partition that the request names once."""
        asked = body.other()
        if asked is None or sent(body.value, "error_code", 0):
            return
        if asked.session_epoch == -1 and body.value.session_id:
            yield body.violation("session_id", "0: the request ends its session", str(body.value.session_id))
        rows: dict[tuple[Any, int], Any] = {}
        for topic in asked.topics or ():
            for row in topic.partitions or ():
                key = _topic_of(topic), row.partition
                rows[key] = None if key in rows else row
        for topic, row, at in body.partitions("responses"):
            wanted = rows.get((_topic_of(topic), row.partition_index))
            found = None if wanted is None else _contradiction(wanted, row)
            if found is not None:
                field, expected, seen = found
                yield body.violation(f"{at}.{field}", expected, seen)


def _topic_of(topic: Any) -> Any:
    return sent(topic, "topic_id") or sent(topic, "topic")


def _contradiction(wanted: Any, row: Any) -> tuple[str, str, str] | None:
    """Return the field of a partition that contradicts its request, with the expected and the seen text."""
    offset, first, last = wanted.fetch_offset, row.log_start_offset, row.high_watermark
    if row.error_code == _OFFSET_OUT_OF_RANGE and 0 <= first <= offset <= last:
        return (
            "error_code",
            "another error, or none",
            f"OFFSET_OUT_OF_RANGE: {offset} is in {first} to {last}",
        )
    epoch = sent(sent(row, "current_leader"), "leader_epoch", -1)
    named = sent(wanted, "current_leader_epoch", -1)
    if row.error_code == _FENCED_LEADER_EPOCH and 0 <= epoch <= named:
        return "current_leader.leader_epoch", f"more than {named}, which it fences", str(epoch)
    diverging = sent(sent(row, "diverging_epoch"), "epoch", -1)
    last_fetched = sent(wanted, "last_fetched_epoch", -1)
    if diverging >= 0 and diverging > last_fetched:
        expected = "none: the request names no last epoch" if last_fetched < 0 else f"{last_fetched} or less"
        return "diverging_epoch.epoch", expected, str(diverging)
    return None
