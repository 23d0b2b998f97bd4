"""Captures of scenarios in which nothing is wrong: what is told there is a false alarm."""

import pytest

from tests.causes.diagnosing import capture, diagnosed, ids

# By their stories and truth files: clients of every kind at work, without a fault that was brought about. Not
# tansu_kp202_admin: tansu answers OffsetFetch with a body that ends early, and the client leaves.
HEALTHY = (
    "kafka28_java_generations_late", "kafka28_java_logs", "kafka28zk_franz_late", "kafka37_snapshot",
    "kafka40_java_share", "kafka44_aiokafka_admin", "kafka44_aiokafka_groups", "kafka44_aiokafka_produce",
    "kafka44_aiokafka_transactions", "kafka44_franz_admin", "kafka44_franz_groups", "kafka44_franz_produce",
    "kafka44_franz_transactions", "kafka44_java_generations", "kafka44_java_kip848", "kafka44_java_logs",
    "kafka44_java_produce", "kafka44_java_redelivery", "kafka44_java_savings", "kafka44_java_share",
    "kafka44_java_telemetry", "kafka44_java_tls12", "kafka44_java_tls13", "kafka44_kafkajs_admin",
    "kafka44_kafkajs_groups", "kafka44_kafkajs_produce", "kafka44_kafkajs_transactions", "kafka44_kp3_admin",
    "kafka44_kp3_groups", "kafka44_kp3_produce", "kafka44_kp3_transactions", "kafka44_rdkafka_admin",
    "kafka44_rdkafka_groups", "kafka44_rdkafka_produce", "kafka44_rdkafka_transactions",
    "kafka44_sarama_admin", "kafka44_sarama_groups", "kafka44_sarama_produce", "kafka44_sarama_transactions",
    "kafka44_segmentio_admin", "kafka44_segmentio_groups", "kafka44_segmentio_produce", "tansu_rdk216_acks",
    "tansu_rdk216_kip848", "tansu_rdk216_share",
)  # fmt: skip
# Capture, cause, and why it is told: docs/why.md prints them. There may be one.
FALSE_ALARMS: tuple[tuple[str, str, str], ...] = ()


@pytest.mark.sampled(6)
@pytest.mark.parametrize("name", HEALTHY)
def test_nothing_is_told_of_healthy_captures(name: str) -> None:
    expected = [cause for capture_name, cause, _ in FALSE_ALARMS if capture_name == name]
    assert ids(diagnosed(capture(name))) == expected


def test_there_is_one_false_alarm_at_most() -> None:
    assert len(HEALTHY) >= 30
    assert len(FALSE_ALARMS) <= 1
