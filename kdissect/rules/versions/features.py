"""VER021: A feature must have a range of levels that is not empty."""

from collections.abc import Iterator

from kdissect.model.finding import Who
from kdissect.rules.kinds import BodyRule
from kdissect.rules.rule import RESPONSE, Violation
from kdissect.rules.views.body_view import Body
from kdissect.schema.types import NO_UPPER_BOUND, Versions


class BadFeatureRange(BodyRule):
    """A feature must have a range of levels that is not empty.

    The least level is at most the greatest, and neither is negative.

    Example: `transaction.version` from 2 to 1.

    What to do: send the levels that the broker supports, and the finalized levels.
    """

    code = "VER021"
    name = "bad-feature-range"
    who = Who.BROKER
    cites = ("KIP-584 Proposed Changes",)
    on = (("ApiVersions", RESPONSE),)
    versions = Versions(3, NO_UPPER_BOUND)

    def check(self, body: Body) -> Iterator[Violation]:
        """Yield the supported and finalized features."""
        for field, low, high in (
            ("supported_features", "min_version", "max_version"),
            ("finalized_features", "min_version_level", "max_version_level"),
        ):
            for index, feature in enumerate(getattr(body.value, field, None) or ()):
                least, most = getattr(feature, low), getattr(feature, high)
                if not 0 <= least <= most:
                    yield body.violation(f"{field}[{index}]", f"0 <= {low} <= {high}", f"{least} to {most}")
