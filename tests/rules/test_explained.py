"""What does not fit is explained by what was done wrong, not by where a decoder happened to stop."""

from typing import Any

import pytest

from kdissect.decoders.encoder import encode_request, encode_response
from kdissect.model.finding import Finding
from tests.rules.dialogue import Dialogue, findings
from tests.support.messages.traffic import CLIENT

METADATA, OFFSET_COMMIT, HEARTBEAT, SYNC_GROUP, DESCRIBE_GROUPS, LIST_GROUPS = 3, 8, 12, 14, 15, 16
COMMIT: dict[str, Any] = {
    "group_id": "a-group", "generation_id_or_member_epoch": 1, "member_id": "a-member",
    "topics": [{"name": "orders", "partitions": [{"partition_index": 0, "committed_offset": 7}]}],
}  # fmt: skip


def without_tags(key: int, version: int, body: dict[str, Any]) -> bytes:
    """A request of a flexible version behind a header of version 1: the classic client bug."""
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
    (found,) = of_headers(findings(Dialogue().raw(CLIENT, without_tags(key, version, body)).close()))
    assert (found.code, found.party.role) == (code, "client")
    assert "right behind the client id" in found.seen or "earlier" in found.seen


def test_a_header_that_is_another_kind_of_wrong() -> None:
    bad = without_tags(OFFSET_COMMIT, 8, COMMIT)[:-4] + b"\xff\xff\xff\xff"
    (found,) = of_headers(findings(Dialogue().raw(CLIENT, bad).close()))
    assert "right behind" not in found.seen


def test_a_body_that_lacks_a_byte_may_be_a_header_that_does() -> None:
    body = {"topics": None, "allow_auto_topic_creation": True}
    short = encode_request(METADATA, 12, 2, "test", body)[4:-1]
    (found,) = of_headers(findings(Dialogue().raw(CLIENT, short).close()))
    assert found.code == "HDR003"
    assert found.seen.endswith("or lacks its last byte")


COMMITTED = {"topics": [{"name": "orders-of-all", "partitions": [{"partition_index": 0, "error_code": 0}]}]}


@pytest.mark.parametrize(("answered", "told"), [(7, "3 to 7"), (3, "3 to 7"), (0, "0 to 2")])
def test_an_answer_in_another_version(answered: int, told: str) -> None:
    """Several versions share a layout: which of them it is nobody can tell, that it is another all can."""
    talk = Dialogue()
    talk.ask("OffsetCommit", 8, COMMIT)
    answer = encode_response(OFFSET_COMMIT, answered, 2, COMMITTED)[4:]
    talk.raw(1 - CLIENT, answer)
    found = [one for one in findings(talk.close()) if one.code == "VER012"]
    assert [one.seen for one in found] == [f"a body of version {told}"]
