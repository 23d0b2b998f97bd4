"""Tables of what crosses exchanges: topics, groups, producers, transactions."""

from kdissect.engine.exchange_rows import RowField
from kdissect.engine.tables.shared_columns import CAPTURE_SET, CLIENT, USE, distribution
from kdissect.engine.tables.table import Table, within

_USER = (
    RowField("role", "string", "`write`, `read`, `share` (share group) or `follow` (replication)"),
    *CLIENT,
    RowField("groups", "list<string>", "groups that the client speaks for"),
    *USE,
)
_CLUSTER = RowField("cluster", "string", "id of its cluster. Null if the capture set has one cluster alone")
_DENIED = (
    *CLIENT,
    RowField("api", "string", "name of the API"),
    RowField("attempts", "int64", "requests that were refused"),
)

TOPICS = Table(
    "topics",
    "One row for each topic of a capture set: who writes, who reads, how much, in what batches.",
    (
        CAPTURE_SET,
        RowField("topic", "string", "name. Null if only the id is known"),
        RowField("topic_id", "string", "its id, where it was named by that"),
        RowField("partitions", "list<int32>", "partitions seen"),
        RowField(
            "partition_count", "int32", "how many the topic has, by Metadata. Null if that was not seen"
        ),
        RowField("leaders_not_captured", "int32", "partitions whose leader has no connection in the capture"),
        *within("written", "struct", "what was written to it", USE),
        *within("read", "struct", "what consumers read of it", USE),
        RowField("codecs", "map<string,int64>", "batches by compression"),
        RowField("magics", "map<string,int64>", "batches by format"),
        RowField("control_batches", "int64", "batches of markers"),
        *distribution("batch_bytes", "sizes of batches"),
        *distribution("batch_records", "records of a batch"),
        *within("writers", "list<struct>", "clients that write", _USER),
        *within("readers", "list<struct>", "clients that read, and brokers that replicate", _USER),
        *within("denied", "list<struct>", "clients that were refused for want of permission", _DENIED),
        _CLUSTER,
    ),
    ("capture_set", "topic", "topic_id"),
    ("capture_set", "topic", "topic_id"),
)

_WHO = (
    RowField("member_id", "string", "member id"),
    *CLIENT,
    RowField("instance_id", "string", "id of a static member"),
)
_MEMBER = (
    *_WHO,
    RowField("joined", "timestamp", "when it joined. Null if that was not seen"),
    RowField("gone", "string", "`left`, `lost`, `fenced`, `replaced` or `refused`; null while it is there"),
    RowField("gone_at", "timestamp", "when it went"),
    RowField("reason", "string", "the reason it gave"),
    RowField("epoch", "int64", "its epoch in the last response. Null for members of classic groups"),
    RowField("assigned", "list<string>", "what it was assigned last"),
    RowField("heartbeats", "int64", "heartbeats it sent"),
    *distribution("heartbeat_gap_ns", "times between heartbeats"),
)
_TASKS = (
    *_WHO,
    RowField("gone", "string", "how it went, as in `members`; null while it is there"),
    RowField("process_id", "string", "id of the process that it named"),
    RowField("epoch", "int64", "its epoch in the last response"),
    RowField("topology_epoch", "int64", "epoch of the topology that it named"),
    RowField("active", "list<string>", "active tasks. Null before it received any"),
    RowField("standby", "list<string>", "standby tasks"),
    RowField("warmup", "list<string>", "warm-up tasks"),
)
_STATUS = (
    *_WHO,
    RowField("status", "string", "name of the status code"),
    RowField("detail", "string", "text of the broker"),
    RowField("count", "int64", "responses with it"),
    RowField("first", "timestamp", "when the first was sent"),
    RowField("last", "timestamp", "when the last was sent"),
    RowField("lasts", "bool", "whether the last response to the member has it"),
)
_DELIVERY = (
    RowField("member_id", "string", "member id"),
    *CLIENT,
    RowField("topic", "string", "topic"),
    RowField("acquired", "int64", "deliveries of records"),
    RowField("redelivered", "int64", "deliveries with a delivery count above 1"),
    RowField("delivery_counts", "map<string,int64>", "deliveries by delivery count"),
    RowField("accepted", "int64", "deliveries that the member accepted"),
    RowField("released", "int64", "deliveries that it released"),
    RowField("rejected", "int64", "deliveries that it rejected"),
    RowField("gaps", "int64", "offsets that it acknowledged as gaps"),
    RowField("expired", "int64", "deliveries whose lock expired"),
    RowField("returned", "int64", "deliveries that ended with the session"),
    RowField("held", "int64", "deliveries that it holds at the end"),
    RowField("unclear", "int64", "deliveries whose end was not captured"),
    RowField("never_acknowledged", "int64", "sum of `expired`, `returned` and `held`"),
    RowField("given_up", "int64", "records that the broker does not deliver again"),
    RowField("renewed", "int64", "renewals of locks"),
    RowField("late", "int64", "acknowledgements after the end of the lock"),
    RowField("refused", "int64", "acknowledgements that the broker refused"),
)
_RHYTHM = (
    RowField("count", "int64", "how many"),
    RowField("first", "timestamp", "when the first was sent"),
    RowField("last", "timestamp", "when the last was sent"),
    RowField("every_ns", "int64", "mean time from one to the next. Null for a single one"),
)
_FAILURE = (
    RowField("api", "string", "name of the API"),
    RowField("error", "string", "name of the error code"),
    *CLIENT,
    *_RHYTHM,
)
_REJOIN = (
    *CLIENT,
    RowField("after", "string", "how it went before: `left`, `fenced`, `replaced` or `lost`"),
    RowField("reason", "string", "the message of that response. Null: none"),
    *_RHYTHM,
)
_LAG = (
    RowField("topic", "string", "topic"),
    RowField("partition", "int32", "partition"),
    RowField("member", "string", "who holds it"),
    RowField("fetch_offset", "int64", "where the member reads"),
    RowField("high_watermark", "int64", "last high watermark that the member received"),
    RowField("lag", "int64", "records from the fetch offset to the known end of the partition"),
    RowField("committed", "int64", "offset the group committed last"),
    RowField("committed_lag", "int64", "records from the committed offset to the known end"),
)
_CAUSES = within(
    "causes",
    "list<struct>",
    "why it took place",
    (
        RowField("cause", "string", "the cause"),
        RowField("member", "string", "member, as people call it"),
        RowField("member_id", "string", "its member id"),
        RowField("reason", "string", "the reason it gave"),
    ),
)
_REBALANCE = (
    RowField("generation", "int64", "generation, or epoch, that it led to"),
    RowField("time", "timestamp", "when it began"),
    RowField("took_ns", "int64", "until all members had their assignment. Null if that was not seen"),
    RowField("members", "int32", "members of the generation"),
    *_CAUSES,
    *within(
        "reasons",
        "list<struct>",
        "what members said in JoinGroup",
        (RowField("member", "string", "member"), RowField("reason", "string", "what it said")),
    ),
)
_EVENT = (
    RowField("time", "timestamp", "when"),
    RowField("time_ns", "int64", "this time in nanoseconds since 1970 UTC"),
    RowField("what", "string", "what happened"),
    RowField("where", "string", "topic and partition"),
    RowField("expected", "string", "what the state led to expect"),
    RowField("seen", "string", "what was seen"),
    RowField("detail", "string", "what is more"),
    RowField("exchange", "string", "connection and ordinal, as `inspect --exchange` takes them"),
)
_UNDER_WAY = (
    RowField("generation", "int64", "generation whose assignments are outstanding. Null while members join"),
    RowField("time", "timestamp", "when it began"),
    *_CAUSES,
    RowField("joined", "list<string>", "members that asked to join, or sent their SyncGroup, and wait"),
    *within(
        "gave_up",
        "list<struct>",
        "members whose connection ended before there was an answer",
        (RowField("member", "string", "member"), RowField("at", "timestamp", "when it ended")),
    ),
    RowField("waiting_for", "list<string>", "members that have not joined, sent no SyncGroup, or lag behind"),
    *within(
        "revoking",
        "list<struct>",
        "what members hold that they are to give up",
        (RowField("member", "string", "member"), RowField("partitions", "list<string>", "what it holds")),
    ),
)

GROUPS = Table(
    "groups",
    "One row for each group of a capture set and each kind it was seen as.",
    (
        CAPTURE_SET,
        RowField("group", "string", "group id"),
        RowField("kind", "string", "`classic`, `consumer`, `share` or `streams`; null: no member was seen"),
        RowField("protocol", "string", "protocol type and name of a classic group"),
        RowField("state", "string", "state at the end, or why it is not known"),
        RowField("generation", "int64", "generation or epoch at the end"),
        RowField("coordinator", "string", "address in the FindCoordinator response"),
        *within("members", "list<struct>", "members, including former members", _MEMBER),
        *within("deliveries", "list<struct>", "deliveries of a share group by member and topic", _DELIVERY),
        *within("tasks", "list<struct>", "members of a streams group and their tasks", _TASKS),
        *within("statuses", "list<struct>", "statuses of a streams group by member", _STATUS),
        *within("partitions", "list<struct>", "what is assigned or committed", _LAG),
        RowField("lag", "int64", "lag of all partitions"),
        RowField("rebalance_count", "int64", "rebalances. The last are in `rebalances`"),
        *within("rebalances", "list<struct>", "rebalances and why", _REBALANCE),
        *within(
            "named_by",
            "list<struct>",
            "who named the group",
            (
                RowField("client_id", "string", "client id"),
                RowField("api", "string", "name of the API"),
                RowField("requests", "int64", "requests"),
            ),
        ),
        RowField("errors", "map<string,int64>", "error codes by name"),
        *within("denied", "list<struct>", "clients that were refused for want of permission", _DENIED),
        *within("failures", "list<struct>", "requests of members that were refused, by kind", _FAILURE),
        *within("rejoins", "list<struct>", "clients that were members and joined again", _REJOIN),
        *within("rebalancing", "struct", "the rebalance that is not over. Null for none", _UNDER_WAY),
        _CLUSTER,
    ),
    ("capture_set", "group", "kind"),
    ("capture_set", "group", "kind"),
)

_EVENTS = (
    RowField("event_counts", "map<string,int64>", "how often what happened"),
    *within("events", "list<struct>", "the last events", _EVENT),
)

PRODUCERS = Table(
    "producers",
    "One row for each producer id of a capture set, and for each client that writes without one.",
    (
        CAPTURE_SET,
        RowField("producer_id", "int64", "producer id. Null for batches without one"),
        RowField("epoch", "int32", "its epoch at the end"),
        RowField("transactional_id", "string", "the transactional id it belongs to. Null for none"),
        RowField("client_ids", "list<string>", "clients that used it"),
        RowField("given_in_capture", "bool", "whether the capture contains its InitProducerId response"),
        RowField(
            "in_two_clusters", "bool", "whether two clusters assigned it: kdissect then expects no order"
        ),
        RowField("batches", "int64", "batches that the broker took, or did not answer"),
        RowField("records", "int64", "records they say they have"),
        RowField("retries", "int64", "batches sent again"),
        RowField("duplicates", "int64", "batches the broker had already"),
        RowField("sequence_jumps", "int64", "sequence numbers that were not the next"),
        RowField("refusals", "int64", "batches that the broker did not append, but for duplicates"),
        RowField("errors", "map<string,int64>", "error codes by name"),
        *within(
            "partitions",
            "list<struct>",
            "partitions it writes to",
            (
                RowField("topic", "string", "topic"),
                RowField("partition", "int32", "partition"),
                RowField("epoch", "int32", "epoch of the last batch"),
                RowField("next_sequence", "int64", "sequence number that the broker takes next"),
            ),
        ),
        *_EVENTS,
        _CLUSTER,
    ),
    ("capture_set", "producer_id", "client_ids"),
    ("capture_set", "producer_id", "client_ids"),
)

TRANSACTIONS = Table(
    "transactions",
    "One row for each transactional id of a capture set.",
    (
        CAPTURE_SET,
        RowField("transactional_id", "string", "transactional id"),
        RowField("producer_id", "int64", "its producer id at the end"),
        RowField("epoch", "int32", "its epoch at the end"),
        RowField("state", "string", "its state at the end"),
        RowField("client_ids", "list<string>", "clients that used it"),
        RowField("taken", "int64", "how often a producer took it"),
        RowField("timeout_ms", "int64", "timeout of its transactions"),
        RowField("outcomes", "map<string,int64>", "transactions by how they ended"),
        RowField("errors", "map<string,int64>", "error codes by name"),
        *within(
            "transactions",
            "list<struct>",
            "the last of them",
            (
                RowField("producer_id", "int64", "producer id"),
                RowField("epoch", "int32", "epoch"),
                RowField("began", "timestamp", "when. Null if that was not seen"),
                RowField("ended", "timestamp", "when. Null if that was not seen"),
                RowField("took_ns", "int64", "between the two"),
                RowField("outcome", "string", "`open`, `committed`, `aborted`, `fenced` ..."),
                RowField("batches", "int64", "batches"),
                RowField("records", "int64", "records"),
                RowField("partitions", "list<string>", "partitions"),
                RowField("groups", "list<string>", "groups whose offsets it commits"),
                RowField("offsets", "int64", "offsets it commits"),
                RowField("markers", "int64", "markers that requests ask brokers to write"),
                RowField("marked", "string", "`commit` or `abort`; null if that was not seen"),
            ),
        ),
        *_EVENTS,
        _CLUSTER,
    ),
    ("capture_set", "transactional_id"),
    ("capture_set", "transactional_id"),
)
