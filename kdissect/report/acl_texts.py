"""Access control entries as commands of `kafka-acls`, Strimzi KafkaUser resources and Terraform."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
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
_TERRAFORM = {
    "Topic": "Topic", "Group": "Group", "Cluster": "Cluster", "TransactionalId": "TransactionalID",
    "DelegationToken": "DelegationToken",
}  # fmt: skip
"""Resource types of the provider Mongey/kafka."""
# Operations that only kafka-acls has.
_NEWER_OPERATIONS = frozenset({"CreateTokens", "DescribeTokens", "TwoPhaseCommit"})
# Names of Kubernetes resources: RFC 1123 subdomains.
_RESOURCE_NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_LONGEST_NAME = 253


def acl_lines(acls: Sequence[Acl], form: str, notes: Iterable[str]) -> Iterator[str]:
    """Yield the lines of a text: notes as comments, then the entries."""
    for note in notes:
        yield f"# {printable(note)}"
    fit = []
    for acl in acls:
        why = _why_not(acl, form)
        if why is None:
            fit.append(acl)
        else:
            what = printable(f"{acl.principal} {acl.operation} {acl.resource} {acl.name}")
            yield f"# left out: {what}{why and f' ({why})'}"
    write, _ = _FORMS[form]
    yield from write(fit)


def _why_not(acl: Acl, form: str) -> str | None:
    """Return the reason why a text cannot name the ACL, or would grant another one. None if it can.

    The reason is empty if the line shows it.
    """
    names = acl.principal.removeprefix(USER_PREFIX), acl.name
    if not all(name and name.isprintable() for name in names) or names[0] == ANY_NAME:
        return ""
    _, types = _FORMS[form]
    if acl.resource not in types:
        return f"{form} has no ACLs on {acl.resource}"
    if types is not _OPTIONS:
        return f"{form} has no {acl.operation}" if acl.operation in _NEWER_OPERATIONS else None
    # org.apache.kafka.tools.AclCommand trims all names but transactional ids.
    trimmed = (acl.principal,) if acl.resource == "TransactionalId" else (acl.principal, acl.name)
    return None if all(name == name.strip() for name in trimmed) else "kafka-acls removes the spaces"


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
        user = principal.removeprefix(USER_PREFIX)
        if len(user) > _LONGEST_NAME or not _RESOURCE_NAME.fullmatch(user):
            yield f"# left out: {user!r} cannot be the name of a KafkaUser"
            continue
        if not is_first:
            yield "---"
        is_first = False
        yield from (
            "apiVersion: kafka.strimzi.io/v1", "kind: KafkaUser", "metadata:",
            f"  name: {_quoted(user)}", "  labels:",
            "    strimzi.io/cluster: my-cluster  # the name of the Kafka resource",
            "spec:", "  authorization:", "    type: simple", "    acls:",
        )  # fmt: skip
        for (_, host, resource, name, pattern), same in groupby(of_principal, _target):
            yield "      - resource:"
            yield f"          type: {_STRIMZI[resource]}"
            if resource != "Cluster":
                yield f"          name: {_quoted(name)}"
                yield f"          patternType: {'prefix' if pattern != LITERAL else LITERAL}"
            yield f"        operations: [{', '.join(acl.operation for acl in same)}]"
            yield f"        host: {_quoted(host)}"


def _terraform(acls: Sequence[Acl]) -> Iterator[str]:
    """Yield resources of the provider Mongey/kafka."""
    for number, acl in enumerate(acls, 1):
        parts = {
            "resource_name": acl.name, "resource_type": _TERRAFORM[acl.resource],
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
    return _quoted(text).replace("${", "$${").replace("%{", "%%{")


def _quoted(text: str) -> str:
    """Return a string of YAML and Terraform. Neither reads the surrogates of JSON as one character."""
    return json.dumps(text, ensure_ascii=False)


_FORMS: dict[str, tuple[Callable[[Sequence[Acl]], Iterator[str]], Mapping[str, str]]] = {
    "kafka-acls": (_commands, _OPTIONS), "strimzi": (_strimzi, _STRIMZI),
    "terraform": (_terraform, _TERRAFORM),
}  # fmt: skip
"""Writers, with the resource types that they have."""
ACL_FORMS = tuple(_FORMS)
