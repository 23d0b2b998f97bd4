"""Link-layer types of captured packets."""

from enum import IntEnum


class LinkType(IntEnum):
    """The link types that kdissect dissects itself. Numbers are from the tcpdump link-layer header registry.

    A capture may carry any other number: readers keep it as a plain int and `net.link` says
    `unsupported_link`.
    """

    NULL = 0
    ETHERNET = 1
    RAW = 101
    LOOP = 108
    LINUX_SLL = 113
    IPV4 = 228
    IPV6 = 229
    NFLOG = 239
    PKTAP = 258
    LINUX_SLL2 = 276


# Link types that tcpdump knows and kdissect does not read, although users ask for them.
_UNREAD = {104: "C_HDLC", 117: "PFLOG", 242: "IPOIB"}


def link_name(link_type: int) -> str:
    """Name of a link type for people: `ETHERNET`, `PFLOG`, or `LINKTYPE_147` for one without a name here."""
    try:
        return LinkType(link_type).name
    except ValueError:
        return _UNREAD.get(link_type, f"LINKTYPE_{link_type}")
