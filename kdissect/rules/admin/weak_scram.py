"""ADM009: SCRAM credentials must have 4096 to 16384 iterations, a salt and a password."""

from collections.abc import Iterator

from kdissect.model.finding import Claim, Severity, Who
from kdissect.rules.kinds import BodyRule
from kdissect.rules.rule import REQUEST, Violation
from kdissect.rules.views.body_view import Body

_LEAST, _MOST = 4096, 16384  # iterations (KIP-554)


class WeakScram(BodyRule):
    """SCRAM credentials must have 4096 to 16384 iterations, a salt and a password.

    Apache Kafka answers UNACCEPTABLE_CREDENTIAL; wrong is a broker that accepts others.

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
        """Each credential; secrets are not shown."""
        for index, item in enumerate(body.value.upsertions):
            path = f"upsertions[{index}]"
            if not _LEAST <= item.iterations <= _MOST:
                seen = f"{item.iterations} accepted"
                yield body.violation(f"{path}.iterations", f"{_LEAST} to {_MOST} iterations", seen)
            elif not item.salt or not item.salted_password:
                empty = "salted_password" if item.salt else "salt"
                yield body.violation(f"{path}.{empty}", "a salt and a password", "an empty one accepted")
