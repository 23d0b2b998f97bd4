"""Headers and comments of capture tools: they are removed before a packet's link layer is read.

Sources: LINKTYPE_PKTAP and LINKTYPE_NFLOG of tcpdump.org, bsd/net/pktap.h of Apple's XNU (`struct
pktap_header`), linux/netfilter/nfnetlink_log.h, and the packet comments that ptcpdump writes, one each for
process, container and pod.
"""

from __future__ import annotations

import re
from functools import lru_cache
from struct import Struct

from kdissect.model.packets.commented import Commented, is_commented, taken_apart
from kdissect.model.packets.link_types import LinkType
from kdissect.model.packets.logged import COMMENT_PREFIX, Logged
from kdissect.model.packets.packet import Packet
from kdissect.model.packets.process import LocalEnd, Process
from kdissect.model.wording import plural
from kdissect.net.headers.datagram import MalformedPacketError

# macOS wrote DLT_USER2 before LINKTYPE_PKTAP was assigned. It may be anything else, too.
_USER2 = 149
_WRAPPERS = frozenset((LinkType.PKTAP, _USER2, LinkType.NFLOG))
_PKTAP_HEADER = 108  # bytes of struct pktap_header, which later versions may extend
# Length, what follows, its link type, interface, flags, family, lengths of the link layer's header and
# trailer, pid, name. In the byte order of the capturing host: all that have it are little-endian.
_PKTAP = Struct("<III24sIIIIi20s").unpack_from
_TYPE_PACKET = 1  # PTH_TYPE_PACKET
_FROM, _TO = 2, 1  # PTH_FLAG_DIR_OUT, PTH_FLAG_DIR_IN; epb_flags of pcapng has outbound and inbound so, too
_IS_SENDER = {_FROM: True, _TO: False}

# Family, version and resource id, then attributes: the packet, from its network layer on, is NFULA_PAYLOAD.
_NFLOG_HEADER, _NFULA_PAYLOAD = 4, 9
_ATTRIBUTES = (Struct("<HH").unpack_from, Struct(">HH").unpack_from)

_LINES = re.compile(
    r"^(PID|Cmd|ContainerName|ContainerId|PodName|PodNamespace): (.+)$", re.MULTILINE | re.ASCII
)
_LONGEST = 1024  # characters of a value: paths and names are shorter
_OF_REQUEST_LOG = COMMENT_PREFIX.encode()
# Packets of a process have equal options. Longer options are parsed again, which needs less memory.
_CACHED_BYTES = 8192


def is_wrapped(link_type: int) -> bool:
    """Return whether packets of this link type have a header or comments that `unwrapped` removes."""
    return is_commented(link_type) or link_type in _WRAPPERS


def unwrapped(packet: Packet) -> tuple[Packet, LocalEnd | None]:
    """Return a packet that `is_wrapped` as it was on its link, and its owner, if the wrapper names it.

    Raises MalformedPacketError or struct.error if a header is cut or makes no sense.
    """
    if is_commented(packet.link_type):
        parts = taken_apart(packet.link_type, packet.data)
        return packet._replace(link_type=parts.link_type, data=parts.data), _of_comments(parts)
    if packet.link_type == LinkType.NFLOG:
        return _nflog(packet), None
    return _pktap(packet)


def _nflog(packet: Packet) -> Packet:
    data, at = packet.data, _NFLOG_HEADER
    # Attributes are in the byte order of the capturing host. Types are below 256: the larger of both numbers
    # is the type with its bytes swapped.
    little, big = _ATTRIBUTES
    head = little if little(data, at)[1] <= big(data, at)[1] else big
    while True:
        length, kind = head(data, at)
        if length < 4:
            raise MalformedPacketError(f"NFLOG attribute of {plural(length, 'byte')}")
        if kind == _NFULA_PAYLOAD:
            inner = data[at + 4 : at + length]
            return packet._replace(link_type=LinkType.RAW, data=inner, wire_length=length - 4)
        at += length + (-length & 3)


def _pktap(packet: Packet) -> tuple[Packet, LocalEnd | None]:
    data = packet.data
    length, kind, link_type, _, flags, _, _, _, pid, name = _PKTAP(data)
    if kind != _TYPE_PACKET or not _PKTAP_HEADER <= length <= len(data) or is_wrapped(link_type):
        if packet.link_type == _USER2:
            return packet, None
        raise MalformedPacketError(
            f"PKTAP header of {plural(length, 'byte')} before link type {link_type}, type {kind}"
        )
    inner = packet._replace(
        link_type=link_type, data=data[length:], wire_length=max(0, packet.wire_length - length)
    )
    process = Process(
        process=_text(name.partition(b"\0")[0].decode("utf-8", "replace")), pid=pid if pid > 0 else None
    )
    return inner, _local_end(process, flags)


def _of_comments(parts: Commented) -> LocalEnd | None:
    if _OF_REQUEST_LOG in parts.options:
        found = _end_of_line(parts.options, parts.mark)
        if found is not None:
            return found
    end_of = _end_of if len(parts.options) <= _CACHED_BYTES else _end_of.__wrapped__
    return end_of(parts.options, parts.mark)


@lru_cache(maxsize=4)  # the packets of a line have equal options
def _end_of_line(options: bytes, mark: int) -> LocalEnd | None:
    comments = Commented(0, b"", options, mark).comments()
    found = [logged for comment in comments if (logged := Logged.of_comment(comment)) is not None]
    return LocalEnd(Process(), None, found[0]) if found else None


@lru_cache(maxsize=1000)
def _end_of(options: bytes, mark: int) -> LocalEnd | None:
    parts = Commented(0, b"", options, mark)
    return _local_end(_process_of(parts.comments()), parts.direction())


def _process_of(comments: list[str]) -> Process:
    """Return the process. The first of equal fields counts: arguments and labels come later, and may be any
    text.
    """
    told: dict[str, str] = {}
    for comment in sorted(comments, key=_is_of_one_kind, reverse=True):
        for name, value in _LINES.findall(comment):
            told.setdefault(name, value)
    pid = told.get("PID", "")
    return Process(
        process=_text(told.get("Cmd")),
        pid=int(pid) or None if pid.isdecimal() and len(pid) < 11 else None,
        pod=_text(told.get("PodName")),
        namespace=_text(told.get("PodNamespace")),
        container=_text(told.get("ContainerName") or told.get("ContainerId")),
    )


def _is_of_one_kind(comment: str) -> bool:
    """Return whether a comment begins like the comments of ptcpdump."""
    return comment.startswith(("ContainerName: ", "PodName: "))


def _text(text: str | None) -> str | None:
    return (text or "").strip()[:_LONGEST] or None


def _local_end(process: Process, flags: int) -> LocalEnd | None:
    if not any(value is not None for value in process):
        return None
    return LocalEnd(process, _IS_SENDER.get(flags & (_FROM | _TO)))
