"""Apache Kafka 4.4.0, two KRaft nodes, Java client 4.4.0: errors on purpose: topics that do not exist,
records that are too large, offsets out of range, a user without permission for topic, group, transactional
id and cluster, too few replicas in sync, a group with members of two protocols, a session that is too
short, a duplicate of a static member.
"""

from captures.record.administer import login
from captures.record.drivers import Driver
from captures.record.java import java
from captures.record.lab import Lab
from captures.record.spec import USERS, Spec

NAME = "kafka44_java_errors"
BROKER = Spec("4.4.0", nodes=2, properties={"auto.create.topics.enable": "false"})
_PATIENCE = {
    "max.block.ms": "2500",
    "delivery.timeout.ms": "2500",
    "request.timeout.ms": "2000",
    "retry.backoff.ms": "300",
}


def run(lab: Lab) -> None:
    """One refusal after the other."""
    client = java("4.4.0")
    lab.run_driver(client, "ErrorTopics", client_id="creator")
    _refused(lab, client, "no-topic", topic="absent")
    _refused(lab, client, "too-large", topic="small", size=2000, properties={"enable.idempotence": "false"})
    _refused(lab, client, "too-few-in-sync", topic="strict")
    lab.run_driver(client, "Produce", client_id="p-plain", topic="plain", count=3)
    lab.run_driver(
        client,
        "Consume",
        client_id="out-of-range",
        topic="plain",
        polls=3,
        seek=999,
        properties={"auto.offset.reset": "none"},
    )
    for kind, name in (("eager", "RangeAssignor"), ("other", "RoundRobinAssignor")):
        properties = {"partition.assignment.strategy": f"org.apache.kafka.clients.consumer.{name}"}
        members = {"topic": "plain", "group": "quarrel", "properties": properties}
        if kind == "eager":
            first = lab.start_driver(client, "Consume", client_id="quarrel-1", wait="true", **members)
            first.until("assigned")
        else:
            lab.run_driver(client, "Consume", client_id="quarrel-2", polls=4, **members)
    first.stop()
    short = {"session.timeout.ms": "100", "heartbeat.interval.ms": "50"}
    lab.run_driver(
        client, "Consume", client_id="too-short", topic="plain", group="short", polls=3, properties=short
    )
    _forbidden(lab, client)


def _refused(
    lab: Lab, client: Driver, name: str, properties: dict[str, str] | None = None, **options: object
) -> None:
    lab.run_driver(
        client, "Impostor", client_id=name, count=1, properties=_PATIENCE | (properties or {}), **options
    )


def _forbidden(lab: Lab, client: Driver) -> None:
    lab.truth.principal("User:mallory", "PLAIN", USERS["mallory"])
    as_mallory = login("PLAIN", "mallory")
    common = {"bootstrap": lab.cluster.sasl}
    lab.run_driver(
        client,
        "Impostor",
        client_id="mallory-p",
        topic="plain",
        count=1,
        properties=_PATIENCE | as_mallory,
        **common,
    )
    lab.run_driver(
        client,
        "Consume",
        client_id="mallory-c",
        topic="plain",
        group="mallory",
        polls=3,
        properties=as_mallory,
        **common,
    )
    lab.run_driver(
        client, "Consume", client_id="mallory-a", topic="plain", polls=3, properties=as_mallory, **common
    )
    lab.run_driver(
        client,
        "OldAdmin",
        client_id="mallory-admin",
        topic="plain",
        group="quarrel",
        properties=as_mallory,
        **common,
    )
    lab.run_driver(client, "AdminAccess", client_id="mallory-access", properties=as_mallory, **common)
