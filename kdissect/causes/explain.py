"""The evidence for and against one cause: `why --explain ID`."""

from __future__ import annotations

from collections.abc import Sequence

from kdissect.causes.cause import Cause, client_text, times
from kdissect.causes.diagnose import found_by
from kdissect.causes.evidence.evidence import Evidence
from kdissect.causes.evidence.gathering import Gathering
from kdissect.causes.laws.laws import LAWS
from kdissect.causes.ledger.symptom import Symptom
from kdissect.causes.registry import ALL_CAUSES
from kdissect.model.cause import Explanation

_MOST = 20  # symptoms that are listed


def explain(gathering: Gathering, files: Sequence[str], cause_id: str) -> Explanation:
    """Return the arguments for and against a cause of the registry in a capture."""
    seen = Evidence(gathering)
    found = found_by(ALL_CAUSES, seen)
    causes = [cause for cause in ALL_CAUSES if cause.id == cause_id]
    return Explanation(
        cause_id,
        causes[0].title,
        tuple(one for one in found if one.id == cause_id),
        tuple(one for one in seen.refuted if one.id == cause_id),
        tuple(law.says for law in LAWS if cause_id in law.causes),
        tuple(_symptoms(seen, causes)),
        tuple(files),
    )


def _symptoms(seen: Evidence, causes: Sequence[Cause]) -> list[str]:
    """Return the symptoms that causes may explain, each with the cause that claims it or why it is normal."""
    found = []
    for number, symptom in enumerate(seen.ledger.symptoms):
        if any(claim.covers(symptom) for cause in causes for claim in cause.own_claims()):
            by, normal = seen.ledger.claimed.get(number), seen.ledger.reason_why_normal(symptom)
            state = f"explained by {by.id}" if by else f"normal: {normal}" if normal else "not explained"
            found.append(f"{_text(symptom)}: {state}")
    return found[:_MOST]


def _text(symptom: Symptom) -> str:
    what = " ".join(filter(None, (symptom.api, symptom.error or symptom.detail)))
    return f"{symptom.kind} ({what}) of {client_text(symptom.client)}, {times(symptom.seen.times)}"
