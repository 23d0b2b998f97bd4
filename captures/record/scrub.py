"""Takes the recording machine out of a pcapng: interfaces, packets and key logs stay, the rest goes.

Source: draft-ietf-opsawg-pcapng section 4 (block types) and 3.5 (options).
"""

import struct
from collections.abc import Iterator

_SECTION, _INTERFACE, _STATISTICS, _ENHANCED, _SECRETS = 0x0A0D0D0A, 1, 5, 6, 10
_IF_NAME, _IF_TSRESOL = 2, 9  # section 4.2: the two interface options worth keeping
_MAGIC = 0x1A2B3C4D
_TLS_KEY_LOG = 0x544C534B  # section 4.7: TLSK


def scrub(data: bytes) -> bytes:
    """Return the same capture with a bare section header, bare interfaces and the packets as they are."""
    out = bytearray()
    for kind, body in blocks(data):
        if kind == _SECTION:
            out += one_block(_SECTION, struct.pack("<IHHq", _MAGIC, 1, 0, -1))
        elif kind == _INTERFACE:
            out += one_block(_INTERFACE, body[:8] + _kept_options(body[8:]))
        elif kind == _ENHANCED:
            captured = struct.unpack_from("<I", body, 12)[0]
            out += one_block(_ENHANCED, body[: 20 + captured + (-captured % 4)])
        elif kind == _SECRETS:
            out += one_block(_SECRETS, body)
    return bytes(out)


def with_secrets(data: bytes, keys: bytes) -> bytes:
    """Return the capture with a TLS key log inside, before its packets.

    Source: draft-ietf-opsawg-pcapng section 4.7 (Decryption Secrets Block).
    """
    out = bytearray()
    for kind, body in blocks(data):
        out += one_block(kind, body)
        if kind == _SECTION:
            out += one_block(_SECRETS, struct.pack("<II", _TLS_KEY_LOG, len(keys)) + keys)
    return bytes(out)


def blocks(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield the type and body of each block. Raises ValueError for a damaged one."""
    position = 0
    while position + 12 <= len(data):
        kind, length = struct.unpack_from("<II", data, position)
        if length < 12 or position + length > len(data):
            raise ValueError(f"a damaged block at byte {position}")
        yield kind, data[position + 8 : position + length - 4]
        position += length


def one_block(kind: int, body: bytes) -> bytes:
    """Return a block with this body."""
    body += bytes(-len(body) % 4)
    length = struct.pack("<I", len(body) + 12)
    return struct.pack("<I", kind) + length + body + length


def _kept_options(data: bytes) -> bytes:
    out, position = b"", 0
    while position + 4 <= len(data):
        code, length = struct.unpack_from("<HH", data, position)
        end = position + 4 + length + (-length % 4)
        if code in (_IF_NAME, _IF_TSRESOL):
            out += data[position:end]
        position = end
        if code == 0:
            break
    return out + bytes(4) if out else b""
