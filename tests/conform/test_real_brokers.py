"""Apache Kafka breaks no must, and its responses cover nearly all API versions that it advertises."""

import os

import pytest

from captures.conform.brokers import BROKERS
from tests.conform.test_broker_suite import codes, conform
from tests.tap.kafka import needs_kafka

_PORTS, _PORTS_OF_A_WORKER = 27_000, 100
_LEAST_SHARE = 0.9
_KAFKA = [name for name in BROKERS if name.startswith("kafka-")]


@pytest.mark.exhaustive
@pytest.mark.rotated(len(_KAFKA))
@pytest.mark.parametrize("name", _KAFKA)
def test_apache_kafka_breaks_no_must(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    needs_kafka(f"broker-{name.removeprefix('kafka-')}", "client-4.4.0")
    worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
    with BROKERS[name].run(_PORTS + _PORTS_OF_A_WORKER * worker) as address:
        code, report = conform(address, capfd, "--destructive")
    assert (code, codes(report), report["ended_early"]) == (0, set(), None)
    assert report["exercised"] >= _LEAST_SHARE * report["advertised"]
