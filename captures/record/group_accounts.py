"""Compare `kdissect groups` with members and brokers: `python -m captures.record.group_accounts [CASE...]`.

Members of share groups keep account of what they receive and acknowledge, and applications of Kafka Streams
of their tasks. The broker counts locks that expire, and its tools show where groups stand. Needs what
recordings need (README.md), and jcmd of the JDK.
"""

import argparse
import json
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from captures.record import jars, workshop
from captures.record.broker import Cluster
from captures.record.drivers import Running
from captures.record.java import extensions, java, streams
from captures.record.sniffer import Sniffer, stored
from captures.record.spec import HOST, Spec

_LOCK_MS = 3000
_LIMIT = 3
_PARTITIONS = 2
_WAIT_SECONDS = 180
_SPARE_PORT = 99  # of the 100 ports, for the broker's counters
_PROPERTIES = {
    "num.partitions": str(_PARTITIONS),
    "group.share.delivery.count.limit": str(_LIMIT),
    "group.share.min.record.lock.duration.ms": "1000",
    "group.share.record.lock.duration.ms": str(_LOCK_MS),
    "group.streams.initial.rebalance.delay.ms": "500",
    "group.streams.num.standby.replicas": "1",
}
_ACCOUNT = {"accept": "accepted", "release": "released", "reject": "rejected", "renew": "renewed"}
_MORE = 20  # records that a last member accepts: nothing else shows that earlier ones are given up
Facts = dict[str, Any]


class Member(NamedTuple):
    """A member of a share group: its options, and how it ends: it stops, or it is killed."""

    options: dict[str, str]
    is_killed: bool = False


SHARES: dict[str, tuple[int, tuple[Member, ...]]] = {
    "share-accepts": (200, (Member({}), Member({}))),
    "share-mixed": (120, (Member({"plan": "ACCEPT,RELEASE,REJECT,ACCEPT,RELEASE"}), Member({}))),
    "share-limit": (40, (Member({"plan": "RELEASE"}),)),
    "share-renews": (30, (Member({"plan": "RENEW,ACCEPT,ACCEPT"}),)),
    "share-late": (60, (Member({"work": str(2 * _LOCK_MS)}), Member({}))),
    "share-hangs": (60, (Member({"stay": "true"}, is_killed=True), Member({}))),
    "share-leaves": (60, (Member({"leave": "true"}), Member({"plan": "ACCEPT,REJECT"}))),
    "share-killed": (60, (Member({"work": "600000"}, is_killed=True), Member({"plan": "ACCEPT,RELEASE"}))),
}
"""Cases of share groups: the number of records, and the members. The first one receives records first."""


class Room:
    """A cluster, its tools, and a folder for captures."""

    def __init__(self, base: int, folder: Path) -> None:
        self.cluster = Cluster(Spec("4.4.0", properties=_PROPERTIES), base, extensions())
        self.folder = folder
        self._counters = base + _SPARE_PORT

    def start(self) -> None:
        """Start the broker, and let it show its counters."""
        self.cluster.start()
        jcmd = workshop.program("jcmd", "read the counters of the broker")
        settings = ("authenticate=false", "ssl=false", f"port={self._counters}", f"host={HOST}")
        options = [f"jmxremote.{setting}" for setting in settings]
        workshop.run([jcmd, str(self.cluster.process_id(1)), "ManagementAgent.start", *options])

    def tool(self, name: str, *options: str) -> str:
        """Run a command line tool of Apache Kafka and return what it prints."""
        program = workshop.program("java", "run the tools of Apache Kafka")
        command = [program, "-cp", jars.classpath("tools-4.4.0"), f"org.apache.kafka.tools.{name}", *options]
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120).stdout

    def described(self, kind: str, group: str, *options: str) -> list[Facts]:
        """Return the table that the tool of a kind of groups prints, by the names of its columns."""
        name = {"share": "consumer.group.ShareGroupCommand", "streams": "streams.StreamsGroupCommand"}[kind]
        out = self.tool(name, "--bootstrap-server", self.cluster.bootstrap, "--describe", "--group", group,
                        *options)  # fmt: skip
        lines = [re.split(r"\s{2,}|\s(?=\S)", line.strip()) for line in out.splitlines() if line.strip()]
        titles = next((line for line in lines if line[0] == "GROUP"), [])
        return [dict(zip(titles, line, strict=False)) for line in lines if line[0] == group]

    def expired(self, group: str) -> int:
        """Return how many locks of a group expired, as the broker counts them."""
        out = self.tool(
            "JmxTool", "--one-time", "--report-format", "tsv", "--attributes", "Count", "--jmx-url",
            f"service:jmx:rmi:///jndi/rmi://{HOST}:{self._counters}/jmxrmi", "--object-name",
            "kafka.server:type=SharePartitionMetrics,name=AcquisitionLockTimeoutPerSec,*",
        )  # fmt: skip
        found = re.findall(rf"group={re.escape(group)},.*?:Count\s+(\d+)", out)
        return sum(map(int, found))

    def lag(self, group: str) -> int | None:
        """Return how many records a share group is not done with; None if the broker does not know it."""
        lags = [row["LAG"] for row in self.described("share", group, "--offsets")]
        return sum(map(int, lags)) if all(lag.isdigit() for lag in lags) else None

    def run(self, driver: Any, action: str, **options: Any) -> Running:
        """Start a client."""
        words = [
            word for key, value in options.items() for word in (f"--{key.replace('_', '-')}", str(value))
        ]
        return Running([*driver.command, self.cluster.bootstrap, action, *words], lambda _event: None)

    def capture(self, name: str, act: Callable[[], Any]) -> tuple[Any, Facts]:
        """Capture while `act` runs. Return its result, and the group of that name as kdissect has it."""
        target = self.folder / f"{name}.pcapng"
        sniffer = Sniffer(self.cluster.ports("clients"), self.folder / "raw.pcapng")
        sniffer.start()
        try:
            result = act()
        finally:
            sniffer.stop(target)
        path = stored(target)
        command = [sys.executable, "-m", "kdissect", "groups", str(path), "--group", name, "--format", "json"]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        (group,) = json.loads(done.stdout)["groups"]
        return result, group


def share_case(room: Room, name: str) -> list[str]:
    """Run a case of share groups and return the differences."""
    count, members = SHARES[name]
    (own, expired, lag), group = room.capture(name, lambda: _share(room, name, count, members))
    stopping = {
        f"{name}-{number}"
        for number, member in enumerate(members)
        if member.is_killed or "leave" in member.options
    }
    rows: dict[str, Facts] = {row["client_id"]: row for row in group["deliveries"]}
    wrong = []
    for client_id, totals in own.items():
        row = rows.get(client_id, {})
        found = {f"delivery {number}": offsets for number, offsets in row.get("delivery_counts", {}).items()}
        found |= {act: row[field] for act, field in _ACCOUNT.items() if row.get(field)}
        found |= {"refused": row["refused"]} if row.get("refused") else {}
        # A member does not notice that records were not its own any more, if the broker is done with them.
        late = sum((Counter(totals) - Counter(found)).values())
        # An application that stops within its first records has not polled all that its client received.
        more = Counter(found) - Counter(totals)
        may_have_more = client_id in stopping and set(more) <= {"delivery 1"}
        print(f"  {client_id}: own {totals}" + (f", {late} of them late" if late else ""))
        if (more and not may_have_more) or late != row.get("late", 0):
            wrong.append(f"{client_id}: kdissect has {found}, {row.get('late')} late")
    sums = Counter[str]()
    for row in rows.values():
        sums.update({key: value for key, value in row.items() if isinstance(value, int)})
        ends = ("accepted", "released", "rejected", "gaps", "expired", "returned", "held", "unclear")
        if row["acquired"] != sum(row[end] for end in ends):
            wrong.append(f"{row['client_id']}: the ends of deliveries are not {row['acquired']}")
    done = sums["accepted"] + sums["rejected"] + sums["given_up"]
    left = "an unknown number" if lag is None else lag
    print(f"  broker: {expired} locks expired, {left} of {count + _MORE} records are left", flush=True)
    if sums["expired"] != expired:
        wrong.append(f"kdissect has {sums['expired']} expired locks")
    if lag is not None and done != count + _MORE - lag:
        wrong.append(f"kdissect has {done} records that are accepted, rejected or given up")
    return wrong


def _share(room: Room, name: str, count: int, members: Sequence[Member]) -> tuple[Facts, int, int | None]:
    """Let members read; return their accounts, the expired locks and the lag."""
    client = java("4.4.0")
    room.run(client, "CreateTopic", client_id="creator", topic=name, partitions=_PARTITIONS).wait()
    room.run(client, "AdminGroupKinds", client_id="configurer", group=name, what="share").wait()
    room.run(client, "Produce", client_id="writer", topic=name, count=count // 2).wait()
    running = []
    for number, member in enumerate(members):
        reader = room.run(
            client, "ShareAccount", client_id=f"{name}-{number}", topic=name, group=name, **member.options
        )
        reader.until("works" if number == 0 else "joined", seconds=_WAIT_SECONDS)
        running.append(reader)
    room.run(client, "Produce", client_id="other-writer", topic=name, count=count // 2).wait()
    _until_quiet(running, 3 * _LOCK_MS / 1000)
    for number, (member, reader) in enumerate(zip(members, running, strict=True)):
        if member.is_killed:
            reader.kill()
            _until_quiet(running[number + 1 :], 3 * _LOCK_MS / 1000)
    expired = room.expired(name)  # the broker forgets them with the last member
    for reader in running:
        if reader.alive:
            reader.stop()
    running.append(room.run(client, "ShareAccount", client_id=f"{name}-last", topic=name, group=name))
    room.run(client, "Produce", client_id="later", topic=name, count=_MORE).wait()
    _until_quiet(running, 3 * _LOCK_MS / 1000)
    lag = room.lag(name)
    running[-1].stop()
    names = [f"{name}-{number}" for number in range(len(members))] + [f"{name}-last"]
    return dict(zip(names, map(_account, running), strict=True)), expired, lag


def _account(reader: Running) -> Facts:
    accounts = [event["totals"] for event in reader.events if event["event"] == "account"]
    totals: Facts = accounts[-1] if accounts else {}
    return totals


def _until_quiet(running: Sequence[Running], seconds: float) -> None:
    """Wait until no member has had an event for a time."""
    last, since, end = -1, time.monotonic(), time.monotonic() + _WAIT_SECONDS
    while time.monotonic() < min(since + seconds, end):
        events = sum(len(reader.events) for reader in running)
        last, since = (last, since) if events == last else (events, time.monotonic())
        time.sleep(0.2)


def streams_case(room: Room, name: str) -> list[str]:
    """Run a case of streams groups and return the differences."""
    (own, tool), group = room.capture(name, lambda: _streams(room, name))
    tasks: dict[str, Facts] = {}
    for row in group["tasks"]:
        tasks[row["client_id"].partition("-StreamThread-")[0]] = row
    wrong = []
    for client_id, said in own.items():
        row = tasks.get(client_id, {})
        found = {role: sorted(row.get(role) or ()) for role in ("active", "standby")}
        print(f"  {client_id}: own {said}", flush=True)
        wrong += [] if found == said else [f"{client_id}: kdissect has {found}"]
    epochs = {row["MEMBER"]: int(row["MEMBER-EPOCH"]) for row in tool}
    print(f"  broker: epochs {epochs}", flush=True)
    found_epochs = {row["member_id"]: row["epoch"] for row in group["tasks"]}
    if found_epochs != epochs:
        wrong.append(f"kdissect has epochs {found_epochs}")
    return wrong


def _streams(room: Room, name: str) -> tuple[Facts, list[Facts]]:
    client, app = java("4.4.0"), streams()
    room.run(client, "CreateTopic", client_id="creator", topic=name, partitions=_PARTITIONS).wait()
    running = {}
    for number in range(2):
        client_id = f"{name}-{number}"
        running[client_id] = room.run(
            app, "StreamsTasks", client_id=client_id, topic=name, group=name,
            state=room.cluster.nodes[0].home / client_id,
        )  # fmt: skip
        running[client_id].until("tasks", seconds=_WAIT_SECONDS)
    _until_quiet(list(running.values()), 10)
    own = {}
    for client_id, reader in running.items():
        said = [event for event in reader.events if event["event"] == "tasks"][-1]
        own[client_id] = {"active": sorted(said["active"]), "standby": sorted(said["standby"])}
    tool = room.described("streams", name, "--members", "--verbose")
    for reader in running.values():
        reader.kill()
    return own, tool


def main(arguments: Sequence[str] | None = None) -> int:
    """Check the cases that the arguments name, or all; the number of those that differ."""
    known = [*SHARES, "streams-two"]
    parser = argparse.ArgumentParser(prog="python -m captures.record.group_accounts", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="CASE", help=f"of {', '.join(known)}")
    parser.add_argument("--output", type=Path, default=workshop.folder("run", "group-accounts"))
    parser.add_argument("--port-base", type=int, default=19000, help="first of 100 ports to use")
    options = parser.parse_args(arguments)
    options.output.mkdir(parents=True, exist_ok=True)
    room = Room(options.port_base, options.output)
    failed = []
    try:
        room.start()
        for name in options.names or known:
            print(name, flush=True)
            wrong = (share_case if name in SHARES else streams_case)(room, name)
            print("".join(f"  DIFFERS: {line}\n" for line in wrong), end="", flush=True)
            failed += [name] if wrong else []
    finally:
        room.cluster.close()
    print(f"differ: {', '.join(failed) or 'none'}")
    return len(failed)


if __name__ == "__main__":
    sys.exit(main())
