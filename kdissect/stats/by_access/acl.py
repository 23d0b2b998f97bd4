"""Access control entries of Kafka, and which requests they permit."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from kdissect.stats.by_access.operations import ENOUGH_FOR

ALLOW, DENY = "Allow", "Deny"
LITERAL, PREFIXED = "literal", "prefixed"
ANY_NAME = "*"  # org.apache.kafka.common.resource.ResourcePattern#WILDCARD_RESOURCE
ANY_HOST = "*"
USER_PREFIX = "User:"
ANY_USER = "User:*"
_ALL = "All"


class Acl(NamedTuple):
    """One access control entry. `principal` has its type (`User:alice`)."""

    principal: str
    host: str
    operation: str
    permission: str
    resource: str
    name: str
    pattern: str

    def covers(self, resource: str, name: str) -> bool:
        """Return whether the resource pattern matches a resource."""
        if self.resource != resource:
            return False
        if self.pattern == PREFIXED:
            return name.startswith(self.name)
        return self.name in (name, ANY_NAME)

    def is_about(self, principal: str, host: str) -> bool:
        """Return whether it is an entry for a principal that sends from a host."""
        return self.principal in (principal, ANY_USER) and self.host in (host, ANY_HOST)

    def allows(self, operation: str) -> bool:
        """Return whether it allows an operation, also by an operation that is enough for it."""
        if self.permission != ALLOW:
            return False
        return self.operation in (operation, _ALL) or self.operation in ENOUGH_FOR.get(operation, ())

    def denies(self, operation: str) -> bool:
        """Return whether it denies an operation."""
        return self.permission == DENY and self.operation in (operation, _ALL)

    def facts(self) -> dict[str, str]:
        """Return the parts by name, for JSON."""
        return self._asdict()


def enum_text(name: str) -> str:
    """Return the name of an operation or resource type as tools write it: `IDEMPOTENT_WRITE` ->
    `IdempotentWrite`.
    """
    return "".join(part.capitalize() for part in name.split("_"))


def granting(
    acls: Iterable[Acl], principal: str, host: str, operation: str, resource: str, name: str
) -> tuple[list[Acl], list[Acl]]:
    """Return the entries that allow an operation on a resource, and the entries that deny it."""
    about = [acl for acl in acls if acl.is_about(principal, host) and acl.covers(resource, name)]
    return [acl for acl in about if acl.allows(operation)], [acl for acl in about if acl.denies(operation)]
