"""Records the captures of `tests/engine/taps/test_recorded_copies.py` with real brokers and clients.

    python -m tests.tap.record_copies

- `tap_and_packets`: a Java client, its broker, and dumpcap on the loopback interface at one time. The client
  writes and reads over a plaintext listener, and over a TLS listener of the broker, for which no key exists.
- `two_brokers`: both brokers of a cluster that replicates, attached while it runs, and dumpcap.

`NAME.truth.json` has the requests that the brokers' own request logs name, and the records that the clients
say they sent. For `two_brokers` these are the requests that arrived while both taps ran.
"""

import gzip
import json
import re
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from captures.record.broker import Cluster
from captures.record.sniffer import Sniffer
from captures.record.spec import CONTROLLER, HOST, INTERNAL, PLAIN, Spec
from tests.support.console import run
from tests.tap import kafka

CAPTURES = Path(__file__).parents[1] / "engine" / "taps" / "captures"
VERSION = "4.4.0"
RECORDS = 6
SETTLE_S = 1.0


class Request(NamedTuple):
    """A request as the log of a broker names it; times in seconds since 1970 UTC."""

    client: str
    broker: str
    correlation_id: int
    api_key: int
    arrived: float
    completed: float


def logged(log: str) -> Iterator[Request]:
    """Yield the requests of a request log. Those that a broker forwards are in another request."""
    for line in log.splitlines():
        when = re.match(r"\[([^\]]+)\] DEBUG Completed request:\{\"isForwarded\":false", line)
        if when is None:
            continue
        completed = datetime.strptime(when[1], "%Y-%m-%d %H:%M:%S,%f").replace(tzinfo=UTC).timestamp()
        (took,) = re.findall(r'"totalTimeMs":([\d.]+)', line)[-1:]
        ((broker, client),) = re.findall(r'"connection":"([\d.]+:\d+)-([\d.]+:\d+)-', line)[-1:]
        key, number = re.findall(r'"requestApiKey":(\d+).*?"correlationId":(-?\d+)', line)[0]
        arrived = completed - float(took) / 1000
        yield Request(client, broker, int(number), int(key), arrived, completed)


def tap_and_packets(folder: Path) -> None:
    """Record a client, its broker, and packets."""
    spec = replace(kafka.spec(VERSION), request_log=True)
    with kafka.running(spec, 25600) as cluster:
        node = cluster.nodes[0]
        rounds = []
        for name, role, more in (("plain", PLAIN, {}), ("secure", kafka.SECURE, kafka.tls())):
            properties = {"bootstrap.servers": f"{HOST}:{node.port(role)}", "topic": name} | more
            rounds.append(folder / f"{name}.properties")
            rounds[-1].write_text("".join(f"{key}={value}\n" for key, value in properties.items()))
        ports = [node.port(PLAIN), node.port(kafka.SECURE)]
        sniffer = Sniffer(ports, folder / "raw")
        sniffer.start()
        of_broker = kafka.Tapping(kafka.broker_pid(cluster), "-w", folder / "broker.pcapng")
        paths = ",".join(map(str, rounds))
        words = kafka.line(VERSION, cluster.bootstrap, "Rounds", rounds=paths, count=RECORDS)
        ran = run("tap", "-w", folder / "client.pcapng", "--", *words)
        time.sleep(SETTLE_S)
        of_broker.stop()
        sniffer.stop(folder / "packets.pcapng")
        read = [int(number) for number in re.findall(r'"read":(\d+)', ran.out)]
        requests = logged(cluster.request_log(1).read_text())
        ends = {f"{HOST}:{port}" for port in ports}
        truth = {
            "story": (
                f"Apache Kafka {VERSION}, one KRaft node, kafka-clients {VERSION}. One client writes and "
                "reads over a plaintext listener, then over a TLS 1.3 listener of the broker. `kdissect tap` "
                "of the client from its start and of the broker; dumpcap of both listeners, without keys."
            ),
            "plaintext": f"{HOST}:{node.port(PLAIN)}",
            "tls": f"{HOST}:{node.port(kafka.SECURE)}",
            "records": {"sent": RECORDS, "read": read},
            "requests": _rows(each for each in requests if each.broker in ends),
        }
    _store("tap_and_packets", folder, ("client", "broker", "packets"), truth)


def two_brokers(folder: Path) -> None:
    """Brokers that replicate, and packets."""
    more = {"metric.reporters": "", "default.replication.factor": "2"}
    with kafka.running(Spec(VERSION, nodes=2, request_log=True, properties=more), 25800) as cluster:
        ports = [node.port(role) for node in cluster.nodes for role in (PLAIN, INTERNAL, CONTROLLER)]
        _produce(cluster, "before")
        sniffer = Sniffer(ports, folder / "raw")
        sniffer.start()
        taps = [
            kafka.Tapping(cluster._processes[node].pid, "-w", folder / f"broker{node}.pcapng")
            for node in (1, 2)
        ]
        begin = time.time()
        sent = [_produce(cluster, topic) for topic in ("replicated", "another")]
        time.sleep(2 * SETTLE_S)
        end = time.time()
        for tapping in taps:
            tapping.stop()
        sniffer.stop(folder / "packets.pcapng")
        logs = "".join(cluster.request_log(node).read_text() for node in (1, 2))
        truth = {
            "story": (
                f"Apache Kafka {VERSION}, two KRaft nodes, each broker and controller; kafka-clients "
                f"{VERSION}. `kdissect tap` attached to both brokers while a client wrote to two topics with "
                "two replicas; dumpcap of all listeners."
            ),
            "replication": [f"{HOST}:{node.port(INTERNAL)}" for node in cluster.nodes],
            "records": {"sent": sum(sent)},
            "requests": _rows(each for each in logged(logs) if begin < each.arrived and each.completed < end),
        }
    _store("two_brokers", folder, ("broker1", "broker2", "packets"), truth)


def _produce(cluster: Cluster, topic: str) -> int:
    """Return how many records a client says it sent."""
    events = kafka.client(VERSION, cluster.bootstrap, "Produce", topic=topic, count=RECORDS).wait()
    return sum(event["event"] == "sent" for event in events)


def _rows(requests: Iterable[Request]) -> list[list[Any]]:
    return sorted([each.client, each.broker, each.correlation_id, each.api_key] for each in requests)


def _store(name: str, folder: Path, parts: Sequence[str], truth: dict[str, Any]) -> None:
    """Write the captures, compressed, and the truth."""
    for part in parts:
        data = (folder / f"{part}.pcapng").read_bytes()
        (CAPTURES / f"{name}.{part}.pcapng.gz").write_bytes(gzip.compress(data, mtime=0))
    rows = ",\n".join(f"  {json.dumps(row)}" for row in truth.pop("requests"))
    head = json.dumps(truth, indent=1)[:-2]
    (CAPTURES / f"{name}.truth.json").write_text(f'{head},\n "requests": [\n{rows}\n ]\n}}\n')


def main() -> None:
    """Record both."""
    for scenario in (tap_and_packets, two_brokers):
        with tempfile.TemporaryDirectory() as folder:
            scenario(Path(folder))


if __name__ == "__main__":
    main()
