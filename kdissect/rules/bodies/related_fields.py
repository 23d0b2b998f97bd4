"""BDY030: Fields of one struct, and of the structs below it, must go together."""

from collections.abc import Iterator
from functools import cache
from typing import Any

from kdissect.decoders.generated.values import sent, structs
from kdissect.model.finding import Claim, Severity
from kdissect.rules.guards import Above, Below, Condition, Empty, Exceeds, Guard, InMessage, Longer, Needs
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


def _guard() -> Guard:
    """Return conditions on which a judged relation may not hold."""
    return tuple(
        dict.fromkeys(
            InMessage(message, part)
            for message in domains().relations
            for relation in _relations(message)
            for part in _marks(relation)
        )
    )


def _marks(relation: Relation) -> tuple[Condition, ...]:
    field = (relation.field.rpartition(".")[2],)
    if relation.kind == "needs":
        return (Needs(relation.field, relation.other),)
    if relation.kind == "given":
        return Below(field, 0), Empty(field)
    if relation.kind == "below" and "." not in relation.field + relation.other:
        return (Exceeds(relation.field, relation.other),)
    return Above(field, -1), Longer(field, 0)


class RelatedFields(BodyRule):
    """Fields of one struct, and of the structs below it, must go together.

    The least version of a range is not above its greatest. The free bytes of a volume are not more than
    its bytes. In-sync replicas, offline replicas, and replicas that are added or removed are some of the
    replicas. No replica is added and removed at once. A leader is one of the in-sync replicas. No member, and
    no assignment, has a later epoch than its group. A group that is Empty has no members, and a transaction
    that is complete has no partitions. A batch without an error has no refused records. A token expires at
    its greatest age at the latest. `kdissect/schema/domains.table` has each relation, its source and its
    messages. The rule skips numbers below 0 that stand for none, and a request that the broker refuses as a
    whole, or of which the response is not known.

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
        "org.apache.kafka.storage.internals.epoch.LeaderEpochFileCache#endOffsetFor",
        "KIP-455 Public Interfaces",
        "KIP-467 Public Interfaces",
        "KIP-584 Proposed Changes",
        "KIP-48 Public Interfaces",
        "KIP-664 Public Interfaces",
        "KIP-848 Public Interfaces",
        "KIP-932 Public Interfaces",
        "KIP-966 Public Interfaces",
        "KIP-1071 Public Interfaces",
    )
    on = _related()
    guard = _guard()

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
                found = _at_odds(of, relation)
                if found is not None:
                    below, *expected_and_seen = found
                    yield body.violation(path + below, *expected_and_seen)


def _at_odds(of: Any, relation: Relation) -> tuple[str, str, str] | None:
    """Return the path, the expected and the seen text of two values of a struct that do not go together."""
    others = [value for _, value in _values(of, relation.other)]
    if not others:
        return None
    for path, value in _values(of, relation.field):
        found = _found(relation, value, others)
        if found is not None:
            return path, *found
    return None


def _found(relation: Relation, value: Any, others: list[Any]) -> tuple[str, str] | None:
    """Return the expected and the seen text of one value."""
    kind, name = relation.kind, relation.other
    if kind == "below":
        most = max(others)
        return (f"{most} or less, {name}", str(value)) if value > most >= 0 else None
    if kind == "needs":
        known = max(others)
        return (f"0 or more with {name} {known}", str(value)) if value < 0 <= known else None
    if kind in ("among", "apart"):
        among = [one for other in others for one in _listed(other)]
        found = {*_listed(value)}
        wrong = found - {*among} if kind == "among" else found & {*among}
        strays = sorted(one for one in wrong if isinstance(one, str) or one >= 0)
        known = f"{'some' if kind == 'among' else 'none'} of {name} {', '.join(map(str, among)) or 'none'}"
        return (known, ", ".join(map(str, strays))) if strays else None
    if str(others[0]) not in relation.values:
        return None
    count = len(value) if isinstance(value, list | tuple) else value
    if kind == "empty":
        return (f"none with {name} {others[0]}", str(count)) if count else None
    is_missing = not count if isinstance(value, list | tuple) else count < 0
    return (f"some with {name} {others[0]}", str(count)) if is_missing else None


def _listed(value: Any) -> Any:
    return value if isinstance(value, list | tuple) else (value,)


def _values(of: Any, path: str, at: str = "") -> Iterator[tuple[str, Any]]:
    """Return the values of a path below a struct, each with its own path, without nulls."""
    name, _, rest = path.partition(".")
    value = sent(of, name)
    if value is None:
        return
    if not rest:
        yield at + name, value
    elif isinstance(value, list | tuple):
        for index, element in enumerate(value):
            yield from _values(element, rest, f"{at}{name}[{index}].")
    else:
        yield from _values(value, rest, f"{at}{name}.")
