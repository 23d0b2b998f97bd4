"""What findings must not say: faults that are none, and those of the other end."""

import re
from collections.abc import Callable

import pytest

from kdissect.decoders.encoder import encode_response
from kdissect.model.finding import Severity
from kdissect.model.packets.packet import Packet
from kdissect.report.text import finding_text
from kdissect.session.exchange import Exchange
from tests.history.groups import test_classic_groups as classic
from tests.history.groups import test_modern_groups as modern
from tests.history.sessions import test_fetch_sessions as sessions
from tests.history.talk import Talk
from tests.rules.fixtures.apis import fetch_answer, full_fetch
from tests.rules.fixtures.connections import all_of
from tests.rules.fixtures.values import BATCH, TOPIC_ID
from tests.rules.fixtures.wire import ALL, CLUSTER, METADATA, PRODUCE, later_connection, old_produce
from tests.rules.scripted_connection import SOFTWARE, VERSIONS, Fields, ScriptedConnection, findings, versions
from tests.support.messages.traffic import BROKER, CLIENT, RST, Conversation, request

SNAP = 96
Step = Callable[[Talk], Exchange]


def codes(packets: list[Packet]) -> set[str]:
    return {finding.code for finding in findings(packets)}


def snapped(packets: list[Packet], kept: int = SNAP) -> list[Packet]:
    """Return the packets as a capture with a snap length has them."""
    return [packet._replace(data=packet.data[:kept]) for packet in packets]


# FRM005


def test_a_frame_that_a_snap_length_cut_was_sent_whole() -> None:
    talk = ScriptedConnection().exchange("Metadata", 12, {"topics": [{"name": "a" * 200}]}, CLUSTER)
    for packets in (talk.close(CLIENT), talk.talk.packet(CLIENT, flags=RST).packets):
        assert "FRM005" not in codes(snapped(packets, 150))


def test_a_frame_of_which_a_snap_length_hides_how_it_ends() -> None:
    """Its sender did cut it, but how much of it was sent the capture does not show."""
    half = request(3, 8, 2, bytes(300))[:-100]
    assert "FRM005" in codes(ScriptedConnection().send(CLIENT, half).close(CLIENT))
    assert "FRM005" not in codes(snapped(ScriptedConnection().send(CLIENT, half).close(CLIENT)))


# HDR003


def test_a_null_topic_is_no_header_without_tags() -> None:
    """DescribeLogDirs v2 with a null name: read a byte earlier, it would have tag 0 twice."""
    content = bytes.fromhex("0023 0002 00000002 0004 74657374 00 02 00 00 00 00")
    found = codes(ScriptedConnection().raw(CLIENT, content).close())
    assert "HDR003" not in found
    assert "BDY003" in found


def test_a_header_without_tags_is_told_still() -> None:
    content = bytes.fromhex("0003 000c 00000002 0004 74657374 00 01 00 00")  # Metadata v12 with header v1
    assert "HDR003" in codes(ScriptedConnection().raw(CLIENT, content).close())


# VER001, VER014, VER017, PAI005


def test_nobody_advertised_less_than_was_advertised() -> None:
    """Kafka 4 advertises Produce 0 to 13 and refuses 0 to 2 (KAFKA-18659): its own bytes speak against it."""
    (found,) = findings(old_produce(BROKER))
    assert (found.code, found.party.role) == ("VER017", "broker")
    assert "Produce v2 is advertised (0 to 13)" in found.seen
    assert codes(old_produce(CLIENT)) == set()


def test_a_broker_that_serves_old_produce_is_left_alone() -> None:
    talk = ScriptedConnection(negotiate=False).exchange("ApiVersions", 3, SOFTWARE, versions(ALL, (0, 0, 13)))
    talk.exchange("Produce", 2, {**PRODUCE, "acks": 1}, {"responses": []})
    assert codes(talk.close()) == {"VER016"}


def test_records_lost_with_acks_0_are_told() -> None:
    """The client cannot know: it waits for no answer (Java 0.8.2.2 against Kafka 4.4)."""
    assert codes(old_produce(BROKER, acks=0)) == {"VER017"}
    talk = ScriptedConnection(negotiate=False)
    talk.ask("Produce", 0, PRODUCE)
    assert codes(talk.close(BROKER)) == {"VER003", "VER014"}
    talk = ScriptedConnection(negotiate=False)
    talk.ask("Produce", 0, PRODUCE)
    assert codes(talk.close(CLIENT)) == {"VER003"}


def test_a_close_without_a_word_blames_no_client() -> None:
    """A broker that advertises a version elsewhere and drops it looks like Kafka 4 and a client too old."""
    talk = ScriptedConnection(negotiate=False)
    talk.ask("Produce", 1, {**PRODUCE, "acks": 1})
    (found,) = [f for f in findings(talk.close(BROKER)) if f.code == "VER014"]
    assert (found.party.role, found.claim) == ("broker", "differs")


def test_a_consumer_is_no_replica_in_any_version() -> None:
    """From v15 on a consumer sends no ReplicaState."""
    row = {"partition_index": 0, "high_watermark": -1, "records": BATCH}
    answered = {"responses": [{"topic_id": TOPIC_ID, "partitions": [row]}]}
    for state, expected in (({}, True), ({"replica_state": {"replica_id": 2, "replica_epoch": 1}}, False)):
        wanted = {"topic_id": TOPIC_ID, "partitions": [{"partition": 0, "partition_max_bytes": 100}]}
        asked = {"session_epoch": -1, "max_bytes": 100, "topics": [wanted], **state}
        talk = ScriptedConnection().exchange("Fetch", 16, asked, answered)
        assert ("FET029" in codes(talk.close())) is expected


def test_a_negative_api_key_is_nobodys() -> None:
    talk = ScriptedConnection().raw(CLIENT, bytes.fromhex("ffff0000 00000002 000474657374"))
    (found,) = [f for f in findings(talk.close()) if f.code == "HDR010"]
    assert found.seen == "API key -1, negative, which no API's is"


def test_a_handshake_that_is_advertised_must_be_answered() -> None:
    """An unknown mechanism gets error 33 and the list of those enabled, not a close."""
    talks = [later_connection(number) for number in range(3)]
    for talk in talks:
        talk.exchange("ApiVersions", 3, SOFTWARE, VERSIONS)
        talk.ask("SaslHandshake", 1, {"mechanism": "SCRAM-SHA-256"})
    told = [talk.close(BROKER) for talk in talks]
    found = {f.code: f.party.role for f in findings(all_of(*told))}
    assert found == {"PAI005": "broker", "VER013": "broker"}
    assert codes(all_of(*told[:2])) == {"PAI005"}  # a close proves nothing


# VER006, VER019, VER020


def after_refusal(listed: Fields, api: str, version: int, fields: Fields) -> list[tuple[str, str, str]]:
    """Return what is found where a request follows the refusal of ApiVersions v5."""
    talk = ScriptedConnection(negotiate=False)
    talk.ask("ApiVersions", 5, SOFTWARE)
    talk.answer("ApiVersions", 0, listed)
    talk.exchange(api, version, fields, VERSIONS if api == "ApiVersions" else {})
    return [(f.code, f.expected, f.seen) for f in findings(talk.close()) if f.severity != "info"]


def test_a_refusal_without_a_list_leads_to_version_0() -> None:
    """Brokers before 2.4 list nothing."""
    nothing, listed = versions(error=35), versions((18, 0, 3), error=35)
    assert after_refusal(nothing, "ApiVersions", 0, {}) == []
    assert after_refusal(nothing, "ApiVersions", 3, SOFTWARE) == [
        ("VER006", "version 0: the broker listed none", "version 3")
    ]
    for refusal in (nothing, listed):
        found = after_refusal(refusal, "Metadata", 1, METADATA)
        assert found == [("VER006", "ApiVersions again", "Metadata v1")]
    assert after_refusal(listed, "ApiVersions", 3, SOFTWARE) == []


def test_an_answer_that_is_cut_may_be_no_refusal() -> None:
    """Asked again in version 0, and the list that came is behind the snap length."""
    talks = [later_connection(number) for number in range(4)]
    for talk in talks:
        talk.ask("ApiVersions", 5, SOFTWARE)
        talk.answer("ApiVersions", 0, versions(error=35))
        talk.exchange("ApiVersions", 0, {}, VERSIONS).exchange("Metadata", 1, METADATA, CLUSTER)
    found = codes(snapped(all_of(*(talk.close() for talk in talks)), 120))
    assert not found & {"VER006", "VER020"}


def test_a_request_that_was_sent_before_the_refusal_came() -> None:
    talk = ScriptedConnection(negotiate=False)
    talk.ask("ApiVersions", 5, SOFTWARE)
    talk.ask("Metadata", 1, METADATA)
    talk.answer("ApiVersions", 0, versions(error=35), 1).answer("Metadata", 1, {}, 2)
    assert "VER006" not in codes(talk.close())


def closed(
    times: int,
    version: int = 1,
    *,
    seconds: int = 1,
    api: str = "FindCoordinator",
    fields: Fields | None = None,
) -> dict[str, int]:
    """Return what is found, and how often, where a client asks, and is closed on, again and again."""
    told = []
    for number in range(times):
        talk = later_connection(number * seconds)
        talk.exchange("Metadata", 1, METADATA, CLUSTER)
        talk.ask(api, version, {"key": "a", "key_type": 0} if fields is None else fields)
        told.append(talk.close(BROKER))
    return {f.code: f.count for f in findings(all_of(*told)) if f.code not in ("VER003", "VER016", "SAS001")}


def test_the_third_close_in_a_row_is_no_chance() -> None:
    assert closed(2) == {"PAI005": 2}
    assert closed(3) == {"PAI005": 3, "VER019": 1}
    assert closed(11) == {"PAI005": 11, "VER019": 9}
    assert closed(4, seconds=70) == {"PAI005": 4}  # brokers are restarted now and then
    fetch = full_fetch([0])  # one of which waits in most brokers that shut down
    assert closed(4, 12, seconds=5, api="Fetch", fields=fetch) == {"PAI005": 4}


def test_the_same_close_whatever_the_api_is() -> None:
    for api, version, fields in (
        ("SaslHandshake", 1, {"mechanism": "PLAIN"}),
        ("Fetch", 12, full_fetch([0])),
        ("Produce", 9, {**PRODUCE, "acks": 1}),
        ("Produce", 9, PRODUCE),  # acks=0: the records are lost, and nobody is told
    ):
        assert closed(3, version, api=api, fields=fields) == {"PAI005": 3, "VER019": 1}, api


def test_a_broker_that_shuts_down_closes_all_at_once() -> None:
    talks = [later_connection(0) for _ in range(5)]
    told = []
    for number, talk in enumerate(talks):
        talk.talk._ports = 40000 + number, 9092
    for talk in talks:
        talk.exchange("Metadata", 1, METADATA, CLUSTER)
        talk.ask("FindCoordinator", 1, {"key": "a", "key_type": 0})
        told.append(talk.close(BROKER))
    assert "VER019" not in codes(all_of(*told))


def test_a_version_that_was_told_before_is_the_cause() -> None:
    assert closed(3, 0, api="Produce", fields={**PRODUCE, "acks": 1}) == {"VER014": 3}


# FET008


def test_an_empty_answer_of_old_fetches_is_an_error() -> None:
    """Up to v6 there is no error code for the whole: brokers answer no partition at all."""
    asked = {**full_fetch([0]), "min_bytes": 1, "max_wait_ms": 500}
    for version, expected in ((4, False), (6, False), (7, True)):
        talk = ScriptedConnection().exchange("Fetch", version, asked, {"responses": []})
        assert ("FET004" in codes(talk.close())) is expected  # which explains why it came early
    talk = ScriptedConnection().exchange("Fetch", 4, asked, fetch_answer(0))
    assert "FET008" in codes(talk.close())


def early(times: int, apart_ms: int) -> tuple[Severity, str]:
    """Return what empty fetches come to that are answered at once, so far from one to the next."""
    asked = {**full_fetch([0]), "min_bytes": 1, "max_wait_ms": 500}
    talk = ScriptedConnection()
    for _ in range(times):
        talk.exchange("Fetch", 11, asked, fetch_answer(0))
        talk.talk.wait(apart_ms * 1_000_000)
    (found,) = [finding for finding in findings(talk.close()) if finding.code == "FET008"]
    assert found.count == times
    return found.severity, found.consequence


def test_fetches_that_keep_a_broker_busy_are_a_warning() -> None:
    severity, proof = early(100, 5)
    assert severity is Severity.WARNING
    said = r"100 times in \d\.\d{3} s; 100 times or more, 10 a second on average, are a warning"
    assert re.fullmatch(said, proof)


def test_fetches_that_come_early_now_and_then_are_not() -> None:
    assert early(99, 5) == (Severity.INFO, "")
    assert early(100, 110) == (Severity.INFO, "")


# VER004


def test_a_bad_fallback_is_read_as_what_it_should_be() -> None:
    """librdkafka's mock broker: error 35, a compact count, and one element."""
    talk = ScriptedConnection()
    talk.raw(CLIENT, bytes.fromhex("0012 0003 00000009 0004 74657374 00 0274 0275 00"))
    talk.raw(BROKER, bytes.fromhex("00000009 0023 01 0012 0000 0002 00000000"))
    (found,) = [finding for finding in findings(talk.close()) if finding.code == "VER004"]
    assert found.seen == "as version 0, api_keys: 16781824 elements do not fit the 7 bytes left"
    assert (found.place.path, found.place.start) == ("ApiVersionsResponse.api_keys", 6)


# BDY001, BDY002


def offsets_answer(content: str) -> dict[str, tuple[str | None, str]]:
    """Return what is found in an answer of ListOffsets v0: place and what was seen."""
    talk = ScriptedConnection(negotiate=False)
    id_ = talk.ask("ListOffsets", 0, {"replica_id": -1, "topics": []})
    talk.raw(BROKER, id_.to_bytes(4) + bytes.fromhex(content))
    return {f.code: (f.place.path, f.seen) for f in findings(talk.close()) if f.code.startswith("BDY")}


def test_a_field_left_out_is_not_a_count_too_large() -> None:
    """Tansu: one partition, index 1, error 0, and no list of offsets."""
    partition = "ListOffsetsResponse.topics[0].partitions"
    assert offsets_answer("00000001 000161 00000001 00000001 0000") == {
        "BDY001": (f"{partition}[0].old_style_offsets", "int32 of 4 bytes runs past the end, 0 left")
    }
    # Two are said to come and one does: the count may be what is wrong.
    found = offsets_answer("00000001 000161 00000002 00000001 0000 00000000")
    assert found == {"BDY002": (partition, "2 elements do not fit the 10 bytes left")}
    assert set(offsets_answer("7fffffff 000161 00000002 00000001 0000 00000000")) == {"BDY002"}


# Faults of brokers that were told of clients


def told(*steps: Step) -> dict[str, str]:
    """Code and party of what is found in a conversation, information aside."""
    talk = Talk()
    found = findings([step(talk) for step in steps])
    return {f.code: f.party.role for f in found if f.severity != "info"}


@pytest.mark.parametrize("generation", [-1, 0, 1, 3])
def test_a_generation_that_goes_back_is_the_coordinators(generation: int) -> None:
    assert told(
        lambda talk: classic.join(talk, "a", 5, members=("a",)),
        lambda talk: classic.join(talk, "a", generation, members=("a",)),
        lambda talk: classic.heartbeat(talk, "a", 6),
    ) == {"GRP019": "broker"}


def test_a_group_may_begin_anew() -> None:
    for first in (0, 1):  # Apache Kafka begins with 1, Tansu with 0
        assert (
            told(
                lambda talk: classic.join(talk, "a", 5, members=("a",)),
                lambda talk, first=first: classic.join(
                    talk, "b", first, leader="b", asked="", members=("b",)
                ),
                lambda talk, first=first: classic.heartbeat(talk, "b", first),
            )
            == {}
        )


def test_a_leader_that_is_no_member_is_the_coordinators() -> None:
    """The member with the list assigns, whoever is called the leader."""
    assert told(
        lambda talk: classic.join(talk, "a", 2, leader="x", members=("a", "b")),
        lambda talk: classic.sync(talk, "a", 2, ("a", "b")),
    ) == {"GRP020": "broker"}


def test_two_protocols_of_one_generation_are_the_coordinators() -> None:
    assert told(
        lambda talk: classic.join(talk, "a", 2, members=("a",), took=100),
        lambda talk: classic.join(talk, "b", 2, chosen="sticky", offered=("range", "sticky")),
        lambda talk: classic.sync(talk, "b", 2, protocol="sticky"),
    ) == {"GRP021": "broker"}


def test_epoch_0_that_is_told_is_the_coordinators() -> None:
    for epochs in ((1, 0), (4, 3)):
        assert told(
            lambda talk, told=epochs[0]: modern.beat(talk, 1, told),
            lambda talk, asked=epochs[0], told=epochs[1]: modern.beat(talk, asked, told),
            lambda talk: modern.beat(talk, 7, 7),
        ) == {"GRP019": "broker"}


def test_a_session_named_beside_an_error_is_no_clients_invention() -> None:
    assert told(
        lambda talk: sessions.fetch(talk, 0, 0, (0,), error=70, answered=(0,)),
        lambda talk: sessions.fetch(talk, 7, 1),
    ) == {"FET018": "broker"}


def test_a_range_upside_down_is_the_brokers() -> None:
    talk = ScriptedConnection(negotiate=False).exchange("ApiVersions", 3, SOFTWARE, versions(ALL, (3, 13, 9)))
    found = findings(talk.exchange("Metadata", 12, {"topics": None}, CLUSTER).close())
    assert {f.code: f.party.role for f in found} == {"VER007": "broker"}


# PAI002, PAI015


def told_in(packets: list[Packet]) -> list[tuple[str, int, int]]:
    """Code, count and exchange of what is found."""
    return [(found.code, found.count, found.place.exchange) for found in findings(packets)]


@pytest.mark.parametrize("later", [1, 5, 1100])
def test_a_request_without_an_answer_is_told_itself(later: int) -> None:
    """What follows is in order; also behind so many requests that none is held back for it any more."""
    talk = ScriptedConnection()
    talk.ask("Metadata", 12, METADATA)
    for _ in range(later):
        talk.exchange("Metadata", 12, METADATA, CLUSTER)
    for closer in (CLIENT, BROKER):
        assert told_in(talk.close(closer)) == [("PAI015", 1, 1)]


def test_each_request_without_an_answer_counts() -> None:
    talk = ScriptedConnection()
    for _ in range(2):
        talk.ask("Metadata", 12, METADATA)
    for _ in range(3):
        talk.exchange("Metadata", 12, METADATA, CLUSTER)
    talk.ask("Metadata", 12, METADATA)  # of the last one nobody knows
    assert told_in(talk.close()) == [("PAI015", 2, 1)]


def test_answers_of_one_packet_behind_one_that_never_came() -> None:
    """Their times are one, and they are in order."""
    talk = ScriptedConnection()
    ids = [talk.ask("Metadata", 12, METADATA) for _ in range(3)]
    talk.send(BROKER, b"".join(encode_response(3, 12, id_, CLUSTER) for id_ in ids[1:]))
    assert told_in(talk.close()) == [("PAI015", 1, 1)]
    talk = ScriptedConnection()
    ids = [talk.ask("Metadata", 12, METADATA) for _ in range(2)]
    talk.send(BROKER, b"".join(encode_response(3, 12, id_, CLUSTER) for id_ in reversed(ids)))
    assert told_in(talk.close()) == [("PAI002", 1, 2)]


def test_an_answer_under_another_id_is_one() -> None:
    """It is told itself; what is behind it is neither out of order nor left without an answer."""
    for wrong, code in ((77, "PAI001"), (1, "PAI003")):
        talk = ScriptedConnection()
        talk.ask("Metadata", 12, METADATA)
        talk.answer("Metadata", 12, CLUSTER, wrong)
        for id_ in (3, 4, 5):
            talk.ask("Metadata", 12, METADATA, id_=id_)
            talk.answer("Metadata", 12, CLUSTER, id_)
        assert [code for code, *_ in told_in(talk.close())] == [code]


def test_acks_0_is_passed_over_by_agreement() -> None:
    talk = ScriptedConnection()
    talk.ask("Produce", 9, PRODUCE)
    for _ in range(8):
        talk.exchange("Metadata", 12, METADATA, CLUSTER)
    assert told_in(talk.close()) == []


def test_an_answer_that_the_capture_lacks_was_given() -> None:
    """Lost, cut away by a snap length, or given before the capture saw anything of the broker."""
    talk = ScriptedConnection()
    first = talk.ask("Metadata", 12, METADATA)
    second = talk.ask("Metadata", 12, METADATA)
    before = len(talk.talk.packets)
    talk.answer("Metadata", 12, CLUSTER, first)
    lost = len(talk.talk.packets)
    talk.answer("Metadata", 12, CLUSTER, second)
    packets = talk.close()
    assert told_in(packets[:before] + packets[lost:]) == []
    assert told_in(packets[before - 2 : before] + packets[lost:]) == []
    talk = ScriptedConnection()
    ids = [talk.ask("Metadata", 12, METADATA) for _ in range(2)]
    talk.send(BROKER, b"".join(encode_response(3, 12, id_, CLUSTER) for id_ in ids))
    talk.exchange("Metadata", 12, METADATA, CLUSTER)
    assert told_in(snapped(talk.close(), 60)) == []


def test_answers_whose_packets_stand_out_of_order_behind_one_that_never_came() -> None:
    """Their times say that one overtook another, and their bytes do not."""
    talk = ScriptedConnection()
    ids = [talk.ask("Metadata", 12, METADATA) for _ in range(3)]
    at = len(talk.talk.packets)
    for id_ in ids[1:]:
        talk.answer("Metadata", 12, CLUSTER, id_)
    packets = talk.close()
    one, other = packets[at : at + 2]
    packets[at : at + 2] = other._replace(time_ns=one.time_ns), one._replace(time_ns=other.time_ns)
    assert told_in(packets) == []


@pytest.mark.parametrize("ends", [1, 2])
def test_an_answer_may_stand_before_the_syn_where_packets_stand_out_of_order(ends: int) -> None:
    """Then it is of no connection. It matters not whether both ends closed this one."""
    talk = ScriptedConnection().exchange("Metadata", 12, METADATA, CLUSTER)
    talk.close(CLIENT)
    syn, _, ack, ask, _, later, answer, *fins = talk.close(BROKER)
    assert told_in([syn, later, ack, ask, answer, *fins[:ends]]) == []


def test_each_answer_that_overtakes_another_is_told() -> None:
    talk = ScriptedConnection()
    first, second, third = (talk.ask("Metadata", 12, METADATA) for _ in range(3))
    for id_ in (third, second, first):
        talk.answer("Metadata", 12, CLUSTER, id_)
    (found,) = findings(talk.close())
    assert (found.code, found.count) == ("PAI002", 2)


# ADM001, GRP008


def test_what_apache_accepts_is_not_malformed() -> None:
    old = {"replica_id": -1, "topics": [{"name": "a", "partitions": [{"timestamp": -3}]}]}
    partition = {"partition_index": 0, "committed_offset": -2, "committed_metadata": ""}
    commit = {"group_id": "g", "topics": [{"name": "a", "partitions": [partition]}]}
    for api, version, asked, code in (
        ("ListOffsets", 5, old, "ADM001"),
        ("OffsetCommit", 8, commit, "GRP008"),
    ):
        talk = ScriptedConnection().exchange(api, version, asked, {"topics": []})
        (found,) = [f for f in findings(talk.close()) if f.code == code]
        assert (found.claim, found.severity) == ("differs", "warning")


# Places


def test_an_orphan_response_is_called_one() -> None:
    talk = ScriptedConnection().exchange("Metadata", 12, METADATA, CLUSTER)
    (found,) = [f for f in findings(talk.answer("Metadata", 12, CLUSTER, 77).close()) if f.code == "PAI001"]
    text = finding_text(found, ("a.pcap",))
    assert "Metadata v12 response, orphan response 0 of connection" in text
    assert "exchange 1000000000" not in text


# HDR009, and what is told once


@pytest.mark.parametrize("software", ["apache-kafka-java", "tester"])
def test_java_sends_requests_later_than_it_numbers_them(software: str) -> None:
    asked = {"client_software_name": software, "client_software_version": "4.4.0"}
    talk = ScriptedConnection(negotiate=False).exchange("ApiVersions", 3, asked, VERSIONS)
    for id_ in (5, 3):
        talk.ask("Metadata", 12, METADATA, id_=id_)
        talk.answer("Metadata", 12, CLUSTER, id_)
    assert ("HDR009" in codes(talk.close())) is (software == "tester")


def test_clients_that_do_not_say_what_they_are_get_the_benefit() -> None:
    for ids, expected in (((5, 3), False), ((0, 0), True)):
        talk = ScriptedConnection(negotiate=False)
        for id_ in ids:
            talk.ask("Metadata", 8, METADATA, id_=id_)
            talk.answer("Metadata", 8, CLUSTER, id_)
        assert ("HDR009" in codes(talk.close())) is expected


def test_one_line_for_each_software() -> None:
    """Not one for each client id, API and version; another version is another line."""

    def asks(software: str, port: int, client_id: str) -> list[Packet]:
        talk = ScriptedConnection(negotiate=False)
        talk.talk = Conversation(ports=(port, 9092)).handshake()
        name, _, version = software.partition(" ")
        asked = {"client_software_name": name, "client_software_version": version}
        talk.ask("ApiVersions", 3, asked, client_id=client_id)
        talk.answer("ApiVersions", 3, VERSIONS)
        for api, old in (("OffsetFetch", 0), ("ListOffsets", 0)):
            talk.ask(api, old, {"topics": []}, client_id=client_id)
            talk.answer(api, old, {})
        return talk.close()

    packets = asks("x 1.0", 4001, "a") + asks("x 1.0", 4002, "b") + asks("x 2.0", 4003, "a")
    found = [f for f in findings(packets) if f.code == "VER016"]
    assert {(f.party.version, f.count) for f in found} == {("1.0", 4), ("2.0", 2)}
    assert all("client id a, the first" in finding_text(f, ("a.pcap",)) for f in found)
