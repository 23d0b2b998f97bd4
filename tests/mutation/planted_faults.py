"""The kinds of faults that another author planted in recordings, and what finds each.

A kind is found by a rule (`code`), which a mutator or a fixture shows, or has the `reason` why the
bytes of such a recording prove no fault, with its `source`.
"""

from typing import NamedTuple


class Planted(NamedTuple):
    """One kind: what was changed, and the rule that finds it or the reason why none does.

    `case` is the capture of the reference cases that has the fault, where there is one.
    """

    fault: str
    code: str = ""
    case: str = ""
    reason: str = ""
    source: str = ""


PLANTED = (
    Planted("Metadata: a leader that is not in sync", "MET009", "m_meta_leader_not_in_isr"),
    Planted("Metadata: port 70000", "MET013"),
    Planted("Metadata: an empty host", "MET013"),
    Planted("Metadata: a topic without partitions", "MET011"),
    Planted("Metadata: partition 903 of 4", "MET011", "m_meta_partition_gap"),
    Planted("Metadata: two topics with one id", "MET012", "m_meta_two_topics_one_id"),
    Planted("Metadata: the cluster id changes", "MET015", "m_meta_cluster_id_changes"),
    Planted("Metadata: error 5 with a leader", "MET010", "m_meta_no_leader_error_but_leader"),
    Planted("FindCoordinator: port 0 without an error", "MET013"),
    Planted("FindCoordinator: node -1 without an error", "MET013"),
    Planted("Heartbeat: a stranger is answered 0", "GRP036", "m_heartbeat_stranger_ok"),
    Planted("JoinGroup: the leader gets no members", "GRP030", "m_join_leader_without_members"),
    Planted("SyncGroup: a topic without a subscriber", "GRP035", "m_assign_unsubscribed_topic"),
    Planted(
        "SyncGroup: partition 99 of a topic with 6",
        reason="partitions may be added between Metadata and the assignment",
        source="org.apache.kafka.controller.ReplicationControlManager#createPartitions",
    ),
    Planted("SyncGroup: a member twice", "GRP031"),
    Planted("ConsumerGroupHeartbeat: interval 0", "GRP032", "m_k848_interval_zero"),
    Planted("ConsumerGroupHeartbeat: the zero topic id", "GRP034"),
    Planted(
        "ConsumerGroupHeartbeat: partition 99 of a topic with 6",
        case="m_k848_assignment_partition_99",
        reason="no later Metadata is in the capture, and partitions may be added before the assignment",
        source="org.apache.kafka.controller.ReplicationControlManager#createPartitions",
    ),
    Planted("ConsumerGroupHeartbeat: owns what it never got", "GRP037", "m_k848_owns_never_assigned"),
    Planted(
        "Fetch: records at or beyond the high watermark",
        case="m_fetch_records_beyond_hw",
        reason="the broker reads the watermark first and the records later, while the log grows",
        source="kafka.cluster.Partition#fetchRecords",
    ),
    Planted("Fetch: offset -7 is requested", "FET026", "m_fetch_offset_negative"),
    Planted(
        "Fetch: an aborted transaction beyond the last stable offset",
        reason="the broker reads the offset first and the transactions later, while the log grows",
        source="kafka.cluster.Partition#fetchRecords",
    ),
    Planted(
        "Fetch: producer id -1 with epoch 3 and sequence 9",
        case="m_fetch_producer_id_negative_with_seq",
        reason="a broker stores what a producer wrote, and looks at sequences of batches with a producer id",
        source="org.apache.kafka.storage.internals.log.LogValidator#validateBatch",
    ),
    Planted("Produce: log start above the base offset", "PRD014", "m_produce_logstart_above_base"),
    Planted(
        "Produce: base offset -1 without an error",
        reason="a broker answers -1 if it does not know the offset of a batch",
        source="org.apache.kafka.common.requests.ProduceResponse#INVALID_OFFSET",
    ),
    Planted("OffsetForLeaderEpoch: a later epoch than asked for", "MET014"),
    Planted(
        "Fetch: a batch of a later leader epoch than the leader's",
        "FET030",
        "m_fetch_future_leader_epoch",
    ),
    Planted(
        "Fetch: a value that differs from the produced one",
        "FET031",
        "m_fetch_value_differs_from_produced",
    ),
    Planted("ApiVersions: a feature range upside down", "VER021"),
    Planted("ShareFetch: lock timeout -7", "FET027", "m_share_lock_timeout_zero"),
    Planted("CreateTopics: other counts", "ADM017", "m_create_answer_other_partition_count"),
    Planted("CreateTopics: the zero id", "ADM023", "m_create_answer_zero_id"),
    Planted("CreateTopics: a topic twice is accepted", "ADM018", "m_create_topic_twice"),
    Planted("CreatePartitions: 0 is accepted", "ADM019"),
    Planted("DescribeLogDirs: a negative size", "ADM020", "m_logdirs_negative_size"),
    Planted("DeleteRecords: low watermark below the offset", "ADM021"),
    Planted("DescribeQuorum: leader 999", "KRF005", "m_quorum_leader_unknown"),
    Planted("ListOffsets: an answer before the time", "ADM022"),
    Planted("Fetch: records and high watermark -1", "FET029", "hw_missing"),
    Planted(
        "ConsumerGroupHeartbeat: a fenced member is refused with epoch 0", "GRP033", "fenced_rejoin_loop"
    ),
    Planted("EndTxn v5: the producer keeps the epoch before", "TXN012", "txn_epoch_not_taken_real"),
    Planted(
        "OffsetFetch: an error code that the API does not have",
        reason="no list of codes is complete: clients take the code of any error from any API",
        source="org.apache.kafka.common.protocol.Errors#forCode",
    ),
    Planted(
        "a frame that ends within a request, and another request after it", "FRM001", "truncated_request"
    ),
)


def page() -> str:
    """Return the table of docs/mutants.md."""
    rows = "".join(f"| {one.fault} | {one.code or _why(one)} |\n" for one in PLANTED)
    return f"| fault | found by, or why not |\n|---|---|\n{rows}"


def _why(one: Planted) -> str:
    return f"{one.reason} ({one.source})" if one.source else one.reason
