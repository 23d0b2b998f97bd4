"""BDY030: Fields of one struct must go together."""

from collections.abc import Iterator
from functools import cache
from typing import Any

from kdissect.decoders.generated.values import sent, structs
from kdissect.model.finding import Claim, Severity
from kdissect.rules.kinds import BodyRule
from kdissect.rules.rule import BOTH_FRAMES, REQUEST, RESPONSE, Violation
from kdissect.rules.views.body_view import Body
from kdissect.schema.domains import Relation, domains

_SIDES = {"Request": REQUEST, "Response": RESPONSE}


def _related() -> tuple[tuple[str, str], ...]:
    """Return the bodies that have fields with a relation."""
    return tuple(
        (message.removesuffix(ending), side)
        for message in domains().relations
        for ending, side in _SIDES.items()
        if message.endswith(ending) and _relations(message)
    )


@cache
def _relations(message: str) -> tuple[Relation, ...]:
    return tuple(one for one in domains().relations.get(message, ()) if one.is_judged)


class RelatedFields(BodyRule):
    """Fields of one struct must go together.

    The least version of a range is not above its greatest. The free bytes of a volume are not more than
    its bytes. In-sync replicas, offline replicas, and replicas that are added or removed are some of the
    replicas. A leader is one of the in-sync replicas. `kdissect/schema/domains.table` has each relation, its
    source and its messages. The rule skips numbers below 0, which stand for none, and a request that the
    broker refuses as a whole, or of which the response is not known.

    Example: replicas 1 and 2, in-sync replicas 1 and 3.

    What to do: send one snapshot of the state.
    """

    code = "BDY030"
    name = "related-fields"
    claim = Claim.DIFFERS
    severity = Severity.WARNING
    needs = BOTH_FRAMES
    cites = (
        "org.apache.kafka.metadata.Replicas#validateIsr",
        "KIP-455 Public Interfaces",
        "KIP-584 Proposed Changes",
        "KIP-932 Public Interfaces",
    )
    on = _related()

    def check(self, body: Body) -> Iterator[Violation]:
        """Yield each struct without an error."""
        other = body.other()
        if body.side == REQUEST and (other is None or sent(other, "error_code", 0)):
            return
        relations = _relations(body.message.name)
        for path, of in structs(body.value, ""):
            if sent(of, "error_code", 0):
                continue
            for relation in relations:
                one, other = sent(of, relation.field), sent(of, relation.other)
                if one is not None and other is not None:
                    found = _at_odds(relation, one, other)
                    if found is not None:
                        yield body.violation(f"{path}{relation.field}", *found)


def _at_odds(relation: Relation, one: Any, other: Any) -> tuple[str, str] | None:
    """Return the expected and seen values, if two values do not fit each other."""
    if relation.is_order:
        return (f"{other} or less, {relation.other}", str(one)) if one > other >= 0 else None
    numbers = one if isinstance(one, list) else [one]
    stray = sorted({number for number in numbers if number >= 0} - set(other))
    known = ", ".join(map(str, other)) or "none"
    return (f"some of {relation.other} {known}", ", ".join(map(str, stray))) if stray else None
