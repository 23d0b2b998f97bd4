"""The pairs: what one client does, and what is another thing the second time."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from captures.record.drivers import Driver
from captures.record.java import java
from captures.record.pythons import release

RDKAFKA, KAFKA_PYTHON, AIOKAFKA = "2.16.1", "3.0.12", "0.14.0"
APACHE, MOCK = "Apache Kafka 4.4.0", f"mock cluster of librdkafka {RDKAFKA}"
_FLOW = {"count": 12, "burst": 4, "pace": 200, "size": 120}


class Run(NamedTuple):
    """One half: a client that writes or reads at a broker."""

    driver: Callable[[], Driver]
    action: str
    options: Mapping[str, Any]
    settings: Mapping[str, str]
    broker: str = APACHE


class Pair(NamedTuple):
    """Two halves, and what was changed in words."""

    good: Run
    bad: Run
    changed: str


def _rdkafka(version: str = RDKAFKA) -> Callable[[], Driver]:
    return lambda: release("librdkafka", version)


def _kafka_python(version: str = KAFKA_PYTHON) -> Callable[[], Driver]:
    return lambda: release("kafka_python", version)


def _aiokafka() -> Driver:
    return release("aiokafka_", AIOKAFKA)


def _writes(driver: Callable[[], Driver], **settings: str) -> Run:
    return Run(driver, "writes", _FLOW, settings)


def _reads(driver: Callable[[], Driver], **settings: str) -> Run:
    return Run(driver, "reads", {"group": "readers", "count": 12}, settings)


def _java(version: str, action: str, **settings: str) -> Run:
    more = {"group": "readers"} if action == "Consume" else {"size": 120}
    names = {name.replace("_", "."): value for name, value in settings.items()}
    return Run(lambda: java(version), action, {"count": 12} | more, names)


def _dotted(run: Run) -> Run:
    """Return the run with the settings of librdkafka, whose names have dots."""
    return run._replace(settings={name.replace("_", "."): value for name, value in run.settings.items()})


def _elsewhere(run: Run) -> Pair:
    return Pair(run, run._replace(broker=MOCK), f"{APACHE}, then the {MOCK}")


_RD_OLD, _RD_NEW = _dotted(_writes(_rdkafka("2.0.2"))), _dotted(_writes(_rdkafka()))

PAIRS = {
    "broker_rdkafka_writes": _elsewhere(_RD_NEW),
    "broker_rdkafka_reads": _elsewhere(_dotted(_reads(_rdkafka()))),
    "broker_aiokafka_writes": _elsewhere(_writes(_aiokafka)),
    "release_rdkafka_writes": Pair(_RD_OLD, _RD_NEW, "librdkafka 2.0.2, then 2.16.1"),
    "release_kafka_python_reads": Pair(
        _reads(_kafka_python("2.0.2")), _reads(_kafka_python()), "kafka-python 2.0.2, then 3.0.12"
    ),
    "release_java_reads": Pair(
        _java("2.8.2", "Consume"), _java("4.4.0", "Consume"), "kafka-clients 2.8.2, then 4.4.0"
    ),
    "setting_rdkafka_codec": Pair(
        _RD_NEW, _dotted(_writes(_rdkafka(), compression_type="lz4")), "compression.type none, then lz4"
    ),
    "setting_rdkafka_protocol": Pair(
        _dotted(_reads(_rdkafka())),
        _dotted(_reads(_rdkafka(), group_protocol="consumer")),
        "group.protocol classic, then consumer",
    ),
    "setting_kafka_python_acks": Pair(
        _writes(_kafka_python(), enable_idempotence="false"),
        _writes(_kafka_python(), enable_idempotence="false", acks="1"),
        "acks all, then 1",
    ),
    "setting_aiokafka_isolation": Pair(
        _reads(_aiokafka),
        _reads(_aiokafka, isolation_level="read_committed"),
        "isolation_level read_uncommitted, then read_committed",
    ),
    "setting_aiokafka_session": Pair(
        _reads(_aiokafka),
        _reads(_aiokafka, session_timeout_ms="25000"),
        "session_timeout_ms 10000, then 25000",
    ),
}
"""By name: `broker` is another broker, `release` another release of the client, `setting` one setting."""
