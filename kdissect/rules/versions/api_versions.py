"""Rules: what ApiVersions requests and their answers hold."""

import re
from collections.abc import Iterator
from typing import Any

from kdissect.model.finding import Claim, Level, Who
from kdissect.model.same import of_same
from kdissect.model.wording import plural
from kdissect.rules.kinds import BodyRule, ExchangeRule
from kdissect.rules.rule import REQUEST, RESPONSE, Once, Violation
from kdissect.rules.views.body_view import Body, body_of
from kdissect.rules.views.connection_view import API_VERSIONS, ConnectionView
from kdissect.schema.types import NO_UPPER_BOUND, Versions
from kdissect.session.exchange import Exchange

_NAME = re.compile(
    r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?"
)  # ApiVersionsRequest#SOFTWARE_NAME_VERSION_PATTERN


class BadRanges(BodyRule):
    """Each API must be advertised once, with min_version no more than max_version and none negative.

    Clients take the highest version within the range. There is none in an empty range.

    Example: Fetch with min 5 and max 4, or Fetch twice.

    What to do: list each API once with the versions that are served.
    """

    code = "VER007"
    name = "bad-advertised-range"
    who = Who.BROKER
    cites = ("spec/002 3.1 Lowest and highest version",)
    on = (("ApiVersions", RESPONSE),)

    def check(self, body: Body) -> Iterator[Violation]:
        """Yield each entry of the list."""
        for place, expected, seen in _bad_entries(body.value):
            yield body.violation(place, expected, seen)


@of_same
def _bad_entries(answer: Any) -> list[tuple[str, str, str]]:
    """Place, what was expected, and what was seen."""
    found, seen = [], set()
    for index, entry in enumerate(answer.api_keys):
        place = f"api_keys[{index}]"
        if entry.api_key in seen:
            found.append((place, "each API once", f"API key {entry.api_key} again"))
        seen.add(entry.api_key)
        if not 0 <= entry.min_version <= entry.max_version:
            versions = f"{entry.min_version} to {entry.max_version}"
            found.append((place, "0 <= min_version <= max_version", versions))
    return found


class ApiVersionsNotListed(BodyRule):
    """ApiVersions must list itself.

    Without its own entry a client cannot determine which version of ApiVersions to use.

    Example: an answer with error 0 and no API key 18.

    What to do: add the entry.
    """

    code = "VER008"
    name = "api-versions-not-listed"
    who = Who.BROKER
    cites = ("spec/002 5 Deprecation", "org.apache.kafka.clients.NetworkClient#handleApiVersionsResponse")
    on = (("ApiVersions", RESPONSE),)

    def check(self, body: Body) -> Iterator[Violation]:
        """Yield the keys of a successful answer."""
        if body.value.error_code == 0 and all(key.api_key != API_VERSIONS for key in body.value.api_keys):
            yield body.violation(
                "api_keys",
                "an entry for API key 18",
                f"{plural(len(body.value.api_keys), 'entry', 'entries')} without it",
            )


class ClientSoftware(BodyRule):
    """Client software name and version must be plain words.

    That is letters, digits, dots and dashes, with a letter or digit at each end. Brokers use them as names of
    metrics, and refuse other names with INVALID_REQUEST.

    Example: `my client` (a space), or an empty name.

    What to do: name the library and its version plainly.
    """

    code = "VER009"
    name = "client-software-name"
    claim = Claim.REFUSED
    who = Who.CLIENT
    cites = ("KIP-511 Proposed Changes", "org.apache.kafka.common.requests.ApiVersionsRequest#isValid")
    on = (("ApiVersions", REQUEST),)
    versions = Versions(3, NO_UPPER_BOUND)

    def check(self, body: Body) -> Iterator[Violation]:
        """Yield both names against the pattern."""
        for name in ("client_software_name", "client_software_version"):
            value = getattr(body.value, name)
            if not isinstance(value, str) or not _NAME.fullmatch(value):
                yield body.violation(name, f"a match of {_NAME.pattern}", repr(value))


class ApiVersionsBody(ExchangeRule):
    """An ApiVersions v0-2 request has no body.

    The array of KIP-35's draft never shipped. librdkafka before KIP-511 sent it empty. Brokers ignore the 4
    bytes.

    Example: `00 00 00 00` after the header of ApiVersions v0.

    What to do: leave the bytes out.
    """

    code = "VER010"
    name = "api-versions-body"
    level = Level.INFO
    claim = Claim.DIFFERS
    who = Who.CLIENT
    cites = ("spec/003 ApiVersions API", "spec/002 1 Request and response")
    once = Once.PARTY

    def concerns(self, api_key: int | None, api_version: int | None) -> bool:
        """ApiVersions alone."""
        return api_key == API_VERSIONS

    def check(self, exchange: Exchange, view: ConnectionView) -> Iterator[Violation]:
        """Yield bytes after the header that are a known habit. FRM006 judges other bytes."""
        if exchange.api_key != API_VERSIONS or exchange.request is None:
            return
        body = body_of(exchange, REQUEST)
        if body is not None and body.error is None and body.end < len(body.data) and body.has_ignorable_tail:
            yield Violation(
                "no body", plural(len(body.data) - body.end, "byte"), start=body.end, end=len(body.data)
            )
