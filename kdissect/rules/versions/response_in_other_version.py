"""VER012: A response must be in the version of its request."""

from collections.abc import Iterator

from kdissect.decoders.headers import response_body_offset
from kdissect.decoders.trees.tree_decoder import dissect
from kdissect.model.errors import DecodeError, FaultKind
from kdissect.model.finding import Who
from kdissect.rules.body import Body
from kdissect.rules.kinds import MisfitRule
from kdissect.rules.rule import RESPONSE, Fault

MIN_BODY = 16  # shorter bodies fit several versions by chance


class ResponseInOtherVersion(MisfitRule):
    """A response must be in the version of its request.

    The body does not fit the version asked for, and fits exactly one other, or several that read it alike.

    Example: Metadata v9 is asked for, and a body of v8 comes.

    What to do: answer in the version of the request header.
    """

    code = "VER012"
    name = "response-in-other-version"
    who = Who.BROKER
    cites = ("spec/000 Versioning and Compatibility",)
    kinds = frozenset(FaultKind)

    def check(self, body: Body, error: DecodeError) -> Iterator[Fault]:
        """The other versions of the API, if those that explain every byte give the same reading."""
        if body.side != RESPONSE or len(body.data) - body.offset < MIN_BODY:
            return
        fitting = [version for version in _others(body) if _fits(body, version)]
        if fitting and len({_reading(body, version) for version in fitting}) == 1:
            one = f"{fitting[0]} to {fitting[-1]}" if len(fitting) > 1 else str(fitting[0])
            yield Fault(
                f"a body of version {body.version}", f"a body of version {one}",
                start=body.offset, end=len(body.data), side=RESPONSE,
            )  # fmt: skip


def _others(body: Body) -> list[int]:
    versions = body.message.versions
    return [version for version in range(versions.first, versions.last + 1) if version != body.version]


def _reading(body: Body, version: int) -> tuple[tuple[str, int, int], ...]:
    """The fields of a body as a version has them, each with its place."""
    offset = response_body_offset(body.data, body.api.key, version)
    found = []
    stack = [dissect(body.message, version, body.data, offset)]
    while stack:
        node = stack.pop()
        found.append((node.name, node.start, node.end))
        stack += node.children
    return tuple(found)


def _fits(body: Body, version: int) -> bool:
    from kdissect.decoders.messages import body_fits  # only bodies that do not fit get here

    try:
        offset = response_body_offset(body.data, body.api.key, version)
    except DecodeError:
        return False
    return body_fits(body.data, offset, body.api.key, version)
