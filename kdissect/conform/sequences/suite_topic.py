"""The topic of the suite and its records, coordinators, and what a sequence needs besides.

A sequence uses names of the suite only. It ends where the broker does not respond, and the run goes on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from kdissect.conform.broker_connection import Response
from kdissect.conform.broker_run import BrokerRun, NoResponseError, first, key_of
from kdissect.conform.request_bodies import Fields, Subject, fetch
from kdissect.decoders.records.batches import split_batches
from kdissect.decoders.records.reader import iter_records
from kdissect.model.endpoint import Endpoint

TIMEOUT_MS = 10_000
UNKNOWN_TOPIC = 3
_LOOPBACK = ("localhost", "127.0.0.1", "::1")
_LAST_PORT = 65_535
_MANY_COORDINATORS = 4  # version of FindCoordinator (KIP-699)


def prepare(run: BrokerRun) -> None:
    """Find the brokers and create the topic of the suite. Raises NoResponseError."""
    run.subject.topic = run.subject.name("topic")
    described = run.call("Metadata", {"topics": None} if run.highest("Metadata") else {"topics": []})
    run.subject.cluster_id = getattr(described.body, "cluster_id", None)
    nodes = {row.node_id: endpoint_of(run, row) for row in described.body.brokers}
    run.brokers = {node: address for node, address in nodes.items() if address is not None}
    run.controller = getattr(described.body, "controller_id", -1)
    if run.has("CreateTopics"):
        create_topic(run, run.subject.topic)
    found = existing_topic(run, run.subject.topic, may_create=not run.has("CreateTopics"))
    topic = first(found, "topics")
    run.subject.topic_id = getattr(topic, "topic_id", bytes(16))
    run.partitions = len(topic.partitions)
    run.subject.leader_epoch = getattr(next(iter(topic.partitions), None), "leader_epoch", -1)
    leader = topic.partitions[0].leader_id if topic.partitions else -1
    run.leader = run.brokers.get(leader, run.address)


def endpoint_of(run: BrokerRun, row: Any) -> Endpoint | None:
    """Return the address of a node; None if the user did not name its host: kdissect connects to no other."""
    host = str(row.host)
    is_named = host == run.address.host or {host, run.address.host} <= {*_LOOPBACK}
    return Endpoint(host, row.port) if is_named and 0 < row.port <= _LAST_PORT else None


def create_topic(
    run: BrokerRun, name: str, version: int | None = None, *, validates: bool = False
) -> Response:
    """Send CreateTopics for a topic of 2 partitions. Raises NoResponseError."""
    topic = {"name": name, "num_partitions": 2, "replication_factor": 1, "assignments": [], "configs": []}
    body = {"topics": [topic], "timeout_ms": TIMEOUT_MS, "validate_only": validates}
    if not validates:
        run.created.append(name)
    return run.call("CreateTopics", body, version, run.brokers.get(run.controller))


def describe_topic(run: BrokerRun, name: str, *, may_create: bool = False) -> Response:
    """Send Metadata for a topic. Raises NoResponseError."""
    return run.call("Metadata", {"topics": [{"name": name}], "allow_auto_topic_creation": may_create})


def existing_topic(run: BrokerRun, name: str, *, may_create: bool = False) -> Response:
    """Return Metadata when the topic has leaders, or the last one."""
    return run.until(lambda: describe_topic(run, name, may_create=may_create), has_leaders)


def has_leaders(body: Any) -> bool:
    """Return whether each partition of the first topic of a Metadata response has a leader."""
    topics = body.topics
    return bool(topics) and not topics[0].error_code and all(
        one.leader_id >= 0 for one in topics[0].partitions
    )  # fmt: skip


def delete_topic(run: BrokerRun, name: str, version: int | None = None) -> Response:
    """Send DeleteTopics for a topic. Raises NoResponseError."""
    body = {"topics": [{"name": name}], "topic_names": [name], "timeout_ms": TIMEOUT_MS}
    return run.call("DeleteTopics", body, version, run.brokers.get(run.controller))


def send(
    run: BrokerRun, records: bytes, version: int | None = None, transactional_id: str | None = None,
    **other: Any,
) -> tuple[Response, Any]:  # fmt: skip
    """Produce to the first partition. Returns the response and what it contains about the partition."""
    body = produced(run.subject, records, **other) | {"transactional_id": transactional_id}
    response = run.call("Produce", body, version, run.leader)
    return response, first(response, "responses", "partition_responses")


def produced(subject: Subject, records: bytes, **other: Any) -> Fields:
    """Return a Produce request for the first partition. `other` are more fields of the topic."""
    topic = {"name": subject.topic, "topic_id": subject.topic_id, **other}
    return {
        "transactional_id": None, "acks": -1, "timeout_ms": TIMEOUT_MS,
        "topic_data": [topic | {"partition_data": [{"index": 0, "records": records}]}],
    }  # fmt: skip


def read_from(run: BrokerRun, offset: int, version: int | None = None, isolation: int = 0) -> tuple[
    Response, Any
]:  # fmt: skip
    """Fetch from the first partition. Returns the response and what it contains about the partition."""
    body = fetch(run.subject, offset, isolation)
    response = run.call("Fetch", body, version, run.leader)
    return response, first(response, "responses", "partitions")


def first_partition(body: Any) -> Any:
    """Return the first partition in a response to Fetch or ShareFetch, None if it is not there."""
    found = (one for topic in body.responses for one in topic.partitions if one.partition_index == 0)
    return next(found, None)


def records_from(partition: Any, offset: int) -> list[tuple[int, bytes | None, bytes | None]]:
    """Return offset, key and value of data records from an offset on, none without a partition."""
    data = bytes(getattr(partition, "records", None) or b"")
    found = []
    for one in split_batches(data, 0, len(data), may_be_cut=True).batches:
        if not one.is_control:
            found += [(each.offset, each.key, each.value) for each in iter_records(one, [])]
    return [row for row in found if row[0] >= offset]


def coordinator(run: BrokerRun, key: str, key_type: int = 0) -> Endpoint:
    """Return the coordinator of a group or transactional id. Raises NoResponseError."""
    body = {"key": key, "key_type": key_type, "coordinator_keys": [key]}

    path = ("coordinators",) if run.highest("FindCoordinator") >= _MANY_COORDINATORS else ()
    response = run.call("FindCoordinator", body)
    row = first(response, *path)
    if row.error_code:
        raise NoResponseError(response, f"FindCoordinator has error code {row.error_code}")
    address = endpoint_of(run, row)
    if address is None:
        raise NoResponseError(response, f"the coordinator is at {row.host}:{row.port}, which is not named")
    return address


def clean_up(run: BrokerRun) -> None:
    """Delete what the run created. A deletion that fails costs no other one."""
    _delete_all(run, "DeleteTopics", run.created, lambda name: delete_topic(run, name))
    _delete_all(
        run, "DeleteGroups", run.groups,
        lambda name: run.call("DeleteGroups", {"groups_names": [name]}, to=coordinator(run, name)),
    )  # fmt: skip


def _delete_all(run: BrokerRun, api: str, names: Sequence[str], delete: Callable[[str], Response]) -> None:
    if not run.has(api):
        return
    for name in names:
        if run.is_given_up(key_of(api)):
            return
        try:
            delete(name)
        except NoResponseError as error:
            run.skipped[f"cleaning up with {api}"] = str(error)


def version_pairs(run: BrokerRun, one: str, other: str) -> Iterator[tuple[int, int]]:
    """Yield versions of two APIs together until each version of both occurred."""
    first_ones, second = run.versions(one), run.versions(other)
    if not first_ones or not second:
        return
    for at in range(max(len(first_ones), len(second))):
        yield first_ones[min(at, len(first_ones) - 1)], second[min(at, len(second) - 1)]


def play_each(
    run: BrokerRun, name: str, versions: Iterable[Sequence[int]], play: Callable[..., None]
) -> None:
    """Play a part of a sequence with each set of versions. A part that ends early costs no other part."""
    for each in versions:
        try:
            play(run, *each)
        except NoResponseError as error:
            run.skipped[f"{name} with versions {', '.join(map(str, each))}"] = str(error)
