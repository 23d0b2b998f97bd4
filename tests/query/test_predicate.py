"""What a compiled filter tells about itself."""

import pickle
from functools import cache
from typing import Any

import pytest

import kdissect
from kdissect.api import Dissection
from kdissect.decoders.encoder import encode
from kdissect.decoders.generated import projection
from kdissect.model.packets.packet import packet_ref
from kdissect.model.packets.process import Process
from kdissect.query import FilterError, binding, compile_filter
from kdissect.query.binding import Binding, Context
from kdissect.query.fields.row_fields import KIND_FIELDS, row_fields
from kdissect.query.predicate import Conjunct
from kdissect.schema.protocol_messages import api
from kdissect.session.exchange import Exchange, ExchangeKind, State
from tests.query.exchanges import BROKER, CLIENT, START, exchange, frame, takes
from tests.support.console import CAPTURES, TXN


def test_pickled_as_its_text() -> None:
    predicate = compile_filter('topic ~ "^o" and latency > 5ms')
    again = pickle.loads(pickle.dumps(predicate))
    assert (again, hash(again), again.text) == (predicate, hash(predicate), predicate.text)
    assert again != compile_filter("topic")
    assert repr(again) == "Predicate('topic ~ \"^o\" and latency > 5ms')"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("api == Produce", [("api_key", "==", 0)]),
        ("api in (Produce, 18) and latency > 5ms",
         [("api_key", "in", (0, 18)), ("latency_ns", ">", 5_000_000)]),
        ("version not in (1, 2)", [("api_version", "not in", (1, 2))]),
        ("client_id != x and (error or topic)", [("client_id", "!=", "x")]),
        ("client_id == app and (api == Fetch and state == complete)",
         [("client_id", "==", "app"), ("api_key", "==", 1), ("state", "==", "complete")]),
        ("request.time < 2023-11-14T22:13:20Z", [("request.time_ns", "<", START)]),
        ("time < +1s and connection == 00ff", [("connection", "==", "00ff")]),
        ("response.bytes > 1kB", [("response.bytes", ">", 1000)]),
        ("time < 2023-11-14T22:13:20Z", [("time", "<", START)]),
        ("client.port == 5", [("client.port", "==", 5)]),
        ("api == Produce or api == Fetch", []),
        ("not api == Produce", []),
        ("version in (1..3)", []),
        ("client_id ~ x and client in 10.0.0.0/8", []),
        ("topic == x and number > 3 and all(topic) == x", []),
        ("latency == null", []),
    ],
)  # fmt: skip
def test_pushdown(text: str, expected: list[tuple[str, str, object]]) -> None:
    assert compile_filter(text).pushdown == tuple(Conjunct(*each) for each in expected)


def test_pushdown_never_loses_an_exchange() -> None:
    names = {
        "api_key": lambda e: e.api_key,
        "api_version": lambda e: e.api_version,
        "latency_ns": lambda e: e.latency_ns,
        "client_id": lambda e: e.client_id,
    }
    tests = {
        "==": lambda a, b: a == b, "!=": lambda a, b: a != b, "<": lambda a, b: a < b,
        ">": lambda a, b: a > b,
        "in": lambda a, b: a in b, "not in": lambda a, b: a not in b,
    }  # fmt: skip
    for text in (
        "api != Produce and version < 5", "latency > 1ms and client_id != x", "api not in (Fetch, Produce)"
    ):  # fmt: skip
        predicate = compile_filter(text)
        test = predicate.bind()
        for each in kdissect.open(TXN):
            pushed = all(
                (value := names[c.field](each)) is not None and tests[c.op](value, c.value)
                for c in predicate.pushdown
            )
            assert pushed == test(each)


def test_what_a_filter_needs() -> None:
    plain = compile_filter("api == Produce and latency > 5ms")
    assert not (plain.needs_all or plain.needs_bodies or plain.needs_findings or plain.needs_topics)
    assert compile_filter("number < 5 or error").needs_all
    assert compile_filter("not topic == x").needs_topics
    assert compile_filter("count(request.topics) > 1").needs_bodies
    assert compile_filter("request.error").needs_bodies
    assert compile_filter("api == Produce or has finding FRM").needs_findings


def test_findings_must_be_given() -> None:
    predicate = compile_filter("has finding FRM006")
    with pytest.raises(ValueError, match="findings"):
        predicate.bind()
    found = {7: {"FRM006"}, 8: {"BDY001"}}
    context = Context(findings_of=lambda e: found.get(e.ordinal, ()))
    made = [exchange(ordinal=number) for number in (7, 8, 9)]
    for text, expected in (
        ("has finding FRM006", [True, False, False]),
        ("has finding trailing-bytes", [True, False, False]),
        ("has finding (FRM, bdy)", [True, True, False]),
        ("has finding", [True, True, False]),
        ("not has finding FRM", [False, True, True]),
    ):
        test = compile_filter(text).bind(context)
        assert [test(each) for each in made] == expected, text


def test_header_filters_look_into_no_body(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[object] = []

    def project(*arguments: object) -> object:
        asked.append(arguments[:2])
        return projection.projector(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(binding, "projector", project)
    exchanges = list(kdissect.open(TXN))
    for text in (
        "api == Fetch and latency > 1ms",
        "error or topic ~ x",
        "client in 10.0.0.0/8 and number > 3",
    ):
        test = compile_filter(text).bind()
        assert len([each for each in exchanges if test(each)]) < len(exchanges)
    assert not asked
    test = compile_filter("api == Fetch and request.max_bytes > 1 and request.min_bytes == 1").bind()
    assert [each for each in exchanges if test(each)]
    assert len(asked) == 1  # one projector for both fields, of the one version of Fetch


def test_cheap_tests_come_first(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise AssertionError("a body was looked into")

    monkeypatch.setattr(binding, "projector", fail)
    assert takes("request.topics.name == x and latency > 1s", exchange(request=frame(bytes(4)))) == [False]


@pytest.mark.parametrize("text", ["api == Fetch and number == 3", "not (api != Fetch or number != 3)"])
def test_numbers_count_what_another_test_leaves_out(text: str) -> None:
    test = compile_filter(text).bind()
    keys = [0, 1, 1, 0, 1]
    assert [test(exchange(api_key=key)) for key in keys] == [False, False, True, False, False]


def test_numbers_count_every_exchange_asked() -> None:
    test = compile_filter("number in (2, 4)").bind()
    assert [test(exchange()) for _ in range(5)] == [False, True, False, True, False]


def racks(*names: str | None) -> Exchange:
    """Return a Metadata response whose brokers are in these racks."""
    metadata = api(3)
    assert metadata is not None
    brokers = [{"node_id": i, "host": "h", "port": 9, "rack": name} for i, name in enumerate(names)]
    body = encode(metadata.response, 1, {"brokers": brokers, "controller_id": 1, "topics": []})
    return exchange(response=frame(body))


def test_several_values_some_of_them_null() -> None:
    made = [racks("a", "b"), racks("a", None), racks(None, None), racks()]
    for text, expected in (
        ("R == a", [True, True, False, False]),
        ("R != a", [False, False, False, False]),
        ("R != c", [True, True, False, False]),
        ("any(R) != a", [True, False, False, False]),
        ("all(R) == a", [False, True, False, False]),
        ("R not in (b, c)", [False, True, False, False]),
        ("R !~ a", [False, False, False, False]),
        ("R == null", [False, True, True, False]),
        ("R != null", [True, False, False, False]),
        ("any(R) != null", [True, True, False, False]),
        ("all(R) == null", [False, False, True, False]),
        ("R", [True, True, False, False]),
        ("count(R) == 1", [False, True, False, False]),
        ("count(response.brokers) == 2", [True, True, True, False]),
        ("response.brokers == null", [False, False, False, False]),
    ):
        assert takes(text.replace("R", "response.brokers.rack"), *made) == expected, text


def test_an_answer_in_version_0_is_read_as_such() -> None:
    """KIP-511: a broker that does not know the version of ApiVersions answers in version 0."""
    versions = api(18)
    assert versions is not None
    keys = [{"api_key": 18, "min_version": 0, "max_version": 2}]
    body = encode(versions.response, 0, {"error_code": 35, "api_keys": keys})
    made = exchange(api_key=18, api_version=4, response=frame(body))
    assert takes(
        "response.error_code == UNSUPPORTED_VERSION and response.api_keys.max_version == 2", made
    ) == [True]


def test_two_bindings_do_not_share_their_state() -> None:
    predicate = compile_filter("number == 1")
    first, second = predicate.bind(), predicate.bind()
    assert first(exchange())
    assert second(exchange())


def joining(protocol_type: str, *topics: str) -> Exchange:
    """JoinGroup v5 with a subscription of version 0 for each of two assignors."""
    join = api(11)
    assert join is not None
    names = b"".join(len(topic).to_bytes(2) + topic.encode() for topic in topics)
    metadata = bytes(2) + len(topics).to_bytes(4) + names + b"\xff\xff\xff\xff"
    protocols = [{"name": name, "metadata": metadata} for name in ("range", "sticky")]
    body = {
        "group_id": "g", "session_timeout_ms": 1, "rebalance_timeout_ms": 2, "member_id": "",
        "group_instance_id": None, "protocol_type": protocol_type, "protocols": protocols,
    }  # fmt: skip
    return exchange(api_key=11, api_version=5, request=frame(encode(join.request, 5, body)))


def test_fields_of_payloads() -> None:
    made = [joining("consumer", "orders", "payments"), joining("consumer"), exchange()]
    topics = "request.protocols.metadata_decoded.value.topics"
    for text, expected in (
        (f"{topics} == orders", [True, False, False]),
        (f"{topics} in (payments, x)", [True, False, False]),
        (f"{topics} == order", [False, False, False]),
        (f"{topics} ~ ^pay", [True, False, False]),
        (f"all({topics}) contains o", [False, False, False]),
        (f"all({topics}) contains e", [True, False, False]),
        (f"count({topics}) == 4", [True, False, False]),
        ("request.protocols.metadata_decoded.version == 0", [True, True, False]),
        ("request.protocols.metadata_decoded.value", [True, True, False]),
        ("request.protocols.metadata_decoded.nothing", [False, False, False]),
        ("request.protocols.metadata_decoded.value.topics.name", [False, False, False]),
    ):
        assert takes(text, *made) == expected, text


def test_bytes_are_hex_or_text() -> None:
    made = joining("consumer", "a")
    for text, expected in (
        ("0x0000_00000001_0001_61_ffffffff".replace("_", ""), True),
        ("0X0000000000010001_61FFFFFFFF".replace("_", ""), True),
        ("0x00", False),
        ("text", False),
        ('"0x00"', False),  # quotes: a text
    ):
        assert takes(f"request.protocols.metadata == {text}", made) == [expected], text
    assert takes("request.protocols.metadata contains a", made) == [True]
    for text in ("0x0", "0xzz"):
        with pytest.raises(FilterError, match="no hex"):
            compile_filter(f"request.protocols.metadata == {text}")


def test_ids_are_as_kafka_prints_them_or_hex() -> None:
    metadata = api(3)
    assert metadata is not None
    body = {
        "topics": [{"topic_id": bytes([*range(15), 0xFB]), "name": None}], "allow_auto_topic_creation": False,
        "include_topic_authorized_operations": False,
    }  # fmt: skip
    made = exchange(api_version=12, request=frame(encode(metadata.request, 12, body)))
    for text, expected in (
        ("AAECAwQFBgcICQoLDA0O-w", True),
        ("00010203-0405-0607-0809-0a0b0c0d0efb", True),
        ("AAECAwQFBgcICQoLDA0O-g", False),
    ):
        assert takes(f"request.topics.topic_id == {text}", made) == [expected], text
    for text in (
        "AAECAwQFBgcICQoLDA0O",
        "AAECAwQFBgcICQoLDA0O-wA",
        "00010203-0405-0607-0809-0a0b0c0d0e",
        "x" * 36,
    ):
        with pytest.raises(FilterError, match="is no 22-character id"):
            compile_filter(f"request.topics.topic_id == {text}")


def test_names_that_others_may_add_to() -> None:
    """Any group may name its protocol; `consumer` is a name that Kafka knows."""
    made = [joining("consumer"), joining("mine")]
    for text, expected in (
        ("request.protocol_type == consumer", [True, False]),
        ("request.protocol_type == CONSUMER", [True, False]),
        ("request.protocol_type == mine", [False, True]),
        ("request.protocol_type != mine", [True, False]),
    ):
        assert takes(text, *made) == expected, text


def test_processes_of_either_end() -> None:
    told, untold, unsure = exchange(), exchange(), exchange()
    java, kafka = Process("java", 41, "orders-7d"), Process("kafka", 7)
    told.connection.processes = ((CLIENT, java), (BROKER, kafka))
    unsure.connection.processes = ((None, java),)
    made = [told, unsure, untold]
    for text, expected in (
        ("client.pid == 41", [True, False, False]),
        ("broker.pid == 41", [False, False, False]),
        ("processes.pid == 41", [True, True, False]),
        ("count(processes.pid) == 2", [True, False, False]),
        ("count(processes.pid) == 0", [False, False, True]),
        ("processes.pod", [True, True, False]),
        ("broker.pod", [False, False, False]),
        ("processes.end == client", [True, False, False]),
        ("count(processes.end) == 0", [False, True, True]),
        ("processes", [True, True, False]),
    ):
        assert takes(text, *made) == expected, text


def test_fields_in_milliseconds_take_units() -> None:
    produce = api(0)
    assert produce is not None
    body = encode(produce.request, 8, {"acks": 1, "timeout_ms": 90_000, "topic_data": []})
    made = exchange(api_key=0, api_version=8, request=frame(body))
    for text in ("90000", "90s", "1.5m", "90000ms", "90000000us"):
        assert takes(f"request.timeout_ms == {text}", made) == [True], text
    assert takes("request.timeout_ms > 90s", made) == [False]


def test_truth_values_with_names() -> None:
    end = api(26)
    assert end is not None
    facts = {"transactional_id": "t", "producer_id": 1, "producer_epoch": 0}
    bodies = [encode(end.request, 0, facts | {"committed": committed}) for committed in (True, False)]
    made = [exchange(api_key=26, api_version=0, request=frame(body)) for body in bodies]
    for text, expected in (
        ("request.committed == commit", [True, False]),
        ("request.committed == Abort", [False, True]),
        ("request.committed != abort", [True, False]),
        ("request.committed == true", [True, False]),
        ("request.committed", [True, False]),
    ):
        assert takes(text, *made) == expected, text
    with pytest.raises(FilterError, match="neither true nor false"):
        compile_filter("request.committed == yes")


def test_partitions_are_numbers_of_partitions_alone() -> None:
    produce, metadata = api(0), api(3)
    assert produce is not None
    assert metadata is not None
    data = [{"name": "t", "partition_data": [{"index": 3, "records": None}, {"index": 4, "records": None}]}]
    produced = encode(produce.request, 8, {"acks": 1, "timeout_ms": 7, "topic_data": data})
    partitions = [{"partition_index": 5, "leader_id": 6, "replica_nodes": [], "isr_nodes": []}]
    topics = [{"name": "t", "partitions": partitions}]
    told = encode(metadata.response, 1, {"brokers": [], "controller_id": 2, "topics": topics})
    made = [
        exchange(api_key=0, api_version=8, request=frame(produced)),
        exchange(api_key=3, api_version=1, response=frame(told)),
    ]
    for text, expected in (
        ("partition in (3, 4)", [True, False]),
        ("all(partition) in (3, 4)", [True, False]),
        ("partition == 5", [False, True]),
        ("partition in (1, 2, 6, 7)", [False, False]),
        ("count(partition) == 2", [True, False]),
    ):
        assert takes(text, *made) == expected, text


def test_frames_may_begin_in_one_file_and_end_in_the_next() -> None:
    begun, ended = frame(b"12"), frame(b"12")
    begun.first_ref, begun.last_ref = packet_ref(1, 5), packet_ref(2, 6)
    ended.first_ref = ended.last_ref = packet_ref(2, 7)
    made = exchange(request=begun, response=ended)
    context = Context(file_names=("a.pcap", "b.pcap", "c.pcap"))
    for text, expected in (
        ("request.packets.file == b.pcap and request.packets.last_file == c.pcap", True),
        ("request.packets.first == 5 and request.packets.last == 6", True),
        ("response.packets.file == c.pcap", True),
        ("response.packets.last_file", False),  # the same as the first
    ):
        assert compile_filter(text).bind(context)(made) is expected, text


def test_cut_and_broken_bodies_have_no_fields() -> None:
    whole = bytes.fromhex("00000001 0001 61")  # Metadata v1 of one topic
    made = [
        exchange(request=frame(whole)),
        exchange(request=frame(whole, size=9)),
        exchange(request=frame(whole[:-1])),
        exchange(request=frame(whole), api_version=77),
    ]
    assert takes("request.topics.name == a", *made) == [True, False, False, False]
    assert takes("request.body", *made) == [True, False, False, False]
    assert takes("request.error", *made) == [False, True, True, True]
    assert takes("request.error contains captured", *made) == [False, True, False, False]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("api == Produce", True),
        ("not (api in (Fetch, Produce) or version >= 3) and client_id == a", True),
        ("host == 10.0.0.1 and connection != abc", True),
        ("client_id == null", True),
        ("api == Produce and latency > 1ms", False),
        ("topic == a", False),
        ("number < 5", False),
        ("exchange == 4", False),
        ("principal == a", False),
        ("software == a", False),
        ("anomalies", False),
        ("request.acks == 0", False),
        ("has finding", False),
    ],
)
def test_whether_one_of_a_kind_is_enough(text: str, expected: bool) -> None:
    assert compile_filter(text).is_by_kind is expected


@cache
def paired() -> list[Exchange]:
    found = Dissection([str(path) for path in CAPTURES.glob("kafka44_*groups.pcapng")])
    return [one for one in found if one.state is State.COMPLETE and one.kind is ExchangeKind.KAFKA]


@pytest.mark.parametrize("name", sorted(KIND_FIELDS))
def test_fields_of_a_kind_are_the_same_in_all_of_it(name: str) -> None:
    getters = row_fields()[name].source.many(Binding(Context()))
    values: dict[Any, Any] = {}
    for one in paired():
        kind = one.connection.id, one.api_key, one.api_version, one.client_id
        value = [get(one) for get in getters]
        assert values.setdefault(kind, value) == value
    assert len(paired()) > 2 * len(values) > 200
