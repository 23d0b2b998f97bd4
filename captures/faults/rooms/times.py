"""Faults of time: brokers, ways and clients that are slow, quotas, and answers that do not come."""

import threading

from captures.faults.clients import JAVA, KAFKA_PYTHON, LIBRDKAFKA
from captures.faults.fault import TRIO, Way, fault
from captures.faults.room import Room
from captures.record import java

_JOBS = {"jobs": "2:1"}


@fault("slow-broker", topics=_JOBS)
def slow_broker(room: Room) -> None:
    """The broker gets little CPU: its kernel acknowledges at once, its answers take long."""
    room.crowd()
    room.writes("api", "jobs", pace=room.among(150, 200, 170), keys=60)
    room.reads("worker", "jobs", "workers", commit_each="true")
    room.lasts(6)
    frozen, runs = room.among((0.5, 0.08), (0.7, 0.1), (0.4, 0.05))
    room.injects(f"the broker is stopped for {frozen} s, runs for {runs} s, and so on", broker=1)
    for _ in range(round(room.among(11, 10, 10) / (frozen + runs))):
        room.lab.cluster.freeze(1)
        room.lasts(frozen)
        room.lab.cluster.thaw(1)
        room.lasts(runs)


def _far_clients(room: Room, size: int) -> None:
    """Two clients at the other end of the way, while the crowd is near."""
    room.crowd()
    room.injects(f"a way of {_way_of(room)} between branch-api, branch-app and the broker",
                 client_ids=["branch-api", "branch-app"])  # fmt: skip
    settings = {"linger.ms": 20, "compression.type": "none"}
    room.writes("branch-api", "jobs", settings, away=True, pace=room.among(120, 150, 140), size=size, keys=60)
    room.reads("branch-app", "jobs", "branches", away=True, commit_each="true")


def _way_of(room: Room) -> str:
    way = (room.fault.way or {})[room.variant]
    return f"{way.round_trip_ms} ms" + (f" that loses one packet of {way.loses}" if way.loses else "")


@fault("slow-network", topics=_JOBS, way={1: Way(180), 2: Way(240), 3: Way(150)})
def slow_network(room: Room) -> None:
    """Some clients are far away: every packet takes its time, none is lost."""
    _far_clients(room, 80)
    room.lasts(room.among(14, 11, 11))


@fault("lossy-network", topics=_JOBS, way={1: Way(20, 7), 2: Way(30, 6), 3: Way(24, 8)})
def lossy_network(room: Room) -> None:
    """The way between some clients and the broker loses packets, which are sent again."""
    _far_clients(room, room.among(150, 200, 120))
    room.lasts(room.among(14, 12, 12))


@fault("slow-client", topics={"jobs": "1:1"})
def slow_client(room: Room) -> None:
    """A consumer's host is short of CPU: answers wait in its receive buffer until that is full."""
    room.crowd()
    room.writes("api", "jobs", {"compression.type": "none", "linger.ms": 50}, library=LIBRDKAFKA,
                size=2000, burst=8, pace=150, keys=60).until("wrote")  # fmt: skip
    room.lasts(4)
    settings: dict[str, object] = {"receive.buffer.bytes": 4096, "max.partition.fetch.bytes": 60000}
    if room.variant == 2:
        settings = {"receive.buffer.bytes": 4096, "fetch.message.max.bytes": 60000}
    room.injects("screen is stopped most of the time, its receive buffer is 4096 bytes", client_id="screen")
    screen = room.reads("screen", "jobs", None, settings)
    room.seen(screen)
    for _ in range(room.among(6, 7, 7)):
        screen.freeze()
        room.lasts(room.among(1.3, 1.0, 1.1))
        screen.thaw()
        room.lasts(0.15)


def _quota(room: Room, of: str, kind: str, rate: int) -> None:
    """Set by an administrator before the capture shows what comes of it."""
    room.errand("Quota", library=JAVA, of=of, quota=kind, rate=rate)


@fault("throttled-produce", topics=_JOBS)
def throttled_produce(room: Room) -> None:
    """A producer is above the byte rate that a quota allows it."""
    room.crowd()
    rate = room.among(1500, 2000, 1800)
    _quota(room, room.name("import"), "producer_byte_rate", rate)
    room.injects(f"producer_byte_rate={rate}, far above it", client_id=room.name("import"))
    settings = {"compression.type": "none", "linger.ms": 0}
    room.writes(room.name("import"), "jobs", settings, size=400, pace=room.among(60, 70, 50), keys=60)
    room.lasts(room.among(11, 9, 9))


@fault("throttled-fetch", topics=_JOBS)
def throttled_fetch(room: Room) -> None:
    """A consumer is above the byte rate that a quota allows it."""
    room.crowd()
    rate = room.among(1500, 2000, 1800)
    _quota(room, room.name("export"), "consumer_byte_rate", rate)
    settings = {"compression.type": "none", "linger.ms": 0}
    room.writes("api", "jobs", settings, library=LIBRDKAFKA, size=500, pace=80, keys=60).until("wrote", 20)
    room.injects(f"consumer_byte_rate={rate}, far above it", client_id=room.name("export"))
    room.reads(room.name("export"), "jobs", "exports")
    room.lasts(room.among(12, 10, 10))


@fault("throttled-requests", topics=_JOBS)
def throttled_requests(room: Room) -> None:
    """A client takes more of the broker's threads than its quota of requests allows."""
    room.crowd()
    _quota(room, room.name("poller"), "request_percentage", 1)
    room.injects("request_percentage=1, and fetches without rest", client_id=room.name("poller"))
    hasty = {"fetch.max.wait.ms": 1, "max.poll.records": 1}
    room.reads(room.name("poller"), "jobs", None, hasty, partitions=2)
    room.lasts(room.among(8, 7, 7))


@fault("throttled-controller")
def throttled_controller(room: Room) -> None:
    """An administrator's tool creates more partitions than its quota of mutations allows."""
    room.crowd()
    _quota(room, room.name("onboarding"), "controller_mutation_rate", 1)
    room.injects("controller_mutation_rate=1, and topic after topic", client_id=room.name("onboarding"))
    if room.variant == 1:
        for number in range(5):
            room.lab.run_driver(
                java.java(), "CreateTopic", client_id=room.name("onboarding"), partitions=5,
                topic=room.name(f"tenant-{number}"),
                properties={"request.timeout.ms": "10000", "default.api.timeout.ms": "20000"},
            )  # fmt: skip
        return
    room.errand(
        "creates", client_id=room.name("onboarding"), topic=room.name("tenant"), count=room.among(0, 7, 5),
        partitions=room.among(0, 4, 6), pace=1500,
    )  # fmt: skip


@fault("unanswered-requests", broker=TRIO, topics={"jobs": "3:3"}, also=("slow-broker",))
def unanswered_requests(room: Room) -> None:
    """A broker hangs: connections to it stay open, requests are never answered, clients give up waiting."""
    room.crowd()
    timeout = room.among(3000, 3500, 3200)
    settings = {"request.timeout.ms": timeout, "acks": "1", "delivery.timeout.ms": 20000}
    settings["enable.idempotence"] = False
    room.writes("api", "jobs", settings, pace=room.among(200, 150, 180), keys=60)
    room.reads("worker", "jobs", None, partitions=3, library=KAFKA_PYTHON)
    room.lasts(5)
    hung = room.among(2, 3, 3)
    room.injects(f"broker {hung} is stopped (SIGSTOP) and goes on no more", broker=hung, client_id="api")
    room.lab.cluster.freeze(hung)
    threading.Event().wait(room.among(13, 12, 12))

    def repair() -> None:
        room.lab.cluster.stop_node(hung, kill=True)
        room.lab.cluster.launch(hung)
        room.lab.cluster.wait_ready(hung)

    room.after(repair)
