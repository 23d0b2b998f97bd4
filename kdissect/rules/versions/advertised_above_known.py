"""VER015: the broker advertises what this schema does not know."""

from collections.abc import Iterator

from kdissect.model.finding import Claim, Level, Who
from kdissect.rules.body import Body
from kdissect.rules.kinds import BodyRule
from kdissect.rules.rule import RESPONSE, Fault, Once
from kdissect.schema import protocol_messages


class AdvertisedAboveKnown(BodyRule):
    """The broker advertises what this schema does not know.

    No judgement: the broker is newer than the schema, or a vendor's. Bodies in these versions are not read.

    Example: Fetch up to v21.

    What to do: update kdissect.
    """

    code = "VER015"
    name = "advertised-above-known"
    level = Level.INFO
    claim = Claim.DIFFERS
    who = Who.BROKER
    cites = ("spec/002 3.1 Lowest and highest version",)
    on = (("ApiVersions", RESPONSE),)
    once = Once.VALUE

    def check(self, body: Body) -> Iterator[Fault]:
        """Each range against the schema; one finding for the list."""
        newer = []
        for entry in body.value.api_keys:
            api = protocol_messages.api(entry.api_key)
            if api is None:
                newer.append(f"API key {entry.api_key}")
            elif entry.max_version > api.versions.last:
                newer.append(f"{api.name} v{entry.max_version}")
        if newer:
            yield body.fault(
                "api_keys", "what this schema knows", f"newer than this schema: {', '.join(newer)}"
            )
