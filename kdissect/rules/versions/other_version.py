"""Rules: a body in another version than the one of its exchange."""

from collections.abc import Iterator

from kdissect.model.errors import DecodeError, FaultKind
from kdissect.model.finding import Who
from kdissect.rules.headers.frame_readings import in_words, other_versions
from kdissect.rules.kinds import UndecodableRule
from kdissect.rules.rule import REQUEST, RESPONSE, Violation
from kdissect.rules.views.body_view import Body


def _other_version(body: Body, side: str) -> Iterator[Violation]:
    """Yield the other versions of the API that explain every byte."""
    fitting = (
        other_versions(body.data, body.api.key, body.version, side == RESPONSE) if body.side == side else []
    )
    if fitting:
        yield Violation(
            f"a body of version {body.version}", f"a body of version {in_words(fitting)}",
            start=body.offset, end=len(body.data), side=side,
        )  # fmt: skip


class ResponseInOtherVersion(UndecodableRule):
    """A response must be in the version of its request.

    The body does not fit the version asked for, and fits other versions of the API to its last byte, after
    their header or after the header of the request's version. Where several fit they have one layout mostly.

    Example: a request for Metadata v9, and a response body of v8.

    What to do: answer in the version of the request header.
    """

    code = "VER012"
    name = "response-in-other-version"
    who = Who.BROKER
    cites = ("spec/000 Versioning and Compatibility",)
    kinds = frozenset(FaultKind)

    def check(self, body: Body, error: DecodeError) -> Iterator[Violation]:
        """Return the versions that fit."""
        return _other_version(body, RESPONSE)


class RequestInOtherVersion(UndecodableRule):
    """A request must be in the version that its header names.

    The body does not fit that version, and fits other versions of the API to its last byte, after their
    header or after the header of the named version. Brokers read it as the version says, and close the
    connection.

    Example: the header says OffsetCommit v8, and the body is one of v7.

    What to do: write the body in the version of the header. Both come from one place best.
    """

    code = "VER018"
    name = "request-in-other-version"
    who = Who.CLIENT
    cites = ("spec/000 Versioning and Compatibility", "spec/004 api_version")
    kinds = frozenset(FaultKind)

    def check(self, body: Body, error: DecodeError) -> Iterator[Violation]:
        """Return the versions that fit."""
        return _other_version(body, REQUEST)
