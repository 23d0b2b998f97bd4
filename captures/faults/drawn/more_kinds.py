"""The kinds that the seeds after the first edition draw from as well."""

import contextlib
import socket
from random import Random

from captures.faults.clients import JAVA, KAFKA_PYTHON, LIBRDKAFKA, login_with, trusting
from captures.faults.drawn.clusters import LOST, SESSION_MS, SHORT, THREE
from captures.faults.drawn.kind import ALONE, AWAY, GROUP, later_kind, tries
from captures.faults.fault import Way
from captures.faults.room import SECURE, Room
from captures.record.certificates import NAMED, trust
from captures.record.spec import PLAIN, USERS

_THREE = frozenset({THREE})
_WAY = frozenset({"way"})
WITHOUT_REAUTHENTICATION = "kafka-python 2.2.15"
"""Its SaslAuthenticate 0 asks for no lifetime of the session (KIP-368): only the close is on the wire."""


# brokers


@later_kind("leaders-move", "leader-moved", needs=ALONE, topics={"orders": "1:1"}, clusters=_THREE)
def leaders_move(room: Room, chance: Random) -> None:
    """The leader of a partition moves to another broker while a producer writes to it."""
    settings = {"metadata.max.age.ms": 300000, "acks": "all", "retry.backoff.ms": 200}
    room.writes("intake", "orders", settings, pace=chance.randint(100, 200), keys=30)
    room.lasts(4)
    room.injects("the partition's leader is moved to other brokers", topic=room.name("orders"),
                 client_id="intake")  # fmt: skip
    for _ in range(chance.randint(1, 3)):
        for replicas in ("2,3,1", "3,1,2"):
            room.errand("moves", topic=room.name("orders"), to=replicas)
            room.lasts(3)


@later_kind("replicas-missing", "not-enough-replicas", also=AWAY, needs=ALONE,
            topics={"deeds": "1:1:min.insync.replicas=3"}, clusters=_THREE)  # fmt: skip
def replicas_missing(room: Room, chance: Random) -> None:
    """A broker is down, and a topic wants more replicas in sync than there are."""
    settings = {"acks": "all", "request.timeout.ms": 4000, "retry.backoff.ms": 400}
    room.writes("notary", "deeds", settings, pace=chance.randint(200, 400), keys=30)
    room.lasts(4)
    down = chance.randint(1, 3)
    room.injects(f"broker {down} is killed; the topic has three replicas and min.insync.replicas=3",
                 topic=room.name("deeds"), client_id="notary", broker=down)  # fmt: skip
    room.lab.cluster.stop_node(down, kill=True)
    room.lasts(chance.uniform(10, 14))
    room.lab.cluster.launch(down)
    room.lab.cluster.wait_ready(down)


@later_kind("address-lost", "advertised-address", also=("connection-refused",), topics={"posts": "2:1"})
def address_lost(room: Room, chance: Random) -> None:
    """The brokers tell clients of a listener an address where nobody listens."""
    lost = room.lab.cluster.listener(LOST)
    room.injects("advertised.listeners names a port where nobody listens", client_id="mirror", listener=lost)
    tries(room, chance, "mirror", "posts", {}, lost)


@later_kind("health-probes", "health-probe")
def health_probes(room: Room, chance: Random) -> None:
    """A load balancer opens connections to the broker's port and closes them without a byte."""
    port, pace = room.lab.cluster.nodes[0].port(PLAIN), round(chance.uniform(0.4, 1), 1)
    room.injects(f"a connection every {pace} s, closed at once", address=f"127.0.0.1:{port}")
    end = room.until(chance.uniform(10, 13))
    while not end():
        with contextlib.suppress(OSError):  # another fault may have stopped the broker
            socket.create_connection(("127.0.0.1", port)).close()
        room.lasts(pace)


# access


@later_kind("mechanism-refused", "mechanism-refused", also=("broker-closes", "connection-churn"),
            topics={"letters": "2:1"})  # fmt: skip
def mechanism_refused(room: Room, chance: Random) -> None:
    """A client wants a SASL mechanism that the broker does not enable."""
    room.injects("SCRAM-SHA-512, the broker has PLAIN", client_id="courier")
    how = login_with(room.library, "SCRAM-SHA-512", "alice", USERS["alice"])
    tries(room, chance, "courier", "letters", how, room.lab.cluster.sasl)


@later_kind("certificate-refused", "tls-handshake-failed", also=("broker-closes", "connection-churn"),
            topics={"seals": "2:1"})  # fmt: skip
def certificate_refused(room: Room, chance: Random) -> None:
    """The broker's certificate is not one that the client trusts, or names another host."""
    trusts = str(trust(*NAMED)) if chance.random() < 0.5 else ""
    secure = room.lab.cluster.listener(SECURE)
    how = "the certificate names another host" if trusts else "the client does not trust the certificate"
    room.injects(how, client_id="sealer", listener=secure)
    tries(room, chance, "sealer", "seals", trusting(room.library, trusts), secure)


@later_kind("tls-missing", "plaintext-to-tls", also=("broker-closes", "connection-churn"),
            topics={"coins": "2:1"})  # fmt: skip
def tls_missing(room: Room, chance: Random) -> None:
    """A client without TLS comes to a listener that wants it."""
    secure = room.lab.cluster.listener(SECURE)
    room.injects("no TLS to the listener with TLS", client_id="mint", listener=secure)
    tries(room, chance, "mint", "coins", {}, secure)


@later_kind("tls-by-mistake", "tls-to-plaintext", also=("broker-closes", "connection-churn"),
            topics={"stamps": "2:1"})  # fmt: skip
def tls_by_mistake(room: Room, chance: Random) -> None:
    """A client speaks TLS to a listener that does not."""
    plain = room.lab.cluster.bootstrap
    room.injects("security.protocol=SSL to the plaintext listener", client_id="stamper", listener=plain)
    tries(room, chance, "stamper", "stamps", trusting(room.library, ""), plain)


@later_kind("session-ends", "session-expired", "broker-closes", also=("connection-churn", "duplicate-writes"),
            topics={"shifts": "2:1"})  # fmt: skip
def session_ends(room: Room, chance: Random) -> None:
    """A client goes on after the end of its SASL session, and does not log in again."""
    room.injects(f"connections.max.reauth.ms={SESSION_MS}, a release that does not re-authenticate",
                 client_id="worker")  # fmt: skip
    how = login_with(KAFKA_PYTHON, "PLAIN", "alice", USERS["alice"])
    room.writes("worker", "shifts", how, bootstrap=room.lab.cluster.listener(SHORT),
                library=WITHOUT_REAUTHENTICATION, pace=chance.randint(300, 900), keys=20)  # fmt: skip
    room.lasts(3 * SESSION_MS / 1000 + chance.uniform(1, 3))


@later_kind("write-denied", "topic-denied", topics={"wages": "2:1"})
def write_denied(room: Room, chance: Random) -> None:
    """A user may read a topic, but not write to it."""
    room.errand("makes", library=LIBRDKAFKA, allow=f"topic:{room.name('wages')}:alice:READ")
    room.injects("alice may read the topic alone", client_id="wager", topic=room.name("wages"))
    how = login_with(room.library, "PLAIN", "alice", USERS["alice"])
    tries(room, chance, "wager", "wages", how, room.lab.cluster.sasl)


# records


@later_kind("keys-missing", "invalid-records", topics={"prices": "2:1:cleanup.policy=compact"})
def keys_missing(room: Room, chance: Random) -> None:
    """A producer writes records without a key to a topic that is compacted."""
    room.injects("records without a key to a compacted topic", client_id="pricer",
                 topic=room.name("prices"))  # fmt: skip
    options = {"no_keys": "true"} if room.library == JAVA else {"keys": 0}
    room.writes("pricer", "prices", {"linger.ms": 0}, pace=chance.randint(400, 700), **options)
    room.lasts(chance.uniform(7, 10))


@later_kind("one-key", "hot-partition", topics={"views": "6:1"})
def one_key(room: Room, chance: Random) -> None:
    """Almost all records have one key: one partition of six gets them."""
    reader = room.reads("totals", "views", "totallers", {"auto.commit.interval.ms": 4000}, library=LIBRDKAFKA)
    room.joined(reader)
    room.injects("almost every record has the same key", client_id="viewer", topic=room.name("views"))
    room.writes("viewer", "views", {"linger.ms": 100}, pace=chance.randint(25, 40), keys=1, size=150)
    room.writes("others", "views", {"linger.ms": 100}, library=LIBRDKAFKA, pace=700, keys=200)
    room.lasts(chance.uniform(12, 15))


@later_kind("batches-of-one", "tiny-batches", topics={"ticks": "2:1"})
def batches_of_one(room: Room, chance: Random) -> None:
    """A busy producer sends every record in a request of its own."""
    room.injects("no linger, batches of one record, many records a second", client_id="ticker",
                 topic=room.name("ticks"))  # fmt: skip
    settings: dict[str, object] = {"linger.ms": 0, "batch.size": 1, "acks": chance.choice(("all", "1"))}
    if room.library == LIBRDKAFKA:
        settings["batch.num.messages"] = 1
    room.writes("ticker", "ticks", settings, pace=chance.randint(8, 11), size=60, keys=500)
    room.lasts(chance.uniform(6, 8))


@later_kind("not-compressed", "uncompressed", topics={"dumps": "2:1"})
def not_compressed(room: Room, chance: Random) -> None:
    """A producer sends large batches of text that would compress well, as they are."""
    room.injects("compression.type=none for text in large batches", client_id="dumper",
                 topic=room.name("dumps"))  # fmt: skip
    settings = {"compression.type": "none", "linger.ms": 300, "batch.size": 60000, "acks": "1"}
    burst = 1 if room.library == JAVA else 100  # its driver has no bursts
    room.writes(
        "dumper", "dumps", settings, pace=4 * burst, burst=burst, size=chance.randint(300, 500), keys=20
    )
    room.lasts(chance.uniform(8, 10))


# quotas


@later_kind("request-quota", "throttled-requests", also=("spinning-consumer",), topics={"tables": "2:1"})
def request_quota(room: Room, chance: Random) -> None:
    """A client takes more of the broker's threads than its quota of requests allows."""
    name = room.name("poller")
    room.errand("Quota", library=JAVA, of=name, quota="request_percentage", rate=1)
    room.injects("request_percentage=1, and fetches without rest", client_id=name)
    hasty = {"fetch.max.wait.ms": 1, "max.poll.records": 1}
    room.reads(name, "tables", None, hasty, partitions=2)
    room.lasts(chance.uniform(7, 10))


@later_kind("creation-quota", "throttled-controller")
def creation_quota(room: Room, chance: Random) -> None:
    """An administrator's tool creates more partitions than its quota of mutations allows."""
    name = room.name("onboarding")
    room.errand("Quota", library=JAVA, of=name, quota="controller_mutation_rate", rate=1)
    room.injects("controller_mutation_rate=1, and topic after topic", client_id=name)
    room.errand("creates", client_id=name, topic=room.name("tenant"), count=chance.randint(5, 7),
                partitions=chance.randint(4, 6), pace=1500)  # fmt: skip


# consumers


@later_kind("commits-each", "commit-storm", topics={"beats": "1:1"})
def commits_each(room: Room, chance: Random) -> None:
    """A consumer commits after each record."""
    pace = chance.randint(12, 25)
    room.writes("heart", "beats", {"linger.ms": 200}, pace=pace, keys=60, library=LIBRDKAFKA).until("wrote")
    room.injects(f"pulse commits each record, one comes each {pace} ms", client_id="pulse",
                 group=room.name("pulses"))  # fmt: skip
    room.reads("pulse", "beats", "pulses", {"max.poll.records": 1}, commit_each="true")
    room.lasts(chance.uniform(10, 13))


@later_kind("offsets-set-back", "offset-rewound", topics={"bills": "1:1"})
def offsets_set_back(room: Room, chance: Random) -> None:
    """A tool sets a group's committed offset back: the group reads again what it had read."""
    writer = room.writes("biller", "bills", library=LIBRDKAFKA, pace=80, keys=60)
    first = room.reads("export", "bills", "exporters", commit_each="true")
    room.seen(first, 30)
    first.stop()
    room.injects("the committed offset of the group is set back", client_id="export",
                 group=room.name("exporters"), topic=room.name("bills"))  # fmt: skip
    room.errand("rewinds", topic=room.name("bills"), group=room.name("exporters"), to=chance.randint(0, 5))
    again = room.reads("export", "bills", "exporters", commit_each="true")
    room.seen(again, 20)
    room.lasts(chance.uniform(2, 4))
    assert writer.alive


@later_kind("limit-too-small", "response-too-large", also=("connection-churn",), topics={"photos": "1:1"})
def limit_too_small(room: Room, chance: Random) -> None:
    """A consumer accepts no response as large as the batches of a topic are."""
    library = KAFKA_PYTHON if room.library == JAVA else None  # the Java driver tells late what it wrote
    settings = {"compression.type": "none", "linger.ms": 0}
    size = chance.randint(5000, 20000)
    writer = room.writes("camera", "photos", settings, size=size, pace=700, keys=9, library=library)
    writer.until("wrote")
    room.injects("receive.message.max.bytes=2000, far below a record", client_id="frame",
                 topic=room.name("photos"))  # fmt: skip
    limits = {"message.max.bytes": 1000, "fetch.max.bytes": 1000, "receive.message.max.bytes": 2000}
    room.reads("frame", "photos", "frames", limits, library=LIBRDKAFKA)
    room.lasts(chance.uniform(9, 12))


@later_kind("consumer-hangs", "stuck-consumer", topics={"claims": "2:1"})
def consumer_hangs(room: Room, chance: Random) -> None:
    """A consumer takes no records any more and commits nothing, though it heartbeats and records come."""
    room.writes("clerk", "claims", {"linger.ms": 50}, library=LIBRDKAFKA, pace=300, keys=60).until("wrote")
    room.injects("assess hangs after a few records", client_id="assess", group=room.name("assessors"))
    settings = {"heartbeat.interval.ms": 1000, "session.timeout.ms": 10000}
    stalls = {"pause" if room.library == LIBRDKAFKA else "stall": chance.randint(5, 9)}
    room.reads("assess", "claims", "assessors", settings, commit_each="true", **stalls).until("stalled")
    room.lasts(chance.uniform(12, 15))


@later_kind("polls-in-vain", "spinning-consumer", topics={"quiet": "1:1"})
def polls_in_vain(room: Room, chance: Random) -> None:
    """A consumer asks again and again at once, for nothing: the broker is not allowed to wait."""
    wait = chance.randint(4, 9)
    room.injects(f"fetch.max.wait.ms={wait} on a quiet topic", client_id="lookout", topic=room.name("quiet"))
    room.reads("lookout", "quiet", "lookouts", {"fetch.max.wait.ms": wait})
    room.lasts(chance.uniform(6, 8))


# groups


@later_kind("instance-used-twice", "duplicate-static-member", also=GROUP, topics={"tags": "4:1"})
def instance_used_twice(room: Room, chance: Random) -> None:
    """Two members come with one group.instance.id: the newer fences the older."""
    library = room.library if room.library != KAFKA_PYTHON else JAVA  # its first releases have no such id
    settings = {"session.timeout.ms": 10000, "heartbeat.interval.ms": 700, "group.instance.id": "tag-a"}
    room.writes("tagger", "tags", pace=500, keys=50, library=LIBRDKAFKA)
    first = room.reads("tag-1", "tags", "taggers", settings, library=library, commit_each="true")
    room.joined(first)
    room.lasts(2)
    room.injects("tag-2 comes with the group.instance.id of tag-1", group=room.name("taggers"),
                 client_id="tag-2")  # fmt: skip
    room.reads("tag-2", "tags", "taggers", settings, library=library, commit_each="true")
    room.lasts(chance.uniform(7, 9))


@later_kind("member-flaps", "flapping-member", also=("endless-rebalances",), topics={"rates": "4:1"})
def member_flaps(room: Room, chance: Random) -> None:
    """One member comes, works for a moment, ends and comes again; the others rebalance each time."""
    settings = {"session.timeout.ms": 6000, "heartbeat.interval.ms": 500}
    room.writes("bank", "rates", pace=500, keys=50, library=LIBRDKAFKA)
    steady = room.reads("rate-1", "rates", "raters", settings, commit_each="true")
    room.joined(steady)
    room.injects("rate-2 ends soon after it joined and is started again", group=room.name("raters"),
                 client_id="rate-2")  # fmt: skip
    for _ in range(chance.randint(4, 6)):
        flaps = room.reads("rate-2", "rates", "raters", settings)
        room.joined(flaps)
        room.lasts(chance.uniform(0.4, 1))
        flaps.stop()
        room.lasts(0.3)


@later_kind("session-too-short", "session-timeout-too-short", also=(*GROUP, "unanswered-requests"),
            topics={"bookings": "4:1"})  # fmt: skip
def session_too_short(room: Room, chance: Random) -> None:
    """Members pause for a moment, as for a garbage collection, and their sessions are too short for it."""
    session = chance.choice((1000, 1200, 1500))
    pause = round(session / 1000 + chance.uniform(0.8, 1.4), 1)
    settings = {"session.timeout.ms": session, "heartbeat.interval.ms": 300, "max.poll.interval.ms": 60000}
    room.writes("desk", "bookings", pace=500, keys=50, library=LIBRDKAFKA)
    members = [room.reads(f"book-{number}", "bookings", "bookers", settings) for number in (1, 2)]
    for member in members:
        room.joined(member)
    room.lasts(2)
    room.injects(f"members pause for {pause} s now and then, session.timeout.ms is {session}",
                 group=room.name("bookers"), client_id="book-1")  # fmt: skip
    for turn in range(chance.randint(3, 4)):
        members[turn % 2].freeze()
        room.lasts(pause)
        members[turn % 2].thaw()
        room.lasts(2.5)


@later_kind("members-redeployed", "rolling-restart", also=("endless-rebalances", "flapping-member"),
            topics={"parcels": "4:1"})  # fmt: skip
def members_redeployed(room: Room, chance: Random) -> None:
    """The members of a group are stopped and started again one after the other, as a deployment does."""
    settings = {"session.timeout.ms": 10000, "heartbeat.interval.ms": 700}
    room.writes("depot", "parcels", pace=500, keys=50, library=LIBRDKAFKA)
    names = [f"ship-{number}" for number in range(1, 4)]
    members = {name: room.reads(name, "parcels", "shippers", settings, commit_each="true") for name in names}
    for member in members.values():
        room.joined(member)
    room.lasts(2)
    room.injects("each member is stopped and started again in turn", group=room.name("shippers"))
    for name in names:
        members[name].stop()
        room.lasts(chance.uniform(0.3, 1))
        members[name] = room.reads(name, "parcels", "shippers", settings, commit_each="true")
        room.joined(members[name])
        room.lasts(1.5)


# metadata and connections


@later_kind("metadata-all-the-time", "metadata-storm", topics={"offers": "2:1"})
def metadata_all_the_time(room: Room, chance: Random) -> None:
    """A client asks for metadata many times a second."""
    age = chance.randint(15, 40)
    room.injects(f"metadata.max.age.ms={age}", client_id="offerer", topic=room.name("offers"))
    settings: dict[str, object] = {"metadata.max.age.ms": age, "retry.backoff.ms": 10}
    if room.library == JAVA:
        settings["retry.backoff.max.ms"] = 20
    room.writes("offerer", "offers", settings, pace=60, keys=30)
    room.lasts(chance.uniform(8, 10))


@later_kind("client-per-record", "connection-churn", topics={"calls": "2:1"})
def client_per_record(room: Room, chance: Random) -> None:
    """A client opens a connection for each record and closes it again."""
    room.injects("a new producer for every record", client_id="caller", topic=room.name("calls"))
    client = room.client(KAFKA_PYTHON if room.library == JAVA else None)
    room.lab.start_driver(
        client.driver, "churns", client_id="caller", topic=room.name("calls"), burst=1,
        properties=client.settings({"compression.type": "gzip", "linger.ms": 0}),
        pace=chance.randint(100, 200), keys=30,
    )  # fmt: skip
    room.lasts(chance.uniform(8, 11))


# transactions


@later_kind("transaction-stays-open", "hanging-transaction", topics={"trades": "2:1"})
def transaction_stays_open(room: Room, chance: Random) -> None:
    """A transaction stays open: nobody ends it, and a reader of what is committed waits."""
    committed = {"isolation.level": "read_committed"}
    reader = room.reads("trade-log", "trades", "traders", committed, commit_each="true", library=LIBRDKAFKA)
    room.joined(reader)
    room.injects("broker-desk writes in a transaction and never ends it", client_id="broker-desk",
                 transactional_id=room.name("trade"), topic=room.name("trades"),
                 group=room.name("traders"))  # fmt: skip
    library = LIBRDKAFKA if chance.random() < 0.5 else KAFKA_PYTHON
    shared = {"transactional.id": room.name("trade"), "transaction.timeout.ms": 600000}
    room.writes("broker-desk", "trades", shared, transactions="open", burst=5, library=library)
    room.lasts(2)
    room.writes("trade-api", "trades", pace=chance.randint(400, 700), keys=40)
    room.lasts(chance.uniform(15, 17))


# the network


def _far_clients(room: Room, topic: str, size: int, pace: int) -> None:
    settings = {"linger.ms": 20, "compression.type": "none"}
    room.writes("branch-api", topic, settings, away=True, pace=pace, size=size, keys=60)
    room.reads("branch-app", topic, "branches", away=True, commit_each="true")


@later_kind("far-away", "slow-network", also=("slow-broker",), needs=_WAY, topics={"branches": "2:1"},
            way=lambda chance: Way(chance.randint(130, 260)))  # fmt: skip
def far_away(room: Room, chance: Random) -> None:
    """Some clients are far away: every packet takes its time, none is lost."""
    (way,) = (room.fault.way or {}).values()
    room.injects(f"{way.round_trip_ms} ms between branch-api, branch-app and the brokers",
                 client_ids=["branch-api", "branch-app"])  # fmt: skip
    _far_clients(room, "branches", 80, chance.randint(120, 180))
    room.lasts(chance.uniform(12, 15))


@later_kind("packets-lost", "lossy-network", also=("slow-network",), needs=_WAY, topics={"outposts": "2:1"},
            way=lambda chance: Way(chance.randint(18, 32), chance.randint(6, 8)))  # fmt: skip
def packets_lost(room: Room, chance: Random) -> None:
    """The way between some clients and the brokers loses packets, which are sent again."""
    (way,) = (room.fault.way or {}).values()
    room.injects(f"one packet of {way.loses} is lost between branch-api, branch-app and the brokers",
                 client_ids=["branch-api", "branch-app"])  # fmt: skip
    _far_clients(room, "outposts", chance.randint(120, 200), chance.randint(120, 160))
    room.lasts(chance.uniform(13, 16))


# healthy days


@later_kind("next-town", needs=_WAY, topics={"towns": "2:1"}, way=lambda chance: Way(chance.randint(4, 14)))
def next_town(room: Room, chance: Random) -> None:
    """Some clients are some milliseconds away."""
    room.writes("town-api", "towns", {"linger.ms": 20}, away=True, pace=chance.randint(200, 400), keys=60)
    room.reads("town-app", "towns", "townsmen", {"enable.auto.commit": True}, away=True)
    room.lasts(chance.uniform(12, 15))


@later_kind("quota-not-reached", topics={"drops": "2:1"})
def quota_not_reached(room: Room, chance: Random) -> None:
    """A producer is below its quota."""
    name = room.name("drip")
    room.errand("Quota", library=JAVA, of=name, quota="producer_byte_rate", rate=1000000)
    room.writes(name, "drops", {"linger.ms": 50}, pace=chance.randint(200, 500), keys=30)
    room.lasts(chance.uniform(6, 9))


@later_kind("nothing-to-read", topics={"alarms": "2:1"})
def nothing_to_read(room: Room, chance: Random) -> None:
    """A group waits for records that do not come."""
    room.reads("siren", "alarms", "sirens", {"enable.auto.commit": True})
    room.lasts(chance.uniform(10, 13))


@later_kind("read-by-two-groups", topics={"minutes": "2:1"})
def read_by_two_groups(room: Room, chance: Random) -> None:
    """A second group reads a topic from its begin while the first one follows it."""
    room.writes("secretary", "minutes", {"linger.ms": 50}, pace=chance.randint(300, 600), keys=30)
    room.reads("minutes-1", "minutes", "readers-a", {"enable.auto.commit": True})
    room.lasts(chance.uniform(4, 6))
    room.reads("minutes-2", "minutes", "readers-b", {"enable.auto.commit": True})
    room.lasts(chance.uniform(5, 8))
