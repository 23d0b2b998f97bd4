"""The facts in the first request of a connection about its client, for a beginning in the native engine.

Rules:
- The engine has seen an ordinary handshake, and the first payload after it.
- The payload is one whole request that proves Kafka without other bytes (`detection`), of an API whose body
  has no secret and which has a response. Any other connection begins in Python.
- The correlation id has no effect on the result: the engine asks once about payloads that differ only in it.
"""

from __future__ import annotations

from kdissect.model.frame import Frame
from kdissect.schema.secrets import is_secretive
from kdissect.session.conversation import Conversation
from kdissect.session.detection.detection import Detection
from kdissect.session.events import Event
from kdissect.session.info import ConnectionInfo, ConnectionKind
from kdissect.session.request_kind import API_VERSIONS, request_kind

ToldOfClient = tuple[str | None, str | None, str | None]
"""Client id, name and version of the software."""
First = tuple[str | None, bytes, int, ToldOfClient]
"""Client id, its bytes, their number as it is on the wire, and the known facts about the client."""

_PREFIX = 4  # bytes of a frame's size (spec/004 "Frame Structure")
_FLOW = bytes(12)  # of a stand-in connection, which is not reported


def first_of(payload: bytes) -> First | None:
    """Return the facts in the first payload of a client, or None if the connection must begin in Python."""
    data = payload[_PREFIX:]
    kind = request_kind(data)
    if kind is None or kind.is_unusual or is_secretive(kind.api_key):
        return None
    is_whole = int.from_bytes(payload[:_PREFIX]) == len(data)
    if not is_whole or (kind.is_watched and kind.api_key != API_VERSIONS):
        return None
    detection = Detection()
    detection.listener = 1
    found = detection.feed(0, payload, 0, 0, is_open=True)
    if found is not ConnectionKind.KAFKA or detection.client != 0 or not detection.is_proven:
        return None
    events: list[Event] = []
    info = ConnectionInfo.of_flow(_FLOW, "", 0, {}, 0)
    conversation = Conversation(info, events)
    conversation.request(Frame(data, len(data), 0, 0, 0, 0), False)
    state = conversation.state() if conversation.is_ordinary and not events else None
    if state is None or state.pairing.silent or not state.client_id or state.client_id != info.client_id:
        return None
    told = info.client_id, info.software_name, info.software_version
    return state.client_id, state.client_id_bytes, state.client_id_length, told
