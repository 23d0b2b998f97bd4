"""Faults of consumer groups."""

import time

from captures.faults.clients import JAVA, LIBRDKAFKA
from captures.faults.fault import ORDINARY, fault
from captures.faults.room import Room
from captures.record.spec import Spec

_WORK = {"work": "4:1"}
_SHORT_LOCKS = Spec(
    "4.4.0",
    properties=ORDINARY.properties
    | {"group.share.min.record.lock.duration.ms": "1000", "group.share.record.lock.duration.ms": "1500"},
)
_NO_MIGRATION = Spec(
    "4.4.0", properties=ORDINARY.properties | {"group.consumer.migration.policy": "disabled"}
)


def _busy(room: Room, topic: str = "work") -> None:
    """Start the crowd, and write records for the group that is in trouble."""
    room.crowd()
    room.writes("feeder", topic, pace=room.among(500, 600, 400), keys=50)


@fault("slow-poll", topics=_WORK)
def slow_poll(room: Room) -> None:
    """A member works longer on its records than max.poll.interval.ms allows, and leaves, again and again."""
    _busy(room)
    interval = room.among(3000, 6000, 2500)
    settings = {"max.poll.interval.ms": interval, "session.timeout.ms": room.among(10000, 6000, 8000)}
    settings["heartbeat.interval.ms"] = 1000
    quick = room.reads("pack-1", "work", "packers", settings, commit_each="true")
    room.joined(quick)
    work = room.among(5000, 8500, 4500)
    room.injects(
        f"pack-2 works {work} ms on each record, max.poll.interval.ms is {interval}",
        group=room.name("packers"), client_id="pack-2",
    )  # fmt: skip
    slow = room.reads("pack-2", "work", "packers", settings | {"max.poll.records": 1}, slow=work)
    room.seen(slow)
    room.lasts(room.among(14, 22, 13))


@fault("member-crashed", topics=_WORK)
def member_crashed(room: Room) -> None:
    """A member is killed without leaving; the group waits for its session to end."""
    _busy(room)
    session = room.among(4000, 6000, 5000)
    settings = {"session.timeout.ms": session, "heartbeat.interval.ms": 700}
    members = [
        room.reads(f"pick-{number}", "work", "pickers", settings, commit_each="true")
        for number in range(1, room.among(3, 4, 3))
    ]
    for member in members:
        room.joined(member)
    room.lasts(3)
    victim = room.among(0, 1, 1)
    room.injects(
        f"pick-{victim + 1} is killed (SIGKILL), its session lasts {session} ms",
        group=room.name("pickers"), client_id=f"pick-{victim + 1}",
    )  # fmt: skip
    members[victim].kill()
    room.lasts(session / 1000 + 5)


@fault("session-timeout-too-short", topics=_WORK)
def session_timeout_too_short(room: Room) -> None:
    """Members pause for a moment, as for a garbage collection, and their sessions are too short for it."""
    _busy(room)
    session, pause = room.among(1000, 1200, 1500), room.among(2.0, 2.4, 2.6)
    settings = {"session.timeout.ms": session, "heartbeat.interval.ms": 300, "max.poll.interval.ms": 60000}
    members = [room.reads(f"bill-{number}", "work", "billing", settings) for number in (1, 2)]
    for member in members:
        room.joined(member)
    room.lasts(2)
    room.injects(
        f"members pause for {pause} s now and then, session.timeout.ms is {session}",
        group=room.name("billing"), client_id="bill-1",
    )  # fmt: skip
    for turn in range(room.among(4, 3, 4)):
        member = members[turn % 2]
        member.freeze()
        room.lasts(pause)
        member.thaw()
        room.lasts(2.5)


@fault("rolling-restart", topics=_WORK)
def rolling_restart(room: Room) -> None:
    """The members of a group are stopped and started again one after the other, as a deployment does."""
    _busy(room)
    settings = {"session.timeout.ms": 10000, "heartbeat.interval.ms": 700}
    names = [f"ship-{number}" for number in range(1, room.among(3, 4, 3) + 1)]
    members = {name: room.reads(name, "work", "shippers", settings, commit_each="true") for name in names}
    for member in members.values():
        room.joined(member)
    room.lasts(2)
    room.injects("each member is stopped and started again in turn", group=room.name("shippers"))
    for name in names:
        members[name].stop()
        room.lasts(room.among(0.5, 1, 0.3))
        members[name] = room.reads(name, "work", "shippers", settings, commit_each="true")
        room.joined(members[name])
        room.lasts(1.5)


@fault("flapping-member", topics=_WORK)
def flapping_member(room: Room) -> None:
    """One member comes, works for a moment, ends and comes again; the others rebalance each time."""
    _busy(room)
    settings = {"session.timeout.ms": 6000, "heartbeat.interval.ms": 500}
    steady = room.reads("rate-1", "work", "raters", settings, commit_each="true")
    room.joined(steady)
    room.lasts(1)
    room.injects(
        "rate-2 ends soon after it joined and is started again", group=room.name("raters"), client_id="rate-2"
    )
    for _ in range(room.among(5, 6, 6)):
        flaps = room.reads("rate-2", "work", "raters", settings)
        room.joined(flaps)
        room.lasts(room.among(0.6, 1, 0.4))
        flaps.stop()
        room.lasts(0.3)


@fault("duplicate-static-member", topics=_WORK)
def duplicate_static_member(room: Room) -> None:
    """Two members come with one group.instance.id: the newer fences the older."""
    _busy(room)
    settings = {"session.timeout.ms": 10000, "heartbeat.interval.ms": 700, "group.instance.id": "scan-a"}
    other = settings | {"group.instance.id": "scan-b"}
    first = room.reads("scan-1", "work", "scanners", settings, commit_each="true")
    second = room.reads("scan-2", "work", "scanners", other, commit_each="true")
    room.joined(first)
    room.joined(second)
    room.lasts(2)
    room.injects(
        "scan-3 comes with the group.instance.id of scan-1", group=room.name("scanners"), client_id="scan-3"
    )
    for _ in range(room.among(1, 2, 1)):
        third = room.reads("scan-3", "work", "scanners", settings, commit_each="true")
        room.lasts(7)
        if room.variant == 2:
            third.kill()
            room.reads("scan-1", "work", "scanners", settings)


@fault("endless-rebalances", topics=_WORK)
def endless_rebalances(room: Room) -> None:
    """A group rebalances again and again: members of it are told of new partitions all the time."""
    _busy(room)
    settings = {"session.timeout.ms": 10000, "heartbeat.interval.ms": 400, "metadata.max.age.ms": 700}
    members = [
        room.reads(f"sort-{number}", "work", "sorters", settings, commit_each="true")
        for number in range(1, room.among(2, 3, 2) + 1)
    ]
    for member in members:
        room.joined(member)
    room.lasts(2)
    room.injects(
        "the topic gets a partition more every two seconds, and the group rebalances each time",
        group=room.name("sorters"), topic=room.name("work"),
    )  # fmt: skip
    options = {"topic": room.name("work"), "from": 4, "count": room.among(7, 8, 6), "pace": 2000}
    room.errand("grows", **options)
    time.sleep(2)


@fault("share-lock-expired", broker=_SHORT_LOCKS, topics=_WORK)
def share_lock_expired(room: Room) -> None:
    """A member of a share group works longer on its records than the broker locks them for it."""
    room.crowd()
    work = room.among(4000, 3000, 3500)
    room.errand("AdminGroupKinds", library=JAVA, group=room.name("crew"), what="share")
    room.writes("feeder", "work", library=LIBRDKAFKA, pace=room.among(400, 700, 500), keys=50)
    room.injects(
        f"crew-1 works {work} ms on what a poll brought, records are locked for 1500 ms",
        group=room.name("crew"), client_id="crew-1",
    )  # fmt: skip
    share = {"topic": room.name("work"), "group": room.name("crew"), "wait": "true", "explicit": "true"}
    for number in range(1, room.among(1, 2, 1) + 1):
        slow = work if number == 1 else 0
        room.lab.start_driver(
            room.client(JAVA).driver,
            "ShareConsume",
            client_id=f"crew-{number}",
            acts="ACCEPT",
            slow=slow,
            **share,
        )
    room.lasts(room.among(17, 15, 16))


@fault("group-migration-refused", broker=_NO_MIGRATION, topics=_WORK)
def group_migration_refused(room: Room) -> None:
    """A member comes to a group with another protocol than it has, which the broker's policy forbids."""
    room.crowd()
    room.writes("feeder", "work", library=JAVA, pace=room.among(500, 600, 400), keys=50)
    classic = {"session.timeout.ms": 10000, "heartbeat.interval.ms": 700, "group.protocol": "classic"}
    modern = {"group.protocol": "consumer"}
    first, second = room.among((classic, modern), (modern, classic), (classic, modern))
    library, other = room.among((JAVA, JAVA), (LIBRDKAFKA, JAVA), (JAVA, LIBRDKAFKA))
    old = room.reads("parcel-1", "work", "parcels", first, library=library, commit_each="true")
    room.joined(old)
    room.lasts(2)
    room.injects(
        f"parcel-2 comes with group.protocol={second['group.protocol']}, parcel-1 has"
        f" {first['group.protocol']}, and group.consumer.migration.policy is disabled",
        group=room.name("parcels"), client_id="parcel-2",
    )  # fmt: skip
    for _ in range(room.among(4, 3, 3)):  # as a supervisor starts a process that ends
        new = room.reads("parcel-2", "work", "parcels", second, library=other)
        is_over = room.until(room.among(15, 10, 12))
        while new.alive and not is_over():
            room.lasts(0.2)
        if new.alive:
            new.stop()
