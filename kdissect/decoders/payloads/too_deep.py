"""A payload that stands in more others than the limits allow: it is told so, and stays undecoded."""

from typing import NamedTuple

from kdissect.decoders.payloads.payload import Nest, Payload
from kdissect.decoders.trees.node import Node
from kdissect.model.errors import DecodeError


class TooDeep(NamedTuple):
    """`place` is its name in the schema, `most` how many payloads may stand in each other."""

    place: str
    most: int

    def decode(self, data: bytes, end: int) -> Payload:
        """No value, and why."""
        return Payload(self.place, None, None, self._error(0))

    def dissect(self, data: bytes, start: int, end: int, nest: Nest) -> Node:
        """One node. Nobody looked what its bytes hold: they count as secret."""
        node = Node(self.place, "payload", start)
        node.end = end
        node.is_secret = True
        node.error = self._error(start)
        return node

    def _error(self, start: int) -> DecodeError:
        return DecodeError(self.place, start, f"payloads nested deeper than {self.most}")
