"""What mutants of real exchanges (`tests/mutation`) found wrong with rules, in the smallest conversations."""

from kdissect.decoders.encoder import encode_request, encode_response
from kdissect.model.packets.packet import Packet
from kdissect.rules.views.body_view import body_of
from tests.rules.scripted_connection import ScriptedConnection, findings, judged
from tests.support.messages.batches import batch_bytes, record_bytes
from tests.support.messages.traffic import BROKER, CLIENT
from tests.support.run import exchanges_of

METADATA_TOPIC = bytes(15) + b"\x01"


def codes(packets: list[Packet]) -> set[str]:
    return {finding.code for finding in findings(packets) if finding.code != "VER003"}


def raw(content: str) -> list[Packet]:
    """Return a request in hex as the second of a connection, unanswered."""
    return ScriptedConnection().raw(CLIENT, bytes.fromhex(content)).close()


def test_a_boolean_with_names_is_a_boolean() -> None:
    """EndTxn's `committed` has names for its values, and was looked at as an enumerated number alone."""
    head = "001a0000 00000002 000474657374"
    assert codes(raw(f"{head} 000174 0000000000000001 0000 02")) == {"BDY015"}


def test_a_long_varint_is_no_second_tag_section() -> None:
    """Six bytes of varint fit one byte later, as five: the byte before is no empty tag section."""
    head = "0010 0003 00000002 000474657374 00"  # ListGroups v3
    assert codes(raw(f"{head} 80808080 8000")) == {"BDY005"}


def test_a_header_without_tags_cannot_lack_them() -> None:
    """Metadata v1 has no tag section: what fits one byte earlier says nothing."""
    packets = raw("0003 0001 00000002 0003740000 000001 000174")
    (exchange,) = [e for e in exchanges_of(packets) if e.ordinal == 1]
    body = body_of(exchange, "request")
    assert body is not None
    assert body.error is not None
    assert "HDR003" not in codes(packets)


def test_partitions_twice_in_one_transaction() -> None:
    """From AddPartitionsToTxn v4 on topics stand below transactions."""
    topic = {"name": "t", "partitions": [0, 0]}
    once = {"name": "t", "partitions": [0]}
    one = {"transactional_id": "a", "producer_id": 1, "topics": [topic]}
    other = {"transactional_id": "b", "producer_id": 2, "topics": [once]}
    third = {"transactional_id": "c", "producer_id": 3, "topics": [once]}
    for transactions, expected in (([one], True), ([other, third], False)):
        conversation = ScriptedConnection()
        conversation.ask("AddPartitionsToTxn", 4, {"transactions": transactions})
        assert ("BDY022" in codes(conversation.close())) is expected


def test_reserved_topic_in_acknowledgements() -> None:
    conversation = ScriptedConnection()
    fields = {"group_id": "g", "member_id": "m", "topics": [{"topic_id": METADATA_TOPIC, "partitions": []}]}
    conversation.ask("ShareAcknowledge", 1, fields)
    assert "BDY020" in codes(conversation.close())


def test_the_array_of_the_draft_in_every_version_without_a_body() -> None:
    """KIP-35's array, empty, behind ApiVersions v2: told once, as that."""
    packets = ScriptedConnection(negotiate=False).raw(
        CLIENT, bytes.fromhex("00120002 00000001 000474657374 00000000")
    )
    assert codes(packets.close()) == {"VER010"}


def test_an_unreadable_client_id_is_not_missing() -> None:
    assert codes(raw("0003 0001 00000002 fffb 00000000")) == {"HDR001"}


def test_a_request_without_a_name_is_no_other_name() -> None:
    conversation = ScriptedConnection()
    conversation.ask("Metadata", 1, {"topics": []}, client_id="")
    assert codes(conversation.close()) == {"HDR005"}


def test_an_epoch_that_no_member_has() -> None:
    member = {"group_id": "g", "member_id": "m"}
    told = {"member_id": "m", "member_epoch": 3, "heartbeat_interval_ms": 1000}
    conversation = ScriptedConnection().exchange(
        "ShareGroupHeartbeat", 1, {**member, "member_epoch": 3}, told
    )
    conversation.ask("ShareGroupHeartbeat", 1, {**member, "member_epoch": -3})
    assert codes(conversation.close()) == {"GRP007"}


def test_acks_that_do_not_exist_are_not_weak_too() -> None:
    times = {"base_timestamp": 5, "max_timestamp": 5}
    batch = batch_bytes(record_bytes(), producer_id=1, epoch=0, sequence=0, **times)
    topic = {"name": "t", "partition_data": [{"index": 0, "records": batch}]}
    conversation = ScriptedConnection()
    conversation.ask("Produce", 9, {"acks": 2, "timeout_ms": 1, "topic_data": [topic]})
    assert codes(conversation.close()) == {"PRD001"}


FETCH = {"max_wait_ms": 0, "min_bytes": 0, "max_bytes": 1000, "topics": []}


def test_what_a_misread_body_told_is_unknown() -> None:
    """The Fetch that opens session 7 has three bytes too many: session 7 is not one that nobody gave."""
    conversation = ScriptedConnection()
    request = encode_request(1, 12, 2, "test", {**FETCH, "session_epoch": 0})[4:] + b"abc"
    conversation.raw(CLIENT, request).answer("Fetch", 12, {"session_id": 7, "responses": []}, 2)
    conversation.ask("Fetch", 12, {**FETCH, "session_id": 7, "session_epoch": 1}, id_=3)
    conversation.answer("Fetch", 12, {"session_id": 7, "responses": []})
    judge = judged(conversation.close())
    assert {finding.code for finding in judge.findings.all()} == {"FRM006"}
    assert any(code == "FET013" for code, _ in judge.inconclusive)


def test_a_login_that_nobody_could_read_may_have_ended() -> None:
    """The answer to the token does not fit: what follows was not sent before authentication was over."""
    conversation = ScriptedConnection()
    conversation.exchange("SaslHandshake", 1, {"mechanism": "PLAIN"}, {"mechanisms": ["PLAIN"]})
    conversation.ask("SaslAuthenticate", 1, {"auth_bytes": b"\0user\0secret"})
    conversation.raw(BROKER, encode_response(36, 1, 3, {})[4:-1])
    conversation.exchange("Metadata", 1, {"topics": []}, {})
    assert codes(conversation.close()) == {"BDY001", "SAS001"}


def test_a_control_batch_from_a_client_is_only_that() -> None:
    batch = batch_bytes(record_bytes(key=b"k"), attributes=0x20, max_timestamp=1_700_000_000_000)
    topic = {"name": "t", "partition_data": [{"index": 0, "records": batch}]}
    conversation = ScriptedConnection()
    conversation.ask("Produce", 9, {"acks": -1, "timeout_ms": 1, "topic_data": [topic]})
    assert codes(conversation.close()) == {"REC024"}


def test_metrics_of_an_unknown_codec_may_be_metrics() -> None:
    conversation = ScriptedConnection()
    conversation.ask(
        "PushTelemetry", 0, {"client_instance_id": bytes(16), "compression_type": 9, "metrics": b"x"}
    )
    assert codes(conversation.close()) == {"BDY017"}


def test_an_acknowledge_type_is_told_once() -> None:
    batch = {"first_offset": 0, "last_offset": 1, "acknowledge_types": [9]}
    topic = {
        "topic_id": bytes(range(16)),
        "partitions": [{"partition_index": 0, "acknowledgement_batches": [batch]}],
    }
    conversation = ScriptedConnection()
    conversation.ask(
        "ShareAcknowledge",
        1,
        {"group_id": "g", "member_id": "m", "share_session_epoch": 1, "topics": [topic]},
    )
    found = codes(conversation.close())
    assert "FET009" in found
    assert "BDY017" not in found


def test_a_transaction_may_have_begun_elsewhere() -> None:
    """With EndTxn v5 a batch to any leader begins it, and that leader's connection need not be captured."""
    given = {"producer_id": 1, "producer_epoch": 0}
    for version, expected in ((4, True), (5, False)):
        conversation = ScriptedConnection()
        asked = {"transactional_id": "t", "transaction_timeout_ms": 1000}
        conversation.exchange("InitProducerId", 4, asked, given)
        conversation.exchange("EndTxn", version, {"transactional_id": "t", "committed": True, **given}, given)
        assert ("TXN005" in codes(conversation.close())) is expected


def test_a_member_that_leaves_without_an_answer() -> None:
    """LeaveGroup names several members from v3 on."""
    talk = ScriptedConnection()
    talk.exchange("Heartbeat", 4, {"group_id": "g", "generation_id": 1, "member_id": "m"}, {})
    talk.ask("LeaveGroup", 5, {"group_id": "g", "members": [{"member_id": "m"}]})
    assert codes(talk.exchange("Metadata", 12, {"topics": None}, {}).close()) == {"PAI015"}


def test_a_request_behind_the_versions_at_their_time_is_judged_by_them() -> None:
    """Clocks of captures are coarse: the answer with the versions and the next request may have one time."""
    conversation = ScriptedConnection()
    conversation.ask("Metadata", 99, {})
    packets = [packet._replace(time_ns=1_700_000_000_000_000_000) for packet in conversation.close()]
    assert "VER001" in codes(packets)
