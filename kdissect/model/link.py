"""Link-layer types of captured packets."""

from enum import IntEnum


class LinkType(IntEnum):
    """The link types kdissect takes apart itself; numbers from the tcpdump link-layer header registry.

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
    LINUX_SLL2 = 276


def link_name(link_type: int) -> str:
    """Name of a link type for people: `ETHERNET`, or `LINKTYPE_147` for one kdissect does not know."""
    try:
        return LinkType(link_type).name
    except ValueError:
        return f"LINKTYPE_{link_type}"
