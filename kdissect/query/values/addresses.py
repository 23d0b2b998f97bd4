"""Addresses of a connection's ends with or without the port, and of networks."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from kdissect.model.endpoint import Endpoint
from kdissect.query.syntax.nodes import Literal
from kdissect.query.values.value_kinds import Test, ValueKind

_HOSTS_KEPT = 4096  # addresses of a capture's ends, parsed once each, some 200 bytes


class AddressRange(NamedTuple):
    """An address or a network, and a port. Port 0 means any port. `network` is of `ipaddress`."""

    network: Any
    port: int

    def holds(self, host: str, port: int) -> bool:
        """Return whether an end is meant."""
        if self.port and port != self.port:
            return False
        address = _parsed(host)
        return address is not None and address.version == self.network.version and address in self.network


class Address(ValueKind):
    """Both ends of a connection: `Endpoint`s, or hosts alone if the field has no port."""

    name = "address"
    doc = "an IP address, a network (10.0.0.0/8), or an address with its port (10.0.0.1:9092, [::1]:9092)"
    example = "10.0.0.0/8"
    textual = True

    def parse(self, literal: Literal) -> AddressRange:
        """Return an address or a network, and a port."""
        text = literal.text
        found = _address_range(text)
        if found is None:
            raise ValueError(f"{text!r} is no address\nfor example 10.0.0.1, 10.0.0.0/8, 10.0.0.1:9092")
        return found

    def equals(self, value: AddressRange) -> Test:
        """Return a test whether the end is in the range."""
        return lambda raw: value.holds(*_end(raw))

    def one_of(self, values: Sequence[AddressRange]) -> Test:
        """Return a test whether the end is in one of the ranges."""
        ranges = tuple(values)
        return lambda raw: any(one.holds(*_end(raw)) for one in ranges)


def _end(raw: Any) -> tuple[str, int]:
    return (raw.host, raw.port) if isinstance(raw, Endpoint) else (raw, 0)


def _address_range(text: str) -> AddressRange | None:
    from ipaddress import ip_network  # start-up: 2 ms, and few filters name an address

    host, port = text, "0"
    if text.startswith("["):
        host, _, rest = text[1:].partition("]")
        port = rest[1:] if rest.startswith(":") else rest or "0"
    elif text.count(":") == 1:
        host, _, port = text.partition(":")
    try:
        network = ip_network(host, strict=False)
    except ValueError:
        return None
    if not port.isascii() or not port.isdigit() or len(port) > 5 or int(port) > 65535:
        return None
    return AddressRange(network, int(port))


@lru_cache(maxsize=_HOSTS_KEPT)
def _parsed(host: str) -> Any:
    from ipaddress import ip_address  # start-up

    try:
        return ip_address(host)
    except ValueError:
        return None


ADDRESS = Address()
