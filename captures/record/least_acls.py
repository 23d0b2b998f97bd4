"""Check `kdissect access` with a broker: `python -m captures.record.least_acls [WORKLOAD...]`.

Each workload of real clients runs with all permissions and is captured. Then it runs with exactly the ACLs
that `kdissect access` proposes for that capture, which must not lead to a denial, and with all of them but
one, which must. Needs what recordings need (README.md).
"""

import argparse
import json
import re
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from captures.record import java as java_clients
from captures.record import workshop
from captures.record.administer import login
from captures.record.broker import Cluster
from captures.record.drivers import Driver, Running
from captures.record.golang import franz, sarama
from captures.record.java import java, streams
from captures.record.pythons import kafka_python, librdkafka
from captures.record.sniffer import Sniffer, stored
from captures.record.spec import USERS, Spec

_USER = "alice"
_PRINCIPAL = f"User:{_USER}"
_ALL = tuple((_PRINCIPAL, "All", kind, name) for kind, name in (
    ("Topic", "*"), ("Group", "*"), ("TransactionalId", "*"), ("Cluster", "kafka-cluster"),
))  # fmt: skip
_DENIED_SECONDS = 12  # from its first requests on: a client that is denied may try for ever
_START_SECONDS = 120  # until then, on a busy machine
_WAIT_SECONDS = 240
_FIRST_BYTES = 3_000  # of a capture in which a client has sent requests
_JAVA_LOGIN = login("PLAIN", _USER)
_LOGIN = {"sasl": "PLAIN", "user": _USER, "password": USERS[_USER]}

Acl = tuple[str, str, str, str]
"""Principal, operation, resource type and name."""


class Step(NamedTuple):
    """A run of a driver. With `until` it stops after this number of events of a kind."""

    driver: Driver
    action: str
    options: dict[str, Any]
    until: tuple[str, int] | None = None


class Workload(NamedTuple):
    """What a user's clients do, with the topics and groups that they find or leave."""

    steps: tuple[Step, ...]
    found: tuple[str, ...] = ()
    left: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()


def workloads() -> dict[str, Workload]:
    """Return the workloads by name."""
    client, app = java(), streams()
    orders = {"topic": "orders", "count": 6}
    return {
        "java": Workload(
            (Step(client, "Produce", orders),
             Step(client, "Consume", orders | {"group": "billing", "commit": "true"})),
            left=("orders",), groups=("billing",),
        ),
        "java-transactions": Workload(
            (Step(client, "Transact", {"topic": "ledger", "plan": "commit,offsets,abort", "group": "mover",
                                       "transactional-id": "ledger-tx"}),),
            found=("ledger",), left=("source",), groups=("mover",),
        ),
        "java-streams": Workload(
            (Step(client, "Produce", {"topic": "words", "count": 4}),
             Step(app, "StreamsApp", {"group": "counting", "topic": "words", "output": "counts",
                                      "properties": {"group.protocol": "classic", "num.stream.threads": "1"}},
                  ("state", 2))),
            found=("words", "counts"), groups=("counting",),
            left=("counting-by-value-repartition",
                  "counting-KSTREAM-AGGREGATE-STATE-STORE-0000000002-changelog"),
        ),
        "librdkafka": Workload(
            (Step(librdkafka(), "produce", orders | {"label": "orders", "idempotent": "yes"}),
             Step(librdkafka(), "group", orders | {"group": "packing", "protocol": "consumer"})),
            found=("orders",), groups=("packing",),
        ),
        "kafka-python": Workload(
            (Step(kafka_python(), "produce", orders | {"label": "orders"}),
             Step(kafka_python(), "group", orders | {"group": "shipping"})),
            found=("orders",), groups=("shipping",),
        ),
        "franz": Workload(
            (Step(franz(), "produce", orders | {"label": "orders"}),
             Step(franz(), "group", orders | {"group": "carrying"})),
            found=("orders",), groups=("carrying",),
        ),
        "sarama": Workload(
            (Step(sarama(), "produce", orders | {"label": "orders"}),
             Step(sarama(), "group", orders | {"group": "counting"})),
            found=("orders",), groups=("counting",),
        ),
    }  # fmt: skip


class Room:
    """A cluster that denies by default, with somebody who sets it up."""

    def __init__(self, base: int, folder: Path) -> None:
        properties = {"allow.everyone.if.no.acl.found": "false"}
        self.cluster = Cluster(Spec("4.4.0", properties=properties), base, java_clients.extensions())
        self.folder = folder
        self._raw = folder / "raw.pcapng"
        self._admin: Running | None = None

    def start(self) -> None:
        """Start the servers."""
        self.cluster.start()
        command = [*java().command, self.cluster.bootstrap, "Permit", "--client-id", "permit"]
        self._admin = Running(command, lambda _event: None)
        self._admin.until("ready", seconds=_WAIT_SECONDS)

    def close(self) -> None:
        """Stop the servers."""
        if self._admin is not None:
            self._admin.kill()
        self.cluster.close()

    def run(self, workload: Workload, acls: Sequence[Acl], name: str) -> Path:
        """Run a workload with these ACLs alone on what it finds at first; the capture."""
        self._do("left", ",".join(workload.groups))
        self._do("gone", ",".join((*workload.found, *workload.left)))
        self._do("there", ",".join(workload.found))
        self._do("acls", ";".join("|".join((acl[0], *map(_enum, acl[1:3]), acl[3])) for acl in acls))
        target = self.folder / f"{name}.pcapng"
        sniffer = Sniffer(self.cluster.ports("clients"), self._raw)
        sniffer.start()
        try:
            for step in workload.steps:
                self._run(step, is_patient=name.endswith(("-all", "-least")))
        finally:
            sniffer.stop(target)
        return stored(target)

    def _do(self, what: str, about: str) -> None:
        assert self._admin is not None
        count = sum(event["event"] == "done" for event in self._admin.events)
        self._admin.tell(f"{what} {about}")
        self._admin.until("done", count + 1, seconds=_WAIT_SECONDS)

    def _run(self, step: Step, is_patient: bool) -> None:
        options = dict(step.options)
        properties = options.pop("properties", {})
        if step.action[0].isupper():  # of the Java drivers
            properties = properties | _JAVA_LOGIN
        else:
            options |= _LOGIN
        if step.action == "StreamsApp":
            options["state"] = workshop.folder("run", "streams", fresh=True)
        command = [
            *step.driver.command,
            self.cluster.sasl,
            step.action,
            "--client-id",
            f"c-{step.action.lower()}",
        ]
        command += [word for key, value in options.items() for word in (f"--{key}", str(value))]
        command += [word for key, value in properties.items() for word in ("--set", f"{key}={value}")]
        running = Running(command, lambda _event: None)
        try:
            if is_patient:
                if step.until is not None:
                    running.until(*step.until, seconds=_WAIT_SECONDS)
                    time.sleep(4)
                    running.tell("stop")
                running.wait(_WAIT_SECONDS)
            else:
                self._watch(running)
        finally:
            running.kill()

    def _watch(self, running: Running) -> None:
        """Let a client try for some seconds after its first requests."""
        size, end = self._raw.stat().st_size, time.monotonic() + _START_SECONDS
        has_begun = False
        while running.alive and time.monotonic() < end:
            time.sleep(0.2)
            if not has_begun and self._raw.stat().st_size > size + _FIRST_BYTES:
                has_begun, end = True, time.monotonic() + _DENIED_SECONDS


def _enum(name: str) -> str:
    """Return the name of an operation or resource type in Java: `TransactionalId` -> `TRANSACTIONAL_ID`."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).upper()


def accessed(capture: Path, table: str) -> list[dict[str, Any]]:
    """Return the rows of a table of `kdissect access` about the user."""
    command = [
        sys.executable,
        "-m",
        "kdissect",
        "access",
        str(capture),
        "--table",
        table,
        "--format",
        "jsonl",
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    return [row for row in rows if row["principal"] in (_USER, _PRINCIPAL)]


def least(capture: Path) -> list[Acl]:
    """Return the ACLs that `kdissect access` proposes."""
    return [
        (row["principal"], row["operation"], row["resource"], row["name"])
        for row in accessed(capture, "acls")
    ]


def denied(capture: Path) -> list[str]:
    """Return what a capture shows as denied."""
    return [
        f"{row['operation']} on {row['resource']} {row['name']}"
        for row in accessed(capture, "access")
        if row["denied"]
    ]


def check(room: Room, name: str, workload: Workload) -> bool:
    """Check a workload and print what came of it; whether all was as it must be."""
    try:
        acls = least(room.run(workload, _ALL, f"{name}-all"))
        found = denied(room.run(workload, acls, f"{name}-least"))
    except RuntimeError as problem:
        print(f"{name}: {problem}", file=sys.stderr, flush=True)
        return False
    print(f"{name}: {len(acls)} ACLs, denied with them: {', '.join(found) or 'nothing'}", flush=True)
    good = bool(acls) and not found
    for number, left_out in enumerate(acls):
        rest = [acl for acl in acls if acl != left_out]
        found = denied(room.run(workload, rest, f"{name}-without-{number}"))
        print(f"  without {' '.join(left_out[1:])}: denied {', '.join(found) or 'NOTHING'}", flush=True)
        good = good and bool(found)
    return good


def main() -> int:
    """Check the workloads that the arguments name, or all; the number of those that failed."""
    known = workloads()
    parser = argparse.ArgumentParser(prog="python -m captures.record.least_acls", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="WORKLOAD", help=f"of {', '.join(known)}")
    parser.add_argument("--output", type=Path, default=workshop.folder("run", "least-acls"))
    parser.add_argument("--port-base", type=int, default=19000, help="first of 100 ports to use")
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)
    room = Room(options.port_base, options.output)
    try:
        room.start()
        failed = [name for name in options.names or known if not check(room, name, known[name])]
    finally:
        room.close()
    print(f"failed: {', '.join(failed) or 'nothing'}")
    return len(failed)


if __name__ == "__main__":
    sys.exit(main())
