"""Faults of versions."""

import contextlib
import socket
import struct
import time

from captures.faults.clients import KAFKA_PYTHON, LIBRDKAFKA
from captures.faults.fault import fault
from captures.faults.room import Room
from captures.record.java import java
from captures.record.pythons import kafka_python
from captures.record.spec import PLAIN, Spec

_PARTS = {"parts": "2:1"}
_OLDER = Spec("3.9.2", properties={"auto.create.topics.enable": "false"})


@fault("version-refused", topics=_PARTS)
def version_refused(room: Room) -> None:
    """A client speaks a version of an API that the broker does not have."""
    room.crowd()
    room.writes("parts-api", "parts", library=LIBRDKAFKA, pace=600, keys=10)
    if room.variant == 2:
        room.injects("ApiVersions and Produce of versions no broker has yet", client_id="nightly")
        _ask_of_the_future(room)
        return
    release = room.among("0.10.2", "", "0.11")
    room.injects(f"kafka-python is told that the broker is of release {release}", client_id="legacy")
    driver = kafka_python()
    settings = {"linger_ms": "0", "max_block_ms": "6000", "enable_idempotence": "false"}
    for _ in range(2):
        legacy = room.lab.start_driver(
            driver, "writes", client_id="legacy", topic=room.name("parts"), pace=500, keys=10,
            api_version=release, properties=settings,
        )  # fmt: skip
        room.lasts(6)
        legacy.kill()


def _ask_of_the_future(room: Room) -> None:
    """Send a Metadata request of version 99, as a client of a later release that skips ApiVersions."""
    port = room.lab.cluster.base + 10 + PLAIN
    for number in range(8):
        with socket.create_connection(("127.0.0.1", port)) as connection:
            name = b"nightly"
            header = struct.pack(">hhih", 3, 99, number, len(name)) + name + b"\0"
            body = b"\1" + b"\0\0\0"
            connection.sendall(struct.pack(">i", len(header + body)) + header + body)
            connection.settimeout(2)
            with contextlib.suppress(OSError):
                connection.recv(4096)
        time.sleep(0.9)


@fault("version-removed-by-upgrade", broker=_OLDER, topics=_PARTS)
def version_removed_by_upgrade(room: Room) -> None:
    """Brokers are upgraded from 3.9 to 4.x, which lacks the versions that an old client speaks (KIP-896)."""
    room.crowd()
    settings = {"max.block.ms": "20000", "retries": "0", "linger.ms": "0", "reconnect.backoff.ms": "500"}
    old = room.among("0.10.2.2", "0.10.2.2", "0.10.2.2")
    options = {"topic": room.name("parts"), "count": 5000, "pace": room.among(400, 500, 350)}
    room.lab.start_driver(java(old), "Produce", client_id="legacy", properties=settings, **options)
    room.lasts(6)
    room.injects("the broker is stopped and comes back as 4.4.0", client_id="legacy", broker=1)
    room.lab.cluster.upgrade("4.4.0")
    room.lasts(room.among(10, 8, 9))
    room.after(lambda: room.lab.cluster.upgrade("3.9.2"))


@fault("old-client", broker=_OLDER, topics=_PARTS)
def old_client(room: Room) -> None:
    """A client that is many years old works, with the first versions of every API."""
    room.crowd()
    release = room.among("0.10.2.2", "1.1.1", "0.10.2.2")
    room.injects(f"kafka-clients {release} of Java", client_id="legacy")
    options = {"topic": room.name("parts"), "count": 5000, "pace": room.among(400, 500, 350)}
    room.lab.start_driver(java(release), "Produce", client_id="legacy", **options)
    room.lab.start_driver(
        java(release), "Consume", client_id="legacy", topic=room.name("parts"), group=room.name("legacies"),
        wait="true", commit_each="true",
    )  # fmt: skip
    room.writes("parts-api", "parts", library=KAFKA_PYTHON, pace=700, keys=10)
    room.lasts(room.among(11, 10, 10))
