"""What is wrong in the captures of the corpus is found, and nothing in those where nothing is."""

import pytest

from tests.causes.diagnosing import capture, diagnosed, ids

# Captures of scenarios with a fault (their truth files tell which), and the causes that tell it.
FAULTS = {
    "kafka44_java_errors": {
        "cluster-denied", "group-denied", "message-too-large", "session-timeout-too-short", "topic-denied",
    },
    "kafka44_java_killed": {"member-crashed"},
    "kafka44_java_rejoins": {"slow-poll"},
    "kafka44_java_transactions": {"fenced-producer"},
    "kafka44_java_refused": {"login-refused", "mechanism-refused"},
    "kafka44_missteps_raw": {"sequence-gap"},
    "kafka44_connect_plain": {
        "advertised-address", "login-refused", "mechanism-refused", "tls-to-plaintext",
        "version-refused",
    },
    "kafka44_connect_tls": {"plaintext-to-tls", "tls-handshake-failed"},
    "kafka44_java_racks": {"not-enough-replicas"},
}  # fmt: skip


@pytest.mark.parametrize("name", FAULTS)
def test_faults_are_told(name: str) -> None:
    found = diagnosed(capture(name))
    assert FAULTS[name] <= set(ids(found))
    assert all(cause.evidence and cause.sentence and cause.parties for cause in found.causes)
