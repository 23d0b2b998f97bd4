"""The first kinds: those that the seeds of the first edition draw from."""

from random import Random

from captures.faults.clients import JAVA, KAFKA_PYTHON, LIBRDKAFKA, login_with
from captures.faults.drawn.forgetful_proxy import ForgetfulProxy
from captures.faults.drawn.kind import ALONE, AWAY, GROUP, first_kind, some_node, tries
from captures.faults.room import Room
from captures.record.administer import login
from captures.record.java import java
from captures.record.spec import PLAIN, TLS12, TLS13, USERS

# brokers


@first_kind(
    "broker-hangs", "stalled-broker", also=(*AWAY, "responses-late", "requests-unanswered"), needs=ALONE
)
def broker_hangs(room: Room, chance: Random) -> None:
    """The broker gets no CPU for some seconds (SIGSTOP)."""
    seconds = round(chance.uniform(3, 9), 1)
    node = some_node(room, chance)
    room.injects(f"the broker is stopped for {seconds} s", broker=node)
    room.lab.cluster.freeze(node)
    room.lasts(seconds)
    room.lab.cluster.thaw(node)


@first_kind("broker-crashes", "broker-restarted", also=AWAY, needs=ALONE)
def broker_crashes(room: Room, chance: Random) -> None:
    """The broker is killed and started again."""
    node = some_node(room, chance)
    room.injects("the broker is killed (SIGKILL) and started again", broker=node)
    room.lab.cluster.restart_node(node, kill=True)


@first_kind("broker-restarts", "broker-restarted", also=AWAY, needs=ALONE)
def broker_restarts(room: Room, chance: Random) -> None:
    """The broker is stopped in order and started again."""
    node = some_node(room, chance)
    room.injects("the broker is stopped (SIGTERM) and started again", broker=node)
    room.lab.cluster.restart_node(node)


@first_kind("proxy-forgets", "idle-connection-reset", "broker-closes", also=("connection-churn",),
       needs=frozenset({"proxy"}), topics={"rows": "2:1"})  # fmt: skip
def proxy_forgets(room: Room, chance: Random) -> None:
    """A proxy between a client and the broker drops connections that are idle for some seconds."""
    idle_s, resets = round(chance.uniform(1.5, 3), 1), chance.random() < 0.5
    for node in room.lab.cluster.nodes:
        room.after(ForgetfulProxy(node.port(TLS13), node.port(TLS12), idle_s, resets=resets).close)
    pace = round(idle_s * 1000 + chance.uniform(700, 2000))
    room.injects(f"a proxy {'resets' if resets else 'closes'} connections idle for {idle_s} s, nightly writes"
                 f" every {pace} ms", client_id="nightly")  # fmt: skip
    settings = {"linger.ms": 0, "metadata.max.age.ms": 600000}
    room.writes("nightly", "rows", settings, bootstrap=room.lab.cluster.listener(TLS13), pace=pace, keys=10)
    room.lasts(chance.uniform(17, 22))


# access


@first_kind(
    "wrong-password", "login-refused", also=("broker-closes", "connection-churn"), topics={"files": "2:1"}
)
def wrong_password(room: Room, chance: Random) -> None:
    """A client logs in with a wrong password."""
    user = chance.choice(("alice", "bob"))
    room.injects(f"a wrong password of {user}", client_id="vault", user=user)
    how = login_with(room.library, "PLAIN", user, "wrong-pw-0001")
    tries(room, chance, "vault", "files", how, room.lab.cluster.sasl)


@first_kind("no-login", "login-missing", also=("broker-closes", "connection-churn", "version-refused"),
       topics={"parts": "2:1"})  # fmt: skip
def no_login(room: Room, chance: Random) -> None:
    """A client without SASL comes to a listener that wants it."""
    room.injects("no SASL to the listener with SASL", client_id="robot")
    tries(room, chance, "robot", "parts", {}, room.lab.cluster.sasl)


@first_kind("wrong-port", "connection-refused", topics={"cards": "2:1"})
def wrong_port(room: Room, chance: Random) -> None:
    """A client is set up with a port where nobody listens."""
    nowhere = f"127.0.0.1:{room.lab.cluster.base + 10 * chance.randint(6, 8) + PLAIN}"
    room.injects("bootstrap.servers names a port where nobody listens", address=nowhere)
    tries(room, chance, "kiosk", "cards", {}, nowhere)


@first_kind("topic-denied", "topic-denied", topics={"salaries": "2:1"})
def topic_denied(room: Room, chance: Random) -> None:
    """A user may not use a topic."""
    room.errand("makes", library=LIBRDKAFKA, deny=f"topic:{room.name('salaries')}:bob")
    room.injects("bob is denied the topic", client_id="payroll", topic=room.name("salaries"))
    how = login_with(room.library, "PLAIN", "bob", USERS["bob"])
    if chance.random() < 0.5:
        room.reads("payroll", "salaries", "payers", how, bootstrap=room.lab.cluster.sasl)
        room.lasts(chance.uniform(6, 10))
    else:
        tries(room, chance, "payroll", "salaries", how, room.lab.cluster.sasl)


@first_kind("group-denied", "group-denied", topics={"audits": "2:1"})
def group_denied(room: Room, chance: Random) -> None:
    """A user may read the topic, but not as a member of the group."""
    room.errand("makes", library=LIBRDKAFKA, deny=f"group:{room.name('auditors')}:alice")
    room.injects("alice is denied the group", client_id="auditor", group=room.name("auditors"))
    how = login_with(room.library, "PLAIN", "alice", USERS["alice"])
    end = room.until(chance.uniform(8, 12))
    while not end():
        reader = room.reads("auditor", "audits", "auditors", how, bootstrap=room.lab.cluster.sasl)
        room.lasts(5)
        reader.kill()


# topics and records


@first_kind("topic-deleted", "unknown-topic", also=("topic-recreated",), topics={"drafts": "2:1"})
def topic_deleted(room: Room, chance: Random) -> None:
    """An administrator deletes a topic that a producer still writes to."""
    writer = room.writes("editor", "drafts", pace=chance.randint(300, 700), keys=20)
    room.lasts(chance.uniform(4, 6))
    room.injects("the topic is deleted under its producer", topic=room.name("drafts"), client_id="editor")
    room.lab.run_driver(java(), "DeleteTopic", client_id="ops", topic=room.name("drafts"))
    room.lasts(chance.uniform(6, 9))
    writer.kill()


@first_kind("topic-missing", "unknown-topic", "topic-created-by-accident")
def topic_missing(room: Room, chance: Random) -> None:
    """A client writes to a topic that does not exist, and the broker creates none."""
    room.injects("the topic does not exist", topic=room.name("ordres"), client_id="intake")
    tries(room, chance, "intake", "ordres", {}, room.lab.cluster.bootstrap)


@first_kind("too-large", "message-too-large", topics={"scans": "2:1:max.message.bytes=2000"})
def too_large(room: Room, chance: Random) -> None:
    """A producer sends records that are larger than max.message.bytes of the topic."""
    size = chance.randint(2400, 9000)
    room.injects(f"records of {size} bytes, max.message.bytes=2000", client_id="scanner",
                 topic=room.name("scans"))  # fmt: skip
    settings = {"compression.type": "none", "acks": "all", "linger.ms": 0}
    pace = chance.randint(500, 1200)
    writer = room.writes("scanner", "scans", settings, size=size, pace=pace, keys=5)
    room.lasts(chance.uniform(6, 10))
    writer.kill()


@first_kind("records-deleted", "offset-reset", also=("commit-storm",), topics={"clicks": "1:1"})
def records_deleted(room: Room, chance: Random) -> None:
    """Records are deleted before a consumer that was away could read them."""
    writer = room.writes("web", "clicks", pace=40, burst=3, keys=20, library=LIBRDKAFKA)
    reader = room.reads("trends", "clicks", "trenders", {"enable.auto.commit": False}, commit_each="true")
    room.seen(reader, 5)
    reader.stop()  # it leaves: its successor does not wait for the end of its session
    room.lasts(chance.uniform(2, 4))
    room.injects("records below the end are deleted while trends is away", client_id="trends",
                 topic=room.name("clicks"), group=room.name("trenders"))  # fmt: skip
    room.errand("trims", library=KAFKA_PYTHON, topic=room.name("clicks"), below=-1)
    settings = {"session.timeout.ms": 6000}
    again = room.reads("trends", "clicks", "trenders", settings, commit_each="true")
    room.lasts(chance.uniform(8, 10))
    for each in (again, writer):
        each.kill()


# quotas


@first_kind("produce-quota", "throttled-produce", topics={"lines": "2:1"})
def produce_quota(room: Room, chance: Random) -> None:
    """A producer is above the byte rate that a quota allows it."""
    rate, name = chance.randint(900, 2500), room.name("import")
    room.errand("Quota", library=JAVA, of=name, quota="producer_byte_rate", rate=rate)
    room.injects(f"producer_byte_rate={rate}, far above it", client_id=name)
    settings = {"compression.type": "none", "linger.ms": 10}
    writer = room.writes(name, "lines", settings, size=chance.randint(300, 900), pace=60, keys=60)
    room.lasts(chance.uniform(8, 12))
    writer.kill()


@first_kind("fetch-quota", "throttled-fetch", topics={"pages": "2:1"})
def fetch_quota(room: Room, chance: Random) -> None:
    """A consumer is above the byte rate that a quota allows it."""
    rate, name = chance.randint(900, 2500), room.name("export")
    room.errand("Quota", library=JAVA, of=name, quota="consumer_byte_rate", rate=rate)
    settings = {"compression.type": "none", "linger.ms": 20}
    writer = room.writes("press", "pages", settings, size=600, pace=90, keys=60, library=LIBRDKAFKA)
    room.injects(f"consumer_byte_rate={rate}, far above it", client_id=name)
    reader = room.reads(name, "pages", "exports")
    room.lasts(chance.uniform(10, 13))
    for each in (reader, writer):
        each.kill()


# consumers


@first_kind("slow-poll", "slow-poll", also=GROUP, topics={"boxes": "4:1"})
def slow_poll(room: Room, chance: Random) -> None:
    """A member works longer on its records than max.poll.interval.ms allows."""
    interval = chance.choice((3000, 4000, 6000))
    settings = {"max.poll.interval.ms": interval, "session.timeout.ms": 6000 if interval == 6000 else 3000}
    settings["heartbeat.interval.ms"] = 1000
    room.writes("belt", "boxes", pace=400, keys=50, library=LIBRDKAFKA).until("wrote")
    quick = room.reads("pack-1", "boxes", "packers", settings, commit_each="true")
    room.joined(quick)
    work = interval + chance.randint(1500, 3000)
    room.injects(f"pack-2 works {work} ms on each record, max.poll.interval.ms is {interval}",
                 group=room.name("packers"), client_id="pack-2")  # fmt: skip
    room.reads("pack-2", "boxes", "packers", settings | {"max.poll.records": 1}, slow=work)
    room.lasts(3.5 * work / 1000)


@first_kind("member-crashes", "member-crashed", also=("endless-rebalances",), topics={"picks": "4:1"})
def member_crashes(room: Room, chance: Random) -> None:
    """A member is killed without leaving; the group waits for its session to end."""
    session = chance.choice((4000, 6000, 8000))
    settings = {"session.timeout.ms": session, "heartbeat.interval.ms": 700}
    names = [f"pick-{number}" for number in range(1, chance.randint(2, 3) + 1)]
    members = [room.reads(name, "picks", "pickers", settings, commit_each="true") for name in names]
    for member in members:
        room.joined(member)
    room.lasts(3)
    victim = chance.randrange(len(members))
    room.injects(f"{names[victim]} is killed (SIGKILL), its session lasts {session} ms",
                 group=room.name("pickers"), client_id=names[victim])  # fmt: skip
    members[victim].kill()
    room.lasts(session / 1000 + 4)


@first_kind("slow-consumer", "lag-slow-consumer", topics={"events": "2:1"})
def slow_consumer(room: Room, chance: Random) -> None:
    """A consumer works longer on each record than records take to come."""
    writer = room.writes("collector", "events", {"linger.ms": 50}, library=LIBRDKAFKA, pace=60, keys=60)
    writer.until("wrote")
    work = chance.randint(300, 600)
    room.injects(f"index works {work} ms on each record, one comes each 60 ms", client_id="index",
                 group=room.name("indexers"))  # fmt: skip
    settings: dict[str, object] = {"max.poll.records": 3, "max.partition.fetch.bytes": 2000}
    if room.library == LIBRDKAFKA:
        settings = {"max.poll.interval.ms": 300000, "queued.min.messages": 2, "fetch.message.max.bytes": 2000}
    room.reads("index", "events", "indexers", settings, slow=work, commit_each="true")
    room.lasts(chance.uniform(13, 16))


# transactions


@first_kind("transaction-times-out", "transaction-timeout", topics={"transfers": "2:1"})
def transaction_times_out(room: Room, chance: Random) -> None:
    """A producer takes longer for a transaction than transaction.timeout.ms allows."""
    timeout = chance.randint(2000, 4000)
    room.injects(f"transaction.timeout.ms={timeout}, the transaction takes longer", client_id="bank",
                 transactional_id=room.name("bank"))  # fmt: skip
    bank = room.lab.start_driver(
        java(), "Transact", client_id="bank", topic=room.name("transfers"), count=4,
        pace=round(timeout / 3 + chance.uniform(2500, 3500)), transactional_id=room.name("bank"),
        plan="commit", properties={"transaction.timeout.ms": str(timeout), "linger.ms": "0"},
    )  # fmt: skip
    room.lasts(4 * (timeout / 3 + 3500) / 1000 + 5)
    if any(event["event"] == "committed_transaction" for event in bank.events):
        raise RuntimeError("the coordinator did not end the transaction in time")  # it looks every 10 s


@first_kind("id-used-twice", "fenced-producer", also=("hanging-transaction",), topics={"payments": "2:1"})
def id_used_twice(room: Room, chance: Random) -> None:
    """Two producers use one transactional id: the second fences the first."""
    options = {"topic": room.name("payments"), "count": 4, "pace": chance.randint(100, 300)}
    options |= {"transactional_id": room.name("till"), "plan": ",".join(["commit"] * 12)}
    first = room.lab.start_driver(java(), "Transact", client_id="till-a", **options)
    first.until("committed_transaction", 2)
    room.injects("till-b starts with the transactional.id of till-a", client_id="till-a",
                 transactional_id=room.name("till"))  # fmt: skip
    room.lab.start_driver(java(), "Transact", client_id="till-b", **options)
    room.lasts(chance.uniform(7, 9))


# healthy days


@first_kind("batch-job", topics={"exports": "3:1"})
def batch_job(room: Room, chance: Random) -> None:
    """A job writes some hundred records and ends; another one reads them all in its own group."""
    writer = room.writes("job-w", "exports", {"linger.ms": 100}, count=chance.randint(100, 300), pace=1)
    writer.wait(60)
    reader = room.reads("job-r", "exports", "jobs", {"enable.auto.commit": True})
    room.lasts(chance.uniform(4, 7))
    reader.stop()


@first_kind("scales-up", topics={"tasks": "4:1"})
def scales_up(room: Room, chance: Random) -> None:
    """A group grows by one member, and later shrinks by one."""
    settings = {"session.timeout.ms": 10000, "heartbeat.interval.ms": 1000}
    room.writes("boss", "tasks", pace=600, keys=40, library=LIBRDKAFKA)
    first = room.reads("hand-1", "tasks", "hands", settings, commit_each="true")
    room.joined(first)
    room.lasts(chance.uniform(2, 4))
    second = room.reads("hand-2", "tasks", "hands", settings, commit_each="true")
    room.joined(second)
    room.lasts(chance.uniform(3, 6))
    (first if chance.random() < 0.5 else second).stop()
    room.lasts(2)


@first_kind("producer-deployed", topics={"news": "2:1"})
def producer_deployed(room: Room, chance: Random) -> None:
    """A producer is stopped and its successor starts."""
    for _ in range(2):
        writer = room.writes("desk", "news", {"linger.ms": 50}, pace=chance.randint(500, 900), keys=30)
        room.lasts(chance.uniform(4, 6))
        writer.kill()


@first_kind("administrator", topics={"stock": "1:1"})
def administrator(room: Room, chance: Random) -> None:
    """An administrator creates a topic and gives another one more partitions."""
    room.errand("makes", library=LIBRDKAFKA, topics=f"{room.name('fresh')}:{chance.randint(1, 6)}:1")
    room.errand("grows", topic=room.name("stock"), count=1, pace=1, **{"from": 1})
    room.writes("counter", "fresh", pace=700, keys=10, library=LIBRDKAFKA)
    room.lasts(chance.uniform(5, 8))


@first_kind("logged-in", topics={"secrets": "2:1"})
def logged_in(room: Room, chance: Random) -> None:
    """A client logs in and works."""
    how = login("PLAIN", "alice") if room.library == JAVA else login_with(
        room.library, "PLAIN", "alice", USERS["alice"]
    )  # fmt: skip
    room.writes("clerk", "secrets", how | {"linger.ms": 50}, bootstrap=room.lab.cluster.sasl, pace=800)
    room.lasts(chance.uniform(6, 9))


@first_kind("transactions", topics={"journal": "2:1"})
def transactions(room: Room, chance: Random) -> None:
    """A producer commits and aborts transactions, which a reader of committed records follows."""
    room.reads("mirror", "journal", "mirrors", {"isolation.level": "read_committed"}, library=LIBRDKAFKA)
    plan = ",".join(chance.choice(("commit", "commit", "abort")) for _ in range(8))
    room.lab.start_driver(
        java(), "Transact", client_id="scribe", topic=room.name("journal"), count=5,
        pace=chance.randint(100, 250), transactional_id=room.name("scribe"), plan=plan,
    )  # fmt: skip
    room.lasts(chance.uniform(8, 12))
