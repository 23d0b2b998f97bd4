"""Faults of consumers."""

from captures.faults.clients import JAVA, KAFKA_PYTHON, LIBRDKAFKA
from captures.faults.fault import TRIO, fault
from captures.faults.room import Room
from captures.record import commands
from captures.record.spec import Spec

_EVENTS = {"events": "2:1"}
_FEW_SESSIONS = Spec(
    "4.4.0",
    properties={
        "auto.create.topics.enable": "false",
        "max.incremental.fetch.session.cache.slots": "8",
        "min.incremental.fetch.session.eviction.ms": "500",
    },
)


def _feed(room: Room, pace: int = 300) -> None:
    room.crowd()
    room.writes("collector", "events", {"linger.ms": 50}, library=LIBRDKAFKA, pace=pace, keys=60).until(
        "wrote"
    )


@fault("lag-slow-consumer", topics=_EVENTS)
def lag_slow_consumer(room: Room) -> None:
    """A consumer works longer on each record than records take to come: it falls behind."""
    _feed(room, room.among(60, 50, 70))
    work = room.among(400, 350, 500)
    room.injects(
        f"index works {work} ms on each record, many more come",
        client_id="index",
        group=room.name("indexers"),
    )
    settings = {"max.poll.records": 3, "max.partition.fetch.bytes": 2000}
    if room.variant == 2:
        settings |= {"queued.min.messages": 2, "fetch.message.max.bytes": 2000}
        del settings["max.partition.fetch.bytes"]
    room.reads("index", "events", "indexers", settings, slow=work, commit_each="true")
    room.lasts(room.among(15, 12, 13))


@fault("stuck-consumer", topics=_EVENTS)
def stuck_consumer(room: Room) -> None:
    """A consumer takes no records any more and commits nothing, though it heartbeats and records come."""
    _feed(room)
    room.injects("audit hangs after a few records", client_id="audit", group=room.name("auditors"))
    stall = {"stall": room.among(6, 8, 7)} if room.variant != 2 else {"pause": 8}
    settings = {"heartbeat.interval.ms": 1000, "session.timeout.ms": 10000}
    audit = room.reads("audit", "events", "auditors", settings, commit_each="true", **stall)
    audit.until("stalled")
    room.lasts(room.among(13, 12, 12))


@fault("spinning-consumer", topics={"quiet": "1:1"})
def spinning_consumer(room: Room) -> None:
    """A consumer asks again and again at once, for nothing: the broker is not allowed to wait."""
    room.crowd()
    wait = room.among(6, 8, 7)
    room.injects(f"fetch.max.wait.ms={wait} on a quiet topic", client_id="watch", topic=room.name("quiet"))
    settings: dict[str, object] = {"fetch.max.wait.ms": wait}
    room.reads("watch", "quiet", None if room.variant == 1 else "watchers", settings)
    room.lasts(room.among(7, 6, 6))


@fault("offset-reset", topics={"events": "1:1"})
def offset_reset(room: Room) -> None:
    """Records are deleted before a group read them: its offset is out of range, and it starts elsewhere."""
    room.crowd()
    settings = {"auto.offset.reset": room.among("earliest", "latest", "earliest")}
    first = room.reads("report", "events", "reporters", settings, commit_each="true")
    feeds = room.writes("collector", "events", library=LIBRDKAFKA, pace=60, keys=60)
    room.seen(first, 10)
    first.stop()
    feeds.until("wrote", 60)
    room.injects(
        "records that report had not read are deleted while it is down; it comes back",
        client_id="report", group=room.name("reporters"), topic=room.name("events"),
    )  # fmt: skip
    room.errand("trims", topic=room.name("events"), below=room.among(50, 48, 52))
    room.reads("report", "events", "reporters", settings, commit_each="true")
    room.lasts(room.among(7, 5, 5))


@fault("offset-rewound", topics={"events": "1:1"})
def offset_rewound(room: Room) -> None:
    """A group's committed offset is set back: it reads again what it had read."""
    room.crowd()
    feeds = room.writes("collector", "events", library=LIBRDKAFKA, pace=80, keys=60)
    first = room.reads("export", "events", "exporters", commit_each="true")
    room.seen(first, 30)
    first.stop()
    room.injects(
        "the committed offset of the group is set back", client_id="export", group=room.name("exporters"),
        topic=room.name("events"),
    )  # fmt: skip
    room.errand("rewinds", topic=room.name("events"), group=room.name("exporters"), to=room.among(3, 5, 0))
    again = room.reads("export", "events", "exporters", commit_each="true")
    room.seen(again, 20)
    room.lasts(room.among(3, 2, 2))
    assert feeds.alive


@fault("offsets-deleted", topics={"events": "1:1"})
def offsets_deleted(room: Room) -> None:
    """An administrator deletes the committed offsets of a group: it begins where auto.offset.reset says."""
    room.crowd()
    library = room.among(KAFKA_PYTHON, LIBRDKAFKA, KAFKA_PYTHON)
    feeds = room.writes("collector", "events", library=LIBRDKAFKA, pace=80, keys=60)
    first = room.reads("export", "events", "exporters", commit_each="true", library=library)
    room.seen(first, 30)
    first.stop()
    group, topic = room.name("exporters"), room.name("events")
    room.injects("its committed offsets are deleted", client_id="export", group=group, topic=topic)
    whole = ("--delete",)
    options = room.among(("--delete-offsets", "--topic", topic), whole, whole)
    commands.tool(
        "consumer.group.ConsumerGroupCommand", room.lab.cluster.bootstrap, "--group", group, *options
    )
    again = room.reads("export", "events", "exporters", commit_each="true", library=library)
    room.seen(again, 20)
    room.lasts(room.among(3, 2, 2))
    assert feeds.alive


@fault("fetch-session-churn", broker=_FEW_SESSIONS, topics=_EVENTS)
def fetch_session_churn(room: Room) -> None:
    """More consumers than the broker has fetch sessions for: they are refused one, or lose theirs."""
    _feed(room, room.among(2500, 300, 2000))
    many = room.among(10, 10, 11)
    room.injects(f"{many} consumers, and the broker keeps 8 fetch sessions in 8 shards", broker=1)
    for number in range(many):
        library = room.among(KAFKA_PYTHON, LIBRDKAFKA, KAFKA_PYTHON)
        room.reads(f"panel-{number}", "events", None, library=library, partitions=2)
    room.lasts(room.among(8, 8, 9))


@fault("followers-not-used", broker=TRIO, topics={"events": "2:3"})
def followers_not_used(room: Room) -> None:
    """A consumer says its rack, but brokers have no replica selector: it reads from leaders elsewhere."""
    room.crowd()
    room.writes("collector", "events", library=LIBRDKAFKA, pace=200, keys=60, size=200).until("wrote")
    rack = room.among("rack-1", "rack-3", "rack-2")
    room.injects(
        f"client.rack={rack}, no replica.selector.class on the brokers",
        client_id="search",
        topic=room.name("events"),
    )
    library = room.among(JAVA, LIBRDKAFKA, JAVA)
    room.reads("search", "events", "searchers", {"client.rack": rack}, library=library)
    room.lasts(room.among(10, 9, 9))


@fault("hot-partition", topics={"events": "6:1"})
def hot_partition(room: Room) -> None:
    """Almost all records have one key: one partition of six gets them."""
    room.crowd()
    reader = room.reads(
        "totals", "events", "totallers", {"auto.commit.interval.ms": 4000}, library=LIBRDKAFKA
    )
    room.joined(reader)
    room.injects("almost every record has the same key", client_id="clicks", topic=room.name("events"))
    room.writes("clicks", "events", {"linger.ms": 100}, pace=room.among(40, 30, 35), keys=1, size=150)
    room.writes("taps", "events", {"linger.ms": 100}, library=LIBRDKAFKA, pace=700, keys=200)
    room.lasts(room.among(13, 12, 12))
