"""Context of a payload: the structs around it, and facts from other frames."""

from collections.abc import Mapping
from typing import Any

from kdissect.decoders.generated.values import Value
from kdissect.schema.secrets import is_secretive

NEAR_SECRETS = "near_secrets"
GUESSED = "guessed"  # its value where the API is a guess
Facts = Mapping[str, Any]
"""Facts from other frames (`Scope`)."""
_NO_FACTS: Facts = {}


class Scope:
    """Looks names up in the structs around a payload, innermost first, then in the facts.

    Facts are: `mechanism` (SASL), `from_client` (the side a token came from), `inner_api` (key and version of
    the request that an Envelope's response answers), `protocol_type` and `protocol_name` of a group,
    `near_secrets` (frames around may have been of secrets: those before SASL ended).
    """

    __slots__ = ("chain", "depth", "facts")

    def __init__(self, facts: Facts = _NO_FACTS, chain: tuple[Value, ...] = (), depth: int = 0) -> None:
        self.facts = facts
        self.chain = chain
        self.depth = depth

    def inside(self, chain: tuple[Value, ...]) -> "Scope":
        """Return the scope of a payload within structs that stand inside of this scope."""
        return Scope(self.facts, self.chain + chain, self.depth + 1)

    def find(self, *names: str) -> Any:
        """Return the value of the innermost field that has one of these names, else a fact; None without
        either.
        """
        for value in reversed(self.chain):
            for name in names:
                found = _get(value, name)
                if found is not None:
                    return found
        for name in names:
            if name in self.facts:
                return self.facts[name]
        return None

    @property
    def message(self) -> str:
        """Name of the message around the payload; `""` for a bare one."""
        return self.chain[0].message_name if self.chain else ""


def may_hold_secrets(api_key: int, facts: Facts) -> bool:
    """Return whether a frame of an API may contain secrets in fields that should have none.

    Arrays with more elements than are possible are not decoded then: their numbers may be pieces of a secret.
    """
    return bool(facts.get(NEAR_SECRETS)) or is_secretive(api_key)


def _get(value: Value, name: str) -> Any:
    try:
        return object.__getattribute__(value, name)
    except AttributeError:
        return None
