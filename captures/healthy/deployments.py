"""Plays healthy traffic with deployments next to a recorder: `python -m captures.healthy.deployments DIR`.

Producers and groups of several libraries work with a broker. Every few minutes one group or producer is
deployed: its members stop and start one after the other. The recorder is to make no incident.
"""

import argparse
import itertools
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from captures.faults.clients import FRANZ, JAVA, KAFKA_PYTHON, LIBRDKAFKA
from captures.faults.fault import ORDINARY, Fault
from captures.faults.record import cluster_of
from captures.faults.room import Room
from captures.record import workshop
from captures.record.drivers import Running
from captures.record.lab import Lab
from captures.record.sniffer import Sniffer
from captures.record.spec import PLAIN
from captures.record.truth import Truth

_TOPICS = {"sales": "6:1", "orders": "4:1", "invoices": "3:1"}
_WRITER = {"linger.ms": 100, "compression.type": "gzip", "acks": "all"}
_READER = {"session.timeout.ms": 45000, "heartbeat.interval.ms": 3000}
_STATIC = {"group.instance.id": "pack-{}"}
_STEADY = ("till", "site")  # their drivers do not end when asked
_Start = Callable[[], Running]


def _deployed(room: Room) -> dict[str, list[_Start]]:
    """Return what starts the members of each deployment, by its name."""
    deployed: dict[str, list[_Start]] = {}
    for name, topic, library, pace in (
        ("shop", "sales", LIBRDKAFKA, 1000),
        ("till", "orders", JAVA, 200),
        ("books", "invoices", KAFKA_PYTHON, 700),
        ("site", "orders", FRANZ, 500),
    ):
        more = {"keys": 50, "count": 1_000_000, "pace": pace, "size": 120}
        deployed[name] = [_writer(room, name, topic, library, more)]
    for name, topic, library, members, settings in (
        ("mailers", "sales", KAFKA_PYTHON, 2, _READER),
        ("billing", "orders", JAVA, 3, _READER),
        ("packers", "sales", LIBRDKAFKA, 2, _READER | _STATIC),
        ("audit", "invoices", LIBRDKAFKA, 2, _READER),
    ):
        deployed[name] = [
            _reader(room, name, number, topic, library, settings) for number in range(1, members + 1)
        ]
    return deployed


def _writer(room: Room, name: str, topic: str, library: str, more: dict[str, int]) -> _Start:
    return lambda: room.writes(name, topic, _WRITER, library=library, **more)


def _reader(
    room: Room, group: str, number: int, topic: str, library: str, settings: dict[str, Any]
) -> _Start:
    own = {
        key: str(value).format(number) if value in _STATIC.values() else value
        for key, value in settings.items()
    }
    name = f"{group}-{number}"
    return lambda: room.reads(name, topic, group, own, library=library, commit_each="true")


def _play(room: Room, seconds: float, every_s: float, recorder: "subprocess.Popen[bytes]") -> None:
    starts = _deployed(room)
    running = {name: [start() for start in members] for name, members in starts.items()}
    end = time.monotonic() + seconds
    for name in itertools.cycle(name for name in starts if name not in _STEADY):
        time.sleep(every_s)
        if time.monotonic() > end or recorder.poll() is not None:
            return
        print(f"{time.strftime('%H:%M:%S', time.gmtime())} deployment of {name}", flush=True)
        for number, start in enumerate(starts[name]):
            running[name][number].stop()
            time.sleep(2)
            running[name][number] = start()
            time.sleep(15)


def main() -> int:
    """Play, and return the exit code of the recorder, or 1 if it made an incident."""
    parser = argparse.ArgumentParser(prog="python -m captures.healthy.deployments", description=__doc__)
    parser.add_argument("folder", type=Path, metavar="DIR", help="folder of the recorder")
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--every", type=float, default=90, metavar="S", help="seconds between deployments")
    parser.add_argument("--port-base", type=int, default=19000)
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    story = "Clients work, and are deployed."
    what = Fault("deployments", (), lambda _room: None, story, ORDINARY, _TOPICS)
    with cluster_of(ORDINARY, options.port_base) as cluster:
        port = cluster.nodes[0].port(PLAIN)
        sniffer = Sniffer([port], workshop.folder("run", "deployments") / "raw.pcapng")
        lab = Lab(cluster, sniffer, Truth(what.name, story, ORDINARY.version), options.folder)
        room = Room(lab, what, 1, number=500)
        topics = ";".join(f"{room.name(name)}:{how}" for name, how in _TOPICS.items())
        lab.run_driver(room.client(LIBRDKAFKA).driver, "makes", client_id="ops", topics=topics)
        command = [sys.executable, "-m", "kdissect", "record", "-i", "lo", "-f", f"tcp port {port}"]
        recorder = subprocess.Popen([*command, "-d", str(options.folder)])
        try:
            time.sleep(5)
            _play(room, options.minutes * 60, options.every, recorder)
        finally:
            recorder.send_signal(signal.SIGINT)
            recorder.wait()
            lab.close()
        for problem in lab.problems:
            print(f"a client failed: {problem}", flush=True)
    made = len(list(options.folder.glob("incidents/*")))
    print(f"{made} incidents", flush=True)
    return recorder.returncode or int(made > 0)


if __name__ == "__main__":
    sys.exit(main())
