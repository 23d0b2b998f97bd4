"""ADM007: an ACL to create must not hold UNKNOWN, ANY or MATCH."""

from collections.abc import Iterator

from kdissect.model.finding import Claim, Who
from kdissect.rules.kinds import BodyRule
from kdissect.rules.rule import REQUEST, Violation
from kdissect.rules.views.body_view import Body


class FilterInAcl(BodyRule):
    """An ACL to create must not hold UNKNOWN, ANY or MATCH.

    These are for filters. Apache Kafka answers INVALID_REQUEST; wrong is a broker that accepts them.

    Example: operation ANY in CreateAcls, answered with error 0.

    What to do: refuse it.
    """

    code = "ADM007"
    name = "filter-in-acl"
    claim = Claim.REFUSED
    who = Who.BROKER
    cites = ("org.apache.kafka.common.requests.CreateAclsRequest#validate",)
    on = (("CreateAcls", REQUEST),)
    refusable = True

    def check(self, body: Body) -> Iterator[Violation]:
        """The four enumerated fields of each ACL."""
        for index, acl in enumerate(body.value.creations):
            for name, last in (
                ("resource_type", 1),
                ("resource_pattern_type", 2),
                ("operation", 1),
                ("permission_type", 1),
            ):
                value = getattr(acl, name, None)
                if value is not None and 0 <= value <= last:
                    yield body.violation(
                        f"creations[{index}].{name}", "a value that is no filter", f"{value} accepted"
                    )
