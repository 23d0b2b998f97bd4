"""Bodies in the text form of request logs: what they are read as, and what is refused."""

from __future__ import annotations

import pytest

from kdissect.capture.formats.text_lines import LOST, text_row
from kdissect.decoders.logged_text import TextFormError, text_body
from kdissect.history import api_keys as apis
from kdissect.schema.protocol_messages import request_message, response_message
from kdissect.schema.types import Message

DESCRIBE_GROUPS, ALTER_CONFIGS = 15, 33


def message_of(api_key: int, is_response: bool = False) -> Message:
    found = response_message(api_key) if is_response else request_message(api_key)
    assert found is not None
    return found


def test_a_text_may_contain_what_ends_others() -> None:
    text = "{error_code=0,error_message=a, b=c}d (x=1),resource_type=2,resource_name=t},more"
    message = message_of(ALTER_CONFIGS, is_response=True)
    body, at = text_body(message, 0, f"{{throttle_time_ms=0,responses=[{text[:-5]}]}}", 0)
    assert body["responses"][0]["errorMessage"] == "a, b=c}d (x=1)"
    assert at == len(text) - 5 + len("{throttle_time_ms=0,responses=[]}")


@pytest.mark.parametrize(
    ("api_key", "version", "text"),
    [
        (apis.METADATA, 1, "{topics=[{name=a},{name="),
        (apis.METADATA, 1, "{topics=[{name=a}]"),
        (apis.METADATA, 1, "{topics=7}"),
        (apis.METADATA, 1, ""),
        (apis.METADATA, 9, "{topics=null,allow_auto_topic_creation=maybe}"),
        (apis.METADATA, 9, "{topics=null,allow_auto_topic_creation=true}"),
        (DESCRIBE_GROUPS, 0, "{groups=[a,b]}"),  # one group, or two
        (apis.SYNC_GROUP, 0, "{group_id=g,generation_id=1,member_id=m,assignments=[{member_id=m,"
         "assignment=java.nio.HeapByteBuffer[pos=0 lim=28 cap=28]}]}"),
        (apis.HEARTBEAT, 0, "{group_id=g,generation_id=1,member_id=m"),
        (apis.HEARTBEAT, 0, "{group_id=g,generation_id=" + "1" * 5000 + ",member_id=m}"),
    ],
)  # fmt: skip
def test_what_is_lost_is_refused(api_key: int, version: int, text: str) -> None:
    with pytest.raises(TextFormError):
        text_body(message_of(api_key), version, text, 0)


@pytest.mark.parametrize(
    ("api_key", "version", "text", "expected"),
    [
        (DESCRIBE_GROUPS, 0, "{groups=[a]}", {"groups": ["a"]}),
        (apis.METADATA, 0, "{topics=[{name=null},{name=b}]}", {"topics": [{"name": "null"}, {"name": "b"}]}),
        (apis.METADATA, 1, "{topics=null}", {"topics": None}),
        (apis.HEARTBEAT, 4, "{group_id=g,generation_id=-1,member_id=,group_instance_id=null,"
         "_tagged_fields={}}",
         {"groupId": "g", "generationId": -1, "memberId": "", "groupInstanceId": None}),
    ],
)  # fmt: skip
def test_what_is_read(api_key: int, version: int, text: str, expected: object) -> None:
    assert text_body(message_of(api_key), version, text, 0) == (expected, len(text))


LINE = (
    "RequestHeader(apiKey=HEARTBEAT, apiVersion=0, clientId=a, correlationId=9, correlationId=7) -- "
    "{group_id=g,generation_id=1,member_id=m},response:{error_code=0} from connection "
    "127.0.0.1:9092-127.0.0.1:40000-3;totalTime:4.0,requestQueueTime:1.0,localTime:1.0,remoteTime:1.0,"
    "throttleTime:0,responseQueueTime:0.5,sendTime:0.5,securityProtocol:SSL,principal:User:CN=a,OU=b,"
    "listener:SSL,clientInformation:ClientInformation(softwareName=x, softwareVersion=1),"
    "temporaryMemoryBytes:7 (kafka.request.logger)"
)


def test_a_line() -> None:
    row = text_row(LINE)
    assert row is not None
    assert row["requestHeader"]["clientId"] == "a, correlationId=9"
    assert row["principal"] == "User:CN=a,OU=b"
    assert row["clientInformation"] == {"softwareName": "x", "softwareVersion": "1"}
    assert row["response"] == {"errorCode": 0}
    assert text_row(LINE[:-200]) is None
    assert text_row(LINE.replace("HEARTBEAT", "HEART")) is None


@pytest.mark.parametrize(
    ("place", "least", "most"),
    [("correlationId=7)", -(1 << 31), (1 << 31) - 1), ("apiVersion=0", 0, (1 << 15) - 1)],
)
def test_numbers_of_a_header_have_the_range_of_their_type(place: str, least: int, most: int) -> None:
    number = place.rstrip(")").partition("=")[2]
    for value, is_read in ((least, True), (least - 1, False), (most, True), (most + 1, False)):
        row = text_row(LINE.replace(place, place.replace(number, str(value))))
        assert (row is not None) is is_read, value


def test_a_response_that_is_not_all_there_is_lost() -> None:
    row = text_row(LINE.replace("{error_code=0}", "{error_code=0}}"))
    assert row is not None
    assert row["response"] is LOST


def test_a_throttle_time_with_a_fraction_is_another_time() -> None:
    """Kafka 1.0 to 2.4 log how long the response was in the throttling channel."""
    row = text_row(LINE.replace("throttleTime:0,", "throttleTime:13.496,"))
    assert row is not None
    assert row["throttleTimeMs"] is None
