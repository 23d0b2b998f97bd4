"""Definition of a law: the causes that it is about, and the facts in a capture that refute them."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from kdissect.causes.evidence.evidence import Evidence
from kdissect.model.cause import FoundCause


class Law(NamedTuple):
    """`refutes` returns the contradiction to a cause, or an empty text."""

    id: str
    says: str
    causes: frozenset[str]
    refutes: Callable[[FoundCause, Evidence], str]


def named(cause: FoundCause, kind: str) -> set[str]:
    """Return the names of a cause's parties of one kind."""
    return {party.name for party in cause.parties if party.kind == kind}
