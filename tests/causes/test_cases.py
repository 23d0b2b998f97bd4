"""Captures that nobody tuned causes to: the true cause or the general symptom is first, nothing is false.

Made by hand after public reports, or recorded (`*_real`) from Apache Kafka 4.4.0 (`share_*`
from 4.1.2, `named_*` from 3.9.2 and 0.11.0.3).
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest

from kdissect.report.causes.words import headline
from tests.causes.diagnosing import diagnosed, ids
from tests.support.messages.traffic import Conversation
from tests.support.packets.pcaps import pcap_bytes

CASES = Path(__file__).with_name("cases")


class Answer(NamedTuple):
    """The cause that is first, words of its sentence, and causes that the packets contradict."""

    capture: str
    first: str
    words: tuple[str, ...] = ()
    not_told: tuple[str, ...] = ()


VERSIONS = ("version-refused", "version-removed-by-upgrade")
ANSWERS = (
    Answer("e_rf.pcapng.gz", "requests-fail",
           ("266 of 266 CreateTopics", "INVALID_REPLICATION_FACTOR", "Unable to replicate the partition")),
    Answer("misroute.pcapng.gz", "wrong-cluster", ("16 times", "REBOOTSTRAP_REQUIRED")),
    Answer("produce_timed_out.pcap.gz", "requests-fail", ("20 of 20 Produce", "REQUEST_TIMED_OUT")),
    Answer("produce_invalid_request.pcap.gz", "requests-fail", ("20 of 20 Produce", "INVALID_REQUEST")),
    Answer("fenced_rejoin_loop.pcap.gz", "requests-fail", ("FENCED_MEMBER_EPOCH", "'payments'")),
    Answer("telemetry_loop.pcap.gz", "requests-fail", ("PushTelemetry", "UNKNOWN_SUBSCRIPTION_ID")),
    Answer("x_features_not_finalized_real.pcapng.gz", "feature-not-finalized",
           ("ConsumerGroupHeartbeat", "UNSUPPORTED_VERSION", "group.version"), VERSIONS),
    Answer("txn_epoch_not_taken_real.pcap.gz", "epoch-not-adopted", ("'tx-9'", "3 requests failed"),
           ("fenced-producer",)),
    Answer("streams_missing_topics_real.pcap.gz", "broker-reports-trouble",
           ("Source topics clicks are missing.",)),
    Answer("oauth_rejected_challenge.pcap.gz", "broker-reports-trouble", ("invalid_token",), VERSIONS),
    Answer("out_of_order.pcap.gz", "unreadable-bytes", ("PAI002",)),
    Answer("fetch_v11_no_replica.pcap.gz", "unreadable-bytes", ("VER012",)),
    Answer("truncated_request.pcap.gz", "unreadable-bytes", ("FRM001",)),
    Answer("proxy_apiversions_v4body.pcap.gz", "unreadable-bytes", ("VER005", "closed the")),
    Answer("http_answers.pcap.gz", "connections-fail", ("the broker speaks HTTP",)),
    Answer("broker_frozen_15_clients_real.pcap.gz", "stalled-broker",
           ("stood still for 3.93 s", "15 open requests of 15 clients")),
    Answer("hang_8s_real.pcap.gz", "stalled-broker",
           ("stood still for 8.00 s", "5 open requests of 1 client"), ("leader-moved",)),
    Answer("slow_disk_real.pcap.gz", "responses-late", ("(Produce)",)),
    Answer("slow_poll_rdkafka_real.pcap.gz", "slow-poll", ("'pay2-1'", "REBALANCE_IN_PROGRESS"),
           ("session-timeout-too-short", "member-crashed")),
    Answer("unreleased_instance.pcap.gz", "duplicate-static-member", ("did not release it",)),
    Answer("node_endpoints_leak.pcap.gz", "plaintext-to-tls",
           ("in the NodeEndpoints of the Produce v10 response", "node 3", "no Metadata response")),
    Answer("sigterm.pcapng.gz", "broker-restarted", ("BrokerHeartbeat v2", "a controlled shutdown")),
    Answer("broker_killed_real.pcap.gz", "broker-restarted", (), VERSIONS),
    Answer("sasl_missing_real.pcap.gz", "login-missing", ("or closes for another reason",), VERSIONS),
    Answer("noreauth_real.pcap.gz", "session-expired", ("(8.00 s)",), VERSIONS),
    Answer("lb_rst_idle_real.pcap.gz", "idle-connection-reset",
           ("were reset 8 times", "after 7.78 s of silence or more", "a load balancer"), VERSIONS),
    Answer("eventhubs_v4_reset.pcap.gz", "version-refused", ("may not know version 4", "3 or less")),
    Answer("answer_over_client_limit.pcap.gz", "response-too-large", ("4 times", "a response of 100 MB")),
    Answer("revocation_14s_real.pcap.gz", "partitions-not-released",
           ("'nx-1' of group 'nx' had to give 2 partitions to 'nx-2'", "after 14.31 s")),
    Answer("commit_per_record_real.pcap.gz", "commit-storm", ("'ledger2-1'", "1,084 OffsetCommits")),
    Answer("snap128.pcap.gz", "capture-too-poor", (), ("slow-broker",)),
    Answer("byte_quota_small_records_real.pcap.gz", "throttled-produce", ("1.08 s at most",),
           ("throttled-requests",)),
    Answer("x_acks0_quota_real.pcapng.gz", "slow-broker", ("closed its TCP window 16 times",),
           ("slow-client",)),
    Answer("x_recompressed_too_large_real.pcapng.gz", "message-too-large",
           ("or as it stores them", "156 B with gzip, and 50.1 kB without compression")),
    Answer("lua2.pcapng.gz", "version-refused",
           ("Produce v0, which Kafka 4.0 dropped", "does not write the records")),
    Answer("rolling_restart_real.pcap.gz", "broker-restarted", ("ended all 3 connections",)),
    Answer("reauth_refused.pcap.gz", "reauthentication-refused",
           ("to authenticate again on its connection", "the same response lists it"), ("mechanism-refused",)),
    Answer("zstd_refetch.pcap.gz", "offset-not-passed", ("partition 0 from offset 40", "5 times", "zstd")),
    # Offsets exclude two retries in five, since others wrote between the other three. The end of the session
    # excludes all five.
    Answer("resent_not_doubled_real.pcap.gz", "session-expired",
           ("5 times", "5.03 s after the login or later", "does not process the request"),
           ("duplicate-writes", *VERSIONS)),
    Answer("transactional_id_expired_real.pcap.gz", "transactional-id-expired",
           ("'bank-1'", "INVALID_PRODUCER_ID_MAPPING", "had ended 12.00 s before")),
    Answer("disk_full_real.pcap.gz", "storage-error", ("'scans'",), ("requests-fail",)),
    Answer("replica_offline_real.pcap.gz", "partition-offline",
           ("'scans' partition 0 had no leader for 7.31 s", "its log directory failed"), ("requests-fail",)),
    Answer("named_then_nameless_real.pcapng.gz", "old-client", ("Produce v1",), ("broker-restarted",)),
    Answer("share_topic_recreated_real.pcapng.gz", "topic-recreated", ("'jobs'", "client 'worker'")),
    Answer("topic_recreated_real.pcap.gz", "topic-recreated", ("deleted and created again",),
           ("offset-rewound",)),
    # kafka-python 1.4.7 does not try again. The topics had just been created.
    Answer("records_dropped_real.pcapng.gz", "records-dropped",
           ("12 records of client 'intake'", "UNKNOWN_TOPIC_OR_PARTITION", "6 records for orders-4-0",
            "none of the next Produce requests of the client"), ("requests-fail",)),
    Answer("recompressed_real.pcapng.gz", "recompressed",
           ("'till'", "11 batches with gzip", "received them with lz4", "offsets 30 to 59 of partition 0")),
)  # fmt: skip
HEALTHY = (
    "batch_job_group_real", "clock_forward", "listoffsets_behind_fetch_real", "nat_both_sides",
    "no_bare_acks",
)  # fmt: skip


@pytest.mark.sampled(2)
@pytest.mark.parametrize("answer", ANSWERS, ids=lambda answer: answer.capture.partition(".")[0])
def test_the_first_line_is_right(answer: Answer) -> None:
    found = diagnosed(CASES / answer.capture)
    assert ids(found)[:1] == [answer.first]
    assert all(word in found.causes[0].sentence for word in answer.words), found.causes[0].sentence
    told = {*ids(found), *(effect.id for cause in found.causes for effect in cause.effects)}
    assert told.isdisjoint(answer.not_told)


@pytest.mark.parametrize("name", HEALTHY)
def test_healthy_captures_have_no_cause(name: str) -> None:
    assert ids(diagnosed(CASES / f"{name}.pcap.gz")) == []


def test_a_capture_without_kafka_is_not_called_right(tmp_path: Path) -> None:
    talk = Conversation()
    talk.client(b"some other protocol").broker(b"and its answer")
    path = tmp_path / "other.pcap"
    path.write_bytes(pcap_bytes(talk.packets))
    assert (
        headline(diagnosed(path))
        == "kdissect could not judge anything: no Kafka was found in 1 connection (1 unknown)"
    )
