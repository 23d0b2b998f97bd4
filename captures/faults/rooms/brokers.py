"""Faults of brokers and of what stands before them."""

import socket
import time

from captures.faults.clients import LIBRDKAFKA
from captures.faults.fault import ORDINARY, TRIO, fault
from captures.faults.room import Room
from captures.record.spec import PLAIN, Spec

_ROWS = {"rows": "2:1"}
_IDLE_MS = 2500
_IMPATIENT = Spec("4.4.0", properties=ORDINARY.properties | {"connections.max.idle.ms": str(_IDLE_MS)})


@fault("broker-closes", broker=_IMPATIENT, topics=_ROWS)
def broker_closes(room: Room) -> None:
    """The broker closes connections that are idle for a short while: who writes now and then loses them."""
    room.crowd()
    pace = room.among(4000, 3500, 4500)
    room.injects(
        f"connections.max.idle.ms={_IDLE_MS}, and nightly writes every {pace} ms",
        client_id="nightly",
        broker=1,
    )
    settings = {"linger.ms": 0, "metadata.max.age.ms": 600000}
    room.writes("nightly", "rows", settings, pace=pace, keys=10)
    room.lasts(room.among(20, 17, 18))


@fault("broker-restarted", broker=TRIO, topics={"rows": "3:3"})
def broker_restarted(room: Room) -> None:
    """A broker goes down and comes back: clients turn to the others and return."""
    room.crowd()
    settings = {"acks": "all", "delivery.timeout.ms": 40000, "request.timeout.ms": 5000}
    room.writes("loader", "rows", settings, pace=room.among(250, 200, 230), keys=30)
    room.reads("view", "rows", "views", commit_each="true", library=LIBRDKAFKA)
    room.lasts(5)
    node, kill = room.among((2, False), (3, True), (3, False))
    room.injects(f"broker {node} is {'killed' if kill else 'stopped'} and started again", broker=node)
    room.lab.cluster.restart_node(node, kill=kill)
    room.lasts(room.among(7, 6, 6))


@fault("health-probe", topics=_ROWS)
def health_probe(room: Room) -> None:
    """A load balancer opens connections to the broker's port and closes them without a byte."""
    room.crowd()
    port = room.lab.cluster.base + 10 + PLAIN
    pace = room.among(0.5, 1.0, 0.7)
    room.injects(f"a connection every {pace} s, closed at once", address=f"127.0.0.1:{port}")
    end = time.monotonic() + room.among(11, 10, 10)
    while time.monotonic() < end:
        socket.create_connection(("127.0.0.1", port)).close()
        time.sleep(pace)
