"""Faults of producers."""

from captures.faults.clients import JAVA, KAFKA_PYTHON, LIBRDKAFKA
from captures.faults.fault import TRIO, fault
from captures.faults.room import Room

_ORDERS = {"orders": "2:1"}


@fault("fenced-producer", topics=_ORDERS)
def fenced_producer(room: Room) -> None:
    """Two producers use one transactional id: the second fences the first, which goes on trying."""
    room.crowd()
    shared = {"transactional.id": room.name("till"), "transaction.timeout.ms": 30000}
    plan = {"transactions": "commit", "burst": 3, "pace": room.among(500, 700, 400)}
    if room.client().is_java:
        first = room.lab.start_driver(
            room.client().driver, "Transact", client_id="till-a", topic=room.name("orders"), count=4,
            pace=120,            transactional_id=room.name("till"), plan=",".join(["commit"] * 20),
        )  # fmt: skip
        first.until("committed_transaction", 2)
    else:
        first = room.writes("till-a", "orders", shared, **plan)
        first.until("wrote", 4)
    room.injects(
        "till-b starts with the transactional.id of till-a",
        client_id="till-a",
        transactional_id=room.name("till"),
    )
    if room.client().is_java:
        room.lab.start_driver(
            room.client().driver, "Transact", client_id="till-b", topic=room.name("orders"), count=4,
            pace=120,            transactional_id=room.name("till"), plan=",".join(["commit"] * 20),
        )  # fmt: skip
    else:
        room.writes("till-b", "orders", shared, **plan)
    room.lasts(room.among(8, 7, 7))


@fault("hanging-transaction", topics=_ORDERS)
def hanging_transaction(room: Room) -> None:
    """A transaction stays open: nobody commits or aborts it, and readers of what is committed wait."""
    room.crowd()
    committed = {"isolation.level": "read_committed"}
    reader = room.reads("ledger", "orders", "ledgers", committed, commit_each="true")
    room.joined(reader)
    library = room.among(JAVA, LIBRDKAFKA, KAFKA_PYTHON)
    room.injects(
        "desk writes in a transaction and never ends it",
        client_id="desk", transactional_id=room.name("desk"), topic=room.name("orders"),
        group=room.name("ledgers"),
    )  # fmt: skip
    if library == JAVA:
        room.lab.start_driver(
            room.client().driver, "Transact", client_id="desk", topic=room.name("orders"), count=2000,
            pace=900,            transactional_id=room.name("desk"), plan="open",
            properties={"transaction.timeout.ms": "600000"},
        )  # fmt: skip
    else:
        shared = {"transactional.id": room.name("desk"), "transaction.timeout.ms": 600000}
        room.writes("desk", "orders", shared, transactions="open", burst=5)
    room.lasts(2)
    room.writes("orders-api", "orders", pace=room.among(600, 500, 700), keys=40)
    room.lasts(room.among(16, 15, 16))


@fault("sequence-gap", topics=_ORDERS)
def sequence_gap(room: Room) -> None:
    """An idempotent producer skips sequence numbers, as a client with a bug does; it is refused."""
    room.crowd()
    if room.variant == 1:
        room.writes("orders-api", "orders", pace=500, keys=40, library=LIBRDKAFKA).until("wrote")
        room.injects(
            "a batch has a sequence beyond the next one", client_id="intake", topic=room.name("orders")
        )
        room.errand("Missteps", library=JAVA, client_id="intake", topic=room.name("orders"))
        room.lasts(3)
        return
    settings = {"enable.idempotence": True, "acks": "all", "linger.ms": 5, "delivery.timeout.ms": 9000}
    settings["request.timeout.ms"] = 4000
    intake = room.writes(
        "intake",
        "orders",
        settings,
        library=KAFKA_PYTHON,
        partition=0,
        burst=3,
        pace=300,
        skip=room.among(0, 15, 30),
    )
    intake.until("wrote")
    room.injects("a batch has a sequence beyond the next one", client_id="intake", topic=room.name("orders"))
    room.lasts(room.among(0, 8, 9))


@fault("duplicate-writes", topics=_ORDERS, also=("slow-broker", "unanswered-requests"))
def duplicate_writes(room: Room) -> None:
    """A producer without idempotence gives up waiting for a broker that pauses, and writes the same again."""
    room.crowd()
    timeout = room.among(1200, 1500, 1300)
    settings = {"enable.idempotence": False, "acks": "all", "retries": 10, "request.timeout.ms": timeout}
    settings |= {"delivery.timeout.ms": 30000, "linger.ms": 0, "retry.backoff.ms": 200}
    settings["max.in.flight.requests.per.connection"] = 1
    room.reads("audit", "orders", "auditors", library=LIBRDKAFKA, commit_each="true")
    intake = room.writes("intake", "orders", settings, pace=room.among(150, 120, 170), keys=30)
    room.lasts(4)
    room.injects(
        f"intake waits {timeout} ms for answers, has no idempotence, and the broker pauses longer",
        client_id="intake", topic=room.name("orders"),
    )  # fmt: skip
    for pause in room.among((2.2, 2.4), (2.6, 2.2, 2.3), (2.5, 2.1)):
        room.lab.cluster.freeze(1)
        room.lasts(pause)
        room.lab.cluster.thaw(1)
        room.lasts(3)
    assert intake.alive


@fault("leader-moved", broker=TRIO, topics={"orders": "1:3"})
def leader_moved(room: Room) -> None:
    """The leader of a partition moves to another broker while a producer writes to it."""
    room.crowd()
    settings = {"metadata.max.age.ms": 300000, "acks": "all", "retry.backoff.ms": 200}
    room.writes("intake", "orders", settings, pace=room.among(120, 150, 130), keys=30)
    room.lasts(5)
    room.injects(
        "the partition's leader is moved to other brokers", topic=room.name("orders"), client_id="intake"
    )
    for replicas in room.among(("2,3,1", "3,1,2"), ("3,2,1", "1,2,3"), ("1,3,2", "2,1,3", "3,1,2")):
        room.errand("moves", topic=room.name("orders"), to=replicas)
        room.lasts(3)


@fault("not-enough-replicas", broker=TRIO, topics={"orders": "1:3:min.insync.replicas=3"})
def not_enough_replicas(room: Room) -> None:
    """A broker is down, and a topic wants more replicas in sync than there are."""
    room.crowd()
    settings = {
        "acks": "all",
        "delivery.timeout.ms": 20000,
        "request.timeout.ms": 4000,
        "retry.backoff.ms": 400,
    }
    room.writes("intake", "orders", settings, pace=room.among(300, 250, 350), keys=30)
    room.lasts(3)
    down = room.among(2, 3, 3)
    room.injects(
        f"broker {down} is killed; the topic has three replicas and min.insync.replicas=3",
        topic=room.name("orders"), client_id="intake", broker=down,
    )  # fmt: skip
    room.lab.cluster.stop_node(down, kill=True)
    room.lasts(room.among(12, 11, 12))
    room.lab.cluster.launch(down)
    room.after(lambda: room.lab.cluster.wait_ready(down))


@fault("message-too-large", topics={"orders": "2:1:max.message.bytes=2000"})
def message_too_large(room: Room) -> None:
    """A producer sends records that are larger than max.message.bytes of the topic."""
    room.crowd()
    room.writes("orders-api", "orders", pace=400, keys=40, library=LIBRDKAFKA).until("wrote")
    size = room.among(3000, 5000, 2600)
    room.injects(
        f"records of {size} bytes, uncompressed, to a topic with max.message.bytes=2000",
        client_id="images", topic=room.name("orders"),
    )  # fmt: skip
    settings = {"compression.type": "none", "acks": "all", "linger.ms": 0}
    room.writes("images", "orders", settings, size=size, pace=room.among(700, 600, 800), keys=5)
    room.lasts(room.among(10, 7, 8))


@fault("tiny-batches", topics=_ORDERS)
def tiny_batches(room: Room) -> None:
    """A busy producer sends every record in a request of its own."""
    room.crowd()
    room.injects(
        "no linger, batches of one record, many records a second",
        client_id="clicks",
        topic=room.name("orders"),
    )
    settings = {"linger.ms": 0, "batch.size": room.among(1, 1, 0), "acks": room.among("all", "1", "1")}
    settings["enable.idempotence"] = False
    if room.variant == 2:
        settings["batch.num.messages"] = 1
    room.writes("clicks", "orders", settings, pace=room.among(9, 10, 8), size=60, keys=500)
    room.lasts(room.among(7, 5, 6))


@fault("uncompressed", topics=_ORDERS)
def uncompressed(room: Room) -> None:
    """A producer sends large batches of text that would compress well, as they are."""
    room.crowd()
    room.injects(
        "compression.type=none for text in large batches", client_id="logs", topic=room.name("orders")
    )
    settings = {"compression.type": "none", "linger.ms": 300, "batch.size": 60000, "acks": "1"}
    settings["enable.idempotence"] = False
    many = {"size": room.among(400, 300, 500), "keys": 20}
    if room.client().is_java:
        room.writes("logs", "orders", settings, pace=4, **many)
    else:
        room.writes("logs", "orders", settings, pace=400, burst=100, **many)
    room.lasts(room.among(9, 8, 8))


@fault("invalid-records", topics={"orders": "2:1:cleanup.policy=compact"})
def invalid_records(room: Room) -> None:
    """A producer writes records without a key to a topic that is compacted."""
    room.crowd()
    room.writes("orders-api", "orders", pace=400, keys=40, library=LIBRDKAFKA).until("wrote")
    room.injects("records without a key to a compacted topic", client_id="stock", topic=room.name("orders"))
    options = {"no_keys": "true"} if room.client().is_java else {"keys": 0}
    room.writes("stock", "orders", {"linger.ms": 0}, pace=room.among(500, 600, 400), **options)
    room.lasts(room.among(10, 7, 7))
