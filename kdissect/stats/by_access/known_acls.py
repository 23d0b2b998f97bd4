"""Access control entries that brokers list in DescribeAcls responses, or that a file of `kafka-acls --list`
has.
"""

from __future__ import annotations

import re
from typing import Any

from kdissect.history.exchange_view import ExchangeView
from kdissect.schema.enums import enum_name
from kdissect.stats.by_access.acl import LITERAL, Acl, enum_text
from kdissect.stats.client import text_of

DESCRIBE_ACLS = 29
ACLS_KEPT = 100_000
_ANY = 1  # aclResourceType, aclPatternType, aclOperation, aclPermission: a filter that takes all


class KnownAcls:
    """The entries by scope (`session.identities`), as the last response for all entries listed them.

    Responses to filters add their entries: then a list may be incomplete.
    """

    def __init__(self) -> None:
        self._by_scope: dict[str, dict[Acl, None]] = {}
        self._complete: dict[str, int] = {}
        """When a response listed all entries, by scope, in nanoseconds."""

    def learn(self, view: ExchangeView) -> bool:
        """Take an exchange. Return whether it is a DescribeAcls."""
        if view.key != DESCRIBE_ACLS:
            return False
        request, answer = view.request, view.response
        if request is None or answer is None or answer.error_code:
            return True
        scope, found = view.info.scope, _listed(answer)
        if _is_for_all(request):
            self._by_scope[scope] = found
            self._complete[scope] = view.sent_ns
        else:
            self._by_scope.setdefault(scope, {}).update(found)
        held = self._by_scope[scope]
        while len(held) > ACLS_KEPT:
            held.popitem()
            self._complete.pop(scope, None)
        return True

    def of(self, scopes: set[str]) -> tuple[list[Acl], int | None] | None:
        """Return the entries of scopes, and when a response listed all. None if there was no response.

        The time is None if there were only responses to filters.
        """
        known = [scope for scope in sorted(scopes) if scope in self._by_scope]
        if not known:
            return None
        whole = [scope for scope in known if scope in self._complete]
        if whole:
            last = max(whole, key=self._complete.__getitem__)
            return list(self._by_scope[last]), self._complete[last]
        return list(dict.fromkeys(acl for scope in known for acl in self._by_scope[scope])), None

    def scopes(self) -> set[str]:
        """Return the scopes with entries."""
        return set(self._by_scope)


def _is_for_all(request: Any) -> bool:
    return (
        request.resource_type_filter == _ANY
        and request.operation == _ANY
        and request.permission_type == _ANY
        and getattr(request, "pattern_type_filter", _ANY) == _ANY
        and request.resource_name_filter is None
        and request.principal_filter is None
        and request.host_filter is None
    )


def _listed(answer: Any) -> dict[Acl, None]:
    return {
        Acl(
            text_of(acl.principal), text_of(acl.host), _text("aclOperation", acl.operation),
            _text("aclPermission", acl.permission_type), _text("aclResourceType", of.resource_type),
            text_of(of.resource_name), _pattern(of),
        ): None
        for of in answer.resources or ()
        for acl in of.acls or ()
    }  # fmt: skip


def _text(enum: str, code: int) -> str:
    return enum_text(enum_name(enum, code) or str(code))


def _pattern(of: Any) -> str:
    """Return the pattern type, which version 0 does not have: all names are literal."""
    code = getattr(of, "pattern_type", None)
    return LITERAL if code is None else (enum_name("aclPatternType", code) or str(code)).lower()


# Lines of kafka-acls --list: the texts of org.apache.kafka.common.resource.ResourcePattern and of
# org.apache.kafka.common.acl.AccessControlEntry.
_RESOURCE = re.compile(r"ResourcePattern\(resourceType=(\w+), name=(.*), patternType=(\w+)\)")
_OF_PRINCIPAL = "ACLs for principal "  # before the entries of one, of which there may be none
_ENTRY = re.compile(r"\(principal=(.*), host=(.*), operation=(\w+), permissionType=(\w+)\)")


def listed_in(text: str) -> list[Acl]:
    """Return the entries in the output of `kafka-acls --list`. Raises ValueError with the number of a line
    that looks like an entry and is none, or of the first one of a text without entries.
    """
    found: dict[Acl, None] = {}
    other = ""
    resource: tuple[str, str, str] | None = None
    for number, line in enumerate(text.splitlines(), 1):
        of = _RESOURCE.search(line)
        if of is not None:
            resource = enum_text(of[1]), of[2], of[3].lower()
            continue
        entry = _ENTRY.search(line)
        if entry is not None and resource is not None:
            kind, name, pattern = resource
            operation, permission = enum_text(entry[3]), enum_text(entry[4])
            found[Acl(entry[1], entry[2], operation, permission, kind, name, pattern)] = None
        elif "principal=" in line or "resourceType=" in line:
            raise ValueError(f"line {number}: {line.strip()!r}")
        elif line.strip() and not line.startswith(_OF_PRINCIPAL):
            other = other or f"line {number}: {line.strip()!r}"
    if other and not found:
        raise ValueError(other)
    return list(found)
