"""Members of classic groups as they come and go: held equal with and without the compiled part."""

from itertools import chain
from typing import Any, NamedTuple

from hypothesis import strategies as st

from kdissect.history.groups import classic_group, classic_groups, group_attempts
from kdissect.model.packets.packet import Packet, packet_ref
from tests.rules.scripted_connection import SOFTWARE, VERSIONS, ScriptedConnection
from tests.support.messages.traffic import Conversation

ENDS = (("10.0.0.1", "10.0.0.8", 40000), ("10.0.0.1", "10.0.0.9", 40001), ("10.0.0.2", "10.0.0.9", 40002))
"""Two clients, two brokers."""
CLIENT_IDS = ("one", "two", None)
GROUPS = ("g", "h", "a\u0308", b"\xff", "")
MEMBERS = ("m", "n", "o", b"\xfe", "")
TOPIC_ID = b"i" * 16
SECOND_NS = 1_000_000_000
QUIET = ("beat", "beat", "beat", "commit", "commit", "beat of another connection")
OTHERS = (
    "join", "follow", "sync", "leave", "beat", "late beat", "old beat", "told", "unknown", "fenced", "commit",
    "old commit", "commit of nobody", "refused commit", "commit by id", "commit in a transaction", "names",
    "fetch",
)  # fmt: skip
LIMITS = (
    (classic_groups, "GROUPS_KEPT"), (classic_group, "MEMBERS_KEPT"), (group_attempts, "BROKERS_KEPT"),
)  # fmt: skip
"""Of tables that forget what was used longest ago."""


class Step(NamedTuple):
    """Something a member does, on a connection."""

    what: str
    connection: int = 0
    group: int = 0
    member: int = 0
    number: int = 0


def _step(names: tuple[str, ...], ids: int) -> Any:
    several = st.integers(0, ids - 1)
    return st.builds(Step, st.sampled_from(names), st.integers(0, 2), several, several, st.integers(0, 4))


STEPS = st.lists(
    st.one_of(
        st.builds(lambda step: [step], _step(OTHERS, 5)),
        st.builds(lambda step: [step], _step(OTHERS, 2)),
        st.builds(lambda step: [step._replace(what="join"), step], _step(QUIET, 2)),
        st.lists(_step(QUIET, 2), max_size=12),
    ),
    max_size=16,
).map(lambda parts: [*chain.from_iterable(parts)])


def beats(rounds: int, *who: tuple[int, int, int]) -> list[Step]:
    """Heartbeats and commits of members, by connection, group and member."""
    rounds_of = [Step(what, *one) for one in who for what in ("beat", "commit")]
    return [step._replace(number=number) for number in range(rounds) for step in rounds_of]


def joins(*who: tuple[int, int, int]) -> list[Step]:
    """Return the first member of a group joins, others follow."""
    groups = {group: at for at, (_, group, _) in reversed([*enumerate(who)])}
    return [Step("join" if groups[one[1]] == at else "follow", *one) for at, one in enumerate(who)]


TWO_GROUPS = ((0, 0, 0), (1, 1, 1))
TWO_MEMBERS = ((0, 0, 0), (1, 0, 1))


def steady(rounds: int) -> list[Step]:
    """Return members without any event."""
    return joins(*TWO_GROUPS) + beats(rounds, *TWO_GROUPS)


def _changed(*changes: Step, who: tuple[tuple[int, int, int], ...] = TWO_MEMBERS) -> list[Step]:
    return [*joins(*who), *beats(5, *who), *changes, *beats(2, *who)]


CASES = {
    **{what: _changed(Step(what, *TWO_MEMBERS[0], 2)) for what in OTHERS},
    "late behind the last heartbeat alone": _changed(
        *[Step("pass", number=8), *beats(1, TWO_MEMBERS[0])] * 3, Step("beat", *TWO_MEMBERS[1])
    ),
    "told to join, and overdue": _changed(
        Step("told", *TWO_MEMBERS[0]), Step("pass", number=8), Step("beat", *TWO_MEMBERS[0])
    ),
    "an old generation beside a new one": _changed(
        Step("join", *TWO_MEMBERS[0]), Step("beat", *TWO_MEMBERS[1]), Step("commit", *TWO_MEMBERS[1])
    ),
    "the first group is used last": _changed(
        *beats(1, TWO_GROUPS[1], TWO_GROUPS[0]), Step("join", 2, 2, 2), who=TWO_GROUPS
    ),
    "the first member is used last": _changed(
        *beats(1, TWO_MEMBERS[1], TWO_MEMBERS[0]), Step("follow", 2, 0, 2)
    ),
    "the first broker answers last": [
        *_changed(who=TWO_GROUPS), Step("commit of nobody", 0, 0, 0), Step("beat", 0, 0, 0),
    ],
    "two brokers in turns": [
        *joins((0, 0, 0)) * 3, *[Step("beat", at, 0, 0) for at in (0, 2, 0)],
        Step("beat of another connection", 1, 0, 0), Step("beat", 0, 0, 0),
    ],
    "a commit of nobody at the end": [*_changed(), Step("commit of nobody", *TWO_MEMBERS[0], 1)],
    "on another connection": [*_changed(), Step("beat of another connection", *TWO_MEMBERS[0])],
    "two on one connection": [*_changed(Step("follow", 0, 0, 2)), *beats(2, TWO_MEMBERS[0])],
    "one that only has its assignment": [
        *joins(TWO_MEMBERS[1]), *beats(2, TWO_MEMBERS[1]), Step("sync", 1, 0, 0), *beats(2, (1, 0, 0)),
    ],
    "ids that are no text": [*joins((0, 3, 3)), *beats(3, (0, 3, 3), (0, 0, 3), (0, 3, 0))],
    "no ids": [*joins((0, 4, 4)), *beats(3, (0, 4, 4))],
}  # fmt: skip
"""By what happens, in the midst of what passes."""


class _Members:
    """Says steps on connections."""

    def __init__(self) -> None:
        self._talks = []
        self._now = 0
        self._generations = dict.fromkeys(GROUPS, 0)
        for client, broker, port in ENDS:
            talk = ScriptedConnection(negotiate=False, handshake=False)
            talk.talk = Conversation(client, broker, (port, 9092)).handshake()
            talk.exchange("ApiVersions", 3, SOFTWARE, VERSIONS)
            self._talks.append(talk)

    def say(self, step: Step) -> None:
        """Say one of them."""
        group, member = GROUPS[step.group], MEMBERS[step.member]
        generation = self._generations[group]
        connection = step.connection
        who = {"group_id": group, "member_id": member}
        match step.what:
            case "join" | "follow":
                generation += step.what == "join"
                self._generations[group] = generation
                there = [{"member_id": one} for one in MEMBERS[: step.number]]
                asked = who | {"session_timeout_ms": 10_000, "rebalance_timeout_ms": 5_000}
                told = {"generation_id": generation, "member_id": member, "leader": "m", "members": there}
                self._exchange(connection, "JoinGroup", 5, asked, told)
            case "pass":
                self._now += step.number * SECOND_NS
            case "sync":
                self._exchange(connection, "SyncGroup", 3, who | {"generation_id": generation}, {})
            case "leave":
                members = {"members": [{"member_id": member}]}
                self._exchange(connection, "LeaveGroup", 4, {"group_id": group} | members, members)
            case "commit" | "old commit" | "commit of nobody" | "refused commit" | "commit by id":
                self._commit(step, who, generation)
            case "commit in a transaction":
                asked = who | {"transactional_id": "t", "topics": _committed(step)}
                self._exchange(connection, "TxnOffsetCommit", 3, asked, {"topics": _answered(step, 0)})
            case "names":
                named = [{"name": "named", "topic_id": TOPIC_ID, "partitions": []}]
                brokers = [{"node_id": 1, "host": "10.0.0.8", "port": 9092}]
                self._exchange(connection, "Metadata", 12, {}, {"brokers": brokers, "topics": named})
            case "fetch":
                topics = [{"topic": "a", "partitions": [{"partition": 0, "fetch_offset": step.number}]}]
                told = {"topic": "a", "partitions": [{"partition_index": 0, "high_watermark": 9}]}
                asked = {"replica_id": -1, "session_epoch": -1, "topics": topics}
                self._exchange(connection, "Fetch", 11, asked, {"responses": [told]})
            case _:
                self._beat(step, who, generation)

    def _beat(self, step: Step, who: dict[str, Any], generation: int) -> None:
        connection = step.connection
        if step.what == "beat of another connection":
            connection = (connection + 1) % len(ENDS)
        if step.what == "late beat":
            self._now += 20 * SECOND_NS
        asked = who | {"generation_id": generation - (step.what == "old beat")}
        error = {"told": 27, "unknown": 25, "fenced": 82}.get(step.what, 0)
        self._exchange(connection, "Heartbeat", 4, asked, {"error_code": error})

    def _commit(self, step: Step, who: dict[str, Any], generation: int) -> None:
        named = {"old commit": generation - 1, "commit of nobody": -1}.get(step.what, generation)
        is_by_id = step.what == "commit by id"
        topics = _committed(step)
        told = _answered(step, 1 if step.what == "refused commit" else 0)
        if is_by_id:
            for topic in (*topics, *told):
                del topic["name"]
                topic["topic_id"] = TOPIC_ID
        asked = who | {"generation_id_or_member_epoch": named, "topics": topics}
        self._exchange(step.connection, "OffsetCommit", 10 if is_by_id else 8, asked, {"topics": told})

    def _exchange(self, at: int, api: str, version: int, asked: Any, answered: Any) -> None:
        talk = self._talks[at]
        talk.talk.now = max(self._now, talk.talk.now)
        talk.ask(api, version, asked, CLIENT_IDS[at])
        talk.answer(api, version, answered)
        self._now = talk.talk.now

    def packets(self) -> list[Packet]:
        """Return what was said."""
        packets = [packet for talk in self._talks for packet in talk.talk.packets]
        packets.sort(key=lambda packet: packet.time_ns)
        return [packet._replace(ref=packet_ref(0, number)) for number, packet in enumerate(packets, 1)]


def _committed(step: Step) -> list[dict[str, Any]]:
    partitions = [{"partition_index": at, "committed_offset": step.number} for at in range(step.number % 3)]
    topic: bytes | str = b"\xfd" if step.number == 4 else "named" if step.number == 3 else "a"
    return [{"name": topic, "partitions": partitions}]


def _answered(step: Step, error: int) -> list[dict[str, Any]]:
    rows = [{"partition_index": at, "error_code": error} for at in range(step.number % 3)]
    return [{"name": _committed(step)[0]["name"], "partitions": rows}]


def packets_of_steps(steps: list[Step]) -> list[Packet]:
    """Return a capture in which members do that."""
    members = _Members()
    for step in steps:
        members.say(step)
    return members.packets()
