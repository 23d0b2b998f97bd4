"""Which header version stands before a body: the one place that knows, for decoders and for the grammar."""

from kdissect.schema.types import Field, Message, MessageKind

CONTROLLED_SHUTDOWN = 7
API_VERSIONS = 18


def request_header_version(request: Message, version: int) -> int:
    """The RequestHeader version of a request: 2, with tags, where flexible (KIP-482), else 1; 0 once."""
    if request.api_key == CONTROLLED_SHUTDOWN and version == 0:
        # Written before clients had ids: org.apache.kafka.common.protocol.ApiKeys#requestHeaderVersion (3.9)
        return 0
    return 2 if request.is_flexible(version) else 1


def response_header_version(response: Message, version: int) -> int:
    """The ResponseHeader version of a response: 1 with tags where flexible (KIP-482), else 0."""
    if response.api_key == API_VERSIONS:
        # A client that does not know the broker yet must be able to read it whatever it asked for (KIP-511).
        return 0
    return 1 if response.is_flexible(version) else 0


def is_never_compact(message: Message, field: Field) -> bool:
    """Whether a string keeps its int16 length in flexible versions: a request header's client id alone.

    It stands before the tags, so that a broker can read who sends a version it does not know (KIP-511).
    """
    return message.kind is MessageKind.HEADER and field.name == "client_id"
