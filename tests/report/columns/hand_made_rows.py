"""Rows for every table of the reports: each has a value, lacks it, is odd or bad, and stands at a limit."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from kdissect.report.cells import TableColumn
from kdissect.report.columns import (
    access,
    changes,
    comparison,
    connections,
    delays,
    exchanges,
    groups,
    logins,
    mirrors,
    offsets,
    one_way,
    producers,
    records,
    share_groups,
    streams_groups,
    time_split,
    topics,
    traffic,
)
from kdissect.stats.times.time_split import PARTS, PHASES

Row = dict[str, Any]
DAY, NEXT_DAY = "2026-11-28T08:09:10.123456789Z", "2026-11-29T23:59:59.999999999Z"
MS = 1_000_000


class Table(NamedTuple):
    """Columns, and rows for them."""

    columns: Sequence[TableColumn]
    rows: Sequence[Row]


def changed(row: Row, *changes_: Row) -> list[Row]:
    """Return a row, and the same row with each of the changes."""
    return [row, *(row | change for change in changes_)]


ACCESSES = changed(
    {
        "principal": "alice", "principal_source": "login", "client_id": "app", "software": "librdkafka",
        "address": "10.0.0.1", "operation": "Read", "resource": "Topic", "name": "b\x1b", "requests": 3,
        "allowed": 3, "denied": 0, "unanswered": 0, "unchecked": 0, "apis": {"Fetch": 2, "OffsetCommit": 1},
        "alternatives": [], "first_time": DAY, "last_time": NEXT_DAY,
    },
    {"principal": None, "principal_source": "hidden", "client_id": None, "software": None},
    {"allowed": 0, "denied": 1, "unanswered": 1, "unchecked": 1, "alternatives": ["Create on Cluster"]},
    {"first_time": None, "last_time": None, "cluster": "c1", "apis": {}},
)  # fmt: skip
ACLS = changed(
    {"principal": "User:alice", "host": "*", "operation": "Read", "permission": "Allow", "resource": "Topic",
     "name": "orders", "pattern": "literal"},
    {"permission": "Deny", "pattern": "prefixed", "host": "10.0.0.9", "cluster": "c1"},
)  # fmt: skip

TIMES = {"count": 3, "sum": 9 * MS, "min": MS, "max": 5 * MS, "p50": 3 * MS, "p99": 5 * MS}
STAGE = {"records": 3, "mean": 3 * MS, "max": 5 * MS}
DELAYS = changed(
    {
        "topic": "orders", "partition": 0, "group": "b\x1b", "client_id": "app", "records": 3,
        "delay_ns": TIMES, "linger_ns": STAGE, "broker_ns": STAGE, "poll_ns": STAGE, "commit_ns": STAGE,
        "age_ns": TIMES, "committed_ns": TIMES, "lag": 7, "lag_ns": 90 * 1000 * MS, "again": 1, "aborted": 2,
        "unmatched": 3,
    },
    {"group": None, "client_id": None, "cluster": "c1", "lag": None, "lag_ns": None},
    {"delay_ns": None, "linger_ns": None, "broker_ns": None, "poll_ns": None, "commit_ns": None},
    {"age_ns": None, "committed_ns": None, "lag": 0, "lag_ns": 0, "again": 0, "aborted": 0, "unmatched": 0},
)  # fmt: skip
MIRRORS = changed(
    {
        "source_cluster": "c1", "source_topic": "orders", "target_cluster": "c2",
        "target_topic": "c1.ord\x1b", "partitions": 2, "source_records": 9, "target_records": 8, "arrived": 5,
        "missing": 2,
        "passed_over": 1, "in_transactions": 1, "duplicates": 1, "reordered": 1, "unmatched": 1,
        "waiting": 2, "outside": 1, "early": 1, "left_out": 3, "source_unseen": 1,
        "target_unseen": 1, "delay_ns": TIMES,
    },
    {"source_cluster": None, "target_cluster": None, "delay_ns": None},
    {"missing": 0, "passed_over": 0, "duplicates": 0, "reordered": 0, "unmatched": 0, "waiting": 0},
)  # fmt: skip
PLACES = changed(
    {
        "source_cluster": "c1", "source_topic": "orders", "target_cluster": "c2",
        "target_topic": "c1.orders", "what": "missing", "partition": 1, "side": "source",
        "first_offset": 7, "last_offset": 9, "records": 3,
    },
    {"what": "duplicate", "side": "target"},
)  # fmt: skip
TRANSLATED = changed(
    {
        "group": "b\x1b", "target_topic": "c1.orders", "partition": 0, "source_offset": 30,
        "target_offset": 1, "exact_offset": 30, "again": 29, "skipped": 0,
    },
    {"exact_offset": None, "again": None, "skipped": None},
    {"again": 0, "skipped": 4},
)  # fmt: skip
CLOCKS = changed(
    {
        "principal": None, "client_id": "app", "software": "librdkafka", "address": "10.0.0.1", "records": 9,
        "without_time": 1, "too_old": 2, "after_produce": 3, "ahead_least_ns": 40 * MS,
        "behind_most_ns": 5 * MS,
    },
    {"client_id": None, "software": None, "cluster": "c1", "behind_most_ns": None},
    {"without_time": 0, "too_old": 0, "after_produce": 0, "ahead_least_ns": 0},
)  # fmt: skip

EXCHANGE: Row = {
    "number": 7, "request": {"time": DAY, "bytes": 12}, "response": {"time": NEXT_DAY, "bytes": 345},
    "client": "10.0.0.1:4000", "broker": "10.0.0.2:9092", "client_id": "app", "api_key": 1, "api": "Fetch",
    "api_version": 12, "kind": "kafka", "latency_ns": 2 * MS, "anomalies": [], "errors": [],
    "state": "complete", "closed": None, "topics": ["a", "b\x1b"], "topic_ids": ["id"],
}  # fmt: skip
EXCHANGES = changed(
    EXCHANGE,
    {"request": None, "client_id": None, "api": None, "topics": [], "state": "orphan_response"},
    {"response": None, "latency_ns": None, "api_key": None, "kind": "sasl_token", "topics": [],
     "topic_ids": []},
    {"api_key": None, "latency_ns": 0},
)  # fmt: skip

CONNECTION: Row = {
    "number": 1, "start": DAY, "client": "10.0.0.1:4000", "broker": "10.0.0.2:9092", "kind": "kafka",
    "client_id": "app", "software": "librdkafka", "principal": "alice", "mechanism": "PLAIN",
    "duration_ns": 2 * MS, "exchanges": 3, "unanswered": 0, "client_bytes": 0, "broker_bytes": 4096,
    "closed": {"by": "client", "how": "fin"}, "rtt_ns": 1000, "captured_near": "client", "gaps": 0,
    "retransmissions": 0, "out_of_order": 0, "duplicates": 0, "zero_windows": 0, "resets": 0, "delayed_ns": 0,
}  # fmt: skip
CONNECTIONS = changed(
    CONNECTION,
    {"client_proxied": "192.0.2.1:1", "kind": "tls", "principal": None, "unanswered": 1, "closed": None,
     "captured_near": None, "rtt_ns": None, "client_bytes": None},
    {"mechanism": None, "closed": {"by": None, "how": "rst"}, "gaps": 1, "retransmissions": 2,
     "out_of_order": 1, "client_proxied": None},
    {"closed": {"by": "broker", "how": "capture_end"}, "duplicates": 1, "zero_windows": 2, "resets": 1},
    {"closed": {"by": None, "how": "fin"}, "delayed_ns": 1},
)  # fmt: skip
PROBLEM: Row = {
    "number": 1, "start": DAY, "duration_ns": MS, "client": "10.0.0.1:4000", "client_id": "app",
    "broker": "10.0.0.2:9092", "reason": "refused", "kafka": True, "packets": [3, 5, 6, 7, 9, 10],
    "sentence": "nothing listens",
}  # fmt: skip
PROBLEMS = changed(PROBLEM, {"kafka": False, "packets": []})

RECORD: Row = {
    "number": 1, "time": DAY, "direction": "produce", "topic": "t", "topic_id": "id", "partition": 0,
    "offset": 5, "timestamp": DAY, "codec": "zstd", "producer_id": 9, "producer_epoch": 1, "sequence": 0,
    "key": "k", "headers": [{"key": "h", "value": "v"}, {"key": "i", "value": {"base64": "AP8="}}],
    "value": "v\x1b", "crc_ok": True, "control": None,
}  # fmt: skip
RECORDS = changed(
    RECORD,
    {"topic": None, "partition": None, "offset": None, "timestamp": None, "sequence": None, "key": None,
     "headers": [], "value": None},
    {"topic": None, "topic_id": None, "producer_id": None, "crc_ok": False, "value": {"base64": "AP8="},
     "delivery_count": 1},
    {"control": "commit", "delivery_count": 2, "acquired": True},
    {"control": "abort", "crc_ok": False, "delivery_count": None},
    {"acquired": False, "delivery_count": 3, "value": {"base64": "AP8=", "more": 1}},
)  # fmt: skip

CHANGES = changed(
    {"time": DAY, "principal": "alice", "client_id": "app", "address": "10.0.0.1", "through": "controller",
     "kind": "topic", "name": "t", "did": "created", "only_check": False, "error": None, "answered": True,
     "detail": "3 partitions", "exchange": "c/1"},
    {"only_check": True, "error": "DENIED\x1b"},
    {"answered": False, "principal": None},
)  # fmt: skip

STEP: Row = {"exchanges": 0, "errors": 1, "p50_ns": None, "bytes": 999}
STEPS = [
    {"good_client": good, "bad_client": bad, "api": "Fetch", "good": STEP, "bad": STEP | {"errors": 0}}
    for good, bad in (("a", "a"), ("a", None), (None, None), (None, "b"), ("a", "b\x1b"))
]
CAUSES = [
    {"state": state, "title": "Slow", "good_times": 0, "bad_times": None, "who": "app", "sentence": "It is."}
    for state in ("new", "worse", "better")
]
DIFFERENCES = changed(
    {"rank": 1, "kind": "outcome", "clients": ["a", "b", "c"], "api": "Fetch", "what": "error",
     "elements": [], "better": False, "good": None,
     "bad": {"count": 2, "values": [{"value": 6, "count": 2}]}},
    {"better": True, "clients": ["a", "b", "c", "d"], "elements": [1]},
    {"kind": "request"},
)  # fmt: skip

MEMBER: Row = {"gone": None}
GROUP: Row = {
    "group": "g", "kind": "classic", "protocol": "range", "state": "stable", "generation": 0,
    "members": [MEMBER, {"gone": "left"}], "rebalance_count": 0, "lag": 0, "coordinator": "10.0.0.2:9092",
    "named_by": [], "errors": {}, "denied": [],
}  # fmt: skip
GROUPS = changed(
    GROUP,
    {"state": "rebalancing", "members": [MEMBER, MEMBER], "rebalance_count": 2, "lag": None,
     "errors": {"A": 1, "B": 2}},
    {"state": "join unanswered", "members": [], "kind": None, "named_by": [
        {"client_id": "a", "api": "FindCoordinator"}, {"client_id": "a", "api": "OffsetFetch"},
        {"client_id": None, "api": "DescribeGroups"},
    ], "denied": [{"principal": "p", "client_id": "c"}, {"principal": None, "client_id": "c"},
                  {"principal": None, "client_id": None}]},
    {"state": "reconciling", "members": [{"gone": "left"}]}, {"state": "syncing"}, {"state": "empty"},
)  # fmt: skip
MEMBERS = changed(
    {"group": "g", "member_id": "m", "client_id": "app", "instance_id": None, "principal": None,
     "address": "10.0.0.1", "joined": DAY, "gone": None, "gone_at": None, "reason": None, "heartbeats": 0,
     "heartbeat_gap_ns": None, "assigned": None, "epoch": None},
    {"gone": "left", "reason": "closed", "gone_at": DAY, "heartbeats": 1, "assigned": ["t-0", "t-1\x1b"],
     "heartbeat_gap_ns": {"max": 3 * MS}, "epoch": 3},
    {"gone": "expelled"},
)  # fmt: skip
ENDS = (
    "accepted", "released", "rejected", "expired", "returned", "held", "unclear", "given_up", "renewed",
    "late", "refused", "gaps",
)  # fmt: skip
DELIVERIES = changed(
    {"group": "g", "member_id": "m", "client_id": "app", "principal": None, "address": "10.0.0.1",
     "topic": "t\x1b", "acquired": 9, "redelivered": 0, "delivery_counts": {"1": 9},
     **dict.fromkeys(ENDS, 0)},
    {"redelivered": 2, "delivery_counts": {"2": 1, "10": 1}, **{name: at for at, name in enumerate(ENDS, 1)}},
    {"delivery_counts": {}},
)  # fmt: skip
TASKS = changed(
    {"group": "g", "member_id": "m", "client_id": "app", "process_id": None, "gone": None, "epoch": None,
     "topology_epoch": None, "active": None, "standby": None, "warmup": None},
    {"process_id": "p", "gone": "left", "epoch": 3, "topology_epoch": 0, "active": ["0_0", "0_1\x1b"],
     "standby": [], "warmup": ["1_0"]},
)  # fmt: skip
STATUSES = changed(
    {"group": "g", "client_id": "app", "status": "MISSING_SOURCE_TOPICS", "count": 2, "first": DAY,
     "last": DAY, "lasts": True, "detail": "words\x1b"},
    {"status": "ASSIGNMENT_DELAYED", "lasts": False, "detail": ""},
)  # fmt: skip
CAUSE: Row = {"cause": "member_left", "member": "c-1", "reason": None}
OVER: Row = {
    "group": "g", "kind": "classic", "time": DAY, "generation": 2, "members": 2, "took_ns": 0, "reasons": {},
    "causes": [],
}  # fmt: skip
OPEN: Row = {"joined": [], "gave_up": [], "waiting_for": [], "revoking": []}
REBALANCES = changed(
    OVER,
    {"took_ns": None, "causes": [CAUSE, CAUSE, CAUSE | {"reason": "closed"}, CAUSE | {"member": None}],
     "reasons": {"c-1": "need to re-join with the given member-id: x", "c-2": "group is already rebalancing",
                 "c-3": "topic is new", "c-4": "so"}},
    OPEN,
    {"joined": ["c-1", "c-2"], "gave_up": [{"member": None, "at": DAY}, {"member": "c-3", "at": DAY}],
     "waiting_for": ["c-4", "c-5"], "revoking": [{"member": "c-4", "partitions": ["t-0", "t-1"]}]},
)  # fmt: skip
RHYTHM: Row = {"count": 2, "first": DAY, "last": DAY, "every_ns": 0}
OF_GROUP: Row = {"group": "g", "client_id": "app", "address": "10.0.0.1"} | RHYTHM
FAILURES = changed(OF_GROUP | {"api": "JoinGroup", "error": "FENCED"}, {"every_ns": None, "client_id": None})
REJOINS = changed(
    OF_GROUP | {"after": "replaced", "reason": None}, {"after": "left", "reason": "closed", "every_ns": None}
)
PARTITION: Row = dict.fromkeys(("fetch_offset", "high_watermark", "lag", "committed", "committed_lag"), 0)
PARTITIONS = changed(
    PARTITION | {"group": "g", "topic": "t", "partition": 0, "member": None}, dict.fromkeys(PARTITION)
)

LOGIN: Row = {
    "time": DAY, "client_id": "app", "software": "librdkafka", "address": "10.0.0.1", "broker": "b:9092",
    "mechanism": "PLAIN", "principal": "alice", "outcome": "refused", "error": None, "message": None,
    "offered": [], "took_ns": 0, "exchange": "c/1",
}  # fmt: skip
LOGINS = changed(
    LOGIN,
    LOGIN,
    {"error": "E", "message": "wrong\x1b", "offered": ["SCRAM"], "took_ns": None},
    {"offered": ["SCRAM", "GSSAPI"]},
    {"offered": ["PLAIN"]},
    {"outcome": "accepted"},
)
WHO = changed(
    LOGIN | {"count": 3, "again": 0, "outcomes": {"accepted": 3}, "took_ns": {"p50": 0, "max": MS}},
    {"again": 1, "outcomes": {"refused": 2, "no answer": 1}, "took_ns": None},
    {"outcomes": {"accepted": 1, "refused": 1}},
)

PLACE: Row = {
    "time": DAY, "client_id": "app", "address": "10.0.0.1", "group": "g", "topic": "t", "partition": 0,
    "exchange": "c/1",
}  # fmt: skip
POSITIONS = changed(PLACE | {"before": 5, "after": 4, "because": None}, {"after": 6}, {"after": 5})
COMMITS = [PLACE | {"before": None, "after": 0, "what": "back"}]
HELD = changed(
    PLACE | {"last_stable_offset": 0, "high_watermark": 1, "held_ns": MS, "moved": None, "until": None,
             "transactional_id": "x", "producer_id": 0, "waiting": []},
    {"moved": NEXT_DAY, "until": NEXT_DAY, "waiting": ["a", "b\x1b"], "producer_id": None},
    {"until": NEXT_DAY},
)  # fmt: skip
TWICE = changed(
    PLACE | {"records": 1, "again": {"offset": 0, "client_id": None},
             "first": {"offset": 1, "client_id": "a"}, "differs": "", "read_by": []},
    {"again": {"offset": 0, "client_id": "a"}, "differs": "id", "read_by": ["b", "c\x1b"]},
)  # fmt: skip
GAPS = [PLACE | {"from": 0, "to": 4, "offsets": 4}]

WAYS: Row = dict.fromkeys(
    ("both_ways_ns", "to_broker_ns", "to_client_ns", "shortest_ns", "shortest_to_broker_ns",
     "shortest_to_client_ns"), 100 * MS,
)  # fmt: skip
WAY: Row = WAYS | {"api": "Fetch", "exchanges": 1, "error_ns": MS}
ONE_WAY = changed(
    WAY,
    {"error_ns": MS - 1},
    {"error_ns": 0, "to_broker_ns": 0},
    {"error_ns": None, "to_client_ns": None},
    {"to_broker_ns": -200 * MS, "to_client_ns": -100 * MS},
)
LEG: Row = {
    "number": 1, "client": "10.0.0.1:4000", "broker": "10.0.0.2:9092", "client_id": None, "near_client": "a",
    "near_broker": "b",
}  # fmt: skip

EVENT: Row = {
    "time": DAY, "time_ns": 2, "what": "out_of_order", "where": "t-0", "expected": "1", "seen": "2",
    "detail": "", "exchange": "c/1",
}  # fmt: skip
EVENTS = {
    "producers": [{"producer_id": 9, "events": [EVENT, EVENT | {"time_ns": 3}, EVENT | {"seen": "3"}]}],
    "transactional_ids": [
        {"transactional_id": "x", "events": [EVENT | {"time_ns": 1}], "transactions": [{"epoch": 1}]}
    ],
}
PRODUCERS = changed(
    {"producer_id": 0, "epoch": 0, "transactional_id": None, "client_ids": [], "batches": 1, "records": 2,
     "partitions": [], "retries": 0, "duplicates": 0, "sequence_jumps": 0, "errors": {},
     "given_in_capture": True},
    {"client_ids": ["a", "b\x1b"], "partitions": ["t-0"], "retries": 1, "duplicates": 2, "sequence_jumps": 3,
     "errors": {"E": 1}, "given_in_capture": False},
)  # fmt: skip
TRANSACTIONS = changed(
    {"transactional_id": "x", "producer_id": 0, "epoch": 0, "began": None, "took_ns": None,
     "outcome": "committed", "records": 0, "partitions": ["1", "2", "3", "4"], "groups": [], "markers": 0,
     "marked": "commit"},
    {"outcome": "aborted", "began": DAY, "took_ns": 0, "partitions": ["1", "2", "3", "4", "5", "6"],
     "groups": ["a", "b"], "markers": 1},
    {"outcome": "fenced"}, {"outcome": "expired"}, {"outcome": "open", "partitions": []},
)  # fmt: skip

SPLIT: Row = {"api": None, "exchanges": 3, "time_ns": 9 * MS, "pauses": 0, "client_ns": 0, "logged": 2} | {
    f"{part}_ns": (number + 3) * MS for number, part in enumerate((*PARTS, *PHASES))
}
SPLITS = changed(SPLIT, {"pauses": 2, "client_ns": MS})

SPREAD: Row = {"min": 1, "p50": 2000, "max": 3_000_000}
SAME: Row = {"min": 7, "p50": 7, "max": 7}
NOT_USED: Row = {"requests": 0, "records": 0, "uncounted": 0, "bytes": 0}
USED: Row = {"requests": 1, "records": 0, "uncounted": 0, "bytes": 999}
TOPIC: Row = {
    "topic": "t", "topic_id": "id", "partitions": [0], "partition_count": 1, "written": NOT_USED,
    "read": USED, "batch_records": SPREAD, "batch_bytes": SPREAD, "key_bytes": SAME, "value_bytes": None,
    "codecs": {"none": 3, "lz4": 2}, "denied": [],
}  # fmt: skip
TOPICS = changed(
    TOPIC,
    {"topic": None, "partition_count": 3, "written": USED | {"uncounted": 1, "records": 4},
     "read": USED | {"acquired": 0, "acquired_unknown": False},
     "denied": [{"attempts": 1}, {"attempts": 2}]},
    {"topic": None, "topic_id": None, "partitions": [], "partition_count": None,
     "read": USED | {"acquired": 2, "acquired_unknown": True}},
    {"partitions": [], "partition_count": 3}, {"partition_count": None},
)  # fmt: skip
USER: Row = {
    "role": "write", "principal": "p", "client_id": "app", "software": None, "address": "10.0.0.1",
    "requests": 1, "records": 0, "uncounted": 0, "bytes": 0, "unconfirmed": 0, "refused": 0, "errors": {},
}  # fmt: skip
DENIED: Row = {
    "principal": "q", "client_id": "app", "software": None, "address": "10.0.0.1", "attempts": 2,
    "api": "Fetch",
}  # fmt: skip
USERS = TOPIC | {
    "writers": changed(USER, {"unconfirmed": 1, "refused": 2, "errors": {"E": 1}, "bytes": 1}),
    "readers": [
        USER | {"role": "read", "groups": ["g", "h\x1b"], "uncounted": 1},
        USER | {"role": "share", "acquired": 1, "acquired_unknown": False},
        USER | {"role": "follow"},
    ],
    "denied": [DENIED],
}
SENT: Row = {
    "records": 9, "as_sent": {"bytes": 1000, "batches": 2}, "of_batches": 4, "is_sample": True,
    "zstd": {"bytes": 250}, "larger": {"bytes": 1000}, "larger_zstd": {"bytes": 1100},
}  # fmt: skip
SAVINGS = [
    TOPIC | {"savings": None},
    TOPIC | {"savings": SENT},
    TOPIC | {"savings": SENT | {"is_sample": False}},
]

TIMES: Row = {"count": 2, "p50": MS, "p90": 2 * MS, "p99": 3 * MS, "max": 4 * MS}
TRAFFIC_ROW: Row = {
    "api": "Fetch", "exchanges": 20, "failed": 0, "latency_ns": TIMES, "broker_ns": None, "unclear": 0,
    "empty_early": 0, "wait_ns": None, "throttle_ns": None, "request_bytes": 0, "response_bytes": 1000,
    "errors": {"E": 1},
}  # fmt: skip
TRAFFIC = {
    "rows": changed(
        TRAFFIC_ROW,
        {"api": None, "failed": 1, "latency_ns": None, "broker_ns": TIMES, "unclear": 1, "empty_early": 2,
         "wait_ns": TIMES, "throttle_ns": TIMES},
        {"api": "b\x1b"}, {"api": "c", "errors": {"E": 1, "F": 1}}, {"api": "d"},
    ),
    "other": TRAFFIC_ROW, "total": TRAFFIC_ROW | {"errors": {"E": 5, "F": 1}},
}  # fmt: skip
POINT: Row = {
    "time": DAY, "time_ns": 10**9, "exchanges": 1, "request_bytes": 1, "response_bytes": 2000, "errors": 1,
}  # fmt: skip
TOLD: Row = {
    "client_id": "app", "address": "10.0.0.1", "rack": "a", "broker": "b:9092", "broker_rack": None,
    "replica_address": "c:9092", "replica": 0, "replica_rack": "a", "told": 3, "followed": 0, "ignored": 1,
}  # fmt: skip


def over_time() -> list[Row]:
    """Return two points with a gap between them."""
    points = [POINT | {"time_ns": 3 * 10**9}, POINT]
    found = traffic.time_rows({"points": points, "interval_ns": 10**9})
    return [row | {"bar": "#"} for row in found]


TABLES: dict[str, Callable[[], Table]] = {
    "changes": lambda: Table(changes.change_columns(), CHANGES),
    "differences": lambda: Table(comparison.difference_columns(), DIFFERENCES),
    "steps": lambda: Table(comparison.step_columns(), STEPS),
    "causes": lambda: Table(comparison.cause_columns(), CAUSES),
    "connections": lambda: Table(connections.connection_columns(), CONNECTIONS),
    "problems": lambda: Table(connections.problem_columns(), PROBLEMS),
    "exchanges": lambda: Table(exchanges.exchange_columns(), EXCHANGES),
    "groups": lambda: Table(groups.group_columns(), GROUPS),
    "members": lambda: Table(groups.member_columns(), MEMBERS),
    "rebalances": lambda: Table(groups.rebalance_columns(), REBALANCES),
    "deliveries": lambda: Table(share_groups.delivery_columns(), DELIVERIES),
    "tasks": lambda: Table(streams_groups.task_columns(), TASKS),
    "statuses": lambda: Table(streams_groups.status_columns(), STATUSES),
    "failures": lambda: Table(groups.failure_columns(), FAILURES),
    "rejoins": lambda: Table(groups.rejoin_columns(), REJOINS),
    "partitions": lambda: Table(groups.partition_columns(), PARTITIONS),
    "access": lambda: Table(access.access_columns(), ACCESSES),
    "lacking": lambda: Table(
        access.lacking_columns(), [row | {"why": "no ACL allows it"} for row in ACCESSES]
    ),
    "delays": lambda: Table(delays.delay_columns(("topic", "partition", "group", "client_id")), DELAYS),
    "clocks": lambda: Table(delays.clock_columns(), CLOCKS),
    "mirrors": lambda: Table(mirrors.mirror_columns(), MIRRORS),
    "places": lambda: Table(mirrors.place_columns(), PLACES),
    "translated": lambda: Table(mirrors.translated_columns(), TRANSLATED),
    "acls": lambda: Table(access.acl_columns(), ACLS),
    "logins": lambda: Table(logins.who_columns(), WHO),
    "failed logins": lambda: Table(logins.failed_columns(), logins.failed_rows({"logins": LOGINS})),
    "positions": lambda: Table(offsets.position_columns(), POSITIONS),
    "commits": lambda: Table(offsets.commit_columns(), COMMITS),
    "held": lambda: Table(offsets.held_columns(), HELD),
    "written twice": lambda: Table(offsets.twice_columns(), TWICE),
    "gaps": lambda: Table(offsets.gap_columns(), GAPS),
    "one way": lambda: Table(one_way.one_way_columns(["api"]), ONE_WAY),
    "one way connections": lambda: Table(one_way.connection_columns(), [LEG | row for row in ONE_WAY[:1]]),
    "producers": lambda: Table(producers.producer_columns(), PRODUCERS),
    "transactions": lambda: Table(producers.transaction_columns(), TRANSACTIONS),
    "events": lambda: Table(producers.event_columns(), producers.event_rows(EVENTS)),
    "without id": lambda: Table(producers.without_id_columns(), [{"client_id": "a", "batches": 1}]),
    "records": lambda: Table(records.record_columns(), RECORDS),
    "time split": lambda: Table(time_split.split_columns(["api"], is_logged=True), SPLITS),
    "topics": lambda: Table(topics.topic_columns(TOPICS), TOPICS),
    "users": lambda: Table(topics.user_columns([USERS]), list(topics.user_rows([USERS]))),
    "savings": lambda: Table(topics.savings_columns(SAVINGS), list(topics.savings_rows(SAVINGS))),
    "traffic": lambda: Table(
        traffic.traffic_columns(["api"], 2 * 10**9), list(traffic.traffic_rows(TRAFFIC, "api"))
    ),
    "errors": lambda: Table(traffic.error_columns(), list(traffic.error_rows(TRAFFIC, ["api"]))),
    "told": lambda: Table(traffic.told_columns(), changed(TOLD, {"followed": 2, "ignored": 0})),
    "over time": lambda: Table(traffic.time_columns(2 * 10**9), over_time()),
}
