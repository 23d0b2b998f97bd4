"""The steps of six clients, and the brokers that log their requests."""

from contextlib import suppress

from captures.record.certificates import NAMED, trust
from captures.record.drivers import Driver
from captures.record.golang import franz, sarama
from captures.record.java import java
from captures.record.lab import Lab
from captures.record.pythons import aiokafka, kafka_python, librdkafka
from captures.record.scenarios._stories import write_and_read
from captures.record.spec import HOST, TLS13, USERS, Listener, Spec

_LOGINS = " ".join(f'user_{name}="{password}"' for name, password in USERS.items())
_PLAIN_LOGIN = "org.apache.kafka.common.security.plain.PlainLoginModule required"
_TWO_PARTITIONS = {"num.partitions": "2"}
SPECS = {
    "kafka24": Spec("2.4.1", zookeeper=True, request_log=True, properties=_TWO_PARTITIONS),
    "kafka27": Spec("2.7.2", zookeeper=True, request_log=True, properties=_TWO_PARTITIONS),
    "kafka28": Spec("2.8.2", zookeeper=True, request_log=True, properties=_TWO_PARTITIONS),
    "kafka39": Spec("3.9.2", request_log=True, properties=_TWO_PARTITIONS),
    "kafka44": Spec("4.4.0", request_log=True, properties=_TWO_PARTITIONS),
    "kafka44-sasl-ssl": Spec(
        "4.4.0",
        request_log=True,
        key_log=True,
        listeners=(Listener("SECURE", "SASL_SSL", TLS13),),
        properties={
            "listener.name.secure.sasl.enabled.mechanisms": "PLAIN",
            "listener.name.secure.plain.sasl.jaas.config": f"{_PLAIN_LOGIN} {_LOGINS};",
            "ssl.endpoint.identification.algorithm": "",
        },
    ),
}
"""Clusters by the name of their recording."""
SECURE = "kafka44-sasl-ssl"


def run(lab: Lab, name: str) -> None:
    """Have all six clients use the broker, or the Java client alone over SASL_SSL."""
    if name == SECURE:
        _secure(lab)
        return
    _java(lab, java(lab.cluster.spec.version), {})
    for driver in (librdkafka(), kafka_python(), aiokafka(), franz(), sarama()):
        _other(lab, driver)


def _java(lab: Lab, client: Driver, where: dict[str, object]) -> None:
    common = {"topic": "of-java", "count": 4, **where}
    lab.run_driver(client, "Produce", client_id="java-writer", **common)
    lab.run_driver(client, "Consume", client_id="java-reader", group="java", commit="true", **common)
    transact = common | {"transactional_id": "java-txn", "plan": "commit,abort"}
    lab.run_driver(client, "Transact", client_id="java-transactor", **transact)


def _other(lab: Lab, driver: Driver) -> None:
    name = driver.name.partition(" ")[0]
    topic = f"of-{name}"
    write_and_read(lab, driver, topic)
    lab.run_driver(driver, "produce", client_id=f"{name}-silent", topic=topic, label="silent", acks="0")
    lab.run_driver(driver, "group", client_id=f"{name}-member", topic=topic, group=name, count=6)
    ids = {"id": f"{name}-txn", "group": f"{name}-mover"}
    with suppress(RuntimeError):  # a client that fails sends requests, too
        lab.run_driver(driver, "transactions", client_id=f"{name}-transactor", topic=topic, **ids)


def _secure(lab: Lab) -> None:
    """Log in by PLAIN over TLS."""
    properties = {
        "security.protocol": "SASL_SSL",
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(trust(*NAMED)),
        "ssl.endpoint.identification.algorithm": "",
        "sasl.mechanism": "PLAIN",
        "sasl.jaas.config": f'{_PLAIN_LOGIN} username="alice" password="{USERS["alice"]}";',
    }
    bootstrap = f"{HOST}:{lab.cluster.nodes[0].port(TLS13)}"
    _java(lab, java(lab.cluster.spec.version), {"bootstrap": bootstrap, "properties": properties})
