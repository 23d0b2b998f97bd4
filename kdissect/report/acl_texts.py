"""Access control entries as commands of `kafka-acls`, Strimzi KafkaUser resources and Terraform."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby

from kdissect.report.printable import printable
from kdissect.stats.by_access.acl import ANY_HOST, ANY_NAME, LITERAL, USER_PREFIX, Acl

_OPTIONS = {
    "Topic": "--topic", "Group": "--group", "Cluster": "--cluster", "TransactionalId": "--transactional-id",
    "DelegationToken": "--delegation-token", "User": "--user-principal",
}  # fmt: skip
"""Options of kafka-acls by resource type."""
_STRIMZI = {
    "Topic": "topic", "Group": "group", "Cluster": "cluster", "TransactionalId": "transactionalId",
}  # fmt: skip
"""Resource types of Strimzi's `spec.authorization.acls`."""
# Names of Kubernetes resources: RFC 1123 subdomains.
_RESOURCE_NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_LONGEST_NAME = 253


def acl_lines(acls: Sequence[Acl], form: str, notes: Iterable[str]) -> Iterator[str]:
    """Yield the lines of a text: notes as comments, then the entries."""
    for note in notes:
        yield f"# {printable(note)}"
    plain = [acl for acl in acls if _is_plain(acl)]
    for acl in acls:
        if not _is_plain(acl):
            yield f"# left out: {printable(f'{acl.principal} {acl.operation} {acl.resource} {acl.name}')}"
    yield from _FORMS[form](plain)


def _is_plain(acl: Acl) -> bool:
    """Return whether a text can name the principal and the resource, and means no others by it."""
    names = acl.principal.removeprefix(USER_PREFIX), acl.name
    return all(name and name.isprintable() for name in names) and names[0] != ANY_NAME


def _commands(acls: Sequence[Acl]) -> Iterator[str]:
    for (principal, host, resource, name, pattern), same in groupby(acls, _target):
        words = ["kafka-acls", "--bootstrap-server", '"$BOOTSTRAP"', "--add"]
        words += ["--allow-principal", shlex.quote(principal)]
        if host != ANY_HOST:
            words += ["--allow-host", shlex.quote(host)]
        for acl in same:
            words += ["--operation", acl.operation]
        words.append(_OPTIONS[resource])
        if resource != "Cluster":
            words.append(shlex.quote(name))
        if pattern != LITERAL:
            words += ["--resource-pattern-type", pattern]
        yield " ".join(words)


def _target(acl: Acl) -> tuple[str, ...]:
    return acl.principal, acl.host, acl.resource, acl.name, acl.pattern


def _strimzi(acls: Sequence[Acl]) -> Iterator[str]:
    is_first = True
    for principal, of_principal in groupby(acls, lambda acl: acl.principal):
        held = list(of_principal)
        user = principal.removeprefix(USER_PREFIX)
        if len(user) > _LONGEST_NAME or not _RESOURCE_NAME.fullmatch(user):
            yield f"# left out: {user!r} cannot be the name of a KafkaUser"
            continue
        can = [acl for acl in held if acl.resource in _STRIMZI]
        for acl in held:
            if acl.resource not in _STRIMZI:
                yield f"# left out: Strimzi has no ACLs on {acl.resource}: {acl.operation} {acl.name}"
        if not can:
            continue
        if not is_first:
            yield "---"
        is_first = False
        yield from (
            "apiVersion: kafka.strimzi.io/v1", "kind: KafkaUser", "metadata:",
            f"  name: {json.dumps(user)}", "  labels:",
            "    strimzi.io/cluster: my-cluster  # the name of the Kafka resource",
            "spec:", "  authorization:", "    type: simple", "    acls:",
        )  # fmt: skip
        for (_, host, resource, name, pattern), same in groupby(can, _target):
            yield "      - resource:"
            yield f"          type: {_STRIMZI[resource]}"
            if resource != "Cluster":
                yield f"          name: {json.dumps(name)}"
                yield f"          patternType: {'prefix' if pattern != LITERAL else LITERAL}"
            yield f"        operations: [{', '.join(acl.operation for acl in same)}]"
            yield f"        host: {json.dumps(host)}"


def _terraform(acls: Sequence[Acl]) -> Iterator[str]:
    """Yield resources of the provider Mongey/kafka."""
    for number, acl in enumerate(acls, 1):
        parts = {
            "resource_name": acl.name, "resource_type": acl.resource,
            "resource_pattern_type_filter": acl.pattern.capitalize(), "acl_principal": acl.principal,
            "acl_host": acl.host, "acl_operation": acl.operation, "acl_permission_type": acl.permission,
        }  # fmt: skip
        yield f'resource "kafka_acl" "{_label(acl, number)}" {{'
        width = max(map(len, parts))
        for part, value in parts.items():
            yield f"  {part:{width}} = {_hcl(value)}"
        yield "}"


def _label(acl: Acl, number: int) -> str:
    """Return a name for a resource, which the number makes unique."""
    words = acl.principal.removeprefix(USER_PREFIX), acl.operation, acl.resource, acl.name
    plain = re.sub(r"[^A-Za-z0-9]+", "_", "_".join(words).lower()).strip("_")
    return f"acl_{number}_{plain[:80]}"


def _hcl(text: str) -> str:
    """Return a string of Terraform, without templates in it."""
    return json.dumps(text, ensure_ascii=False).replace("${", "$${").replace("%{", "%%{")


_FORMS: dict[str, Callable[[Sequence[Acl]], Iterator[str]]] = {
    "kafka-acls": _commands, "strimzi": _strimzi, "terraform": _terraform,
}  # fmt: skip
ACL_FORMS = tuple(_FORMS)
