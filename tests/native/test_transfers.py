"""Produces and Fetches counted by the compiled part: the topics and groups are those that Python counts."""

import json
import pickle
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kdissect.api import Dissection
from kdissect.capture.files import open_captures
from kdissect.cli.event_loop import read_blocks
from kdissect.decoders.body_schemas import known_body
from kdissect.decoders.generated.native_plan import native_layout
from kdissect.history import api_keys as apis
from kdissect.history.member_rows import MEMBER_FIELDS
from kdissect.history.producing.produce_parts import produce_parts, produce_results
from kdissect.history.sessions.fetch_parts import asked_topics, fetch_parts, stated_topics
from kdissect.history.topics.topic_names import TopicNames
from kdissect.model.frame import Frame
from kdissect.model.native import native
from kdissect.session.events import Event
from kdissect.session.exchange import Exchange
from kdissect.stats import upgrade_audit
from kdissect.stats.by_fetcher import fetch_polls
from kdissect.stats.by_fetcher.fetch_session_traffic import FetchSessionTraffic, fetch_session_facts
from kdissect.stats.by_group import group_log, group_traffic, positions
from kdissect.stats.by_group.group_rows import group_facts
from kdissect.stats.by_group.group_traffic import GroupTraffic
from kdissect.stats.by_producer import produced_batches
from kdissect.stats.by_producer.producer_rows import producer_facts
from kdissect.stats.by_producer.producer_traffic import ProducerTraffic
from kdissect.stats.by_topic import topic_sums
from kdissect.stats.by_topic.topic_rows import topic_facts
from kdissect.stats.by_topic.topic_traffic import TopicTraffic
from kdissect.stats.upgrade_audit import UpgradeAudit, upgrade_facts
from tests.native.member_steps import CASES, LIMITS, STEPS, Step, packets_of_steps, steady
from tests.support.console import CAPTURES
from tests.support.messages.traffic import Conversation, request, response
from tests.support.packets.broken_frames import BODY, HEARTBEAT, OK
from tests.support.packets.pcap_writer import PcapWriter
from tests.support.packets.pcaps import write_pcap
from tests.support.python_side import PythonSide

pytestmark = pytest.mark.skipif(native is None, reason="no compiled hot path (docs/native.md)")

EVERY = sorted(path.name for path in CAPTURES.glob("kafka*.pcapng"))
TRANSFERS = (apis.PRODUCE, apis.FETCH)


OF_MEMBERS = TopicTraffic | GroupTraffic


def damage(exchange: Exchange, chance: Random) -> None:
    """Change a byte of one of the frames, cut it, or have its response forgotten."""
    frame = exchange.request if chance.random() < 0.5 else exchange.response
    how = chance.random()
    if frame is None or not frame.data:
        return
    if how < 0.1:
        exchange.response = None
        return
    data = bytearray(frame.data)
    at = chance.randrange(len(data))
    if how < 0.8:
        data[at] = chance.choice((0, 1, 29, 0x7F, 0xFF, chance.randrange(256)))
    changed = bytes(data[:at] if how > 0.9 else data)
    made = Frame(changed, frame.size, frame.first_ref, frame.last_ref, frame.time_ns, frame.end_time_ns)
    if frame is exchange.request:
        exchange.request = made
    else:
        exchange.response = made
    exchange.forget_bodies()
    exchange.request_summary_cache = None


def counted(name: str, seed: int | None) -> str:
    """Return what the topics and groups of a capture come to; with a seed some exchanges are damaged or not
    wanted.

    Names of topic ids are those known by then, as of a stream.
    """
    chance = Random(seed)
    topics, groups = TopicTraffic(TopicNames()), GroupTraffic(TopicNames())
    for exchange in Dissection(str(CAPTURES / name)):
        wanted = True
        if seed is not None:
            wanted = chance.random() < 0.9
            if chance.random() < 0.2:
                damage(exchange, chance)
        topics.add(exchange, wanted)
        groups.add(exchange, wanted)
    facts: dict[str, Any] = {"topics": topic_facts(topics), "groups": group_facts(groups)}
    return json.dumps(facts, indent=1)


def parts(name: str, seed: int) -> list[Any]:
    """Return what Produces and Fetches say of sessions, batches and partitions."""
    chance, found = Random(seed), list[Any]()
    for exchange in Dissection(str(CAPTURES / name)):
        if chance.random() < 0.3:
            damage(exchange, chance)
        if exchange.api_key == apis.FETCH:
            told = fetch_parts(exchange)
            found += [
                told and (*told[:-1], *told.rows()),
                asked_topics(exchange),
                stated_topics(exchange),
            ]
        elif exchange.api_key == apis.PRODUCE:
            found += [produce_parts(exchange), produce_results(exchange)]
    return found


@pytest.mark.sampled(16)
@pytest.mark.parametrize("name", EVERY)
def test_parts_of_captures_that_are_damaged(name: str, python_side: PythonSide) -> None:
    for seed in range(4):
        here, there = parts(name, seed), python_side.call(parts, name, seed)
        assert len(here) == len(there)
        for one, other in zip(here, there, strict=True):
            assert one == other or one is None  # then it is fed


@pytest.mark.sampled(16)
@pytest.mark.parametrize("name", EVERY)
def test_captures_as_they_are_and_damaged(name: str, python_side: PythonSide) -> None:
    for seed in (None, 1, 2):
        assert counted(name, seed).splitlines() == python_side.call(counted, name, seed).splitlines()


Counting = TopicTraffic | GroupTraffic | ProducerTraffic | FetchSessionTraffic | UpgradeAudit


def read(path: str) -> tuple[str, dict[str, int]]:
    """Return what captures come to, from blocks, as commands read them; how many transfers became objects."""
    topics, groups = TopicTraffic(TopicNames()), GroupTraffic(TopicNames())
    producers, sessions, audit = ProducerTraffic(TopicNames()), FetchSessionTraffic(), UpgradeAudit("4.0")
    made: dict[str, int] = {}
    for counted in (topics, groups, producers, sessions, audit):
        kind = type(counted).__name__
        made[kind] = 0

        def take(event: Event, counted: Counting = counted, kind: str = kind) -> None:
            if isinstance(event, Exchange):
                made[kind] += event.api_key in TRANSFERS
                made[kind] += event.api_key in MEMBER_FIELDS and isinstance(counted, OF_MEMBERS)
            elif isinstance(counted, OF_MEMBERS):
                return
            counted.add(event)  # type: ignore[arg-type]

        read_blocks(Dissection(path), take, counted.count_block)
    producers.finish()
    sessions.finish()
    audit.finish()
    facts: dict[str, Any] = {
        "topics": topic_facts(topics), "groups": group_facts(groups), "producers": producer_facts(producers),
        "fetch sessions": fetch_session_facts(sessions), "upgrade": _audited(audit),
        "states": _states(producers, sessions),
    }  # fmt: skip
    return json.dumps(facts, indent=1), made


def _states(producers: ProducerTraffic, sessions: FetchSessionTraffic) -> list[Any]:
    """Return what the machines know at the end, the one unused for longest first."""
    known: list[Any] = []
    for producer, state in producers.history.producers.producers.items():
        known.append([producer, list(state.client_ids.items()), state.batches, state.records])
        for partition, here in state.partitions.items():
            known.append([repr(partition), here.epoch, here.losses, here.brokers_next, list(here.recent)])
    for session, held in sessions.history.fetch_sessions.sessions.items():
        known.append([session, held.next_epoch, held.is_open, held.incremental, held.empty, held.last])
    return known


def _audited(audit: UpgradeAudit) -> list[Any]:
    """Return what is printed, and what is kept, the use that came last at the end."""
    uses = [[*key, dict(use.addresses), use.more_addresses] for key, use in audit.uses.items()]
    return [upgrade_facts(audit), uses, [*audit._fetching.items()], [*audit._followers.items()]]


def _hosts(path: Path) -> str:
    """Return equal clients on six hosts: the first to ask is the last to ask again."""
    talks = [Conversation(f"10.0.0.{host}", "10.0.1.1").handshake() for host in range(1, 7)]
    for talk in talks:
        for number in range(40):
            version = number // 20  # the second one comes when the connection is known
            talk.client(request(HEARTBEAT, version, number, BODY)).broker(response(number, OK))
    with path.open("wb") as stream:
        writer = PcapWriter(stream)
        for part in (slice(0, 43), slice(43, 63), slice(63, None)):
            for talk in talks if part.stop else reversed(talks):
                for packet in talk.packets[part]:
                    writer.write_packet(packet)
    return str(path)


@pytest.mark.parametrize("most", [(1, 1, 1), (3, 2, 2), (40, 2, 1)])
def test_uses_of_versions_where_few_are_kept(
    most: tuple[int, int, int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the compiled part counted is put down before anything is forgotten for something new."""
    paths = [str(CAPTURES / name) for name in (*DAMAGED, "kafka28_java_generations_early.pcapng")]
    paths += [str(CAPTURES / "kafka32_quorum.pcapng"), _hosts(tmp_path / "hosts.pcap")]
    for limit, kept in zip(("USES_KEPT", "ADDRESSES_KEPT", "BROKERS_KEPT"), most, strict=True):
        monkeypatch.setattr(upgrade_audit, limit, kept)
    for path in paths:
        counted, added = UpgradeAudit("4.0"), UpgradeAudit("4.0")
        read_blocks(Dissection(path), counted.add, counted.count_block)
        for event in Dissection(path).events():
            added.add(event)
        counted.finish()
        assert _audited(counted) == _audited(added)


@pytest.mark.sampled(16)
@pytest.mark.parametrize("name", EVERY)
def test_blocks(name: str, python_side: PythonSide) -> None:
    path = str(CAPTURES / name)
    assert read(path)[0].splitlines() == python_side.call(read, path)[0].splitlines()


DAMAGED = [
    "kafka44_java_produce.pcapng", "kafka44_rdkafka_groups.pcapng", "kafka44_java_transactions.pcapng",
    "kafka44_sarama_groups.pcapng",
]  # fmt: skip


@pytest.mark.parametrize("name", DAMAGED)
@pytest.mark.parametrize("share", [0.002, 0.02])
def test_blocks_of_captures_that_lost_packets(
    name: str, share: float, python_side: PythonSide, tmp_path: Path
) -> None:
    chance, path = Random(share), tmp_path / "lost.pcap"
    with path.open("wb") as stream:
        writer = PcapWriter(stream)
        for packet in open_captures([str(CAPTURES / name)]).packets():
            if chance.random() >= share:
                writer.write_packet(packet)
    assert read(str(path))[0].splitlines() == python_side.call(read, str(path))[0].splitlines()


def test_exchanges_that_say_nothing_are_passed_as_rows() -> None:
    """ApiVersions, and for topics answers without an error to requests that name no group."""
    path = str(CAPTURES / "kafka44_java_share.pcapng")
    passed = {
        TopicTraffic: {apis.API_VERSIONS, apis.FIND_COORDINATOR, apis.INIT_PRODUCER_ID},
        GroupTraffic: {apis.API_VERSIONS},
        ProducerTraffic: {apis.API_VERSIONS},
    }
    for kind, keys in passed.items():
        made = _made_of(kind(TopicNames()), path)
        assert {key: made[key] for key in keys} == dict.fromkeys(keys, 0), kind


def _made_of(counted: Counting, path: str) -> Counter[int | None]:
    """Return how many exchanges of each API became objects, of those whose response has no error."""
    made = Counter[int | None]()

    def take(event: Event) -> None:
        if isinstance(event, Exchange):
            made[event.api_key] += not event.response_summary().errors
            counted.add(event)

    read_blocks(Dissection(path), take, counted.count_block)
    return made


def test_requests_that_name_a_group_are_passed_as_rows() -> None:
    """Topics learn who acts for a group from rows, and groups that a request names them."""
    path = str(CAPTURES / "kafka44_java_share.pcapng")
    topics, groups = (_made_of(kind(TopicNames()), path) for kind in (TopicTraffic, GroupTraffic))
    asked = Counter(one.api_key for one in Dissection(path))
    fetches, beats = asked[apis.SHARE_FETCH], asked[apis.SHARE_GROUP_HEARTBEAT]
    assert topics[apis.SHARE_FETCH] < fetches / 4  # those with records, and what comes outside of blocks
    assert groups[apis.SHARE_FETCH] < fetches / 4
    assert topics[apis.SHARE_GROUP_HEARTBEAT] < beats / 4
    assert groups[apis.SHARE_GROUP_HEARTBEAT] < beats / 2


def test_fetches_whose_records_create_no_topic_are_passed_as_rows() -> None:
    path = str(CAPTURES / "kafka32_quorum.pcapng")
    fetches = sum(one.api_key == apis.FETCH for one in Dissection(path))
    for kind in (TopicTraffic, GroupTraffic):
        assert _made_of(kind(TopicNames()), path)[apis.FETCH] < fetches / 10, kind


def _groups_of(path: str, *, in_blocks: bool) -> tuple[GroupTraffic, int]:
    """Return groups, from blocks or exchange by exchange, and how many requests became objects."""
    traffic, made = GroupTraffic(TopicNames()), 0

    def take(event: Event) -> None:
        nonlocal made
        if isinstance(event, Exchange):
            made += event.api_key in MEMBER_FIELDS
            traffic.add(event)

    read_blocks(Dissection(path), take, traffic.count_block if in_blocks else lambda block, at: at)
    return traffic, made


def _known_of(traffic: GroupTraffic) -> list[Any]:
    """Return all that is known of groups, what is unused for longest first."""
    facts: list[Any] = [group_facts(traffic)]
    for key, log in traffic.logs.items():
        members = [
            (who, one.heartbeats, one.last_heartbeat_ns, one.gaps.bins(), one.gaps.facts(), one.connection)
            for who, one in log.members.items()
        ]
        facts.append((key, log.is_wanted, [*log.named_by.items()], members))
    for key, group in traffic.classic.groups.items():
        facts.append((key, [(who, one.last_ns) for who, one in group.members.items()]))
    answering = traffic.classic._attempts._answering
    return [*facts, [*traffic.positions._commits.items()], [*answering.items()]]


def _assert_same_groups(tmp_path: Path, steps: list[Step], kept: int, most: int) -> int:
    """Return where so many of each table are kept, and the compiled part holds so much; how many became
    objects.
    """
    path = write_pcap(tmp_path / "members.pcap", packets_of_steps(steps))
    with pytest.MonkeyPatch.context() as patch:
        for module, name in (*LIMITS, (group_traffic, "GROUPS_KEPT"), (group_log, "MEMBERS_KEPT")):
            patch.setattr(module, name, kept)
        patch.setattr(group_log, "_NAMED_BY_KEPT", kept)
        patch.setattr(positions, "_COMMITS_KEPT", kept)
        patch.setattr(group_traffic, "MOST_LENT", most)
        blocks, made = _groups_of(path, in_blocks=True)
        assert _known_of(blocks) == _known_of(_groups_of(path, in_blocks=False)[0])
    return made


@pytest.mark.parametrize("kept", [2, 100])
@pytest.mark.parametrize("name", CASES)
def test_members_of_which_there_is_something_to_tell(tmp_path: Path, name: str, kept: int) -> None:
    _assert_same_groups(tmp_path, CASES[name], kept, 100)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=STEPS, kept=st.sampled_from((1, 2, 100)), most=st.sampled_from((0, 100)))
def test_members_that_come_and_go(tmp_path: Path, steps: list[Step], kept: int, most: int) -> None:
    _assert_same_groups(tmp_path, steps, kept, most)


def test_requests_of_known_members_become_no_objects(tmp_path: Path) -> None:
    assert _assert_same_groups(tmp_path, steady(20), 100, 100) <= 4


def test_groups_are_pickled_as_they_are_known(tmp_path: Path) -> None:
    path = write_pcap(tmp_path / "members.pcap", packets_of_steps(steady(20)))
    traffic, _ = _groups_of(path, in_blocks=True)
    again = pickle.loads(pickle.dumps(traffic))
    assert _known_of(again) == _known_of(traffic)
    assert sum(member.heartbeats for log in again.logs for member in log.members) == 40


def test_rows_of_blocks_do_not_become_objects(python_side: PythonSide) -> None:
    path = str(CAPTURES / "kafka44_rdkafka_groups.pcapng")
    for kind, made in read(path)[1].items():
        assert made < python_side.call(read, path)[1][kind] / 4, kind


def test_blocks_that_are_taken_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is taken behind each block comes to the same as what is taken at the end."""
    for name in DAMAGED:
        path = str(CAPTURES / name)
        whole = read(path)[0]
        with monkeypatch.context() as patch:
            for module in (fetch_polls, produced_batches):
                patch.setattr(module, "ENOUGH", module.ENOUGH | module.COUNTED)
            assert read(path)[0].splitlines() == whole.splitlines()


def test_taken_after_every_exchange(python_side: PythonSide, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is taken after every exchange comes to the same as what is taken at the end."""
    monkeypatch.setattr(topic_sums, "ENOUGH", topic_sums.COUNTED)
    monkeypatch.setattr(topic_sums, "COUNTED", 0)
    name = "kafka44_java_produce.pcapng"
    assert counted(name, None) == python_side.call(counted, name, None)


def test_the_compiled_part_counts_nearly_all(monkeypatch: pytest.MonkeyPatch) -> None:
    count, taken = topic_sums.TopicSums.count, list[bool]()

    def counting(self: topic_sums.TopicSums, exchange: Exchange) -> bool:
        taken.append(count(self, exchange))
        return taken[-1]

    monkeypatch.setattr(topic_sums.TopicSums, "count", counting)
    counted("kafka32_quorum.pcapng", None)
    counted("kafka44_rdkafka_groups.pcapng", None)
    assert len(taken) > 500
    assert all(taken)


def test_fields_of_another_message() -> None:
    message = known_body(apis.FETCH, 11, is_response=False)
    assert message is not None
    layout = native_layout(message, 11)[0]
    for lists, values in (
        (("topics", "topic", "partitions", "number"), []),
        (("topics", "topic", "partitions", "partition"), ["high_watermark"]),
        (("topics", "topic", "partitions", "partition"), ["fetch_offset"] * 5),
    ):
        with pytest.raises(ValueError, match="another message"):
            native.PartitionRows(layout, lists, values, [])
