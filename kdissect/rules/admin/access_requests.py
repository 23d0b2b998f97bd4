"""Rules: requests about who may do what, and how much: ACLs, quotas, credentials."""

from collections.abc import Iterator

from kdissect.model.finding import Claim, Severity, Who
from kdissect.rules.kinds import BodyRule
from kdissect.rules.rule import REQUEST, Violation
from kdissect.rules.views.body_view import Body

_LEAST_ITERATIONS, _MOST_ITERATIONS = 4096, 16384  # KIP-554


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
        """Yield the four enumerated fields of each ACL."""
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


class BadQuotaMatch(BodyRule):
    """A quota filter must have a match for EXACT, and none for DEFAULT and SPECIFIED.

    Example: match_type 0 (EXACT) and match null.

    What to do: send the name, or another match type.
    """

    code = "ADM008"
    name = "bad-quota-match"
    claim = Claim.REFUSED
    who = Who.CLIENT
    cites = ("org.apache.kafka.common.requests.DescribeClientQuotasRequest#filter",)
    on = (("DescribeClientQuotas", REQUEST),)

    def check(self, body: Body) -> Iterator[Violation]:
        """Yield the type and match of each component."""
        for index, component in enumerate(body.value.components):
            if (component.match_type == 0) == (component.match is None):
                held = "null" if component.match is None else "a match"
                seen = f"match type {component.match_type} with {held}"
                yield body.violation(f"components[{index}].match", "a match for EXACT alone", seen)


class WeakScram(BodyRule):
    """SCRAM credentials must have 4096 to 16384 iterations, a salt and a password.

    Apache Kafka answers UNACCEPTABLE_CREDENTIAL. A broker that accepts a different number is wrong.

    Example: 100 iterations, answered with error 0.

    What to do: refuse it.
    """

    code = "ADM009"
    name = "weak-scram"
    claim = Claim.REFUSED
    severity = Severity.WARNING
    who = Who.BROKER
    cites = ("KIP-554 Proposed Changes", "org.apache.kafka.controller.ScramControlManager#validateUpsertion")
    on = (("AlterUserScramCredentials", REQUEST),)
    refusable = True

    def check(self, body: Body) -> Iterator[Violation]:
        """Yield each credential, without its secrets."""
        for index, item in enumerate(body.value.upsertions):
            path = f"upsertions[{index}]"
            if not _LEAST_ITERATIONS <= item.iterations <= _MOST_ITERATIONS:
                wanted = f"{_LEAST_ITERATIONS} to {_MOST_ITERATIONS} iterations"
                yield body.violation(f"{path}.iterations", wanted, f"{item.iterations} accepted")
            elif not item.salt or not item.salted_password:
                empty = "salted_password" if item.salt else "salt"
                yield body.violation(f"{path}.{empty}", "a salt and a password", "an empty one accepted")
