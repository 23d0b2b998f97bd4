"""From the gathered evidence to the page: find causes, assign effects to their cause, sort by severity."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from kdissect.causes.capture.capture_too_poor import CaptureTooPoor
from kdissect.causes.cause import SECOND_NS, Cause
from kdissect.causes.evidence.evidence import Evidence
from kdissect.causes.evidence.gathering import Gathering
from kdissect.causes.evidence.vantage import looked_at, not_seen, nothing_judged, partly_judged
from kdissect.causes.laws.laws import refuted_by
from kdissect.causes.registry import ALL_CAUSES
from kdissect.model.cause import (
    CAUSES_SHOWN,
    Certainty,
    Diagnosis,
    Effect,
    FoundCause,
    Party,
    Severity,
    are_apart,
    in_order,
)

_BEFORE_NS = 5 * SECOND_NS  # an effect may be seen before what brought it about: packets of several brokers
_AFTER_NS = 120 * SECOND_NS  # what comes later is its own cause
_OFTEN = 10  # occurrences outside the time of a cause: fewer show no rate
Wanted = Callable[[frozenset[Party]], bool]


def diagnose(
    gathering: Gathering,
    files: Sequence[str],
    wanted: Wanted | None = None,
    causes: Iterable[Cause] = ALL_CAUSES,
    most: int = CAUSES_SHOWN,
) -> Diagnosis:
    """Return the causes. `wanted` decides by its parties whether a cause is of interest."""
    seen = Evidence(gathering)
    found = folded(_held_against_capture(found_by(causes, seen)))
    if wanted is not None:
        found = [one for one in found if wanted(one.parties)]
    ranked = roots_first(in_order(found))
    return Diagnosis(
        tuple(ranked[:most]),
        max(len(ranked) - most, 0),
        tuple(looked_at(seen)),
        tuple(not_seen(seen)),
        tuple(files),
        seen.first_ns,
        seen.last_ns,
        nothing_judged=nothing_judged(seen),
        partly_judged=partly_judged(seen),
    )


def found_by(causes: Iterable[Cause], seen: Evidence) -> list[FoundCause]:
    """Return the causes in a capture, in their order, that no law refutes (`Evidence.refuted`).

    Each claims the symptoms that it explains.
    """
    found = []
    for cause in causes:
        for one in cause.find(seen):
            refuted = refuted_by(one, seen)
            if refuted is not None:
                seen.refuted.append(refuted)
                continue
            found.append(one)
            seen.ledger.claim(one, cause.own_claims(), _CLAIMS_OF_EFFECTS[cause.id], cause.explains_by)
    return found


def _held_against_capture(found: list[FoundCause]) -> list[FoundCause]:
    """Of a capture that lacks much, what that may explain is no more than possible."""
    if not any(one.id == CaptureTooPoor.id for one in found):
        return found
    return [
        one._replace(certainty=Certainty.POSSIBLE, why_not_surer=_LACKS) if one.id in _MAY_BE_MISSING else one
        for one in found
    ]


_LACKS = "packets are missing from the capture, which may look the same"
_MAY_BE_MISSING = {cause.id for cause in ALL_CAUSES if cause.may_be_missing_packets} - {CaptureTooPoor.id}
_CLAIMS_OF_EFFECTS = {
    cause.id: tuple(
        claim for effect in ALL_CAUSES if effect.id in cause.explains for claim in effect.own_claims()
    )
    for cause in ALL_CAUSES
}
_EXPLAINS = {cause.id: (frozenset(cause.explains), cause.explains_by) for cause in ALL_CAUSES}
_PRECEDES = {cause.id: frozenset(cause.precedes) for cause in ALL_CAUSES}
_SERVED = {cause.id for cause in ALL_CAUSES if cause.is_served}
_NOTHING: tuple[frozenset[str], frozenset[str]] = (frozenset(), frozenset())


def folded(found: Sequence[FoundCause]) -> list[FoundCause]:
    """Return each effect with its cause. An effect of several causes goes to the nearest of them in time."""
    owner: dict[int, int] = {}
    for at, effect in enumerate(found):
        causes = [
            (abs(effect.since_ns - cause.since_ns), number)
            for number, cause in enumerate(found)
            if number != at and _follows(cause, effect)
        ]
        if causes:
            owner[at] = min(causes)[1]
    effects: dict[int, list[FoundCause]] = {}
    for at in owner:
        root, passed = at, {at}
        while root in owner and owner[root] not in passed:
            root = owner[root]
            passed.add(root)
        effects.setdefault(root, []).append(found[at])
    return [
        cause._replace(
            effects=tuple(Effect(one.id, one.sentence, one.times) for one in effects.get(at, ())),
            cost=sum((one.cost for one in effects.get(at, ())), cause.cost),
            parties=cause.parties.union(*(one.parties for one in effects.get(at, ()))),
            until_ns=max([cause.until_ns, *(one.until_ns for one in effects.get(at, ()))]),
        )
        for at, cause in enumerate(found)
        if at not in owner or at in effects
    ]


def roots_first(ranked: Sequence[FoundCause]) -> list[FoundCause]:
    """Return causes in their order, each before the causes that it explains and that have their own place,
    and before the causes that it precedes.
    """
    found: list[FoundCause] = []
    for at, one in enumerate(ranked):
        if one not in found:
            found += [root for root in ranked[at + 1 :] if root not in found and _is_root_of(root, one)]
            found.append(one)
    return found


def _is_root_of(cause: FoundCause, effect: FoundCause) -> bool:
    return cause.certainty is not Certainty.POSSIBLE and (
        _leads_to(cause, effect) or _is_fault_on_path(cause, effect)
    )


def _is_fault_on_path(cause: FoundCause, other: FoundCause) -> bool:
    """Return whether a cause is a fault between two hosts, and the other one a property of the path."""
    ends = {one.kind for one in cause.parties & other.parties} & {"host", "broker"}
    return other.id in _PRECEDES.get(cause.id, ()) and len(ends) == 2


def _names(found: FoundCause, kind: str) -> set[str]:
    return {one.name for one in found.parties if one.kind == kind}


def _follows(cause: FoundCause, effect: FoundCause) -> bool:
    """Return whether an effect ends with its cause. What became of records matters by itself."""
    is_data = effect.severity is Severity.DATA and effect.certainty is not Certainty.POSSIBLE
    return not (is_data and cause.severity > Severity.DATA) and _leads_to(cause, effect)


def _leads_to(cause: FoundCause, effect: FoundCause) -> bool:
    explains, kinds = _EXPLAINS.get(cause.id, _NOTHING)
    common = {one.kind for one in cause.parties & effect.parties} & kinds
    if effect.id not in explains or not common or are_apart(cause.parties, effect.parties):
        return False
    if common == {"client"} and _names(effect, "client") - _names(cause, "client"):
        return False  # it concerned other parties, too
    if common == {"host"} and not _names(effect, "broker") <= _names(cause, "broker"):
        return False  # a host that cannot use one broker may have other trouble with another
    if common == {"host"} and effect.id in _SERVED:
        return False  # the broker serves this client: the cause is about another one of the host
    is_then = cause.since_ns - _BEFORE_NS <= effect.since_ns <= cause.until_ns + _AFTER_NS
    return is_then and not _goes_on_without(effect, cause)


def _goes_on_without(effect: FoundCause, cause: FoundCause) -> bool:
    """Return True if an effect is at least half as frequent outside the time of a cause as within it."""
    from_ns, until_ns = cause.since_ns - SECOND_NS, cause.until_ns + SECOND_NS
    outside = sum(not from_ns <= at <= until_ns for at in effect.moments)
    if outside < _OFTEN:
        return False
    first_ns, last_ns = min(effect.moments), max(effect.moments)
    common_ns = max(min(last_ns, until_ns) - max(first_ns, from_ns), 0)
    return 2 * outside * common_ns >= (len(effect.moments) - outside) * (last_ns - first_ns - common_ns)
