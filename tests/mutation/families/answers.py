"""Mutators of what is answered: a result that is missing, comes twice, or is that of something else.

Which list holds the results is found by what stands in it: its entries have the values that a list of the
request has, and the lists it stands in do too. No table says so.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

from kdissect.decoders.generated.values import Value, present
from tests.mutation.mutators import MANY, Edit, edits
from tests.support.messages.traffic import BROKER

OF_PARTITIONS = (
    "Produce", "ListOffsets", "LeaderAndIsr", "StopReplica", "OffsetCommit", "OffsetFetch", "DeleteRecords",
    "OffsetForLeaderEpoch", "AddPartitionsToTxn", "WriteTxnMarkers", "TxnOffsetCommit", "AlterReplicaLogDirs",
    "ElectLeaders", "AlterPartitionReassignments", "OffsetDelete", "Vote", "BeginQuorumEpoch",
    "EndQuorumEpoch", "DescribeQuorum", "AlterPartition", "FetchSnapshot", "DescribeProducers",
    "AssignReplicasToDirs", "ShareAcknowledge", "InitializeShareGroupState", "ReadShareGroupState",
    "WriteShareGroupState", "DeleteShareGroupState", "ReadShareGroupStateSummary",
    "DescribeShareGroupOffsets",
)  # fmt: skip
# Apache Kafka answers what there is; or, once, nothing at all.
SPARSE = ("DescribeLogDirs", "ListPartitionReassignments", "AlterShareGroupOffsets")
OF_ENTRIES = (
    "Metadata", "FindCoordinator", "LeaveGroup", "DescribeGroups", "CreateTopics", "DeleteTopics",
    "DescribeConfigs", "AlterConfigs", "CreatePartitions", "DeleteGroups", "IncrementalAlterConfigs",
    "AlterClientQuotas", "DescribeUserScramCredentials", "AlterUserScramCredentials", "UpdateFeatures",
    "DescribeTransactions", "ConsumerGroupDescribe", "ShareGroupDescribe", "StreamsGroupDescribe",
    "DescribeTopicPartitions",
)  # fmt: skip
BY_PLACE = {"CreateAcls": "results", "DeleteAcls": "filter_results"}
# Lists that nobody asked for entry by entry, in bodies of these.
NAMED_ONCE = ("brokers", "members", "nodes", "tokens", "groups")
WITH_LISTS = (
    "Metadata", "JoinGroup", "DescribeCluster", "DescribeQuorum", "ListGroups", "DescribeDelegationToken",
)  # fmt: skip
INNER = ("configs", "members")  # of what was asked for, whatever they have in common with the request
STRANGER = 77


class Results(NamedTuple):
    """A list of a body: its entries, the field that is their key, the struct it stands in."""

    rows: list[Any]
    key: str


def names(value: Any) -> Iterator[Any]:
    """Yield every text, id and number of a body."""
    for field, _, item in present(value):
        for one in item if isinstance(item, list) else [item]:
            if isinstance(one, Value):
                yield from names(one)
            elif not field.is_error and isinstance(one, (str, bytes, int)) and not isinstance(one, bool):
                yield one


def results(value: Any, asked: Any) -> Results | None:
    """Return the innermost list of an answer that is about what was asked for; None: there is none, or an
    error.
    """
    known = {(type(one), one) for one in names(asked)}
    return _within(value, known, {int, str, bytes})


def _within(value: Any, known: set[tuple[type, Any]], kinds: set[type]) -> Results | None:
    """`kinds` are those of keys: below a number that is a partition nothing more was asked for."""
    if getattr(value, "error_code", 0):
        return None
    for _, name, item in present(value):
        if not isinstance(item, list) or not item or not isinstance(item[0], Value) or name in INNER:
            continue
        key = _key(item, known, kinds)
        if key is None:
            continue
        is_partition = isinstance(getattr(item[0], key), int) and "producer" not in key
        below: set[type] = set() if is_partition else {int, str, bytes}
        inner = next(filter(None, (_within(row, known, below) for row in item)), None)
        return inner or Results(item, key)
    return None


def _key(rows: list[Any], known: set[tuple[type, Any]], kinds: set[type]) -> str | None:
    """Return the first field of all rows whose values the request has, all of them."""
    for field, name, _ in present(rows[0]):
        values = [getattr(row, name, None) for row in rows]
        is_told = all(type(one) in kinds and (type(one), one) in known for one in values)
        if is_told and not field.is_error and field.enum is None:
            return name
    return None


def stranger(of: Any) -> Any:
    """Return a key that nobody has."""
    if isinstance(of, int):
        return of + STRANGER
    return f"no-{of}" if isinstance(of, str) else bytes(byte ^ 0x5A for byte in of)


def _drop(value: Any, asked: Any) -> bool:
    found = results(value, asked)
    if found is not None:
        found.rows.pop()
    return found is not None


def _double(value: Any, asked: Any) -> bool:
    found = results(value, asked)
    if found is not None:
        found.rows.append(found.rows[-1])
    return found is not None


def _swap(value: Any, asked: Any) -> bool:
    found = results(value, asked)
    if found is not None:
        row = found.rows[-1]
        setattr(row, found.key, stranger(getattr(row, found.key)))
    return found is not None


def _of_full_fetch(edit: Edit) -> Edit:
    def change(value: Any, asked: Any) -> bool | None:
        if asked is None or getattr(asked, "session_epoch", -1) > 0 or getattr(value, "throttle_time_ms", 0):
            return False
        # Before version 7 nothing at all stands for an error that has no field.
        return edit(value, asked) is not False and (hasattr(value, "session_id") or bool(_rows(value)))

    return change


def _rows(value: Any) -> int:
    return sum(len(topic.partitions) for topic in value.responses)


SAYS = "a response has one result for each thing that its request names, and no other"
for _name, _edit in (("dropped", _drop), ("doubled", _double), ("swapped", _swap)):
    # What may be left out legally is missing by right where another stands for it.
    _more = SPARSE if _name == "swapped" else ()
    edits(f"partition-{_name}", "PAI008", SAYS, OF_PARTITIONS + _more, BROKER, limit=3 * MANY)(_edit)
    edits(f"entry-{_name}", "PAI009", SAYS, OF_ENTRIES, BROKER, limit=3 * MANY)(_edit)
    if _name != "doubled":
        edits(f"fetched-{_name}", "FET004", SAYS, ("Fetch",), BROKER)(_of_full_fetch(_edit))
edits("fetched-doubled", "PAI011", "a response names a partition once", ("Fetch", "ShareFetch"), BROKER)(
    _double
)


@edits("result-by-place-dropped", "PAI009", SAYS, tuple(BY_PLACE), BROKER)
def _drop_by_place(value: Any, _: Any) -> bool:
    rows = getattr(value, "results", None) or getattr(value, "filter_results", None)
    if rows:
        rows.pop()
    return bool(rows)


@edits("result-by-place-doubled", "PAI009", SAYS, tuple(BY_PLACE), BROKER)
def _double_by_place(value: Any, _: Any) -> bool:
    rows = getattr(value, "results", None) or getattr(value, "filter_results", None)
    if rows:
        rows.append(rows[-1])
    return bool(rows)


@edits(
    "listed-twice",
    "PAI011",
    "brokers, members, groups and tokens are listed once",
    WITH_LISTS,
    BROKER,
    limit=MANY,
)
def _listed_twice(value: Any, _: Any) -> bool:
    for name in NAMED_ONCE:
        rows = getattr(value, name, None)
        if rows:
            rows.append(rows[-1])
            return True
    return False
