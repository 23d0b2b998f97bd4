"""What a law is: the causes that it is about, and what in a capture refutes them."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from kdissect.causes.evidence.evidence import Evidence
from kdissect.model.cause import FoundCause


class Law(NamedTuple):
    """`refutes` names what contradicts a cause; empty if nothing in the capture does."""

    id: str
    says: str
    causes: frozenset[str]
    refutes: Callable[[FoundCause, Evidence], str]


def named(cause: FoundCause, kind: str) -> set[str]:
    """Return the names of the parties of one kind that a cause concerns."""
    return {party.name for party in cause.parties if party.kind == kind}
