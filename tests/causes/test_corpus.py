"""What is wrong in the captures of the corpus is found, compiled and not."""

import os
import subprocess
import sys

import pytest

from kdissect.model.native import is_compiled
from kdissect.report.causes.json import causes_json
from tests.causes.diagnosing import capture, diagnosed, ids
from tests.support.console import CAPTURES, CHECKOUT

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
        "login-missing",
    },
    "kafka44_connect_tls": {"plaintext-to-tls", "tls-handshake-failed"},
    "kafka44_java_racks": {"not-enough-replicas"},
    "kafka44_java_quotas": {"throttled-requests", "throttled-controller", "fetch-session-churn"},
    "kafka44_java_throttled": {"throttled-fetch", "throttled-produce"},
    "kafka44_java_positions": {"offset-reset"},
    "kafka44_java_leader_moves": {"leader-moved"},
    "kafka44_java_groups": {"member-crashed"},
    "kafka44_java_waiting": {"endless-rebalances"},
    "kafka44_java_admin": {"offset-rewound"},
    "kafka44_offset_resets": {"offset-rewound", "offsets-set-by-tool"},
    "kafka37_quorum": {"connection-refused", "leader-moved"},
    "kafka28_scala_consumer": {"old-client"},
}  # fmt: skip


@pytest.mark.sampled(8)
@pytest.mark.parametrize("name", FAULTS)
def test_faults_are_told(name: str) -> None:
    found = diagnosed(capture(name))
    assert FAULTS[name] <= set(ids(found))
    assert all(cause.evidence and cause.sentence and cause.parties for cause in found.causes)


def test_the_far_network_is_slow() -> None:
    found = diagnosed(CAPTURES / "taps" / "kafka44_java_far.client.pcapng")
    assert "slow-network" in ids(found)


@pytest.mark.skipif(not is_compiled, reason="the compiled part is not there")
@pytest.mark.sampled(20)
@pytest.mark.parametrize(
    "name", [*FAULTS, "faults/recorded/duplicate-writes-1", "faults/recorded/slow-broker-1"]
)
def test_python_alone_tells_the_same(name: str) -> None:
    program = (
        "from tests.causes.diagnosing import diagnosed; from kdissect.report.causes.json import causes_json;"
        f"print(causes_json(diagnosed({capture(name)!r})))"
    )
    environment = os.environ | {"KDISSECT_NATIVE": "0"}
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, cwd=CHECKOUT, capture_output=True, check=True
    )
    assert done.stdout.decode().strip() == causes_json(diagnosed(capture(name))).strip()
