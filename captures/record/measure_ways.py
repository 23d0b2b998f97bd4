"""Ways of known lengths and losses, as kdissect measures them from captures of both ends. Apache Kafka 4.4.0,
Java client.

    python -m captures.record.measure_ways [PORT_BASE]

Prints a row for each way, as docs/statistics.md has them. Linux and root, as for recordings.
"""

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from captures.record import workshop
from captures.record.far import Way, far, far_away
from captures.record.java import java
from captures.record.lab import Lab
from captures.record.play import played
from captures.record.sniffer import Sniffer
from captures.record.spec import Spec

NAME = "measured_ways"
BROKER = Spec("4.4.0")
_RECORDS = 40
_MS = 1_000_000
_ONE_BY_ONE = {"max.in.flight.requests.per.connection": "1", "batch.size": "1", "linger.ms": "0"}
_WAYS = (
    *(Way(ms, ms) for ms in (5, 20, 40, 80)),
    Way(5, 35), Way(60, 20), Way(80, 5),
    *(Way(ms, ms, loss=loss) for loss in (0.01, 0.05) for ms in (5, 20, 40, 80)),
    Way(5, 35, loss=0.05), Way(60, 20, loss=0.05),
)  # fmt: skip


def run(lab: Lab) -> None:
    """Each way once."""
    client = far(java("4.4.0"))
    port = int(lab.cluster.bootstrap.rpartition(":")[2])
    for number, way in enumerate(_WAYS):
        folder = workshop.folder("run", "ways", str(number), fresh=True)
        topic = f"way-{number}"
        with far_away(way, port, folder) as found:
            lab.run_driver(
                client, "Produce", client_id="writer", topic=topic, count=_RECORDS,
                properties=_ONE_BY_ONE,
            )  # fmt: skip
            lab.run_driver(
                client, "Consume", client_id="reader", topic=topic, count=_RECORDS,
                properties={"max.poll.records": "4", "fetch.max.wait.ms": "300"},
            )  # fmt: skip
        print(_row(way, folder, found["lost"]), flush=True)


def _row(way: Way, folder: Path, lost: Sequence[dict[str, Any]]) -> str:
    captures = [str(folder / f"{end}.pcapng") for end in ("client", "broker")]
    both = _told("stats", *captures, "--split", "--clocks-within", "0ms")["split"]["one_way"]["total"]
    trips = [_told("connections", capture)["rows"] for capture in captures]
    cells = [
        f"{way.to_broker_ms:g} ms", f"{way.to_client_ms:g} ms", f"{way.loss:.0%}", str(both["exchanges"]),
        str(len(lost)),
    ]  # fmt: skip
    round_trip = way.to_broker_ms + way.to_client_ms
    for took_ns, true_ms in (
        (both["shortest_to_broker_ns"], way.to_broker_ms),
        (both["shortest_to_client_ns"], way.to_client_ms),
        *((min(row["rtt_ns"] for row in rows if row["rtt_ns"]), round_trip) for rows in trips),
    ):
        cells.append(f"{took_ns / _MS:.2f} ms ({took_ns / _MS / true_ms - 1:+.1%})")
    cells.append(f"{both['both_ways_ns'] / _MS:.2f} ms")
    return f"| {' | '.join(cells)} |"


def _told(*arguments: str) -> Any:
    command = [sys.executable, "-m", "kdissect", *arguments, "--format", "json"]
    return json.loads(subprocess.run(command, capture_output=True, check=True).stdout)


def _main() -> None:
    base = int(sys.argv[1]) if len(sys.argv) > 1 else 19000
    raw = workshop.folder("run", f"raw{base}") / "raw.pcapng"
    with played(sys.modules[__name__], base, raw.parent, lambda ports: Sniffer(ports, raw)):
        pass


if __name__ == "__main__":
    _main()
