"""VER007: each API must be advertised once, with min_version no more than max_version and none negative."""

from collections.abc import Iterator

from kdissect.model.finding import Who
from kdissect.rules.kinds import BodyRule
from kdissect.rules.rule import RESPONSE, Violation
from kdissect.rules.views.body_view import Body


class BadRanges(BodyRule):
    """Each API must be advertised once, with min_version no more than max_version and none negative.

    Clients take the highest version within the range; there is none in an empty range.

    Example: Fetch with min 5 and max 4, or Fetch twice.

    What to do: list each API once with the versions that are served.
    """

    code = "VER007"
    name = "bad-advertised-range"
    who = Who.BROKER
    cites = ("spec/002 3.1 Lowest and highest version",)
    on = (("ApiVersions", RESPONSE),)

    def check(self, body: Body) -> Iterator[Violation]:
        """Each entry of the list."""
        seen = set()
        for index, entry in enumerate(body.value.api_keys):
            place = f"api_keys[{index}]"
            if entry.api_key in seen:
                yield body.violation(place, "each API once", f"API key {entry.api_key} again")
            seen.add(entry.api_key)
            if not 0 <= entry.min_version <= entry.max_version:
                yield body.violation(
                    place, "0 <= min_version <= max_version", f"{entry.min_version} to {entry.max_version}"
                )
