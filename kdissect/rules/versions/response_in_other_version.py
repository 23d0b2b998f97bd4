"""VER012: A response must be in the version of its request."""

from collections.abc import Iterator

from kdissect.decoders.headers import response_body_offset
from kdissect.model.errors import DecodeError, FaultKind
from kdissect.model.finding import Who
from kdissect.rules.body import Body
from kdissect.rules.rule import (
    RESPONSE,
    Fault,
    MisfitRule,
)

MIN_BODY = 16  # shorter bodies fit several versions by chance


class ResponseInOtherVersion(MisfitRule):
    """A response must be in the version of its request.

    The body does not fit the version asked for, and fits exactly one other.

    Example: Metadata v9 is asked for, and a body of v8 comes.

    What to do: answer in the version of the request header.
    """

    code = "VER012"
    name = "response-in-other-version"
    who = Who.BROKER
    cites = ("spec/000 Versioning and Compatibility",)
    kinds = frozenset(FaultKind)

    def check(self, body: Body, error: DecodeError) -> Iterator[Fault]:
        """The other versions of the API, if exactly one of them explains every byte."""
        if body.side != RESPONSE or len(body.data) - body.offset < MIN_BODY:
            return
        fitting = [version for version in _others(body) if _fits(body, version)]
        if len(fitting) == 1:
            yield Fault(
                f"a body of version {body.version}", f"a body of version {fitting[0]}",
                start=body.offset, end=len(body.data), side=RESPONSE,
            )  # fmt: skip


def _others(body: Body) -> list[int]:
    versions = body.message.versions
    return [version for version in range(versions.first, versions.last + 1) if version != body.version]


def _fits(body: Body, version: int) -> bool:
    from kdissect.decoders.messages import body_fits  # only bodies that do not fit get here

    try:
        offset = response_body_offset(body.data, body.api.key, version)
    except DecodeError:
        return False
    return body_fits(body.data, offset, body.api.key, version)
