"""From the place of a payload to its format: `@payload(NAME)` in the schema, and what stands around it."""

from typing import NamedTuple

from kdissect.decoders.payloads import envelope, groups, text
from kdissect.decoders.payloads.authentication import sasl
from kdissect.decoders.payloads.metrics import telemetry
from kdissect.decoders.payloads.payload import Finder, Found, Nest, Payload
from kdissect.decoders.payloads.scope import Scope
from kdissect.decoders.payloads.versioned import versioned
from kdissect.decoders.trees.node import Node
from kdissect.model.errors import DecodeError
from kdissect.model.limits import in_force


class _TooDeep(NamedTuple):
    """A payload that stands in more others than the limits allow: it is reported, and stays undecoded.

    `place` is its name in the schema, `most` how many payloads may stand in each other.
    """

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


def _principal(data: bytes, start: int, end: int, scope: Scope) -> Found | None:
    """A principal as DefaultKafkaPrincipalBuilder writes it; custom builders differ."""
    return versioned("DefaultPrincipalData", data, start, end)


FINDERS: dict[str, Finder] = {
    "address": text.address,
    "assignmentUserData": groups.assignment_user_data,
    "connectAssignment": groups.connect_assignment,
    "groupAssignment": groups.assignment,
    "groupMetadata": groups.metadata,
    "principal": _principal,
    "request": envelope.request,
    "response": envelope.response,
    "saslToken": sasl.token,
    "subscriptionUserData": groups.subscription_user_data,
    "telemetry": telemetry.telemetry,
    "text": text.text,
}


def find(place: str, data: bytes, start: int, end: int, scope: Scope) -> Found | None:
    """What the bytes `start` to `end` of a place are; None where nobody knows, or where there are none.

    Raises nothing.
    """
    if start >= end:
        return None
    most = in_force().payload_depth
    if scope.depth > most:
        return _TooDeep(place, most)
    return FINDERS[place](data, start, end, scope)
