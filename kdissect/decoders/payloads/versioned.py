"""Formats that begin with an int16 version: group protocols and principals."""

from kdissect.decoders.payloads.payload import Layout, Plain, fits
from kdissect.model.errors import DecodeError
from kdissect.schema import protocol_messages

VERSION_SIZE = 2  # int16 (ConsumerProtocol, ConnectProtocol, DefaultKafkaPrincipalBuilder)


def versioned(name: str, data: bytes, start: int, end: int, *, tolerant: bool = False) -> Layout | Plain:
    """Return the layout of a payload that begins with its version.

    A version newer than the schema's is read as the newest, and may have more bytes after it
    (ConsumerProtocol). One that does not fit, but fits an older layout whole, is that with a note: clients
    exist that write version 1 without its field. `tolerant`: that is legal (Connect takes missing fields for
    defaults).
    """
    message = protocol_messages.payload(name)
    body = start + VERSION_SIZE
    if end < body:
        return Plain(name, None, DecodeError(name, start, "too short for a version"))
    said = int.from_bytes(data[start:body], signed=True)
    first, last = message.versions
    if said < first:
        return Plain(name, None, DecodeError(name, start, f"version {said} does not exist"))
    if said > last:
        return Layout(message, last, body, said, may_trail=True)
    for version in range(said, first - 1, -1):
        if fits(message, version, data, body, end):
            odd = "" if version == said or tolerant else f"says version {said}, is laid out as {version}"
            return Layout(message, version, body, said, odd)
    return Layout(message, said, body, said)


def is_exactly(name: str, data: bytes, start: int, end: int) -> bool:
    """Return whether the bytes are exactly such a payload, in the version that they say: to recognise it
    unasked.
    """
    if end - start < VERSION_SIZE:
        return False
    message = protocol_messages.payload(name)
    said = int.from_bytes(data[start : start + VERSION_SIZE], signed=True)
    return said in message.versions and fits(message, said, data, start + VERSION_SIZE, end)
