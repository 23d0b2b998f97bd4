"""Names of the protocols a capture holds beside TCP."""

TCP = 6  # IANA protocol numbers

_PROTOCOLS = {
    0: "hopopt", 1: "icmp", 2: "igmp", 4: "ipip", 17: "udp", 41: "ipv6", 47: "gre", 50: "esp", 51: "ah",
    58: "icmpv6", 59: "none", 88: "eigrp", 89: "ospf", 103: "pim", 112: "vrrp", 115: "l2tp", 132: "sctp",
    136: "udplite",
}  # fmt: skip
_ETHERTYPES = {
    0: "unknown",  # what a link type without EtherTypes held
    0x0806: "arp", 0x8035: "rarp", 0x8809: "slow", 0x8847: "mpls", 0x8848: "mpls", 0x8863: "pppoe",
    0x8864: "pppoe", 0x888E: "eapol", 0x88CC: "lldp", 0x88E5: "macsec", 0x88F7: "ptp",
    0x894F: "nsh",
}  # fmt: skip
_LENGTHS_BELOW = 0x600  # smaller numbers are lengths, IEEE 802.3 clause 3.2.6


def protocol_name(protocol: int) -> str:
    """Name of an IP protocol number (IANA keywords), `ip-253` for one without."""
    return _PROTOCOLS.get(protocol, f"ip-{protocol}")


def ethertype_name(ethertype: int) -> str:
    """Name of an EtherType, `llc` for a length (IEEE 802.2 follows), `ethertype-0x88b5` for one without."""
    if 0 < ethertype < _LENGTHS_BELOW:
        return "llc"
    return _ETHERTYPES.get(ethertype, f"ethertype-0x{ethertype:04x}")
