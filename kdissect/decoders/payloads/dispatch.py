"""From the place of a payload to its format: `@payload(NAME)` in the schema, and what stands around it."""

from kdissect.decoders.payloads import envelope, groups, text
from kdissect.decoders.payloads.authentication import sasl
from kdissect.decoders.payloads.metrics import telemetry
from kdissect.decoders.payloads.payload import Finder, Found
from kdissect.decoders.payloads.scope import Scope
from kdissect.decoders.payloads.too_deep import TooDeep
from kdissect.decoders.payloads.versioned import versioned
from kdissect.model.limits import in_force


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
        return TooDeep(place, most)
    return FINDERS[place](data, start, end, scope)
