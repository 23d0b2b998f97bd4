"""Every field of every API and version in the corpus, broken one at a time.

A field is given four values: one outside what its type can mean, that of another entry, one that appears
nowhere else, and that of its neighbour. This module decides from the statements of the protocol, and by no
rule, which of these faults the bytes prove. `report` counts what is found.
"""

import struct
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from enum import StrEnum
from typing import Any, NamedTuple

from kdissect.decoders.generated.values import Value, present
from kdissect.decoders.trees.node import Node
from kdissect.model.finding import Finding, Severity, Who
from kdissect.schema.enums import enumeration
from kdissect.schema.types import Field, Primitive
from tests.mutation.corpus import Side, sides
from tests.mutation.mutators import other_value
from tests.mutation.talk import judged
from tests.support.messages.traffic import BROKER, CLIENT

OUTSIDE_NUMBER = -7
OUTSIDE_ERROR = -31000
UNKNOWN_ERROR = 31000
UNKNOWN_ENUM = 99
UNKNOWN_STEP = 1000
_NUMBERS = frozenset({Primitive.INT8, Primitive.INT16, Primitive.INT32, Primitive.INT64})
_TEXTS = frozenset({Primitive.STRING, Primitive.UUID})


class Break(StrEnum):
    """What a field is given."""

    OUTSIDE = "outside"
    EXISTING = "existing"
    UNKNOWN = "unknown"
    SWAPPED = "swapped"


class Leaf(NamedTuple):
    """A field of a body: the steps to it, and the struct that holds it.

    `index` is the place in an array of numbers or texts, -1 of a field that is none.
    """

    path: str
    of: Any
    field: Field
    index: int
    siblings: tuple[Any, ...]
    """The structs of the same list, this one first."""

    @property
    def value(self) -> Any:
        """What stands there."""
        held = getattr(self.of, self.field.name)
        return held if self.index < 0 else held[self.index]

    def put(self, value: Any) -> None:
        """Let something else stand there."""
        if self.index < 0:
            setattr(self.of, self.field.name, value)
        else:
            held = list(getattr(self.of, self.field.name))
            held[self.index] = value
            setattr(self.of, self.field.name, held)

    @property
    def kind(self) -> Primitive:
        """Its type, or that of the array's elements."""
        kind = getattr(self.field.type, "element", self.field.type)
        assert isinstance(kind, Primitive)
        return kind


class Fault(NamedTuple):
    """One field broken in one way. `why` it cannot be proven; empty: it can."""

    body: Side
    leaf: Leaf
    sort: Break
    content: bytes
    why: str
    is_echoed: bool
    """Whether the other side proves it, by what it has of the same thing."""


def leaves(value: Any, at: str = "", siblings: tuple[Any, ...] = ()) -> Iterator[Leaf]:
    """Yield the fields of a struct and of the structs below it: the first entry of each list."""
    for field, name, item in present(value):
        here = f"{at}.{name}" if at else name
        if isinstance(item, Value):
            yield from leaves(item, here, (item,))
        elif isinstance(item, list | tuple) and item and isinstance(item[0], Value):
            yield from leaves(item[0], f"{here}[0]", tuple(item))
        elif isinstance(item, list | tuple):
            if item and isinstance(getattr(field.type, "element", None), Primitive):
                yield Leaf(f"{here}[0]", value, field, 0, siblings)
        elif isinstance(field.type, Primitive) and item is not None:
            yield Leaf(here, value, field, -1, siblings)


# what can be proven

# Numbers of which every one is legal, or means what its owner wants.
EVERY_NUMBER: dict[str, str] = {
    "session_id": "drawn by the broker",
    "subscription_id": "drawn by the broker",
    "authorized_operations": "bits",
    "cluster_authorized_operations": "bits",
    "topic_authorized_operations": "bits",
    "expiry_time_period_ms": "below 0 it expires at once: ExpireDelegationTokenOptions",
    "renew_period_ms": "below 0 the broker's default: RenewDelegationTokenOptions",
    "max_lifetime_ms": "below 0 the broker's default: CreateDelegationTokenOptions",
    "duration_filter": "below 0 no filter: ListTransactionsOptions",
    "type": "a number that grows with releases",
    "node_type": "a number that grows with releases",
    "topology_description_status": "a number that grows with releases",
    "config_type": "a number that grows with releases",
    "config_source": "a number that grows with releases",
}
EVERY_NUMBER_IN: dict[tuple[str, str], str] = {
    ("UpdateFeaturesRequest", "max_version_level"): "less than 1 asks to remove the feature: KIP-584",
    ("OffsetFetchResponse", "committed_offset"): "as it was committed: KafkaApis stores every number",
    ("TxnOffsetCommitRequest", "committed_offset"): "KafkaApis stores every number",
    ("OffsetCommitRequest", "retention_time_ms"): "no broker since 2.1 reads it: KIP-211",
    ("InitProducerIdRequest", "transaction_timeout_ms"): "without a transactional id it has no reader",
}
# Numbers that a client passes on as its application gave them. A broker has to refuse them: one that takes
# them is at fault: org.apache.kafka.controller.ReplicationControlManager#createTopic.
OF_APPLICATIONS = frozenset(
    {("CreateTopicsRequest", "num_partitions"), ("CreateTopicsRequest", "replication_factor")}
)
# Texts and ids of which none is impossible, by message and field.
EVERY_TEXT_IN: dict[tuple[str, str], str] = {
    ("DescribeAclsResponse", "host"): "an ACL has any host: AccessControlEntry",
    ("DeleteAclsResponse", "host"): "an ACL has any host: AccessControlEntry",
    ("StreamsGroupDescribeResponse", "host"): "as a member named it: KIP-1071",
    ("StreamsGroupHeartbeatResponse", "host"): "as a member named it: KIP-1071",
    ("ConsumerGroupDescribeResponse", "subscribed_topic_names"): "as a member named it: KIP-848",
    ("ShareGroupDescribeResponse", "subscribed_topic_names"): "as a member named it: KIP-932",
    ("MetadataResponse", "topic_id"): "no ids below inter.broker.protocol.version 2.8: KIP-516",
    ("UpdateMetadataRequest", "topic_id"): "no ids below inter.broker.protocol.version 2.8: KIP-516",
    ("LeaderAndIsrRequest", "topic_id"): "no ids below inter.broker.protocol.version 2.8: KIP-516",
    ("DeleteTopicsResponse", "topic_id"): "no ids below inter.broker.protocol.version 2.8: KIP-516",
    ("DescribeShareGroupOffsetsResponse", "topic_id"):
        "zero of a deleted topic: GroupCoordinatorService#describeShareGroupOffsets",
}  # fmt: skip
# Names that stand for one thing on both sides of an exchange.
_PARTITIONS = frozenset(
    {"partition", "partition_index", "partition_id", "index", "partition_indexes", "partitions"}
)
_KEYS = frozenset(
    {
        "name", "topic", "topic_name", "topic_id", "topic_names", "group_id", "groups", "group_ids", "key",
        "groups_names", "coordinator_keys", "transactional_id", "transactional_ids", "resource_name", "user",
        "feature", "protocol_name", "member_id",
    }
)  # fmt: skip
_NOT_ECHOED = frozenset({"ConsumerGroupHeartbeat", "ShareGroupHeartbeat", "StreamsGroupHeartbeat"})
_ALONE = frozenset({"node_id", "broker_id", "partition_index", "member_id", "partition"})
"""Names that tell entries of one list of an answer."""
_LEADERS = frozenset({"leader_id", "leader"})
_IN_SYNC = frozenset({"isr_nodes", "isr"})
_REPLICAS = frozenset({"replica_nodes", "replicas"})
_PARTS = frozenset({"adding_replicas", "removing_replicas"})
# A number that is not above another of the same struct.
_ORDERED = (
    ("min_version", "max_version"), ("min_supported_version", "max_supported_version"),
    ("min_version_level", "max_version_level"), ("usable_bytes", "total_bytes"),
)  # fmt: skip
_ANY = "any value may be true"
_REFUSED = "the broker refused the request as a whole"
_REFUSED_ENTRY = "the broker refused what an application asked for: ReplicationControlManager#createTopic"
_FREE_TEXT = "a text of its owner"
_GROWS = "a number that the schema does not know may be newer"


def why_not(body: Side, leaf: Leaf, sort: Break, put: Any, other: Any) -> str:
    """Return why a fault cannot be proven; empty where it can.

    `put` is the new value, `other` the other body.
    """
    if sort is Break.OUTSIDE:
        return _REFUSED_ENTRY if _is_refused(body, leaf, other) else _why_not_outside(body, leaf)
    if sort is Break.UNKNOWN and (leaf.field.is_error or leaf.field.enum is not None):
        return _GROWS
    if sort is Break.EXISTING and leaf.field.name in _ALONE and body.side == BROKER:
        return ""
    if _is_echoed(body, leaf, put, other):
        return ""
    if not _breaks_relation(leaf, put):
        return _ANY
    return _REFUSED if body.side == CLIENT and getattr(other, "error_code", 0) else ""


def _why_not_outside(body: Side, leaf: Leaf) -> str:
    field, kind = leaf.field, leaf.kind
    if field.is_error or kind is Primitive.BOOL:
        return ""
    if kind in _NUMBERS:
        known = enumeration(field.enum) if field.enum else None
        if known is not None and known.is_open and field.name in EVERY_NUMBER:
            return _GROWS
        return EVERY_NUMBER.get(field.name) or EVERY_NUMBER_IN.get((body.message.name, field.name), "")
    if (body.message.name, field.name) in EVERY_TEXT_IN:
        return EVERY_TEXT_IN[body.message.name, field.name]
    if kind is Primitive.UUID:
        return "" if field.name == "topic_id" and not _has_error(leaf) else "zero stands for none"
    if field.name == "host" and body.side == BROKER:
        return "" if not _has_error(leaf) else _ANY
    return "" if field.entity == "topicName" and body.side == BROKER else _FREE_TEXT


def _is_refused(body: Side, leaf: Leaf, other: Any) -> bool:
    """Return whether the response has an error for the entry with a number of an application."""
    if (body.message.name, leaf.field.name) not in OF_APPLICATIONS or other is None:
        return False
    return any(one.error_code for one in other.topics if one.name == leaf.of.name)


def _has_error(leaf: Leaf) -> bool:
    return bool(getattr(leaf.of, "error_code", 0))


def _is_echoed(body: Side, leaf: Leaf, put: Any, other: Any) -> bool:
    """Return whether the other side has the former value with the same meaning, and not the present one."""
    name = leaf.field.name
    # Apache Kafka 2.8 lists topics that nobody asked for, without partitions: DescribeLogDirs.
    if body.side == BROKER and name == "name" and getattr(leaf.of, "partitions", None) == []:
        return False
    if other is None or body.api.name in _NOT_ECHOED or name not in _KEYS | _PARTITIONS:
        return False
    if body.api.name in ("SyncGroup", "JoinGroup") and name not in ("protocol_name", "member_id"):
        return False
    if name == "member_id" and "." in leaf.path and body.api.name != "LeaveGroup":
        return False
    names = _PARTITIONS if name in _PARTITIONS else _KEYS
    told = [one.value for one in every(other) if one.field.name in names and _is_same(one, leaf)]
    return leaf.value in told and put not in told


def _is_same(one: Leaf, other: Leaf) -> bool:
    """Return whether two fields have values of one type, and not of two sorts: a group and a topic of one
    name.
    """
    sorts = {leaf.field.entity for leaf in (one, other) if leaf.field.entity}
    return one.kind is other.kind and len(sorts) < 2


def every(value: Any) -> Iterator[Leaf]:
    """Yield all fields, those of every entry of every list."""
    for field, name, item in present(value):
        if isinstance(item, Value):
            yield from every(item)
        elif isinstance(item, list | tuple):
            for index, element in enumerate(item):
                if isinstance(element, Value):
                    yield from every(element)
                elif isinstance(getattr(field.type, "element", None), Primitive):
                    yield Leaf(name, value, field, index, ())
        elif isinstance(field.type, Primitive):
            yield Leaf(name, value, field, -1, ())


def _breaks_relation(leaf: Leaf, put: Any) -> bool:
    """Return whether the fields of one struct cannot go together with a new value."""
    of, name, old = leaf.of, leaf.field.name, leaf.value
    if _has_error(leaf):
        return False
    for low, high in _ORDERED:
        if name == low and hasattr(of, high):
            return bool(put > getattr(of, high) >= 0)
        if name == high and hasattr(of, low):
            return bool(0 <= put < getattr(of, low))
    replicas, in_sync = _list(of, _REPLICAS), _list(of, _IN_SYNC)
    leader = next((getattr(of, one) for one in _LEADERS if hasattr(of, one)), -1)
    if name in _LEADERS:
        if isinstance(put, str):  # of a group: its members are told to the leader alone
            members = {member.member_id for member in getattr(of, "members", None) or ()}
            return bool(members) and put not in members
        return put >= 0 and old >= 0 and in_sync is not None and put not in in_sync
    if name in _IN_SYNC:
        if not isinstance(put, int):
            return False
        return (replicas is not None and put not in replicas) or (old == leader and put != old)
    if name in _REPLICAS:
        parts = [node for part in _PARTS for node in getattr(of, part, None) or ()]
        return old in (in_sync or ()) or old in parts
    return name in _PARTS and replicas is not None and put not in replicas


def _list(of: Any, names: frozenset[str]) -> Any:
    return next((getattr(of, name) for name in names if hasattr(of, name)), None)


# the faults


def faults(bodies: Iterable[Side]) -> Iterator[Fault]:
    """Yield each field of each body in each way."""
    for body in bodies:
        other = other_value(body)
        for number, leaf in enumerate(leaves(body.value())):
            for sort in Break:
                value = body.value()  # made anew: a fault changes it
                here = next(each for at, each in enumerate(leaves(value)) if at == number)
                put = _put(here, sort)
                if put is None or (put == here.value and here.kind is not Primitive.BOOL):
                    continue
                why = _why(body, here, sort, put, other)
                is_echoed = _is_proven_by_other(body, here, sort, put, other)
                content = _content(body, value, here, sort, put)
                if content is not None and content != body.data:
                    yield Fault(body, leaf, sort, content, why, is_echoed)


def _why(body: Side, leaf: Leaf, sort: Break, put: Any, other: Any) -> str:
    if sort is not Break.SWAPPED:
        return why_not(body, leaf, sort, put, other)
    neighbour = _neighbour(leaf)
    assert neighbour is not None
    both = (why_not(body, leaf, sort, put, other), why_not(body, neighbour, sort, leaf.value, other))
    pair = leaf.field.name, neighbour.field.name
    if pair in _ORDERED:
        if body.side == CLIENT and getattr(other, "error_code", 0):
            return _REFUSED
        return "" if leaf.value < neighbour.value else _ANY
    return "" if "" in both else both[0]


def _is_proven_by_other(body: Side, leaf: Leaf, sort: Break, put: Any, other: Any) -> bool:
    neighbour = _neighbour(leaf) if sort is Break.SWAPPED else None
    return _is_echoed(body, leaf, put, other) or (
        neighbour is not None and _is_echoed(body, neighbour, leaf.value, other)
    )


def _put(leaf: Leaf, sort: Break) -> Any:
    if sort is Break.OUTSIDE:
        return _outside(leaf)
    if sort is Break.UNKNOWN:
        return _unknown(leaf)
    if sort is Break.EXISTING:
        name = leaf.field.name
        if leaf.index >= 0 or leaf.kind not in _NUMBERS | _TEXTS:
            return None
        values = (getattr(of, name, None) for of in leaf.siblings[1:])
        return next((value for value in values if value is not None and value != leaf.value), None)
    neighbour = _neighbour(leaf)
    return None if neighbour is None else neighbour.value


def _outside(leaf: Leaf) -> Any:
    field, kind = leaf.field, leaf.kind
    if field.is_error:
        return OUTSIDE_ERROR
    if kind in _NUMBERS:
        return OUTSIDE_NUMBER
    if kind is Primitive.BOOL:
        return 2
    if kind is Primitive.UUID:
        return bytes(16)
    if kind is Primitive.STRING:
        return "" if field.name == "host" else "a/b" if field.entity == "topicName" else None
    return None


def _unknown(leaf: Leaf) -> Any:
    if leaf.field.is_error:
        return UNKNOWN_ERROR
    if leaf.field.enum is not None:
        known = enumeration(leaf.field.enum)
        return None if known is None or known.is_open or leaf.kind not in _NUMBERS else UNKNOWN_ENUM
    if leaf.kind in _NUMBERS:
        most = (1 << {Primitive.INT8: 7, Primitive.INT16: 15, Primitive.INT32: 31}.get(leaf.kind, 63)) - 1
        return min(leaf.value + UNKNOWN_STEP, most) if leaf.value >= 0 else None
    if leaf.kind is Primitive.UUID:
        return bytes(range(0x51, 0x61))
    return "quite-unknown" if leaf.kind is Primitive.STRING else None


def _neighbour(leaf: Leaf) -> Leaf | None:
    """Return the next field of the struct, if it has the same type and another value."""
    if leaf.index >= 0 or leaf.field.is_error or leaf.field.enum is not None:
        return None
    fields = [field for field, _, item in present(leaf.of) if item is not None]
    at = fields.index(leaf.field) + 1
    if at >= len(fields) or fields[at].type is not leaf.field.type or leaf.kind not in _NUMBERS | _TEXTS:
        return None
    other = leaf._replace(field=fields[at], path=leaf.path.rpartition(".")[0] + "." + fields[at].name)
    return None if fields[at].is_error or fields[at].enum or other.value == leaf.value else other


def _content(body: Side, value: Any, leaf: Leaf, sort: Break, put: Any) -> bytes | None:
    """Return the frame's content with the fault; None where it has no bytes."""
    if leaf.kind is Primitive.BOOL:
        node = _node(body.tree, leaf.path)
        return None if node is None else body.spliced(node.start, node.end, b"\x02")
    neighbour = _neighbour(leaf) if sort is Break.SWAPPED else None
    old = leaf.value
    leaf.put(put)
    if neighbour is not None:
        neighbour.put(old)
    try:
        return body.encoded(value)
    except (ValueError, struct.error):
        return None


def _node(tree: Node, path: str) -> Node | None:
    found: Node | None = tree
    for step in path.replace("[", ".[").split("."):
        found = None if found is None else next((one for one in found.children if one.name == step), None)
    return found


# what is found


class Count(NamedTuple):
    """Of one API: faults that can be proven, those that are found, and faults that cannot be proven."""

    provable: int
    found: int
    others: int


class Report(NamedTuple):
    """Counts by API and by way of breaking, what was missed, and why faults cannot be proven."""

    by_api: dict[str, Count]
    by_sort: dict[str, Count]
    missed: Counter[str]
    reasons: Counter[str]

    @property
    def total(self) -> Count:
        """Of all APIs."""
        return _sum(self.by_api.values())


def _sum(counts: Iterable[Count]) -> Count:
    rows = list(counts)
    return Count(*(sum(column) for column in zip(*rows, strict=True))) if rows else Count(0, 0, 0)


def report(bodies: Iterable[Side]) -> Report:
    """Break every field of these bodies, and count what rules find."""
    by_api: dict[str, Counter[str]] = defaultdict(Counter)
    by_sort: dict[str, Counter[str]] = defaultdict(Counter)
    missed, reasons = Counter[str](), Counter[str]()
    for fault in faults(bodies):
        found = spoken(fault)
        names = any(is_about(one, fault) for one in found)
        side = "request" if fault.body.side == CLIENT else "response"
        what = "others" if fault.why else "found" if names else "missed"
        by_api[fault.body.api.name][what] += 1
        by_sort[fault.sort][what] += 1
        if what == "missed":
            plain = fault.leaf.path.replace("[0]", "")
            missed[f"{fault.body.api.name} {side} {plain} {fault.sort}"] += 1
        elif fault.why:
            reasons[fault.why] += 1
    return Report(_counts(by_api), _counts(by_sort), missed, reasons)


def _counts(found: dict[str, Counter[str]]) -> dict[str, Count]:
    return {
        name: Count(of["found"] + of["missed"], of["found"], of["others"])
        for name, of in sorted(found.items())
    }


_before: dict[tuple[object, ...], frozenset[tuple[str, int, str]]] = {}


def spoken(fault: Fault) -> list[Finding]:
    """Return what rules say of a fault that they do not say of the scene as it was recorded."""
    scene = fault.body.scene
    if scene.key not in _before:
        _before[scene.key] = frozenset(map(_place, judged(scene.talk()).findings.all()))
    found = judged(fault.body.talk(fault.content)).findings.all()
    return [one for one in found if _place(one) not in _before[scene.key]]


def _place(finding: Finding) -> tuple[str, int, str]:
    return finding.code, finding.place.exchange, finding.place.path


def is_about(finding: Finding, fault: Fault) -> bool:
    """Return whether an error or a warning names the field or its relation, and is against the side that made
    it.

    A request that does not go with its response is the one fault that both sides have: the broker answers
    what it was asked, and is the side that differs. So is a broker that accepts what it has to refuse.
    """
    place, leaf, side = finding.place, fault.leaf, _SIDES[fault.body.side]
    if finding.severity is Severity.INFO or place.exchange != fault.body.scene.target:
        return False
    if place.side not in ("", side):
        return (
            fault.is_echoed
            and finding.party.role is Who.BROKER
            and (finding.code in _OF_BOTH or _is_of_relation(place.path, leaf))
        )
    is_passed_on = (fault.body.message.name, leaf.field.name) in OF_APPLICATIONS
    made_by = Who.CLIENT if fault.body.side == CLIENT and not is_passed_on else Who.BROKER
    if finding.party.role is not made_by and not (fault.is_echoed and finding.code in _OF_BOTH):
        return False
    return finding.code in _OF_BOTH or _is_named(_below_message(place.path), leaf)


_SIDES = {CLIENT: "request", BROKER: "response"}
_OF_BOTH = ("PAI008", "PAI009", "PAI011", "FET004")
"""They compare all fields of both sides, and name entries."""


def _below_message(path: str) -> str:
    return path.partition(".")[2] or path


def _is_named(path: str, leaf: Leaf) -> bool:
    """Return whether a path of the same body ends in the field, what holds it, or another field of its
    struct.
    """
    if not path:
        return False
    parent = leaf.path.rpartition(".")[0]
    return (
        _last(path) == leaf.field.name
        or leaf.path.startswith(path)
        or path.rpartition(".")[0] == parent
        or bool(parent and path.startswith(f"{parent}."))
    )


def _is_of_relation(path: str, leaf: Leaf) -> bool:
    """Return whether a path of the other body ends in a field that stands for the same thing, or in their
    list.
    """
    names = _PARTITIONS if leaf.field.name in _PARTITIONS else _KEYS
    lists = {part.partition("[")[0] for part in leaf.path.split(".")[:-1]}
    return _last(path) in names | lists or not path or path.endswith("]")


def _last(path: str) -> str:
    return path.rpartition(".")[2].partition("[")[0]


def bodies() -> list[Side]:
    """Return one body of each API, version and side."""
    found: dict[tuple[int, int, int], Side] = {}
    for body in sides():
        found.setdefault((body.api.key, body.version, body.side), body)
    return list(found.values())


# the page


def page(of: Report) -> str:
    """Return the tables of a report."""
    total = of.total
    rows = "".join(f"{row}\n" for row in _rows_by_api(of))
    sorts = "".join(f"| {name} | {_cells(count)} |\n" for name, count in of.by_sort.items())
    reasons = "".join(f"| {why} | {count} |\n" for why, count in sorted(of.reasons.items()))
    missed = "".join(f"{row}\n" for row in _rows_of_missed(of))
    return (
        f"{total.provable} of {total.provable + total.others} faults can be proven, and {total.found} of "
        f"these ({_percent(total)} %) are found.\n\n"
        f"{_HEAD.format('API')}{rows}\n{_HEAD.format('value')}{sorts}\n"
        f"| why a fault cannot be proven | faults |\n|---|---:|\n{reasons}\n"
        f"| missed | faults |\n|---|---:|\n{missed}"
    )


def rows_of(of: Report) -> set[str]:
    """Return the rows of the page that are about one API each."""
    return {*_rows_by_api(of), *_rows_of_missed(of)}


def _rows_by_api(of: Report) -> list[str]:
    return [f"| {name} | {_cells(count)} |" for name, count in of.by_api.items()]


def _rows_of_missed(of: Report) -> list[str]:
    return [f"| {what} | {count} |" for what, count in sorted(of.missed.items())]


_HEAD = "| {} | can be proven | found | % | cannot be proven |\n|---|---:|---:|---:|---:|\n"


def _cells(count: Count) -> str:
    return f"{count.provable} | {count.found} | {_percent(count)} | {count.others}"


def _percent(count: Count) -> str:
    return f"{100 * count.found / count.provable:.1f}" if count.provable else ""
