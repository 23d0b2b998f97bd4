"""Lines of request logs of Kafka 1.0 to 2.7, which are no JSON, as the rows of later releases.

    RequestHeader(apiKey=METADATA, apiVersion=9, clientId=x, correlationId=2) -- {BODY},response:{BODY} from
    connection A-B-N;totalTime:4.655,requestQueueTime:...,listener:PLAINTEXT,clientInformation:...

`LOST` stands for a body that the text does not have in full (`decoders.logged_text`).
"""

import re
from functools import cache
from typing import Any, Final

from kdissect.decoders.logged_text import TextFormError, text_body
from kdissect.schema import protocol_messages
from kdissect.schema.types import Message

LOST: Final = object()
"""A body that is not in the text, or not in full."""
BEGINNING = "RequestHeader(apiKey="

_HEAD = re.compile(
    r"RequestHeader\(apiKey=([A-Z_]+), apiVersion=(\d+), clientId=(.*?), correlationId=(-?\d+)\) -- ",
    re.DOTALL,
)
_RESPONSE, _CONNECTION = ",response:", " from connection "
_TAIL = re.compile(
    r" from connection (?P<connection>\S+?);totalTime:(?P<total>[\d.]+),requestQueueTime:(?P<queue>[\d.]+),"
    r"localTime:(?P<local>[\d.]+),remoteTime:(?P<remote>[\d.]+),throttleTime:(?P<throttle>[\d.]+),"
    r"responseQueueTime:(?P<answers>[\d.]+),sendTime:(?P<send>[\d.]+),securityProtocol:(?P<protocol>\w+),"
    r"principal:(?P<principal>.*?),listener:(?P<listener>[^,() ]+)"
    r"(?:,clientInformation:ClientInformation\(softwareName=(?P<name>.*?), softwareVersion=(?P<version>.*?)"
    r"\))?"
    r"(?=,| |$)"
)
_ACKS = re.compile(r"\{acks=(-?\d+),timeout=\d+,(?:numPartitions|partitionSizes)=")
_INT16, _INT32 = (1 << 15) - 1, (1 << 31) - 1
_MOST_DIGITS = 11  # of an int32 with its sign
_PRODUCE, _API_VERSIONS = 0, 18
_REFUSED = "{error_code=35,"
# Names that APIs had (org.apache.kafka.common.protocol.ApiKeys).
_FORMER = {"ELECT_PREFERRED_LEADERS": 43, "ALTER_ISR": 56}


def text_row(text: str) -> dict[str, Any] | None:
    """Return the row of a line, from its `BEGINNING` on; None if it is cut, or not in this form."""
    head, tail = _HEAD.match(text), _TAIL.match(text, text.rfind(_CONNECTION))
    key = None if head is None else keys_by_name().get(head[1])
    if head is None or tail is None or key is None:
        return None
    version, correlation_id = _integer(head[2], _INT16), _integer(head[4], _INT32)
    is_whole = "." not in tail["throttle"]  # otherwise it is another time: Kafka 1.0 to 2.4
    throttle = _integer(tail["throttle"], _INT32) if is_whole else None
    if version is None or correlation_id is None or (is_whole and throttle is None):
        return None
    request, response = _bodies(key, version, text, head.end(), tail.start())
    return {
        "requestHeader": {
            "requestApiKey": key,
            "requestApiVersion": version,
            "correlationId": correlation_id,
            "clientId": None if head[3] == "null" else head[3],
        },
        "request": request,
        "response": response,
        "connection": tail["connection"],
        "totalTimeMs": _ms(tail["total"]),
        "requestQueueTimeMs": _ms(tail["queue"]),
        "localTimeMs": _ms(tail["local"]),
        "remoteTimeMs": _ms(tail["remote"]),
        "throttleTimeMs": throttle,
        "responseQueueTimeMs": _ms(tail["answers"]),
        "sendTimeMs": _ms(tail["send"]),
        "securityProtocol": tail["protocol"],
        "principal": tail["principal"],
        "listener": tail["listener"],
        "clientInformation": {"softwareName": tail["name"], "softwareVersion": tail["version"]},
    }


def is_whole(row: dict[str, Any]) -> bool:
    """Return whether a line has both bodies in full."""
    return row["request"] is not LOST and row["response"] is not LOST


def is_in_head(text: str, at: int) -> bool:
    """Return whether a position is before the end of the client id of a line."""
    head = _HEAD.match(text)
    return head is not None and at < head.end(3)


def has_second(text: str) -> bool:
    """Return whether another request begins after the header of a line."""
    head = _HEAD.match(text)
    return head is not None and text.find(BEGINNING, head.end()) >= 0


def is_silent(row: dict[str, Any], text: str) -> bool:
    """Return whether a line is of a Produce that asks for no response."""
    head = _HEAD.match(text)
    acks = _ACKS.match(text, head.end()) if head is not None else None
    return row["requestHeader"]["requestApiKey"] == _PRODUCE and acks is not None and acks[1] == "0"


def _bodies(key: int, version: int, text: str, start: int, stop: int) -> tuple[Any, Any]:
    api = protocol_messages.api(key)
    if api is None:
        return LOST, LOST
    request, at = _body(api.request, version, text, start)
    if at < 0 or not text.startswith(_RESPONSE, at):
        request, at = LOST, text.find(_RESPONSE, start, stop)
    if at < 0:
        return request, LOST
    at += len(_RESPONSE)
    is_refused = key == _API_VERSIONS and text.startswith(_REFUSED, at)
    response, end = _body(api.response, 0 if is_refused else version, text, at)
    return request, response if end == stop else LOST


def _body(message: Message, version: int, text: str, at: int) -> tuple[Any, int]:
    """Return a body and the position after it; `LOST` and -1 for one that is not there in full."""
    if version not in message.versions:
        return LOST, -1
    try:
        return text_body(message, version, text, at)
    except TextFormError:
        return LOST, -1


def _integer(text: str, most: int) -> int | None:
    """Return a number of an integer type; None for one outside of it, which may have any number of digits."""
    if len(text) > _MOST_DIGITS:
        return None
    number = int(text)
    return number if -most - 1 <= number <= most else None


def _ms(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


@cache
def keys_by_name() -> dict[str, int]:
    """Return the keys of all APIs by the names of Kafka's ApiKeys, such as API_VERSIONS."""
    names = {key: protocol_messages.api_name(key) or "" for key in protocol_messages.api_keys()}
    return {_upper(name): key for key, name in names.items()} | _FORMER


def _upper(name: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).upper()
