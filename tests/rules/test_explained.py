"""What does not fit is explained by what was done wrong, not by where a decoder happened to stop."""

from typing import Any

import pytest

from kdissect.decoders.encoder import encode_request, encode_response
from kdissect.model.finding import Finding
from tests.rules.scripted_connection import ScriptedConnection, findings
from tests.support.messages.traffic import CLIENT

METADATA, OFFSET_COMMIT, HEARTBEAT, SYNC_GROUP, DESCRIBE_GROUPS, LIST_GROUPS = 3, 8, 12, 14, 15, 16
COMMIT: dict[str, Any] = {
    "group_id": "a-group", "generation_id_or_member_epoch": 1, "member_id": "a-member",
    "topics": [{"name": "orders", "partitions": [{"partition_index": 0, "committed_offset": 7}]}],
}  # fmt: skip


def without_tags(key: int, version: int, body: dict[str, Any]) -> bytes:
    """Return a request of a flexible version after a header of version 1: the classic client bug."""
    frame = encode_request(key, version, 2, "test", body)[4:]
    end = 10 + len("test")
    assert frame[end] == 0
    return frame[:end] + frame[end + 1 :]


def of_headers(found: list[Finding]) -> list[Finding]:
    return [one for one in found if one.code.startswith(("HDR", "BDY", "FRM"))]


@pytest.mark.parametrize(
    ("key", "version", "body", "code"),
    [
        (OFFSET_COMMIT, 8, COMMIT, "HDR001"),
        (HEARTBEAT, 4, {"group_id": "a-group", "generation_id": 1, "member_id": "m"}, "HDR001"),
        (DESCRIBE_GROUPS, 5, {"groups": ["a-group"]}, "HDR001"),
        (LIST_GROUPS, 5, {"states_filter": ["Stable"], "types_filter": ["classic"]}, "HDR001"),
        (SYNC_GROUP, 5, {"group_id": "", "generation_id": 1, "member_id": "a-member"}, "HDR003"),
        (METADATA, 12, {"topics": None, "include_topic_authorized_operations": True}, "HDR003"),
    ],
)
def test_a_header_without_its_tag_section(key: int, version: int, body: dict[str, Any], code: str) -> None:
    """Whatever the first bytes of the body look like where tags should stand."""
    (found,) = of_headers(
        findings(ScriptedConnection().raw(CLIENT, without_tags(key, version, body)).close())
    )
    assert (found.code, found.party.role) == (code, "client")
    assert "right behind the client id" in found.seen or "earlier" in found.seen


def test_a_header_that_is_another_kind_of_wrong() -> None:
    bad = without_tags(OFFSET_COMMIT, 8, COMMIT)[:-4] + b"\xff\xff\xff\xff"
    (found,) = of_headers(findings(ScriptedConnection().raw(CLIENT, bad).close()))
    assert "right behind" not in found.seen


def test_a_body_that_lacks_a_byte_may_be_a_header_that_does() -> None:
    body = {"topics": None, "allow_auto_topic_creation": True}
    short = encode_request(METADATA, 12, 2, "test", body)[4:-1]
    (found,) = of_headers(findings(ScriptedConnection().raw(CLIENT, short).close()))
    assert found.code == "HDR003"
    assert found.seen.endswith("or lacks its last byte")


@pytest.mark.parametrize(("written", "told"), [(7, "7"), (6, "6"), (5, "5"), (3, "2 to 4")])
@pytest.mark.parametrize("with_its_header", [True, False])
def test_a_request_in_another_version(written: int, told: str, with_its_header: bool) -> None:
    """Behind the header of the version named, or behind the one of its own version."""
    asked = encode_request(OFFSET_COMMIT, written, 2, "test", COMMIT)[4:]
    content = asked[:2] + (8).to_bytes(2) + asked[4:14] + (b"" if with_its_header else b"\0") + asked[14:]
    (found,) = of_versions(findings(ScriptedConnection().raw(CLIENT, content).close()))
    assert (found.party.role, found.severity) == ("client", "error")
    expected = {"VER018": f"a body of version {told}", "HDR001": f"header and body are of version {told}"}
    assert found.seen == expected[found.code]


def of_versions(found: list[Finding]) -> list[Finding]:
    return [one for one in found if one.code.startswith(("HDR0", "BDY", "FRM", "VER01"))]


def test_a_body_that_is_cut_is_of_no_other_version() -> None:
    asked = encode_request(OFFSET_COMMIT, 8, 2, "test", COMMIT)[4:-3]
    (found,) = of_versions(findings(ScriptedConnection().raw(CLIENT, asked).close()))
    assert found.code.startswith("BDY")


def test_a_size_that_counts_itself() -> None:
    """With a frame behind it, or as the last one: then the receiver waits for 4 bytes that never come."""
    talk = ScriptedConnection()
    frame = encode_request(METADATA, 12, 2, "test", {"topics": None})
    wrong = (len(frame) - 4 + 4).to_bytes(4) + frame[4:]
    found = findings(ScriptedConnection().send(CLIENT, wrong + frame).close())
    assert "FRM007" in {one.code for one in found}
    assert "FRM006" not in {one.code for one in found}
    (found,) = (one for one in findings(talk.send(CLIENT, wrong).close()) if one.code == "FRM005")
    assert found.seen.endswith("it is whole: the size counts its own 4 bytes")
    for left in (b"\0\0\0\0", b"\x7f\0\0\0", b"\0\0\1", b"\0\0\1\0\0"):  # no size stands there
        (found,) = of_headers(findings(ScriptedConnection().raw(CLIENT, frame[4:] + left).close()))
        assert found.code == "FRM006"


def off_by_one(found: list[Finding]) -> list[str]:
    return [one.seen for one in found if one.code == "FRM008"]


@pytest.mark.parametrize(
    ("more", "why"),
    [
        (1, "instead of 25: the last byte of the frame is the first of the next size"),
        (-1, "instead of 25: the byte after the frame ends its body"),
    ],
)
def test_a_size_that_is_off_by_one(more: int, why: str) -> None:
    """With a frame behind it; as the last one a size too large makes the receiver wait."""
    frame = encode_request(METADATA, 12, 2, "test", {"topics": None, "allow_auto_topic_creation": True})
    wrong = (len(frame) - 4 + more).to_bytes(4) + frame[4:]
    right = len(frame) - 4
    (seen,) = off_by_one(findings(ScriptedConnection().send(CLIENT, wrong + frame).close()))
    assert seen == f"Metadata request 1 has the size {right + more} {why.replace('25', str(right))}"
    assert not off_by_one(findings(ScriptedConnection().send(CLIENT, wrong).close()))
    if more > 0:
        (cut,) = (f for f in findings(ScriptedConnection().send(CLIENT, wrong).close()) if f.code == "FRM005")
        assert cut.seen.endswith("it is whole: the size is 1 too large")


@pytest.mark.parametrize(("more", "version", "size"), [(b"\0", 8, 0x1300), (b"", 0, 60), (b"", 8, 0x1C00)])
def test_a_byte_too_many_or_too_few_is_no_size_off_by_one(more: bytes, version: int, size: int) -> None:
    """The frame behind it begins where it should, also where one byte off it looks like Produce v0."""
    frame = encode_request(METADATA, 12, 2, "test", {"topics": None, "allow_auto_topic_creation": True})
    body: dict[str, Any] = {"acks": 0, "timeout_ms": 1, "topic_data": []}
    behind = encode_request(0, version, 3, "test", body)
    behind = encode_request(0, version, 3, "test" + "x" * (size + 4 - len(behind)), body)
    talk = ScriptedConnection().raw(CLIENT, frame[4:] + more if more else frame[4:-1])
    assert int.from_bytes(behind[:4]) == size
    assert not off_by_one(findings(talk.send(CLIENT, behind).close()))


COMMITTED = {"topics": [{"name": "orders-of-all", "partitions": [{"partition_index": 0, "error_code": 0}]}]}


@pytest.mark.parametrize(("answered", "told"), [(7, "3 to 7"), (3, "3 to 7"), (0, "0 to 2")])
def test_an_answer_in_another_version(answered: int, told: str) -> None:
    """Several versions share a layout: which of them it is nobody can tell, that it is another all can."""
    talk = ScriptedConnection()
    talk.ask("OffsetCommit", 8, COMMIT)
    answer = encode_response(OFFSET_COMMIT, answered, 2, COMMITTED)[4:]
    talk.raw(1 - CLIENT, answer)
    found = [one for one in findings(talk.close()) if one.code == "VER012"]
    assert [one.seen for one in found] == [f"a body of version {told}"]
